"""What one call of a translator asks for each of its texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.glossary import TermRequirement
from tongsa.decoding.promises import TermConstraint
from tongsa.decoding.request import DecodeRequest


@dataclass(frozen=True, kw_only=True)
class TextRequests:
    nbest: int
    prefixes: Sequence[Sequence[int]]
    requirements: Sequence[tuple[TermRequirement, ...]]
    shared: DecodeRequest
    """For all of them."""

    def __bool__(self) -> bool:
        """Whether anything is asked for but the best."""
        return any(map(len, self.prefixes)) or any(self.requirements) or bool(self.shared)


def constraint_phrases(constraints: Sequence[TermConstraint]) -> list[tuple[int, ...]]:
    """Each run of pieces as often as the term that wants it most often."""
    times: dict[tuple[int, ...], int] = {}
    for promise in constraints:
        times[promise.tokens] = max(times.get(promise.tokens, 0), promise.times)
    return [pieces for pieces, count in times.items() for _ in range(count)]


def no_output_reason(config: DecodingConfig, requests: TextRequests, max_lengths: Mapping[int, int]) -> str:
    """Why a search may end without any output: its rules leave none, or nothing was a number."""
    if any(len(requests.prefixes[at]) > most for at, most in max_lengths.items()):
        return "prefix: longer than the translation of a text may be; shorten it, or raise beyond (--search beyond=200)"
    if config.min_tokens > (least := min(max_lengths.values())):
        return (
            f"at_least {config.min_tokens}: the translation of a text here has at most {least} pieces; lower it, or raise"
            " beyond (--search beyond=200)"
        )
    if config.no_repeat_ngram and (any(requests.requirements) or any(map(len, requests.prefixes))):
        return f"no output has what is asked for and keeps to no_repeat {config.no_repeat_ngram}: raise it, or leave it at 0"
    return "the model's scores are no numbers: train again with a lower training.lr.peak"
