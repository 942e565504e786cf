"""Phrases that an output must hold: lexically constrained beams that keep their promise.

Dynamic beam allocation (Post and Vilar 2018, section 3) shares the beam out among hypotheses that have come differently
far with the phrases, so that one search of ordinary width finds an output with all of them. Theirs counts the pieces
that were met; here an automaton (Aho and Corasick 1975) of all the phrases knows how many pieces are still needed at
least, overlaps included. Whoever could no longer hold everything within the limit is not followed, so that an output
with all the phrases is found whenever there is one of that length.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.beams import Beams, Choice
from tongsa.text import EOS

MOST = 8
"""Phrases in one output: there are 2 to this power of ways to have met some of them."""


class Progress(NamedTuple):
    """How far an output has come with its phrases."""

    node: int
    """The longest end of the output that begins a phrase, as a node of the tree of phrases."""
    met: tuple[int, ...]
    """How often each phrase is there, counted up to as often as it is wanted."""


class Phrases:
    """The automaton of the phrases of one output; none is empty, and one that is given twice is wanted twice."""

    def __init__(self, phrases: Iterable[Sequence[int]]) -> None:
        counts = Counter(map(tuple, phrases))
        if not all(counts):
            raise ValueError("an empty phrase: every output holds it already")
        self.phrases = list(counts)
        self.all = tuple(counts.values())
        self.alphabet = sorted({piece for phrase in self.phrases for piece in phrase})
        self.begun = sorted({phrase[:end] for phrase in self.phrases for end in range(len(phrase) + 1)}, key=len)
        self.node = {beginning: at for at, beginning in enumerate(self.begun)}
        self.start = Progress(0, (0,) * len(self.phrases))

    @cached_property
    def children(self) -> list[dict[int, int]]:
        """For each node: the pieces that make its beginning longer, and the nodes that they lead to."""
        found: list[dict[int, int]] = [{} for _ in self.begun]
        for at, beginning in enumerate(self.begun[1:], start=1):
            found[self.node[beginning[:-1]]][beginning[-1]] = at
        return found

    @cached_property
    def shorter(self) -> list[int]:
        """For each node: that of the longest other beginning which its own ends with."""
        found = [0] * len(self.begun)
        for beginning in self.begun:  # the shorter first
            if len(beginning) > 1:
                parent = self.node[beginning[:-1]]
                found[self.node[beginning]] = self._onward(found[parent], beginning[-1], found)
        return found

    @cached_property
    def completed(self) -> list[list[int]]:
        """For each node: the phrases that its beginning ends with."""
        found: list[list[int]] = [[] for _ in self.begun]
        for at, phrase in enumerate(self.phrases):
            found[self.node[phrase]].append(at)
        for at in range(1, len(found)):
            found[at] += found[self.shorter[at]]
        return found

    def _onward(self, node: int, piece: int, shorter: Sequence[int]) -> int:
        while piece not in self.children[node] and node:
            node = shorter[node]
        return self.children[node].get(piece, 0)

    def after(self, progress: Progress, piece: int) -> Progress:
        node = self._onward(progress.node, piece, self.shorter)
        return Progress(node, self._counted(progress.met, self.completed[node]))

    def _counted(self, met: tuple[int, ...], more: Sequence[int]) -> tuple[int, ...]:
        """What is met when these phrases have come, too."""
        if not more:
            return met
        counts = list(met)
        for at in more:
            counts[at] = min(counts[at] + 1, self.all[at])
        return tuple(counts)

    def progress(self, pieces: Sequence[int]) -> Progress:
        found = self.start
        for piece in pieces:
            found = self.after(found, piece)
        return found

    @cached_property
    def needed(self) -> Callable[[Progress], int]:
        """The fewest pieces from a progress to all phrases.

        Of those that lie in no other, whichever is complete first has begun first, and the next one can overlap with
        that one alone: so the shortest way is one of the orders (Held and Karp 1962), whatever the phrases' lengths.
        """
        return cache(self._needed)

    def _needed(self, progress: Progress) -> int:
        left = [at for at, wanted in enumerate(self.all) if progress.met[at] < wanted]
        overlaps = self.overlaps(progress.node) if left else ()
        ways = (
            len(self.phrases[at])
            - overlap
            + self.needed(Progress(self.node[self.phrases[at]], self._counted(progress.met, self.within(at, overlap))))
            for at in left
            for overlap in overlaps[at]
        )
        return min(ways, default=0)

    @cached_property
    def overlaps(self) -> Callable[[int], list[list[int]]]:
        """From a node to the numbers of pieces, fewer than all, of each phrase that its beginning may end with."""
        return cache(self._overlaps)

    def _overlaps(self, node: int) -> list[list[int]]:
        found = [[0] for _ in self.phrases]
        while node:
            ending = self.begun[node]
            for at, phrase in enumerate(self.phrases):
                if len(ending) < len(phrase) and phrase[: len(ending)] == ending:
                    found[at].append(len(ending))
            node = self.shorter[node]
        return found

    def within(self, at: int, overlap: int) -> list[int]:
        """The phrases that come with this one, itself included, when so many of its pieces are there already."""
        return [other for end, other in self._ends[at] if end > overlap]

    @cached_property
    def _ends(self) -> list[list[tuple[int, int]]]:
        return [
            [(end, other) for end in range(1, len(phrase) + 1) for other in self.completed[self.node[phrase[:end]]]]
            for phrase in self.phrases
        ]


def fitting(phrases: Sequence[Sequence[int]], begun: Sequence[int], limit: int) -> list[int]:
    """The places of those that an output of at most `limit` pieces which begins so can hold together.

    If not all can, the short ones go first, so that many are kept; none is left out that fits beside those, unless
    MOST are kept.
    """
    room = limit - len(begun)
    if len(phrases) <= MOST and sum(map(len, phrases)) <= room:
        return [*range(len(phrases))]
    kept: list[int] = []
    for at in sorted(range(len(phrases)), key=lambda at: (len(phrases[at]), at)):
        together = Phrases(phrases[one] for one in (*kept, at))
        if len(kept) < MOST and together.needed(together.progress(begun)) <= room:
            kept.append(at)
    return sorted(kept)


class _Candidate(NamedTuple):
    merit: float
    place: int
    """In the flat row of all candidates of its sentence."""
    needed: int
    """Pieces that it still needs at least, to hold all phrases."""


def allocated(beam: int, phrases: Sequence[Phrases | None], limits: Sequence[int], begun: Sequence[int]) -> Choice:
    """The beam of each sentence shared out by how many pieces a hypothesis still needs; None has no phrases.

    Of the first `begun` pieces of a sentence there is nothing to choose.
    """

    def choose(merits: Tensor, beams: Beams) -> Tensor:
        every = merits.flatten(1)
        places = every.topk(min(beam, every.shape[1]), dim=1).indices
        for row, sentence in enumerate(beams.sentences):
            if (wanted := phrases[sentence]) is not None and beams.prefixes.shape[2] > begun[sentence]:
                room = limits[sentence] - beams.prefixes.shape[2] + 1  # pieces, this one included
                found = _candidates(merits[row], beams.prefixes[row].tolist(), wanted, room, beam)
                places[row] = _padded(
                    _shared_out(found, beam, wanted.needed(wanted.start)), every[row], places.shape[1]
                )
        return places

    return choose


def _candidates(
    merits: Tensor, prefixes: Sequence[Sequence[int]], phrases: Phrases, room: int, beam: int
) -> list[_Candidate]:
    """The likeliest pieces after each hypothesis, and those that bring it nearer to its phrases; all can get there."""
    size, found = merits.shape[1], []
    likeliest = merits.topk(min(beam, size), dim=1).indices.tolist()
    for at, prefix in enumerate(prefixes):
        progress = phrases.progress(prefix[1:])
        pieces = list(dict.fromkeys([*likeliest[at], *phrases.alphabet, EOS]))
        for piece, merit in zip(pieces, merits[at, pieces].tolist(), strict=True):
            needed = phrases.needed(phrases.after(progress, piece) if piece != EOS else progress)
            possible = needed == 0 if piece == EOS else needed < room
            if possible and merit > -torch.inf:
                found.append(_Candidate(merit, at * size + piece, needed))
    return sorted(found, reverse=True)


def _shared_out(candidates: list[_Candidate], beam: int, most: int) -> list[int]:
    """Equal shares for each number of pieces needed, the rest for the nearest; what a share leaves goes to the best."""
    share, rest = divmod(beam, most + 1)
    room = {needed: share + (needed < rest) for needed in range(most + 1)}
    chosen = []
    for candidate in candidates:
        if room.get(candidate.needed, 0):
            room[candidate.needed] -= 1
            chosen.append(candidate)
    taken = set(chosen)
    left = [candidate for candidate in candidates if candidate not in taken]
    return [candidate.place for candidate in sorted([*chosen, *left[: beam - len(chosen)]], reverse=True)]


def _padded(places: list[int], merits: Tensor, count: int) -> Tensor:
    """So many places: a candidate that is impossible stands for each that is missing."""
    impossible = int(merits.argmin())
    return torch.tensor([*places, *[impossible] * (count - len(places))], device=merits.device)
