"""Several decoders judge as the mean of their probabilities; a language model adds its logarithm."""

from typing import Any

import torch
from torch.testing import assert_close

from tiny import padded, sentence, tiny
from tongsa.decoding.scorers import Together, alone, ensemble, fused
from tongsa.decoding.search import SearchConfig, search
from tongsa.interface import Decoder
from tongsa.text import BOS

FIRST = torch.tensor([BOS, BOS])


def started(kind: str, seed: int) -> tuple[Decoder[Any], Any]:
    model = tiny(kind, seed)
    return model.decoder, model.decoder.start(model.encoder(padded(sentence(5), sentence(7))))


@torch.no_grad()
def test_an_ensemble_is_the_mean_of_probabilities() -> None:
    (one, first), (other, second) = started("transformer", 1), started("additive", 2)
    scores, _ = ensemble([one, other])(FIRST, Together((first, second)))
    alone_scores = [alone(decoder)(FIRST, state)[0].exp() for decoder, state in ((one, first), (other, second))]
    assert_close(scores.exp(), (alone_scores[0] + alone_scores[1]) / 2)


@torch.no_grad()
def test_twice_the_same_model_is_the_model() -> None:
    decoder, state = started("recurrent", 1)
    limits = torch.tensor([9, 9])
    by_itself = search(alone(decoder), state, limits, SearchConfig(beam=3), nbest=3)
    twice = search(ensemble([decoder, decoder]), Together((state, state)), limits, SearchConfig(beam=3), nbest=3)
    assert [[one.pieces for one in row] for row in by_itself] == [[one.pieces for one in row] for row in twice]


@torch.no_grad()
def test_fusion_adds_the_weighted_logarithm_and_nothing_at_weight_zero() -> None:
    (main, first), (language_model, second) = started("transformer", 1), started("language_model", 2)
    one, other = alone(main), alone(language_model)
    both = Together((first, second))
    assert_close(fused(one, other, 0.0)(FIRST, both)[0], one(FIRST, first)[0])
    assert_close(fused(one, other, 0.5)(FIRST, both)[0], one(FIRST, first)[0] + 0.5 * other(FIRST, second)[0])


@torch.no_grad()
def test_a_strong_language_model_overrules() -> None:
    (main, first), (language_model, second) = started("transformer", 1), started("language_model", 2)
    limits = torch.tensor([6, 6])
    scorer = fused(alone(main), alone(language_model), 1e4)
    overruled = search(scorer, Together((first, second)), limits, SearchConfig(beam=1))
    by_itself = search(alone(language_model), second, limits, SearchConfig(beam=1))
    assert [row[0].pieces for row in overruled] == [row[0].pieces for row in by_itself]
