"""Cached, batched and early-stopping search gives what the plainest search gives, token for token."""

import itertools
from typing import Any

import pytest
import torch

from reference import reference
from tiny import CONFIGS, padded, sentence, tiny
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer

LIMITS = [3, 9, 6, 12, 1]
TRANSLATING = [name for name, config in CONFIGS.items() if config.task == "seq2seq"]


@pytest.mark.parametrize("kind", TRANSLATING)
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("refilled", [False, True])
def test_the_search_agrees_with_the_reference(kind: str, beam: int, refilled: bool) -> None:
    model, sources = tiny(kind), [sentence(length, seed=length) for length in (4, 9, 6, 2, 7)]
    config = DecodingConfig(beam=beam)

    def begun(first: int, count: int) -> tuple[Any, torch.Tensor]:
        part = slice(first, first + count)
        return model.decoder.start(model.encoder(padded(*sources[part]))), torch.tensor(LIMITS[part])

    waiting = [begun(3, 1), begun(4, 1), begun(2, 1)] if refilled else []  # one after every second step at most
    asked = itertools.count()
    with torch.inference_mode():
        found = beam_search(
            decoder_scorer(model.decoder),
            *begun(0, 2 if refilled else 5),
            config,
            nbest=beam,
            refill=lambda alive: waiting.pop() if waiting and (next(asked) % 2 or not alive) else None,
        )
    if refilled:
        found = [found[at] for at in (0, 1, 2, 4, 3)]
    for source, limit, hypotheses in zip(sources, LIMITS, found, strict=True):
        expected = reference(model, source, limit, config)[:beam]
        torch.testing.assert_close(
            [one.score for one in hypotheses], [score for _, score in expected], rtol=0, atol=1e-4
        )
        for at, (one, (pieces, score)) in enumerate(zip(hypotheses, expected, strict=True)):
            neighbours = [other for _, other in expected[max(0, at - 1) : at + 2]]
            tied = sum(abs(other - score) < 1e-5 for other in neighbours) > 1  # two of one score may change places
            assert one.tokens == pieces or tied
