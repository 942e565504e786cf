"""Cached, batched and early-stopping search gives what the plainest search gives, token for token."""

import pytest
import torch

from reference import reference
from tiny import CONFIGS, padded, sentence, tiny
from tongsa.decoding.scorers import alone
from tongsa.decoding.search import SearchConfig, search

LIMITS = [3, 9, 6, 12, 1]
TRANSLATING = [name for name, config in CONFIGS.items() if config.task == "pairs"]


@pytest.mark.parametrize("kind", TRANSLATING)
@pytest.mark.parametrize("beam", [1, 4])
def test_the_search_agrees_with_the_reference(kind: str, beam: int) -> None:
    model, sources = tiny(kind), [sentence(length, seed=length) for length in (4, 9, 6, 2, 7)]
    config = SearchConfig(beam=beam)
    with torch.inference_mode():
        state = model.decoder.start(model.encoder(padded(*sources)))
        found = search(alone(model.decoder), state, torch.tensor(LIMITS), config, nbest=beam)
    for source, limit, hypotheses in zip(sources, LIMITS, found, strict=True):
        expected = reference(model, source, limit, config)[:beam]
        torch.testing.assert_close(
            [one.score for one in hypotheses], [score for _, score in expected], rtol=0, atol=1e-4
        )
        for at, (one, (pieces, score)) in enumerate(zip(hypotheses, expected, strict=True)):
            neighbours = [other for _, other in expected[max(0, at - 1) : at + 2]]
            tied = sum(abs(other - score) < 1e-5 for other in neighbours) > 1  # two of one score may change places
            assert one.pieces == pieces or tied
