"""How likely each next piece is: by one decoder, by several together, or with a language model beside.

Search asks for nothing more than this: a step from pieces (row,) and a state to log-scores (row, piece) and a state.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tongsa.interface import DecoderState, S, StepDecoder

Scorer = Callable[[Tensor, S], tuple[Tensor, S]]


class CombinedState(NamedTuple):
    """The states of several decoders, row beside row."""

    states: tuple[DecoderState, ...]

    def select(self, rows: Tensor) -> "CombinedState":
        return CombinedState(tuple(state.select(rows) for state in self.states))

    def concat(self, other: "CombinedState") -> "CombinedState":
        return CombinedState(tuple(one.concat(other) for one, other in zip(self.states, other.states, strict=True)))


def decoder_scorer(decoder: StepDecoder[S]) -> Scorer[S]:
    """Log-probabilities of one decoder."""

    def step(piece: Tensor, state: S) -> tuple[Tensor, S]:
        logits, state = decoder.step(piece, state)
        return logits.float().log_softmax(dim=-1), state

    return step


def subset_scorer(scorer: Scorer[S], vocab_subset: Tensor) -> Scorer[S]:
    """For a search that knows pieces by their places among these, which are all that the scorer's state scores."""

    def step(place: Tensor, state: S) -> tuple[Tensor, S]:
        return scorer(vocab_subset[place], state)

    return step


def ensemble_scorer(decoders: Sequence[StepDecoder[Any]]) -> Scorer[CombinedState]:
    """The mean of the probabilities that several decoders give (Sutskever et al. 2014, section 3.6)."""
    scorers = [decoder_scorer(decoder) for decoder in decoders]

    def step(piece: Tensor, state: CombinedState) -> tuple[Tensor, CombinedState]:
        found = [scorer(piece, own) for scorer, own in zip(scorers, state.states, strict=True)]
        scores = torch.stack([scores for scores, _ in found]).logsumexp(dim=0) - math.log(len(found))
        return scores, CombinedState(tuple(after for _, after in found))

    return step


def shallow_fusion_scorer(main: Scorer[Any], language_model: Scorer[Any], weight: float) -> Scorer[CombinedState]:
    """Shallow fusion (Gülçehre et al. 2015, section 4.1): log p(y|x) + weight · log p(y), not normalised again."""

    def step(piece: Tensor, state: CombinedState) -> tuple[Tensor, CombinedState]:
        scores, own = main(piece, state.states[0])
        extra, beside = language_model(piece, state.states[1])
        return scores + weight * extra, CombinedState((own, beside))

    return step
