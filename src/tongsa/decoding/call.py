"""What one call of a translator asks for each of its texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tongsa.decoding.promises import Promise
from tongsa.decoding.request import Request
from tongsa.decoding.search import SearchConfig
from tongsa.decoding.terminology import Wanted


@dataclass(frozen=True, kw_only=True)
class Call:
    nbest: int
    prefixes: Sequence[Sequence[int]]
    terms: Sequence[tuple[Wanted, ...]]
    request: Request
    """For all of them."""

    def __bool__(self) -> bool:
        """Whether anything is asked for but the best."""
        return any(map(len, self.prefixes)) or any(self.terms) or bool(self.request)


def phrases(promises: Sequence[Promise]) -> list[tuple[int, ...]]:
    """Each run of pieces as often as the term that wants it most often."""
    times: dict[tuple[int, ...], int] = {}
    for promise in promises:
        times[promise.pieces] = max(times.get(promise.pieces, 0), promise.times)
    return [pieces for pieces, count in times.items() for _ in range(count)]


def nothing_found(config: SearchConfig, asked: Call, room: Mapping[int, int]) -> str:
    """Why a search may end without any output: its rules leave none, or nothing was a number."""
    if any(len(asked.prefixes[at]) > most for at, most in room.items()):
        return "prefix: longer than the translation of a text may be; shorten it, or raise beyond (--search beyond=200)"
    if config.at_least > (least := min(room.values())):
        return (
            f"at_least {config.at_least}: the translation of a text here has at most {least} pieces; lower it, or raise"
            " beyond (--search beyond=200)"
        )
    if config.no_repeat and (any(asked.terms) or any(map(len, asked.prefixes))):
        return f"no output has what is asked for and keeps to no_repeat {config.no_repeat}: raise it, or leave it at 0"
    return "the model's scores are no numbers: train again with a lower training.rate.peak"
