"""Glossary: terms of a source text that must be translated in a given way, or copied.

`Glossary.requirements` finds the terms that occur in a source. `term_constraints` decides which of them the search can
enforce, and gives a reason for the others. The search enforces them as phrases of tokens (constraints.py).
`TermConstraint.check` reports which terms the output contains.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from tongsa.data.corpus import read_lines
from tongsa.data.normalize import normalize
from tongsa.decoding.constraints import MAX_PHRASES_PER_OUTPUT, satisfiable_phrases
from tongsa.errors import InputError
from tongsa.tokenization.special import UNK

UNSPACED_SCRIPTS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
HANGUL = r"\uac00-\ud7a3"


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
    times: int
    """Required number of occurrences: a copy as often as in the source, a translation once."""


class TermResult(NamedTuple):
    """Result of one term in one output."""

    term: Term
    text: str
    expected: int
    """Required number of occurrences of the text."""
    occurrences: int
    """Actual number of occurrences."""
    skipped_reason: str = ""
    """Why the search did not enforce all occurrences, and what to do; empty if it did."""

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
        """Read one term per line: source<TAB>target, or a text to copy. Lines that start with # are comments."""
        pairs = []
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [normalize(cell) for cell in line.split("\t")]
            if len(cells) > 2 or not cells[0]:
                raise InputError(f"{path}:{number}: not a term. Write source<TAB>target, or one text to copy.")
            pairs.append((cells[0], cells[-1]))
        return cls.from_pairs(pairs)

    def requirements(self, text: str) -> tuple[TermRequirement, ...]:
        """Return the requirements of the terms that occur in a text, in order.

        The longer of two overlapping terms counts. But a copied term inside a longer copied term is required too, as
        often as it occurs.
        """
        unmatched, untranslated = text, text  # matched terms are blanked out, so that no shorter term matches inside
        by_start: dict[int, list[TermRequirement]] = {}
        for term, pattern in self._patterns:
            if match := pattern.search(unmatched):
                copies = Counter(match[0] for match in pattern.finditer(untranslated))
                by_start[match.start()] = [TermRequirement(term, *counted) for counted in copies.items()]
                if not term.copied:
                    by_start[match.start()] = [TermRequirement(term, term.target, 1)]
                    untranslated = pattern.sub(_blank, untranslated)
                unmatched = pattern.sub(_blank, unmatched)
        return tuple(dict.fromkeys(requirement for start in sorted(by_start) for requirement in by_start[start]))

    @cached_property
    def _patterns(self) -> list[tuple[Term, re.Pattern[str]]]:
        """Longest term first; compiled once, since every sentence is searched for every term."""
        return [(term, _pattern(term.source)) for term in sorted(self.terms, key=lambda term: -len(term.source))]


def _blank(match: re.Match[str]) -> str:
    return "\0" * len(match[0])


def _pattern(term: str) -> re.Pattern[str]:
    """Match whole words in any case; a Korean particle may follow any word, and some scripts have no spaces."""
    before = "" if re.match(rf"[{UNSPACED_SCRIPTS}\W]", term) else r"(?<!\w)"
    after = "" if re.search(rf"[{UNSPACED_SCRIPTS}{HANGUL}\W]$", term) else rf"(?![^\W{HANGUL}])"  # GitHub에서
    return re.compile(before + re.escape(term) + after, re.IGNORECASE)


class TermConstraint(NamedTuple):
    """The part of a requirement that the search enforces."""

    requirement: TermRequirement
    tokens: tuple[int, ...]
    times: int
    """Enforced number of occurrences; fewer than required if there is no room for all."""
    skipped_reason: str = ""

    def check(self, text: str) -> TermResult:
        """Compare an output with the requirement."""
        return TermResult(*self.requirement, text.count(self.requirement.text), self.skipped_reason)


class OutputLimits(NamedTuple):
    """Limits on the terms that an output can contain."""

    prefix: Sequence[int]
    """Tokens of the forced prefix."""
    max_length: int
    """Largest number of tokens of the output."""
    no_repeat_ngram: int = 0

    def __str__(self) -> str:
        others, shorten = ("the prefix and ", "Shorten the prefix, or raise") if len(self.prefix) else ("", "Raise")
        return (
            f"room next to {others}the other terms in {self.max_length} tokens. "
            f"{shorten} max_extra_tokens (--set decoding.max_extra_tokens=200)."
        )


def term_constraints(
    requirements: Sequence[TermRequirement], tokens: Sequence[Sequence[int]], limits: OutputLimits
) -> list[TermConstraint]:
    """Return the enforceable part of each requirement in one output; `tokens` are the tokens of their texts."""
    token_runs = [tuple(run) for run in tokens]
    max_counts: dict[tuple[int, ...], int] = {}
    for requirement, run in zip(requirements, token_runs, strict=True):
        max_counts[run] = max(max_counts.get(run, 0), _max_count(requirement, run, limits))
    phrases = [run for run, times in max_counts.items() for _ in range(times)]
    kept = Counter(phrases[i] for i in satisfiable_phrases(phrases, limits.prefix, limits.max_length))
    phrase_limit_reached = len(phrases) > MAX_PHRASES_PER_OUTPUT == kept.total()
    constraints = []
    for requirement, run in zip(requirements, token_runs, strict=True):
        possible = _max_count(requirement, run, limits)
        times, reason, share = min(possible, kept[run]), "", f"{min(possible, kept[run])} of {requirement.times}"
        if not possible:
            reason = "the tokenizer cannot encode it. Change its spelling."
        elif times < possible and phrase_limit_reached:
            reason = (
                f"{share}: at most {MAX_PHRASES_PER_OUTPUT} terms are enforced in an output. "
                "Split the sentence, or shorten the glossary."
            )
        elif times < possible:
            reason = f"{share}: no more {limits}" if times else f"no {limits}"
        elif times < requirement.times:
            reason = f"{share}: no_repeat_ngram {limits.no_repeat_ngram} forbids more. Raise it, or set it to 0."
        constraints.append(TermConstraint(requirement, run, times, reason))
    return constraints


def _max_count(requirement: TermRequirement, tokens: Sequence[int], limits: OutputLimits) -> int:
    """Return how often an output of unlimited length could contain the term."""
    if not tokens or UNK in tokens:
        return 0
    return 1 if 0 < limits.no_repeat_ngram <= len(tokens) else requirement.times


def constraint_phrases(constraints: Sequence[TermConstraint]) -> tuple[tuple[int, ...], ...]:
    """Return the phrases to enforce; terms with the same tokens share their occurrences."""
    times: dict[tuple[int, ...], int] = {}
    for constraint in constraints:
        times[constraint.tokens] = max(times.get(constraint.tokens, 0), constraint.times)
    return tuple(tokens for tokens, count in times.items() for _ in range(count))
