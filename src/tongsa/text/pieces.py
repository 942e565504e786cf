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
from typing import Literal, Self

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from tongsa import files
from tongsa.errors import InputError
from tongsa.text.corpus import CorpusError
from tongsa.text.normalise import SPACE_MARK, from_jamo, normalise, to_jamo
from tongsa.text.sampling import Alphabet, lattice, merge, walk

PAD, BOS, EOS, UNK = range(4)

SAMPLE = 1_000_000
"""Pieces are learnt from at most this many texts, drawn evenly from all of them."""
LONGEST = 1_000
"""Longer words (scripts without spaces have them) are learnt from in parts of this many characters."""
LARGE_ALPHABET = 3_000
"""With more distinct characters than this, the rarest 0.01 % of the text is left to bytes (or to UNK)."""
BYTES = 256

_RESERVED = re.compile("<pad>|<s>|</s>|<unk>|<0x[0-9A-F]{2}>|\u2585")  # the trainer skips or splits at these


Kind = Literal["unigram", "bpe", "char", "word"]


@dataclass(frozen=True, kw_only=True)
class PiecesConfig:
    kind: Kind = "unigram"
    """How text is cut: the likeliest pieces, merged pairs, characters, or whole words."""
    size: int = 8000
    """How many pieces at most; fewer when the text has no more to give."""
    shared: bool = True
    """Whether source and target use the same pieces."""
    jamo: bool = False
    """Whether Hangul syllables are taken apart first, so that 갔다 can share the piece 가 with 가다."""
    byte_fallback: bool = True
    """Whether a character without a piece is spelt in bytes; if not, and for kind word, it becomes UNK."""
    sampling: float = 0.0
    """Random segmentation in training: alpha for unigram (lower is bolder), dropout for bpe; 0 is off."""
    target_kind: Kind | Literal["same"] = "same"
    """How the target is cut where that differs: spelling by char, phones by word. Needs shared = false."""
    reuse: str = ""
    """Folder of a run or model whose pieces are taken, target's for the target, instead of learning new ones."""

    def __post_init__(self) -> None:
        if not 0 <= self.sampling <= 1:
            raise InputError(f"sampling = {self.sampling}: write a number from 0 (off) to 1")
        if self.sampling and self.kind not in ("unigram", "bpe"):
            raise InputError(f"sampling = {self.sampling}: kind {self.kind!r} cuts a text in one way only; write 0")
        if self.target_kind != "same" and self.shared:
            raise InputError(
                f"target_kind = {self.target_kind!r}: two kinds are two vocabularies; write shared = false"
            )

    @property
    def for_target(self) -> "PiecesConfig":
        return self if self.target_kind == "same" else replace(self, kind=self.target_kind, target_kind="same")


class Pieces:
    """Text to indices and back: `join(split(text)) == normalise(text)`, unless an index is UNK.

    UNK stands for one word (kind word) or a run of characters (no byte fallback) never seen; it joins as ⁇.
    """

    def __init__(self, model: bytes, jamo: bool = False) -> None:
        self.model = model
        self.jamo = jamo
        self._processor = SentencePieceProcessor()
        try:
            self._processor.load_from_serialized_proto(model)
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
        files.write_bytes(path, self.model)

    def split(self, text: str) -> list[int]:
        return self.split_all([text])[0]

    def split_all(self, texts: Iterable[str]) -> list[list[int]]:
        prepared = [self._prepared(text) for text in texts]
        if self.kind == "word":  # sentencepiece would make one UNK of two unknown words
            return [[self._indices.get(word, UNK) for word in _words(text)] for text in prepared]
        threads = min(os.cpu_count() or 1, 1 + len(prepared) // 1000)
        return list(self._processor.encode(prepared, num_threads=threads))

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]:
        """A drawn segmentation of each text; the same texts, alpha and seed always give the same one."""
        if alpha == 0 or self.kind in ("char", "word"):
            return self.split_all(texts)
        draw, generator = self._draw, Random(seed)
        return [
            [index for word in _words(self._prepared(text)) for index in self._spelt(draw(word, alpha, generator))]
            for text in texts
        ]

    def join(self, indices: Iterable[int]) -> str:
        """The text of `indices`, normalised: one line, whatever bytes a model may have put together."""
        return normalise(self._processor.decode([index for index in map(int, indices) if index > EOS]))

    def names(self, indices: Iterable[int]) -> list[str]:
        """How each piece is shown: ▁ marks the start of a word, jamo are put together where they can be."""
        return [self._shown(int(index)) for index in indices]

    @cached_property
    def _shown(self) -> Callable[[int], str]:
        """Each piece is asked for again and again, in every sentence."""
        return cache(lambda index: from_jamo(self._processor.id_to_piece(index)))

    def _prepared(self, text: str) -> str:
        return to_jamo(normalise(text)) if self.jamo else normalise(text)

    def _spelt(self, parts: Sequence[str]) -> list[int]:
        indices: list[int] = []
        for part in parts:
            if part in self._indices:
                indices.append(self._indices[part])
            elif self._bytes:
                indices.extend(self._bytes[byte] for byte in part.encode())
            elif not indices or indices[-1] != UNK:  # a run of unknown characters is one UNK, as in `split`
                indices.append(UNK)
        return indices

    @cached_property
    def _indices(self) -> dict[str, int]:
        processor = self._processor
        return {
            processor.id_to_piece(index): index
            for index in range(UNK + 1, len(self))
            if not (processor.is_byte(index) or processor.is_control(index) or processor.is_unused(index))
        }

    @cached_property
    def _bytes(self) -> list[int]:
        """The index of each byte, or nothing for a model without byte fallback."""
        return [index for index in range(len(self)) if self._processor.is_byte(index)]

    @cached_property
    def kind(self) -> Kind:
        """A model does not tell its kind, only what it refuses."""
        processor = self._processor
        if _works(lambda: processor.nbest_encode_as_ids("a", nbest_size=2)):
            return "unigram"
        if _works(lambda: processor.sample_encode_as_ids("a", nbest_size=-1, alpha=0.5)):
            return "bpe"
        return "char" if SPACE_MARK in self._indices else "word"

    @cached_property
    def _draw(self) -> Callable[[str, float, Random], list[str]]:
        """How a word is cut at random."""
        scores = {piece: self._processor.get_score(index) for piece, index in self._indices.items()}
        if self.kind == "bpe":
            return lambda word, alpha, generator: merge(word, scores, alpha, generator)
        alphabet = Alphabet.of(scores)
        nodes = lru_cache(maxsize=2**16)(lambda word, alpha: lattice(word, alphabet, alpha))
        return lambda word, alpha, generator: walk(word, nodes(word, alpha), generator)


def _words(text: str) -> list[str]:
    return [SPACE_MARK + word for word in text.split()]


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except RuntimeError:
        return False
    return True


def learn(texts: Iterable[str], config: PiecesConfig) -> Pieces:
    """The pieces of `texts`; the same texts give the same bytes."""
    words = _counted(texts, config.jamo)
    if not words:
        raise CorpusError("no text to learn pieces from: every line is empty or was dropped; look at the ledger")
    spells_bytes = config.byte_fallback and config.kind != "word"
    coverage, characters = (1.0, 1) if config.kind == "word" else _coverage(words)
    smallest = UNK + 1 + spells_bytes * BYTES + characters
    if config.size < smallest:
        raise InputError(f"size = {config.size}: this text needs at least {smallest} pieces; write that or more")
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=_rows(words),
            input_format="tsv",
            model_writer=model,
            model_type=config.kind,
            vocab_size=config.size,
            hard_vocab_limit=False,  # a small text gives fewer pieces instead of an error
            byte_fallback=spells_bytes,
            character_coverage=coverage,
            max_sentence_length=5 * LONGEST,  # in bytes, at most 4 per character, and the count
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
        raise InputError(f"sentencepiece cannot learn {config.kind} pieces from this text: {error}") from None
    return Pieces(model.getvalue(), config.jamo)


def _rows(words: Mapping[str, int]) -> Iterator[str]:
    """Words with counts, where texts would do: the unigram trainer's time grows as the square of repetition."""
    # the rarest at the end: the trainer makes no seed of the last word
    for word in sorted(words, key=lambda word: (-words[word], word)):
        yield f"{word}\t{words[word]}"


def _counted(texts: Iterable[str], jamo: bool) -> Counter[str]:
    """How often each word occurs in an even sample of the texts (Vitter's algorithm R)."""
    generator, sample = Random(0), list[str]()
    for seen, text in enumerate(texts):
        if len(sample) < SAMPLE:
            sample.append(text)
        elif (place := generator.randrange(seen + 1)) < SAMPLE:
            sample[place] = text
    words: Counter[str] = Counter()
    for text in sample:
        plain = _RESERVED.sub(" ", normalise(text))
        for word in (to_jamo(plain) if jamo else plain).split():
            words.update(word[start : start + LONGEST] for start in range(0, len(word), LONGEST))
    return words


def _coverage(words: Mapping[str, int]) -> tuple[float, int]:
    """The share of the text whose characters become pieces, and how many characters that takes."""
    counts = Counter({SPACE_MARK: sum(words.values())})
    for word, count in words.items():
        for character in word:
            counts[character] += count
    if len(counts) <= LARGE_ALPHABET:
        return 1.0, len(counts)
    coverage, total, covered = 0.9999, counts.total(), 0
    for rank, (_, count) in enumerate(counts.most_common()):
        if covered / total >= coverage:
            return coverage, rank
        covered += count
    return coverage, len(counts)
