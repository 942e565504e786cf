"""A source text with glossary terms, its translation so far, and the results of the terms."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.glossary import (
    Span,
    TermRequirement,
    TermResult,
    count_inner_sentence_ends,
    find_phrase,
    text_before_end,
)


@dataclass
class TermOccurrence:
    """One occurrence of a term in a source."""

    requirement: TermRequirement
    span: Span
    done: bool = False
    """The term was placed, or left out."""
    in_place: bool = False
    reason: str = ""
    """Why the term was left out, and what to do."""


@dataclass
class TermSentence:
    """A source text with terms, and its translation so far."""

    source: str
    source_tokens: Sequence[int]
    max_length: int
    """Largest number of tokens of the output."""
    requirements: tuple[TermRequirement, ...]
    hypotheses: list[Hypothesis]
    """N-best list of the search without the terms; afterwards the n-best list with them."""
    prefix: str = ""
    """Beginning of the output that does not change any more: a forced prefix, later the text up to the last term."""
    changed: bool = False
    """The output is not the one of the search without the terms."""
    placed: list[Span] = field(default_factory=list)
    """Start and end of each term in the output."""
    occurrences: list[TermOccurrence] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """For the text of each term that cannot be enforced: the reason."""

    @property
    def pending(self) -> list[TermOccurrence]:
        return [occurrence for occurrence in self.occurrences if not occurrence.done]

    def add_term(self, occurrence: TermOccurrence, span: Span, text: str) -> None:
        """Fix the output up to the end of a term."""
        occurrence.in_place, self.prefix = True, text[: span[1]]
        self.placed.append(span)

    def skip_all(self, reason: str) -> None:
        """Give a reason why no term is enforced."""
        self.skipped = {requirement.text: reason for requirement in self.requirements}

    def results(self, text: str) -> tuple[TermResult, ...]:
        """Return the result of each term in an output."""
        counted = text_before_end(text, count_inner_sentence_ends(self.source))
        return tuple(self._result(requirement, counted) for requirement in self.requirements)

    def _result(self, requirement: TermRequirement, text: str) -> TermResult:
        ours = [occurrence for occurrence in self.occurrences if occurrence.requirement is requirement]
        count = len(find_phrase(text, requirement.text))
        in_place = sum(occurrence.in_place for occurrence in ours) >= requirement.times <= count
        reasons = [self.skipped.get(requirement.text, ""), *(occurrence.reason for occurrence in ours)]
        reasons.append("the translation has it less often. Edit the translation.")
        reason = next(filter(None, reasons)) if count < requirement.times else ""
        return TermResult(requirement.term, requirement.text, requirement.times, count, in_place, reason)
