"""Glossary: terms of a source text that must be translated in a given way, or copied.

`Glossary.requirements` finds the terms that occur in a source. `find_phrase` finds their translations in an output.
Both follow the same two rules:

- Whole words. A Korean particle may follow a word, and scripts without spaces have no word boundaries.
- Case. A term matches as it is written; with a capital first letter at the beginning of a sentence; and in capitals
  in a text that has no small letters. So `Junge` (a boy) does not match `junge` (young).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple, Self

from tongsa.data.corpus import read_lines
from tongsa.data.file_format import is_binary
from tongsa.data.normalize import normalize
from tongsa.errors import InputError

UNSPACED_LETTERS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Letters of scripts without spaces between words, for regular expressions: Thai, Lao, Burmese, Khmer, kana, Han."""
HANGUL = r"\uac00-\ud7a3"
_PARTICLES = (
    "은 는 이 가 을 를 의 에 에서 에게 와 과 도 만 로 으로 들 나 이나 야 "
    "부터 까지 처럼 보다 마다 조차 밖에 뿐 께 께서 랑 이랑 라 란 적"
)
"""Korean particles, and the suffixes 들 (plural) and 적 (adjective)."""
_VERB_STEMS = "하 한 할 함 합 해 했 되 된 될 됨 됩 돼 됐 였 인 일 임 입 이"
"""Beginnings of the forms of 하다, 되다 and 이다, which make a verb or a predicate of a noun."""
KOREAN_WORD_END = rf"(?=(?:{'|'.join(_PARTICLES.split())})*(?![{HANGUL}])|(?:{'|'.join(_VERB_STEMS.split())}))"
"""After a Korean noun: the end of the word, particles, or a verb made of it. 예외사항 is not a word of 예외사항목."""
CONTINUES_WORD = rf"[^\W{HANGUL}{UNSPACED_LETTERS}]"
"""A character after which, and before which, a word of a script with spaces goes on."""

_SENTENCE_START = re.compile(r"(?:^|[.!?…:]['\"”’)\]]*\s|[。！？])[^\w]*$")
_INNER_SENTENCE_END = re.compile(r"(?:[.!?…]+['\"”’)\]]*(?=\s+\S)|[。！？]+[”’」』]*(?=\s*[^\s”’」』]))")

Span = tuple[int, int]


class Term(NamedTuple):
    """An entry of a glossary."""

    source: str
    target: str
    """Required translation; equal to the source if the term is to be copied."""

    @property
    def copied(self) -> bool:
        return self.source == self.target


class TermRequirement(NamedTuple):
    """A term that occurs in a source text, and the text that its translation must contain."""

    term: Term
    text: str
    """The target; for a copied term the text as it is in the source, in its own case."""
    spans: tuple[Span, ...]
    """Start and end of each occurrence in the source."""

    @property
    def times(self) -> int:
        """Required number of occurrences: a copy as often as in the source, a translation once."""
        return len(self.spans) if self.term.copied else 1


class TermResult(NamedTuple):
    """Result of one term in one output."""

    term: Term
    text: str
    expected: int
    """Required number of occurrences of the text."""
    occurrences: int
    """Number of occurrences as whole words, before the end of the sentence."""
    in_place: bool
    """All required occurrences stand where the model's own translation of the source term stood."""
    skipped_reason: str = ""
    """Why the term was not enforced, and what to do; empty if it was."""

    @property
    def satisfied(self) -> bool:
        return self.occurrences >= self.expected

    @property
    def record(self) -> dict[str, str | int | bool]:
        """The result for JSON."""
        return {
            "source": self.term.source,
            "target": self.term.target,
            "text": self.text,
            "expected": self.expected,
            "occurrences": self.occurrences,
            "satisfied": self.satisfied,
            "in_place": self.in_place,
            "skipped_reason": self.skipped_reason,
        }


@dataclass(frozen=True)
class Glossary:
    """Terms with their required translations."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], copies: Iterable[str] = ()) -> Self:
        """Make a glossary from pairs (source, target) and from texts to copy; an empty target also means copy."""
        terms = [(normalize(source), normalize(target)) for source, target in pairs]
        terms += [(normalize(text), normalize(text)) for text in copies]
        return cls(tuple(Term(source, target or source) for source, target in terms))

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read one term per line: source<TAB>target, or a text to copy; source,target in a file named *.csv.

        Lines that start with # are comments.
        """
        if Path(path).is_file() and is_binary(Path(path)):
            raise InputError(f"{path}: not a text file. Save the glossary as TSV or CSV in UTF-8.")
        lines = [(number, line) for number, line in enumerate(read_lines(path), start=1)]
        lines = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
        read_cells = _read_csv_cells if Path(path).suffix.lower() == ".csv" else _read_tsv_cells
        pairs: list[tuple[str, str]] = []
        for number, line in lines:
            cells = read_cells(f"{path}:{number}", line)
            if not pairs and [cell.lower() for cell in cells] == ["source", "target"]:
                continue  # a header
            if dict(pairs).get(cells[0], cells[-1]) != cells[-1]:
                raise InputError(f"{path}:{number}: {cells[0]!r} has two targets. Remove one of the lines.")
            pairs.append((cells[0], cells[-1]))
        if not pairs:
            raise InputError(f"{path}: no terms. Write source<TAB>target, one term per line.")
        return cls.from_pairs(pairs)

    def requirements(self, text: str) -> tuple[TermRequirement, ...]:
        """Return the requirements of the terms that occur in a text, in order.

        The longer of two overlapping terms counts. But a copied term inside a longer copied term is required too, as
        often as it occurs.
        """
        unmatched, untranslated = text, text  # matched terms are blanked out, so that no shorter term matches inside
        spans_of: dict[tuple[Term, str], list[Span]] = {}
        for term, pattern in self._patterns:
            spans = [*_find(pattern, term.source, unmatched, text)]
            if not spans:
                continue
            for start, end in _find(pattern, term.source, untranslated, text) if term.copied else spans:
                required = text[start:end] if text[start:end] != _capitalize(term.source) else term.source
                spans_of.setdefault((term, required if term.copied else term.target), []).append((start, end))
            unmatched = _blank(unmatched, spans)
            untranslated = untranslated if term.copied else _blank(untranslated, spans)
        requirements = [TermRequirement(*key, tuple(spans)) for key, spans in spans_of.items()]
        return tuple(sorted(requirements, key=lambda requirement: requirement.spans[0]))

    def read_source(self, text: str, *, replaces_terms: bool) -> tuple[str, tuple[TermRequirement, ...]]:
        """Return what the encoder reads of a text, and the requirements; `replaces_terms` puts the targets into it."""
        normalized = normalize(text)
        requirements = self.requirements(normalized)
        if not requirements:
            return text, ()
        return replace_terms(normalized, requirements) if replaces_terms else (normalized, requirements)

    @cached_property
    def _patterns(self) -> list[tuple[Term, re.Pattern[str]]]:
        """Longest term first; compiled once, since every sentence is searched for every term."""
        return [(term, _pattern(term.source)) for term in sorted(self.terms, key=lambda term: -len(term.source))]


def replace_terms(text: str, requirements: Sequence[TermRequirement]) -> tuple[str, tuple[TermRequirement, ...]]:
    """Return a source text with its terms replaced by their targets, and the requirements with their new spans."""
    replaced = sorted(
        (start, end, requirement.text)
        for requirement in requirements
        if not requirement.term.copied
        for start, end in requirement.spans
    )

    def new_position(position: int) -> int:
        return position + sum(len(target) - (end - start) for start, end, target in replaced if end <= position)

    parts, position = list[str](), 0
    for start, end, target in replaced:
        parts += [text[position:start], target]
        position = end
    moved_requirements = tuple(
        requirement._replace(spans=tuple((new_position(start), new_position(end)) for start, end in requirement.spans))
        for requirement in requirements
    )
    return "".join([*parts, text[position:]]), moved_requirements


def _read_csv_cells(location: str, line: str) -> list[str]:
    cells = [normalize(cell) for cell in next(csv.reader([line], skipinitialspace=True))]
    if len(cells) > 2 or not all(cells) or (len(cells) == 1 and ";" in cells[0]):
        raise InputError(
            f'{location}: not a term. Write source,target, or one text to copy; quote a text with a comma: "a, b",c'
        )
    return cells


def _read_tsv_cells(location: str, line: str) -> list[str]:
    cells = [normalize(cell) for cell in line.split("\t")]
    if len(cells) > 2 or not all(cells):
        raise InputError(
            f"{location}: not a term. Write source<TAB>target, or one text to copy; no empty and no third column."
        )
    if len(cells) == 1 and "," in cells[0]:
        raise InputError(
            f"{location}: a comma and no tab. Write source<TAB>target, or name the file *.csv if commas separate its "
            "columns. To copy a text with a comma, write it twice: text<TAB>text."
        )
    return cells


def _blank(text: str, spans: Iterable[Span]) -> str:
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    """Match whole words in any case; a Korean particle may follow any word, and some scripts have no spaces."""
    before = "" if re.match(rf"[{UNSPACED_LETTERS}\W]", phrase) else r"(?<!\w)"
    after = rf"(?![^\W{HANGUL}])"  # GitHub에서
    if re.search(rf"[{HANGUL}]$", phrase):
        after = KOREAN_WORD_END
    elif re.search(rf"[{UNSPACED_LETTERS}\W]$", phrase):
        after = ""
    return re.compile(before + re.escape(phrase) + after, re.IGNORECASE)


def _capitalize(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


def _find(pattern: re.Pattern[str], phrase: str, text: str, whole_text: str) -> Iterator[Span]:
    """Yield the spans of a phrase; `text` is `whole_text` with some parts blanked out."""
    for match in pattern.finditer(text):
        if (
            match[0] == phrase
            or (match[0] == _capitalize(phrase) and _SENTENCE_START.search(whole_text[: match.start()]))
            or (match[0] == phrase.upper() and not any(map(str.islower, whole_text)))
        ):
            yield match.span()


def find_phrase(text: str, phrase: str) -> list[Span]:
    """Return start and end of each occurrence of a phrase as whole words."""
    return [*_find(_pattern(phrase), phrase, text, text)]


def count_inner_sentence_ends(text: str) -> int:
    """Return the number of sentence ends that are followed by more text."""
    return len(_INNER_SENTENCE_END.findall(text))


def text_before_end(text: str, inner_ends: int) -> str:
    """Return the text up to its end: a sentence end after `inner_ends` others."""
    ends = [match.end() for match in _INNER_SENTENCE_END.finditer(text)]
    return text[: ends[inner_ends]] if len(ends) > inner_ends else text


def has_text_after_end(text: str, source: str) -> bool:
    """Return True if a translation goes on after the end of the sentence: it has more sentence ends than its source."""
    return count_inner_sentence_ends(text) > count_inner_sentence_ends(source)
