"""What the search for one output is asked for of its terms, and why not for more."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tongsa.decoding.constraints import MOST, fitting
from tongsa.decoding.terminology import Outcome, Wanted
from tongsa.text import UNK


class Promise(NamedTuple):
    """What the search for one output is asked for of a term."""

    wanted: Wanted
    pieces: tuple[int, ...]
    times: int
    """How often it is asked for: where there is no room for all, fewer times than it is wanted."""
    given_up: str = ""

    def kept(self, text: str) -> Outcome:
        """What has become of it in an output."""
        return Outcome(*self.wanted, text.count(self.wanted.text), self.given_up)


class Room(NamedTuple):
    """What else decides how much of its terms an output can hold."""

    begun: Sequence[int]
    """The pieces that it begins with."""
    limit: int
    """The most pieces that it may have."""
    no_repeat: int = 0

    def __str__(self) -> str:
        others, shorten = ("the prefix and ", "shorten the prefix, or ") if len(self.begun) else ("", "")
        return (
            f"room beside {others}the other terms in {self.limit} pieces; {shorten}raise beyond (--search beyond=200)"
        )


def promised(wanted: Sequence[Wanted], pieces: Sequence[Sequence[int]], room: Room) -> list[Promise]:
    """What can be asked for in one output of what is wanted there; `pieces` are its texts as the model writes them."""
    most: dict[tuple[int, ...], int] = {}
    for one, run in zip(wanted, map(tuple, pieces), strict=True):
        most[run] = max(most.get(run, 0), _possible(one, run, room))
    runs = [run for run, times in most.items() for _ in range(times)]
    kept = Counter(runs[at] for at in fitting(runs, room.begun, room.limit))
    found = []
    for one, run in zip(wanted, map(tuple, pieces), strict=True):
        possible = _possible(one, run, room)
        times, why = min(possible, kept[run]), ""
        if not possible:
            why = "the model's pieces cannot write it; write it otherwise"
        elif times < possible and len(runs) > MOST == kept.total():
            why = f"{times} of {one.times}: an output is held to {MOST} terms; cut the sentence, or the glossary"
        elif times < possible:
            why = f"no {room}" if not times else f"{times} of {one.times}: no more {room}"
        elif times < one.times:
            why = f"{times} of {one.times}: no_repeat {room.no_repeat} forbids more; raise it, or leave it at 0"
        found.append(Promise(one, run, times, why))
    return found


def _possible(wanted: Wanted, pieces: Sequence[int], room: Room) -> int:
    """How often an output could hold it if it were as long as one likes."""
    if not pieces or UNK in pieces:
        return 0
    return 1 if 0 < room.no_repeat <= len(pieces) else wanted.times
