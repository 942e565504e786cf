"""Phrases that an output must hold: lexically constrained beams that keep their promise.

Dynamic beam allocation (Post and Vilar 2018, section 3) shares the beam out among hypotheses that have come differently
far with the phrases, so that one search of ordinary width finds an output with all of them. Theirs counts the pieces
that were met; here an automaton (Aho and Corasick 1975) of all the phrases knows how many pieces are still needed at
least, overlaps included. Whoever could no longer hold everything within the limit is not followed, so that an output
with all the phrases is found whenever there is one of that length.
"""

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.search import Beams, Choice
from tongsa.text import EOS

MOST = 8
"""Phrases in one output: the automaton has 2 to this power of states for each place in a phrase."""


class Progress(NamedTuple):
    """How far an output has come with its phrases."""

    node: int
    """The longest end of the output that begins a phrase, as a node of the tree of phrases."""
    met: int
    """Bit i says whether phrase i is there."""


class Phrases:
    """The automaton of the phrases (none empty, none twice) of one output."""

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self.phrases = [tuple(phrase) for phrase in dict.fromkeys(map(tuple, phrases))]
        if len(self.phrases) > MOST or not all(self.phrases):
            raise ValueError(f"{len(self.phrases)} phrases in one output; at most {MOST}, and none empty")
        self.alphabet = sorted({piece for phrase in self.phrases for piece in phrase})
        self.begun = sorted({phrase[:end] for phrase in self.phrases for end in range(len(phrase) + 1)}, key=len)
        self.node = {beginning: at for at, beginning in enumerate(self.begun)}
        self.start = Progress(0, 0)
        self.all = (1 << len(self.phrases)) - 1

    @cached_property
    def steps(self) -> list[dict[int, Progress]]:
        """For each node: where a piece of the alphabet leads, and which phrases it completes."""
        found = []
        for beginning in self.begun:
            row = {}
            for piece in self.alphabet:
                text = (*beginning, piece)
                met = sum(1 << at for at, phrase in enumerate(self.phrases) if text[-len(phrase) :] == phrase)
                node = next(self.node[text[at:]] for at in range(len(text) + 1) if text[at:] in self.node)
                row[piece] = Progress(node, met)
            found.append(row)
        return found

    def after(self, progress: Progress, piece: int) -> Progress:
        step = self.steps[progress.node].get(piece)
        return Progress(step.node, progress.met | step.met) if step else Progress(0, progress.met)

    @cached_property
    def needed(self) -> dict[Progress, int]:
        """The fewest pieces from each progress to all phrases: from the end backwards, breadth first."""
        before: dict[Progress, list[Progress]] = {}
        for met in range(self.all + 1):
            for node in range(len(self.begun)):
                for piece in self.alphabet:
                    progress = Progress(node, met)
                    before.setdefault(self.after(progress, piece), []).append(progress)
        needed = {Progress(node, self.all): 0 for node in range(len(self.begun))}
        waiting = deque(needed)
        while waiting:
            progress = waiting.popleft()
            for earlier in before.get(progress, ()):
                if earlier not in needed:
                    needed[earlier] = needed[progress] + 1
                    waiting.append(earlier)
        return needed

    def progress(self, pieces: Sequence[int]) -> Progress:
        found = self.start
        for piece in pieces:
            found = self.after(found, piece)
        return found


class _Candidate(NamedTuple):
    merit: float
    place: int
    """In the flat row of all candidates of its sentence."""
    needed: int
    """Pieces that it still needs at least, to hold all phrases."""


def allocated(beam: int, phrases: Sequence[Phrases | None], limits: Sequence[int]) -> Choice:
    """The beam of each sentence shared out by how many pieces a hypothesis still needs; None has no phrases."""

    def choose(merits: Tensor, beams: Beams) -> Tensor:
        every = merits.flatten(1)
        places = every.topk(min(beam, every.shape[1]), dim=1).indices
        for row, sentence in enumerate(beams.sentences):
            if (wanted := phrases[sentence]) is not None:
                room = limits[sentence] - beams.prefixes.shape[2] + 1  # pieces, this one included
                found = _candidates(merits[row], beams.prefixes[row].tolist(), wanted, room, beam)
                places[row] = _padded(
                    _shared_out(found, beam, wanted.needed[wanted.start]), every[row], places.shape[1]
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
        for piece in dict.fromkeys([*likeliest[at], *phrases.alphabet, EOS]):
            merit = float(merits[at, piece])
            needed = phrases.needed[phrases.after(progress, piece)] if piece != EOS else phrases.needed[progress]
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
    left = [candidate for candidate in candidates if candidate not in set(chosen)]
    return [candidate.place for candidate in sorted([*chosen, *left[: beam - len(chosen)]], reverse=True)]


def _padded(places: list[int], merits: Tensor, count: int) -> Tensor:
    """So many places: a candidate that is impossible stands for each that is missing."""
    impossible = int(merits.argmin())
    return torch.tensor([*places, *[impossible] * (count - len(places))], device=merits.device)
