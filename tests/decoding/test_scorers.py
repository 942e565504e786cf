"""Scorers: an ensemble averages probabilities; shallow fusion adds weighted log-probabilities."""

from typing import Any

import torch
from torch.testing import assert_close

from tiny import padded_batch, sentence, tiny
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import CombinedState, decoder_scorer, ensemble_scorer, shallow_fusion_scorer
from tongsa.interface import Decoder
from tongsa.tokenization.special import BOS

BOS_TOKENS = torch.tensor([BOS, BOS])


def start(kind: str, seed: int) -> tuple[Decoder[Any], Any]:
    model = tiny(kind, seed)
    return model.decoder, model.decoder.start(model.encoder(padded_batch(sentence(5), sentence(7))))


@torch.no_grad()
def test_an_ensemble_averages_probabilities() -> None:
    (first_decoder, first_state), (second_decoder, second_state) = start("transformer", 1), start("rnn_attention", 2)
    scores, _ = ensemble_scorer([first_decoder, second_decoder])(BOS_TOKENS, CombinedState((first_state, second_state)))
    first_scores, second_scores = (
        decoder_scorer(first_decoder)(BOS_TOKENS, first_state)[0],
        decoder_scorer(second_decoder)(BOS_TOKENS, second_state)[0],
    )
    assert_close(scores.exp(), (first_scores.exp() + second_scores.exp()) / 2)


@torch.no_grad()
def test_an_ensemble_of_equal_models_equals_the_model() -> None:
    decoder, state = start("rnn", 1)
    max_lengths = torch.tensor([9, 9])
    alone = beam_search(decoder_scorer(decoder), state, max_lengths, DecodingConfig(beam=3), nbest=3)
    twice = beam_search(
        ensemble_scorer([decoder, decoder]), CombinedState((state, state)), max_lengths, DecodingConfig(beam=3), nbest=3
    )
    for nbest, expected in zip(twice, alone, strict=True):
        assert [hypothesis.tokens for hypothesis in nbest] == [hypothesis.tokens for hypothesis in expected]


@torch.no_grad()
def test_shallow_fusion_adds_weighted_log_probs() -> None:
    (main, first_state), (language_model, second_state) = start("transformer", 1), start("rnn_lm", 2)
    scorer, lm_scorer = decoder_scorer(main), decoder_scorer(language_model)
    state = CombinedState((first_state, second_state))
    log_probs, lm_log_probs = scorer(BOS_TOKENS, first_state)[0], lm_scorer(BOS_TOKENS, second_state)[0]
    assert_close(shallow_fusion_scorer(scorer, lm_scorer, 0.0)(BOS_TOKENS, state)[0], log_probs)
    assert_close(shallow_fusion_scorer(scorer, lm_scorer, 0.5)(BOS_TOKENS, state)[0], log_probs + 0.5 * lm_log_probs)


@torch.no_grad()
def test_a_language_model_with_a_large_weight_decides() -> None:
    (main, first_state), (language_model, second_state) = start("transformer", 1), start("rnn_lm", 2)
    max_lengths = torch.tensor([6, 6])
    scorer = shallow_fusion_scorer(decoder_scorer(main), decoder_scorer(language_model), 1e4)
    fused = beam_search(scorer, CombinedState((first_state, second_state)), max_lengths, DecodingConfig(beam=1))
    alone = beam_search(decoder_scorer(language_model), second_state, max_lengths, DecodingConfig(beam=1))
    assert [row[0].tokens for row in fused] == [row[0].tokens for row in alone]


class StoredLogits:
    """A decoder that returns the same tensor in each step."""

    def __init__(self, logits: torch.Tensor) -> None:
        self.logits = logits

    def start(self, memory: Any, vocab_subset: torch.Tensor | None = None) -> Any: ...

    def step(self, token: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        return self.logits if not len(token) else self.logits * 3, state


def test_a_softmax_in_the_memory_of_new_logits_equals_another() -> None:
    for shape in ((1, 3), (1, 5000), (2, 17), (70, 131), (33, 4097)):
        logits = torch.randn(shape)
        with torch.inference_mode():
            log_probs, _ = decoder_scorer(StoredLogits(logits))(torch.tensor([BOS]), None)
            assert torch.equal(log_probs, (3 * logits).log_softmax(-1))
            before = logits.clone()
            decoder_scorer(StoredLogits(logits))(torch.tensor([]), None)
        assert torch.equal(logits, before), "a tensor from outside of inference mode was overwritten"
