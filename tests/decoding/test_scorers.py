"""Several decoders judge as the mean of their probabilities; a language model adds its logarithm."""

from typing import Any

import torch
from torch.testing import assert_close

from tiny import padded, sentence, tiny
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import CombinedState, decoder_scorer, ensemble_scorer, shallow_fusion_scorer
from tongsa.interface import Decoder
from tongsa.tokenization.special import BOS

FIRST = torch.tensor([BOS, BOS])


def started(kind: str, seed: int) -> tuple[Decoder[Any], Any]:
    model = tiny(kind, seed)
    return model.decoder, model.decoder.start(model.encoder(padded(sentence(5), sentence(7))))


@torch.no_grad()
def test_an_ensemble_is_the_mean_of_probabilities() -> None:
    (one, first), (other, second) = started("transformer", 1), started("rnn_attention", 2)
    scores, _ = ensemble_scorer([one, other])(FIRST, CombinedState((first, second)))
    alone_scores = [
        decoder_scorer(decoder)(FIRST, state)[0].exp() for decoder, state in ((one, first), (other, second))
    ]
    assert_close(scores.exp(), (alone_scores[0] + alone_scores[1]) / 2)


@torch.no_grad()
def test_twice_the_same_model_is_the_model() -> None:
    decoder, state = started("rnn", 1)
    limits = torch.tensor([9, 9])
    by_itself = beam_search(decoder_scorer(decoder), state, limits, DecodingConfig(beam=3), nbest=3)
    twice = beam_search(
        ensemble_scorer([decoder, decoder]), CombinedState((state, state)), limits, DecodingConfig(beam=3), nbest=3
    )
    assert [[one.tokens for one in row] for row in by_itself] == [[one.tokens for one in row] for row in twice]


@torch.no_grad()
def test_fusion_adds_the_weighted_logarithm_and_nothing_at_weight_zero() -> None:
    (main, first), (language_model, second) = started("transformer", 1), started("rnn_lm", 2)
    one, other = decoder_scorer(main), decoder_scorer(language_model)
    both = CombinedState((first, second))
    assert_close(shallow_fusion_scorer(one, other, 0.0)(FIRST, both)[0], one(FIRST, first)[0])
    assert_close(
        shallow_fusion_scorer(one, other, 0.5)(FIRST, both)[0], one(FIRST, first)[0] + 0.5 * other(FIRST, second)[0]
    )


@torch.no_grad()
def test_a_strong_language_model_overrules() -> None:
    (main, first), (language_model, second) = started("transformer", 1), started("rnn_lm", 2)
    limits = torch.tensor([6, 6])
    scorer = shallow_fusion_scorer(decoder_scorer(main), decoder_scorer(language_model), 1e4)
    overruled = beam_search(scorer, CombinedState((first, second)), limits, DecodingConfig(beam=1))
    by_itself = beam_search(decoder_scorer(language_model), second, limits, DecodingConfig(beam=1))
    assert [row[0].tokens for row in overruled] == [row[0].tokens for row in by_itself]
