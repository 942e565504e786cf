"""How likely each next piece is: by one decoder, by several together, or with a language model beside.

Search asks for nothing more than this: a step from pieces (row,) and a state to log-scores (row, piece) and a state.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tongsa.interface import Decoder, S, State

Scorer = Callable[[Tensor, S], tuple[Tensor, S]]


class Together(NamedTuple):
    """The states of several decoders, row beside row."""

    states: tuple[State, ...]

    def select(self, rows: Tensor) -> "Together":
        return Together(tuple(state.select(rows) for state in self.states))

    def beside(self, others: "Together") -> "Together":
        return Together(tuple(one.beside(other) for one, other in zip(self.states, others.states, strict=True)))


def alone(decoder: Decoder[S]) -> Scorer[S]:
    """Log-probabilities of one decoder."""

    def step(piece: Tensor, state: S) -> tuple[Tensor, S]:
        logits, state = decoder.step(piece, state)
        return logits.float().log_softmax(dim=-1), state

    return step


def among(scorer: Scorer[S], pieces: Tensor) -> Scorer[S]:
    """For a search that knows pieces by their places among these, which are all that the scorer's state scores."""

    def step(place: Tensor, state: S) -> tuple[Tensor, S]:
        return scorer(pieces[place], state)

    return step


def ensemble(decoders: Sequence[Decoder[Any]]) -> Scorer[Together]:
    """The mean of the probabilities that several decoders give (Sutskever et al. 2014, section 3.6)."""
    scorers = [alone(decoder) for decoder in decoders]

    def step(piece: Tensor, state: Together) -> tuple[Tensor, Together]:
        found = [scorer(piece, own) for scorer, own in zip(scorers, state.states, strict=True)]
        scores = torch.stack([scores for scores, _ in found]).logsumexp(dim=0) - math.log(len(found))
        return scores, Together(tuple(after for _, after in found))

    return step


def fused(main: Scorer[Any], language_model: Scorer[Any], weight: float) -> Scorer[Together]:
    """Shallow fusion (Gülçehre et al. 2015, section 4.1): log p(y|x) + weight · log p(y), not normalised again."""

    def step(piece: Tensor, state: Together) -> tuple[Tensor, Together]:
        scores, own = main(piece, state.states[0])
        extra, beside = language_model(piece, state.states[1])
        return scores + weight * extra, Together((own, beside))

    return step
