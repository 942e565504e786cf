"""What a caller asks of the search beyond its settings, and how the one search is made to answer it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from tongsa.decoding.beams import Beams, Choice, Guide, Witness, best
from tongsa.decoding.constraints import Phrases, allocated, fitting
from tongsa.decoding.rules import diverse, drawn, forced, from_config
from tongsa.decoding.sampling import Draw
from tongsa.decoding.scorers import Scorer
from tongsa.decoding.search import Hypothesis, SearchConfig, search
from tongsa.interface import State
from tongsa.text import BOS, PAD

Indices = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Request:
    """For each sentence of a batch, or for all of them; what is empty asks for nothing."""

    prefixes: Sequence[Indices] = ()
    """Each output begins with these pieces."""
    phrases: Sequence[Sequence[Indices]] = ()
    """Each output holds these runs of pieces; one that is given twice, twice."""
    draw: Draw | None = None
    """Outputs are drawn, not searched for."""
    witness: Witness | None = None
    """Who is told of every step."""

    def __bool__(self) -> bool:
        return any(map(len, self.prefixes)) or any(map(len, self.phrases)) or bool(self.draw or self.witness)

    def repeated(self, times: int) -> "Request":
        """The same for every sentence so many times, one behind the other."""
        return replace(
            self,
            prefixes=[one for one in self.prefixes for _ in range(times)],
            phrases=[one for one in self.phrases for _ in range(times)],
        )

    @property
    def pieces(self) -> Iterator[int]:
        """All that an output is asked to hold."""
        yield from chain.from_iterable(self.prefixes)
        yield from chain.from_iterable(chain.from_iterable(self.phrases))

    def among(self, pieces: Indices) -> "Request":
        """The same for a search that knows pieces by their places among these."""
        place = {piece: at for at, piece in enumerate(pieces)}
        return replace(
            self,
            prefixes=[[place[piece] for piece in prefix] for prefix in self.prefixes],
            phrases=[[[place[piece] for piece in phrase] for phrase in each] for each in self.phrases],
        )


NOTHING = Request()


def answered(
    scorer: Scorer[Any], state: State, limits: Tensor, config: SearchConfig, nbest: int, request: Request = NOTHING
) -> list[list[Hypothesis]]:
    """The best `nbest` of each sentence, or so many draws.

    Groups of a diverse beam and draws are sentences of their own to the search. Of phrases that do not fit into an
    output together those are asked for that `fitting` keeps.
    """
    copies = nbest if request.draw else config.groups
    if copies > 1:
        rows = torch.arange(len(limits), device=limits.device).repeat_interleave(copies)
        state, limits, request = state.select(rows), limits[rows], request.repeated(copies)
    beam = 1 if request.draw else config.beam // config.groups
    own = replace(config, beam=beam, groups=1)
    choice = _choice(config, request, beam, limits.tolist())
    eager = frozenset(at for at, phrases in enumerate(request.phrases) if phrases)
    guide = Guide(_rules(config, request), choice, request.witness, eager)
    found = search(scorer, state, limits, own, nbest=min(nbest, beam), guide=guide)
    return [_merged(found[at : at + copies], nbest, apart=not request.draw) for at in range(0, len(found), copies)]


@torch.inference_mode()
def onward(scorer: Scorer[Any], state: State, begun: Tensor, config: SearchConfig) -> Tensor:  # (piece,)
    """What each piece, </s> included, counts behind a beginning (piece,) of the only sentence of a state."""
    prefix = torch.cat([begun.new_tensor([BOS]), begun])
    for piece in prefix:
        logs, state = scorer(piece.view(1), state)
    zeros = logs.new_zeros(1, 1)
    own = zeros.expand(1, 1, len(prefix))
    beams = Beams([0], zeros, zeros, prefix.view(1, 1, -1), own, zeros.view(1, 1, 1), [0])
    counted = logs.unsqueeze(0)  # (sentence, hypothesis, piece)
    for rule in from_config(config):
        counted = rule(counted, beams)
    return counted[0, 0].index_fill(0, begun.new_tensor([PAD, BOS]), -torch.inf)


def _rules(config: SearchConfig, request: Request) -> tuple[Any, ...]:
    return (*from_config(config), *([forced(request.prefixes)] if any(map(len, request.prefixes)) else []))


def _choice(config: SearchConfig, request: Request, beam: int, limits: list[int]) -> Choice | None:
    if request.draw:
        return drawn(request.draw)
    choice = _holding(request, beam, limits) if any(map(len, request.phrases)) else None
    return diverse(choice or best(beam), config.groups, config.diversity) if config.groups > 1 else choice


def _holding(request: Request, beam: int, limits: list[int]) -> Choice:
    prefixes = request.prefixes or [()] * len(limits)
    wanted = [_held(*each) for each in zip(request.phrases, prefixes, limits, strict=True)]
    return allocated(beam, wanted, limits, [len(prefix) for prefix in prefixes])


def _held(phrases: Sequence[Indices], prefix: Indices, limit: int) -> Phrases | None:
    """The phrases that one output shall hold."""
    kept = fitting(phrases, prefix, limit)
    return Phrases(phrases[at] for at in kept) if kept else None


def _merged(lists: list[list[Hypothesis]], nbest: int, *, apart: bool) -> list[Hypothesis]:
    """One list of several, best first; what two groups have both found stands once."""
    every = sorted((one for found in lists for one in found), key=lambda one: -one.score)
    once = {tuple(one.pieces): one for one in reversed(every)} if apart else {}
    return sorted(once.values(), key=lambda one: -one.score)[:nbest] if apart else every
