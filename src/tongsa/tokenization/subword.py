"""Pieces of words (Sennrich et al. 2016; Kudo 2018), by sentencepiece (Kudo and Richardson 2018)."""

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

from tongsa import storage
from tongsa.config import In, Positive, check_ranges
from tongsa.data.corpus import CorpusError
from tongsa.data.normalize import SPACE_MARK, from_jamo, normalize, to_jamo
from tongsa.errors import InputError
from tongsa.tokenization.regularization import UnigramModel, bpe_dropout, build_lattice, sample_segmentation
from tongsa.tokenization.special import BOS, EOS, PAD, UNK

MAX_TRAINING_TEXTS = 1_000_000
"""Pieces are learnt from at most this many texts, drawn evenly from all of them."""
MAX_WORD_CHARACTERS = 1_000
"""Longer words (scripts without spaces have them) are learnt from in parts of this many characters."""
LARGE_ALPHABET_CHARACTERS = 3_000
"""With more distinct characters than this, the rarest 0.01 % of the text is left to bytes (or to UNK)."""
BYTE_TOKENS = 256

_RESERVED_SYMBOLS = re.compile("<pad>|<s>|</s>|<unk>|<0x[0-9A-F]{2}>|\u2585")  # the trainer skips or splits at these


ModelType = Literal["unigram", "bpe", "char", "word"]


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    model: ModelType = "unigram"
    """How text is cut: the likeliest pieces, merged pairs, characters, or whole words."""
    vocab_size: Positive = 8000
    """How many pieces at most; fewer when the text has no more to give."""
    shared: bool = True
    """Whether source and target use the same pieces."""
    jamo: bool = False
    """Whether Hangul syllables are taken apart first, so that 갔다 can share the piece 가 with 가다."""
    byte_fallback: bool = True
    """Whether a character without a piece is spelt in bytes; if not, and for kind word, it becomes UNK."""
    subword_regularization: Annotated[float, In(0, 1)] = 0.0
    """Random segmentation in training: alpha for unigram (lower is bolder), dropout for bpe; 0 is off."""
    target_model: ModelType | Literal["same"] = "same"
    """How the target is cut where that differs: spelling by char, phones by word. Needs shared = false."""
    reuse_from: str = ""
    """Folder of a run or model whose pieces are taken, target's for the target, instead of learning new ones."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.subword_regularization and self.model not in ("unigram", "bpe"):
            raise InputError(
                f"subword_regularization {self.subword_regularization}: model {self.model!r} has one segmentation only. "
                "Write 0."
            )
        if self.target_model != "same" and self.shared:
            raise InputError(f"target_model {self.target_model!r} needs a vocabulary of its own. Write shared = false.")

    @property
    def for_target(self) -> "TokenizerConfig":
        return self if self.target_model == "same" else replace(self, model=self.target_model, target_model="same")


class SubwordTokenizer:
    """Text to indices and back: `join(split(text)) == normalise(text)`, unless an index is UNK.

    UNK stands for one word (kind word) or a run of characters (no byte fallback) never seen; it joins as ⁇.
    """

    def __init__(self, model_bytes: bytes, jamo: bool = False) -> None:
        self.model_bytes = model_bytes
        self.jamo = jamo
        self._processor = SentencePieceProcessor()
        try:
            self._processor.load_from_serialized_proto(model_bytes)
        except RuntimeError:
            raise InputError("not a model of pieces, or a damaged one; copy it again") from None
        processor = self._processor
        marks = processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id()
        if marks != (PAD, BOS, EOS, UNK):
            raise InputError(f"pad, bos, eos, unk are {marks}, not 0 to 3; learn the pieces with tongsa")

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @classmethod
    def load(cls, path: Path, jamo: bool = False) -> Self:
        try:
            return cls(path.read_bytes(), jamo)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); name the file that `save` wrote") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        storage.write_bytes(path, self.model_bytes)

    def encode(self, text: str) -> list[int]:
        return self.encode_all([text])[0]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        prepared = [self._preprocess(text) for text in texts]
        if self.model_type == "word":  # sentencepiece would make one UNK of two unknown words
            return [[self._token_to_id.get(word, UNK) for word in _split_words(text)] for text in prepared]
        threads = min(os.cpu_count() or 1, 1 + len(prepared) // 1000)
        return list(self._processor.encode(prepared, num_threads=threads))

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]:
        """A drawn segmentation of each text; the same texts, alpha and seed always give the same one."""
        if alpha == 0 or self.model_type in ("char", "word"):
            return self.encode_all(texts)
        draw, generator = self._sample_word, Random(seed)
        return [
            [
                index
                for word in _split_words(self._preprocess(text))
                for index in self._subwords_to_tokens(draw(word, alpha, generator))
            ]
            for text in texts
        ]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of `indices`, normalised: one line, whatever bytes a model may have put together."""
        return normalize(self._processor.decode([index for index in map(int, tokens) if index > EOS]))

    def token_strings(self, tokens: Iterable[int]) -> list[str]:
        """How each piece is shown: ▁ marks the start of a word, jamo are put together where they can be."""
        return [self._token_string(int(index)) for index in tokens]

    @cached_property
    def _token_string(self) -> Callable[[int], str]:
        """Each piece is asked for again and again, in every sentence."""
        return cache(lambda index: from_jamo(self._processor.id_to_piece(index)))

    def _preprocess(self, text: str) -> str:
        return to_jamo(normalize(text)) if self.jamo else normalize(text)

    def _subwords_to_tokens(self, subwords: Sequence[str]) -> list[int]:
        indices: list[int] = []
        for part in subwords:
            if part in self._token_to_id:
                indices.append(self._token_to_id[part])
            elif self._byte_ids:
                indices.extend(self._byte_ids[byte] for byte in part.encode())
            elif not indices or indices[-1] != UNK:  # a run of unknown characters is one UNK, as in `split`
                indices.append(UNK)
        return indices

    @cached_property
    def _token_to_id(self) -> dict[str, int]:
        processor = self._processor
        return {
            processor.id_to_piece(index): index
            for index in range(UNK + 1, len(self))
            if not (processor.is_byte(index) or processor.is_control(index) or processor.is_unused(index))
        }

    @cached_property
    def _byte_ids(self) -> list[int]:
        """The index of each byte, or nothing for a model without byte fallback."""
        return [index for index in range(len(self)) if self._processor.is_byte(index)]

    @cached_property
    def model_type(self) -> ModelType:
        """A model does not tell its kind, only what it refuses."""
        processor = self._processor
        if _succeeds(lambda: processor.nbest_encode_as_ids("a", nbest_size=2)):
            return "unigram"
        if _succeeds(lambda: processor.sample_encode_as_ids("a", nbest_size=-1, alpha=0.5)):
            return "bpe"
        return "char" if SPACE_MARK in self._token_to_id else "word"

    @cached_property
    def _sample_word(self) -> Callable[[str, float, Random], list[str]]:
        """How a word is cut at random."""
        scores = {piece: self._processor.get_score(index) for piece, index in self._token_to_id.items()}
        if self.model_type == "bpe":
            return lambda word, alpha, generator: bpe_dropout(word, scores, alpha, generator)
        alphabet = UnigramModel.from_log_probs(scores)
        nodes = lru_cache(maxsize=2**16)(lambda word, alpha: build_lattice(word, alphabet, alpha))
        return lambda word, alpha, generator: sample_segmentation(word, nodes(word, alpha), generator)


def _split_words(text: str) -> list[str]:
    return [SPACE_MARK + word for word in text.split()]


def _succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except RuntimeError:
        return False
    return True


def train_tokenizer(texts: Iterable[str], config: TokenizerConfig) -> SubwordTokenizer:
    """The pieces of `texts`; the same texts give the same bytes."""
    words = _count_words(texts, config.jamo)
    if not words:
        raise CorpusError("no text to learn pieces from: every line is empty or was dropped; look at the ledger")
    spells_bytes = config.byte_fallback and config.model != "word"
    coverage, characters = (1.0, 1) if config.model == "word" else _character_coverage(words)
    smallest = UNK + 1 + spells_bytes * BYTE_TOKENS + characters
    if config.vocab_size < smallest:
        raise InputError(f"size = {config.vocab_size}: this text needs at least {smallest} pieces; write that or more")
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=_word_count_lines(words),
            input_format="tsv",
            model_writer=model,
            model_type=config.model,
            vocab_size=config.vocab_size,
            hard_vocab_limit=False,  # a small text gives fewer pieces instead of an error
            byte_fallback=spells_bytes,
            character_coverage=coverage,
            max_sentence_length=5 * MAX_WORD_CHARACTERS,  # in bytes, at most 4 per character, and the count
            normalization_rule_name="identity",  # `normalise` has done it
            remove_extra_whitespaces=False,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            num_threads=4,  # a constant: sums are made per thread, and their rounding is part of the model
            minloglevel=2,
        )
    except RuntimeError as error:
        raise InputError(f"sentencepiece cannot learn {config.model} pieces from this text: {error}") from None
    return SubwordTokenizer(model.getvalue(), config.jamo)


def _word_count_lines(word_counts: Mapping[str, int]) -> Iterator[str]:
    """Words with counts, where texts would do: the unigram trainer's time grows as the square of repetition."""
    # the rarest at the end: the trainer makes no seed of the last word
    for word in sorted(word_counts, key=lambda word: (-word_counts[word], word)):
        yield f"{word}\t{word_counts[word]}"


def _count_words(texts: Iterable[str], jamo: bool) -> Counter[str]:
    """How often each word occurs in an even sample of the texts (Vitter's algorithm R)."""
    generator, sample = Random(0), list[str]()
    for seen, text in enumerate(texts):
        if len(sample) < MAX_TRAINING_TEXTS:
            sample.append(text)
        elif (place := generator.randrange(seen + 1)) < MAX_TRAINING_TEXTS:
            sample[place] = text
    words: Counter[str] = Counter()
    for text in sample:
        plain = _RESERVED_SYMBOLS.sub(" ", normalize(text))
        for word in (to_jamo(plain) if jamo else plain).split():
            words.update(
                word[start : start + MAX_WORD_CHARACTERS] for start in range(0, len(word), MAX_WORD_CHARACTERS)
            )
    return words


def _character_coverage(word_counts: Mapping[str, int]) -> tuple[float, int]:
    """The share of the text whose characters become pieces, and how many characters that takes."""
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
