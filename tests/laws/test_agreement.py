"""Cached, batched search with early stopping gives the result of the reference search, token for token."""

import itertools
from typing import Any

import pytest
import torch

from reference import reference
from tiny import CONFIGS, padded_batch, sentence, tiny
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer

LIMITS = [3, 9, 6, 12, 1]
TRANSLATING = [name for name, config in CONFIGS.items() if config.task == "seq2seq"]


@pytest.mark.parametrize("kind", TRANSLATING)
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("refilled", [False, True])
def test_search_agrees_with_the_reference(kind: str, beam: int, refilled: bool) -> None:
    model, sources = tiny(kind), [sentence(length, seed=length) for length in (4, 9, 6, 2, 7)]
    config = DecodingConfig(beam=beam)

    def start(first: int, count: int) -> tuple[Any, torch.Tensor]:
        rows = slice(first, first + count)
        return model.decoder.start(model.encoder(padded_batch(*sources[rows]))), torch.tensor(LIMITS[rows])

    waiting = [start(3, 1), start(4, 1), start(2, 1)] if refilled else []  # at most one in two steps
    calls = itertools.count()
    with torch.inference_mode():
        results = beam_search(
            decoder_scorer(model.decoder),
            *start(0, 2 if refilled else 5),
            config,
            nbest=beam,
            refill=lambda alive: waiting.pop() if waiting and (next(calls) % 2 or not alive) else None,
        )
    if refilled:
        results = [results[i] for i in (0, 1, 2, 4, 3)]  # in the order of the sources
    for source, limit, hypotheses in zip(sources, LIMITS, results, strict=True):
        expected = reference(model, source, limit, config)[:beam]
        torch.testing.assert_close(
            [hypothesis.score for hypothesis in hypotheses], [score for _, score in expected], rtol=0, atol=1e-4
        )
        for rank, (hypothesis, (tokens, score)) in enumerate(zip(hypotheses, expected, strict=True)):
            neighbors = [other for _, other in expected[max(0, rank - 1) : rank + 2]]
            tied = sum(abs(other - score) < 1e-5 for other in neighbors) > 1  # equal scores may come in any order
            assert hypothesis.tokens == tokens or tied
