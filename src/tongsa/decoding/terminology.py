"""Words that must be translated in a given way, or not at all."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from tongsa.errors import InputError
from tongsa.text import normalise, read_lines

WITHOUT_SPACES = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts whose words stand side by side: Thai, Lao, Burmese, Khmer, kana, Han."""
HANGUL = r"\uac00-\ud7a3"


class Term(NamedTuple):
    source: str
    target: str
    """How it is to appear; the same as source where it is to be copied."""


class Outcome(NamedTuple):
    """What became of a term in one output."""

    term: Term
    there: bool


@dataclass(frozen=True)
class Glossary:
    terms: tuple[Term, ...] = ()

    @classmethod
    def of(cls, terms: Iterable[tuple[str, str]], copied: Iterable[str] = ()) -> Self:
        """From pairs (source, target), and from what is to be copied as it stands."""
        both = [*terms, *((text, text) for text in copied)]
        return cls(tuple(Term(normalise(source), normalise(target)) for source, target in both))

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """One a line: source<TAB>target, or a text alone that is to be copied. Lines that begin with # are comments."""
        found = []
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [normalise(cell) for cell in line.split("\t")]
            if len(cells) > 2 or not all(cells):
                raise InputError(f"{path}:{number}: not source<TAB>target, and not one text to copy")
            found.append((cells[0], cells[-1]))
        return cls.of(found)

    def wanted(self, text: str) -> tuple[Term, ...]:
        """The terms that a text holds, in its order; of two that overlap the longer one counts."""
        free, found = text, {}
        for term, pattern in self._patterns:
            if first := pattern.search(free):
                found[first.start()] = term
                free = pattern.sub(lambda match: "\0" * len(match[0]), free)
        return tuple(dict.fromkeys(found[at] for at in sorted(found)))

    @cached_property
    def _patterns(self) -> list[tuple[Term, re.Pattern[str]]]:
        """The longest first; made once, for a glossary is asked about every sentence."""
        return [(term, _pattern(term.source)) for term in sorted(self.terms, key=lambda term: -len(term.source))]


def _pattern(term: str) -> re.Pattern[str]:
    """Whole words in any case; a Korean particle may follow any word, and some scripts have no spaces at all."""
    before = "" if re.match(rf"[{WITHOUT_SPACES}\W]", term) else r"(?<!\w)"
    after = "" if re.search(rf"[{WITHOUT_SPACES}{HANGUL}\W]$", term) else rf"(?![^\W{HANGUL}])"  # GitHub에서
    return re.compile(before + re.escape(term) + after, re.IGNORECASE)
