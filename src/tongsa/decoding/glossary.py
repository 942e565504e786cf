"""Words that must be translated in a given way, or not at all."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from tongsa.data.corpus import read_lines
from tongsa.data.normalize import normalize
from tongsa.errors import InputError

UNSPACED_SCRIPTS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts whose words stand side by side: Thai, Lao, Burmese, Khmer, kana, Han."""
HANGUL = r"\uac00-\ud7a3"


class Term(NamedTuple):
    source: str
    target: str
    """How it is to appear; the same as source where it is to be copied."""

    @property
    def copied(self) -> bool:
        return self.source == self.target


class TermRequirement(NamedTuple):
    """What a term asks of the output of one text."""

    term: Term
    text: str
    """What is to appear: its target, or, of a term that is copied, what stands in the source, in its own case."""
    times: int
    """How often: a copy as often as in the source, a translation once."""


class TermResult(NamedTuple):
    """What became of a term in one output."""

    term: Term
    text: str
    expected: int
    occurrences: int
    """How often the text was to appear, and how often it does."""
    skipped_reason: str = ""
    """Why the search was not asked for all of it, and what to do; empty if it was."""

    @property
    def satisfied(self) -> bool:
        return self.occurrences >= self.expected

    @property
    def record(self) -> dict[str, str | int]:
        """For JSON, but for whether it is there."""
        found: dict[str, str | int] = {**self.term._asdict(), "text": self.text}
        found |= {"wanted": self.expected, "found": self.occurrences}
        return found | ({"given_up": self.skipped_reason} if self.skipped_reason else {})


@dataclass(frozen=True)
class Glossary:
    terms: tuple[Term, ...] = ()

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], copies: Iterable[str] = ()) -> Self:
        """From pairs (source, target), and from what is to be copied as it stands: so is what has no target."""
        both = [*pairs, *((text, text) for text in copies)]
        pairs = [(normalize(source), normalize(target)) for source, target in both]
        return cls(tuple(Term(source, target or source) for source, target in pairs))

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """One a line: source<TAB>target, or a text alone that is to be copied. Lines that begin with # are comments."""
        found = []
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [normalize(cell) for cell in line.split("\t")]
            if len(cells) > 2 or not cells[0]:
                raise InputError(f"{path}:{number}: not source<TAB>target, and not one text to copy")
            found.append((cells[0], cells[-1]))  # an empty cell is no target
        return cls.from_pairs(found)

    def requirements(self, text: str) -> tuple[TermRequirement, ...]:
        """What the terms that a text holds ask for, in its order; of two that overlap the longer one counts.

        A copy that lies in a longer one comes with that one: it is wanted as often as both have it.
        """
        free, untranslated, found = text, text, {}
        for term, pattern in self._patterns:
            if first := pattern.search(free):
                copies = Counter(match[0] for match in pattern.finditer(untranslated))
                found[first.start()] = [TermRequirement(term, *each) for each in copies.items()]
                if not term.copied:
                    found[first.start()] = [TermRequirement(term, term.target, 1)]
                    untranslated = pattern.sub(_blank, untranslated)
                free = pattern.sub(_blank, free)
        return tuple(dict.fromkeys(one for at in sorted(found) for one in found[at]))

    @cached_property
    def _patterns(self) -> list[tuple[Term, re.Pattern[str]]]:
        """The longest first; made once, for a glossary is asked about every sentence."""
        return [(term, _pattern(term.source)) for term in sorted(self.terms, key=lambda term: -len(term.source))]


def _blank(match: re.Match[str]) -> str:
    return "\0" * len(match[0])


def _pattern(term: str) -> re.Pattern[str]:
    """Whole words in any case; a Korean particle may follow any word, and some scripts have no spaces at all."""
    before = "" if re.match(rf"[{UNSPACED_SCRIPTS}\W]", term) else r"(?<!\w)"
    after = "" if re.search(rf"[{UNSPACED_SCRIPTS}{HANGUL}\W]$", term) else rf"(?![^\W{HANGUL}])"  # GitHub에서
    return re.compile(before + re.escape(term) + after, re.IGNORECASE)
