"""Scorers: log-probabilities of the next token from one decoder, an ensemble, or with a language model.

A scorer takes tokens (row,) and a decoder state, and returns log-probabilities (row, token) and the next state. This
is all that search knows about a model.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tongsa.interface import DecoderState, S, StepDecoder

Scorer = Callable[[Tensor, S], tuple[Tensor, S]]


class CombinedState(NamedTuple):
    """States of several decoders with the same rows."""

    states: tuple[DecoderState, ...]

    def select(self, rows: Tensor) -> "CombinedState":
        return CombinedState(tuple(state.select(rows) for state in self.states))

    def concat(self, other: "CombinedState") -> "CombinedState":
        pairs = zip(self.states, other.states, strict=True)
        return CombinedState(tuple(state.concat(other_state) for state, other_state in pairs))


def decoder_scorer(decoder: StepDecoder[S]) -> Scorer[S]:
    """Return the scorer of one decoder."""

    def step(token: Tensor, state: S) -> tuple[Tensor, S]:
        logits, state = decoder.step(token, state)
        return _log_softmax(logits), state

    return step


def _log_softmax(logits: Tensor) -> Tensor:  # (row, token)
    """Return log-probabilities. Logits of inference mode are overwritten: a second large tensor takes more time."""
    if logits.is_inference() and logits.dtype == torch.float32:
        return torch.log_softmax(logits, dim=-1, out=logits)
    return logits.float().log_softmax(dim=-1)


def subset_scorer(scorer: Scorer[S], vocab_subset: Tensor) -> Scorer[S]:
    """Return a scorer for a state that scores a subset of the vocabulary; tokens are indices into it."""

    def step(index: Tensor, state: S) -> tuple[Tensor, S]:
        return scorer(vocab_subset[index], state)

    return step


def ensemble_scorer(decoders: Sequence[StepDecoder[Any]]) -> Scorer[CombinedState]:
    """Return the scorer of an ensemble: the mean of the probabilities (Sutskever et al. 2014, section 3.6)."""
    scorers = [decoder_scorer(decoder) for decoder in decoders]

    def step(token: Tensor, state: CombinedState) -> tuple[Tensor, CombinedState]:
        results = [scorer(token, member) for scorer, member in zip(scorers, state.states, strict=True)]
        log_probs = torch.stack([log_probs for log_probs, _ in results]).logsumexp(dim=0) - math.log(len(results))
        return log_probs, CombinedState(tuple(after for _, after in results))

    return step


def shallow_fusion_scorer(main: Scorer[Any], language_model: Scorer[Any], weight: float) -> Scorer[CombinedState]:
    """Return log p(y|x) + weight · log p(y), not normalized (shallow fusion: Gülçehre et al. 2015, section 4.1)."""

    def step(token: Tensor, state: CombinedState) -> tuple[Tensor, CombinedState]:
        log_probs, main_state = main(token, state.states[0])
        lm_log_probs, lm_state = language_model(token, state.states[1])
        return log_probs + weight * lm_log_probs, CombinedState((main_state, lm_state))

    return step
