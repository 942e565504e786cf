"""Glossary terms as phrases of the search: which of them fit into an output, and a reason for the others."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tongsa.decoding.constraints import MAX_PHRASES_PER_OUTPUT, satisfiable_phrases
from tongsa.decoding.glossary import TermRequirement
from tongsa.tokenization.special import UNK


class TermConstraint(NamedTuple):
    """The part of a requirement that the search enforces."""

    requirement: TermRequirement
    tokens: tuple[int, ...]
    times: int
    """Enforced number of occurrences; fewer than required if there is no room for all."""
    skipped_reason: str = ""


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
