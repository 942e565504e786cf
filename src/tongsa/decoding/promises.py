"""What the search for one output is asked for of its terms, and why not for more."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tongsa.decoding.constraints import MAX_PHRASES_PER_OUTPUT, satisfiable_phrases
from tongsa.decoding.glossary import TermRequirement, TermResult
from tongsa.tokenization.special import UNK


class TermConstraint(NamedTuple):
    """What the search for one output is asked for of a term."""

    requirement: TermRequirement
    tokens: tuple[int, ...]
    times: int
    """How often it is asked for: where there is no room for all, fewer times than it is wanted."""
    skipped_reason: str = ""

    def check(self, text: str) -> TermResult:
        """What has become of it in an output."""
        return TermResult(*self.requirement, text.count(self.requirement.text), self.skipped_reason)


class OutputLimits(NamedTuple):
    """What else decides how much of its terms an output can hold."""

    prefix: Sequence[int]
    """The pieces that it begins with."""
    max_length: int
    """The most pieces that it may have."""
    no_repeat_ngram: int = 0

    def __str__(self) -> str:
        others, shorten = ("the prefix and ", "shorten the prefix, or ") if len(self.prefix) else ("", "")
        return f"room beside {others}the other terms in {self.max_length} pieces; {shorten}raise beyond (--search beyond=200)"


def term_constraints(
    requirements: Sequence[TermRequirement], tokens: Sequence[Sequence[int]], limits: OutputLimits
) -> list[TermConstraint]:
    """What can be asked for in one output of what is wanted there; `pieces` are its texts as the model writes them."""
    most: dict[tuple[int, ...], int] = {}
    for one, run in zip(requirements, map(tuple, tokens), strict=True):
        most[run] = max(most.get(run, 0), _max_count(one, run, limits))
    runs = [run for run, times in most.items() for _ in range(times)]
    kept = Counter(runs[at] for at in satisfiable_phrases(runs, limits.prefix, limits.max_length))
    found = []
    for one, run in zip(requirements, map(tuple, tokens), strict=True):
        possible = _max_count(one, run, limits)
        times, why = min(possible, kept[run]), ""
        if not possible:
            why = "the model's pieces cannot write it; write it otherwise"
        elif times < possible and len(runs) > MAX_PHRASES_PER_OUTPUT == kept.total():
            why = f"{times} of {one.times}: an output is held to {MAX_PHRASES_PER_OUTPUT} terms; cut the sentence, or the glossary"
        elif times < possible:
            why = f"no {limits}" if not times else f"{times} of {one.times}: no more {limits}"
        elif times < one.times:
            why = f"{times} of {one.times}: no_repeat {limits.no_repeat_ngram} forbids more; raise it, or leave it at 0"
        found.append(TermConstraint(one, run, times, why))
    return found


def _max_count(requirement: TermRequirement, tokens: Sequence[int], limits: OutputLimits) -> int:
    """How often an output could hold it if it were as long as one likes."""
    if not tokens or UNK in tokens:
        return 0
    return 1 if 0 < limits.no_repeat_ngram <= len(tokens) else requirement.times
