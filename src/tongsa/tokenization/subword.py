"""Subword tokenizers (BPE, Sennrich et al. 2016; unigram, Kudo 2018) with SentencePiece (Kudo and Richardson 2018)."""

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import Annotated, Literal, Self

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from tongsa import bounded_files, storage
from tongsa.bounded_files import UnreadableFileError
from tongsa.config import In, Positive, VocabSize, check_ranges
from tongsa.data.corpus import CorpusError
from tongsa.data.noise import MASK
from tongsa.data.normalize import SPACE_MARK, from_jamo, normalize, to_jamo
from tongsa.errors import InputError
from tongsa.tokenization.regularization import UnigramModel, bpe_dropout, build_lattice, sample_segmentation
from tongsa.tokenization.special import BOS, EOS, PAD, UNK

SAMPLE_SEED = 0
"""Seed of the sample of texts that a tokenizer is trained on: not that of the run."""
MAX_WORD_CHARACTERS = 1_000
"""Longer words (in scripts without spaces) are split into parts of this many characters for training."""
LARGE_ALPHABET_CHARACTERS = 3_000
"""With more distinct characters, the rarest 0.01 % of the text is encoded as bytes (or UNK)."""
BYTE_TOKENS = 256

_RESERVED_SYMBOLS = re.compile("<pad>|<s>|</s>|<unk>|<0x[0-9A-F]{2}>|\u2585")  # the trainer skips or splits at these

_SYMBOL = re.compile(SPACE_MARK + r"<\S+>")

ModelType = Literal["unigram", "bpe", "char", "word"]


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    model: ModelType = "unigram"
    """Segmentation algorithm: unigram language model, byte-pair encoding, characters or words."""
    vocab_size: VocabSize = 8000
    """Maximum vocabulary size; a small corpus gives fewer tokens."""
    shared: bool = True
    """Use one vocabulary for source and target."""
    jamo: bool = False
    """Decompose Hangul syllables into jamo first, so that 갔다 and 가다 can share the token 가."""
    byte_fallback: bool = True
    """Encode unknown characters as bytes. Without it, and for the model "word", they become UNK."""
    subword_regularization: Annotated[float, In(0, 1)] = 0.0
    """Random segmentation in training: alpha for unigram (lower is more random), dropout for bpe; 0 is off."""
    target_model: ModelType | Literal["same"] = "same"
    """Segmentation of the target if it differs, e.g. "word" for phones. Needs shared = false."""
    training_texts: Positive = 1_000_000
    """A tokenizer is trained on at most this many texts, sampled uniformly; source and target count separately."""
    reuse_from: str = ""
    """Folder of a run or model whose tokenizers are used instead of training new ones; the run may be unfinished."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.subword_regularization and self.model not in ("unigram", "bpe"):
            raise InputError(
                f"subword_regularization {self.subword_regularization}: a {self.model} model has one segmentation "
                "only. Write 0."
            )
        if self.target_model != "same" and self.shared:
            raise InputError(f"target_model {self.target_model!r}: needs a separate vocabulary. Write shared = false.")

    @property
    def for_target(self) -> "TokenizerConfig":
        return self if self.target_model == "same" else replace(self, model=self.target_model, target_model="same")


class SubwordTokenizer:
    """SentencePiece model: `decode(encode(text)) == normalize(text)` unless a token is UNK.

    UNK replaces an unknown word (model "word") or a run of unknown characters (no byte fallback). It decodes to ⁇.
    """

    def __init__(self, model_bytes: bytes, jamo: bool = False) -> None:
        self.model_bytes = model_bytes
        self.jamo = jamo
        self._processor = SentencePieceProcessor()
        try:
            self._processor.load_from_serialized_proto(model_bytes)
            self._processor.id_to_piece(list(range(self._processor.get_piece_size())))
        except (RuntimeError, ValueError, IndexError):  # ValueError: a token that is not UTF-8
            raise InputError("not a SentencePiece model, or a damaged one. Copy the file again.") from None
        processor = self._processor
        special = processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id()
        if special != (PAD, BOS, EOS, UNK):
            raise InputError(f"ids of pad, bos, eos, unk are {special}, not 0 to 3. Train the tokenizer with tongsa.")

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @classmethod
    def load(cls, path: Path, jamo: bool = False) -> Self:
        try:
            return cls(bounded_files.read_bytes(path, bounded_files.MAX_TOKENIZER_BYTES), jamo)
        except UnreadableFileError as error:
            raise InputError(f"{path}: {error.reason}. Give the path of a file written by `save`.") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        storage.write_bytes(path, self.model_bytes)

    def encode(self, text: str) -> list[int]:
        """Encode one text. Encode many with `encode_all`: single calls in a loop may stop all other threads.

        SentencePiece releases Python's lock during a call. It does so for a few microseconds only: too short for a
        waiting thread to wake up, which then begins to wait anew.
        """
        return self.encode_all([text])[0]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        return self.encode_normalized([normalize(text) for text in texts])

    def encode_normalized(self, texts: Sequence[str]) -> list[list[int]]:
        prepared = [to_jamo(text) for text in texts] if self.jamo else texts
        if self.model_type == "word":  # SentencePiece would merge adjacent unknown words into one UNK
            return [[self._token_to_id.get(word, UNK) for word in _split_words(text)] for text in prepared]
        if len(prepared) == 1:
            return [list(self._processor.encode(prepared[0]))]  # a list of texts would start a thread
        num_thousands = len(prepared) // 1000
        threads = min(os.cpu_count() or 1, 1 + num_thousands) if num_thousands else 1
        return list(self._processor.encode(prepared, num_threads=threads))

    def sample_all(self, texts: Sequence[str], alpha: float, seeds: Sequence[int]) -> list[list[int]]:
        """Sample a segmentation of each text: a function of the text, alpha and its seed, not of the other texts."""
        if alpha == 0 or self.model_type in ("char", "word"):
            return self.encode_all(texts)
        return [self._sample(text, alpha, Random(seed)) for text, seed in zip(texts, seeds, strict=True)]

    def _sample(self, text: str, alpha: float, generator: Random) -> list[int]:
        sample_word, symbols = self._sample_word, self._symbol_words
        words = _split_words(self._preprocess(text))
        subwords = ([word] if word in symbols else sample_word(word, alpha, generator) for word in words)
        return [token for parts in subwords for token in self._subwords_to_tokens(parts)]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the normalized text of tokens: always one line, even if a model combines byte tokens freely."""
        return self.decode_all([tokens])[0]

    def decode_all(self, outputs: Iterable[Iterable[int]]) -> list[str]:
        """Decode many outputs in one call, for the reason given at `encode`."""
        texts = [[token for token in map(int, tokens) if token > EOS] for tokens in outputs]
        if len(texts) == 1:  # a list of outputs would start a thread
            return [normalize(self._processor.decode(texts[0]))]
        return [normalize(text) for text in self._processor.decode(texts, num_threads=1)]

    def token_strings(self, tokens: Iterable[int]) -> list[str]:
        """Return the tokens as strings: ▁ marks the start of a word; jamo are composed where possible."""
        return [self._token_string(int(token)) for token in tokens]

    @cached_property
    def _token_string(self) -> Callable[[int], str]:
        """Cached lookup of a token's string."""
        return cache(lambda token: from_jamo(self._processor.id_to_piece(token)))

    def _preprocess(self, text: str) -> str:
        return to_jamo(normalize(text)) if self.jamo else normalize(text)

    def _subwords_to_tokens(self, subwords: Sequence[str]) -> list[int]:
        tokens: list[int] = []
        for subword in subwords:
            if subword in self._token_to_id:
                tokens.append(self._token_to_id[subword])
            elif self._byte_ids:
                tokens.extend(self._byte_ids[byte] for byte in subword.encode())
            elif not tokens or tokens[-1] != UNK:  # a run of unknown characters is one UNK, as in `encode`
                tokens.append(UNK)
        return tokens

    @cached_property
    def _token_to_id(self) -> dict[str, int]:
        processor = self._processor
        return {
            processor.id_to_piece(token): token
            for token in range(UNK + 1, len(self))
            if not (processor.is_byte(token) or processor.is_control(token) or processor.is_unused(token))
        }

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Tags and the mask, each one token: symbols that SentencePiece did not learn have the score 0."""
        return tuple(
            from_jamo(string.removeprefix(SPACE_MARK))
            for string, token in self._token_to_id.items()
            if self._processor.get_score(token) == 0 and _SYMBOL.fullmatch(string)
        )

    @cached_property
    def _symbol_words(self) -> frozenset[str]:
        """The symbols as words of a preprocessed text."""
        return frozenset(SPACE_MARK + self._preprocess(symbol) for symbol in self.symbols)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the model was trained with, such as <2ko>."""
        return tuple(symbol for symbol in self.symbols if symbol != MASK)

    def split_tag(self, text: str) -> tuple[str, str]:
        """Return the tag before a text, or "", and the text without it."""
        first, _, rest = text.partition(" ")
        return (first, rest) if first in self.tags else ("", text)

    @cached_property
    def _byte_ids(self) -> list[int]:
        """Token of each byte; empty without byte fallback."""
        return [token for token in range(len(self)) if self._processor.is_byte(token)]

    @cached_property
    def model_type(self) -> ModelType:
        """Segmentation algorithm. SentencePiece does not expose it, so it is found by which calls fail."""
        processor = self._processor
        if _succeeds(lambda: processor.nbest_encode_as_ids("a", nbest_size=2)):
            return "unigram"
        if _succeeds(lambda: processor.sample_encode_as_ids("a", nbest_size=-1, alpha=0.5)):
            return "bpe"
        return "char" if SPACE_MARK in self._token_to_id else "word"

    @cached_property
    def _sample_word(self) -> Callable[[str, float, Random], list[str]]:
        """Function that samples the segmentation of a word."""
        scores = {string: self._processor.get_score(token) for string, token in self._token_to_id.items()}
        for word in self._symbol_words:
            del scores[word]
        if self.model_type == "bpe":
            return lambda word, alpha, generator: bpe_dropout(word, scores, alpha, generator)
        unigram = UnigramModel.from_log_probs(scores)
        lattice = lru_cache(maxsize=2**16)(lambda word, alpha: build_lattice(word, unigram, alpha))
        return lambda word, alpha, generator: sample_segmentation(word, lattice(word, alpha), generator)


def _split_words(text: str) -> list[str]:
    return [SPACE_MARK + word for word in text.split()]


def _succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except RuntimeError:
        return False
    return True


def train_tokenizer(texts: Iterable[str], config: TokenizerConfig, symbols: Sequence[str] = ()) -> SubwordTokenizer:
    """Train a tokenizer; the same texts give the same bytes. Each of the `symbols`, such as tags, becomes one token."""
    symbols = [to_jamo(symbol) if config.jamo else symbol for symbol in symbols]
    word_counts = _count_words(texts, config.jamo)
    for symbol in symbols:
        word_counts.pop(symbol, None)
    if not word_counts:
        raise CorpusError("no text to train a tokenizer on: all lines are empty or were dropped. See ledger.jsonl.")
    byte_fallback = config.byte_fallback and config.model != "word"
    coverage, characters = (1.0, 1) if config.model == "word" else _character_coverage(word_counts)
    min_size = UNK + 1 + byte_fallback * BYTE_TOKENS + characters + len(symbols)
    if config.vocab_size < min_size:
        raise InputError(
            f"tokenizer.vocab_size {config.vocab_size}: too small for this text. Write at least {min_size}."
        )
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=_word_count_lines(word_counts),
            input_format="tsv",
            model_writer=model,
            model_type=config.model,
            vocab_size=config.vocab_size,
            hard_vocab_limit=False,  # a small text gives fewer tokens instead of an error
            byte_fallback=byte_fallback,
            character_coverage=coverage,
            max_sentence_length=5 * MAX_WORD_CHARACTERS,  # in bytes: at most 4 per character, plus the count
            normalization_rule_name="identity",  # `normalize` has done it
            remove_extra_whitespaces=False,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            num_threads=4,  # constant, because rounding in the per-thread sums changes the model
            minloglevel=2,
            user_defined_symbols=[SPACE_MARK + symbol for symbol in symbols],
        )
    except RuntimeError as error:
        raise InputError(
            f"tokenizer.model {config.model!r}: SentencePiece cannot train it on this text ({error}). Try another."
        ) from None
    return SubwordTokenizer(model.getvalue(), config.jamo)


def _word_count_lines(word_counts: Mapping[str, int]) -> Iterator[str]:
    """Yield words with counts instead of texts: the unigram trainer is quadratic in repeated text."""
    # rarest last, because the trainer makes no seed token from the last word
    for word in sorted(word_counts, key=lambda word: (-word_counts[word], word)):
        yield f"{word}\t{word_counts[word]}"


def sample_rows(total: int, count: int) -> list[int]:
    """Return the rows of a uniform sample in ascending order (reservoir sampling, Vitter's algorithm R)."""
    generator, rows = Random(SAMPLE_SEED), list(range(min(count, total)))
    for row in range(count, total):
        if (slot := generator.randrange(row + 1)) < count:
            rows[slot] = row
    return sorted(rows)


def _count_words(texts: Iterable[str], jamo: bool) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        clean = _RESERVED_SYMBOLS.sub(" ", normalize(text))
        for word in (to_jamo(clean) if jamo else clean).split():
            counts.update(
                word[start : start + MAX_WORD_CHARACTERS] for start in range(0, len(word), MAX_WORD_CHARACTERS)
            )
    return counts


def _character_coverage(word_counts: Mapping[str, int]) -> tuple[float, int]:
    """Return the share of the text to cover with character tokens, and the number of these characters."""
    counts = Counter({SPACE_MARK: sum(word_counts.values())})
    for word, count in word_counts.items():
        for character in word:
            counts[character] += count
    if len(counts) <= LARGE_ALPHABET_CHARACTERS:
        return 1.0, len(counts)
    coverage, total, covered = 0.9999, counts.total(), 0
    for rank, (_, count) in enumerate(counts.most_common()):
        if covered / total >= coverage:
            return coverage, rank
        covered += count
    return coverage, len(counts)
