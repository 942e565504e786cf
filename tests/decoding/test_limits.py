"""Limits of decoding: ensembles and language models with fewer positions, weights and temperatures."""

import numpy as np
import pytest
import torch

from tongsa.batch import Examples, Ragged
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import ShallowFusion, TextGenerator
from tongsa.decoding.sampling import SamplingConfig
from tongsa.errors import InputError
from tongsa.interface import ModelConfig
from tongsa.models.conv_s2s import ConvS2SConfig
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.transformer.language_model import TransformerLMConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

TOKENIZER = train_tokenizer(["a b c d", "가 나 다 라"], TokenizerConfig(model="char", vocab_size=300))
LONG_TEXT = "a b c d " * 8


def make_bundle(kind: str, config: ModelConfig) -> Bundle:
    torch.manual_seed(1)
    model = config.build(len(TOKENIZER), len(TOKENIZER)).eval()
    decoding = DecodingConfig(beam=2, max_extra_tokens=5)
    return Bundle(
        kind=kind, config=config, model=model, source_tokenizer=TOKENIZER, target_tokenizer=TOKENIZER, decoding=decoding
    )


def make_conv_s2s(max_positions: int) -> Bundle:
    config = ConvS2SConfig(width=8, hidden=8, encoder_layers=1, decoder_layers=1, max_positions=max_positions)
    return make_bundle("conv_s2s", config)


def make_generator(max_positions: int) -> TextGenerator:
    config = TransformerLMConfig(
        width=8, ffn_width=8, heads=2, layers=1, positions="learned", max_positions=max_positions
    )
    return make_bundle("transformer_lm", config).generator()


def test_an_ensemble_truncates_to_its_shortest_member() -> None:
    translator = make_conv_s2s(200).translator([make_conv_s2s(20)])
    assert translator.translate([LONG_TEXT], split_sentences=False)[0].truncated


def test_an_ensemble_refuses_to_score_what_is_too_long_for_a_member() -> None:
    with pytest.raises(InputError, match="19"):
        make_conv_s2s(200).translator([make_conv_s2s(20)]).score([(LONG_TEXT, "가")])


def test_shallow_fusion_stops_at_the_positions_of_the_language_model() -> None:
    translator = make_conv_s2s(200).translator(fusion=ShallowFusion(make_generator(20), 0.5))
    translation = translator.translate([LONG_TEXT], split_sentences=False)[0]
    assert len(translation.tokens) < 20


def test_log_prob_of_shallow_fusion_is_that_of_the_translation_model() -> None:
    loaded = make_conv_s2s(200)
    lm = make_bundle("rnn_lm", RNNLMConfig(width=8, layers=1)).generator()
    translation = loaded.translator(fusion=ShallowFusion(lm, 0.5))("a b")
    source, target = translation._token_ids
    batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0]))
    with torch.inference_mode():
        log_probs = loaded.model(batch.source, batch.decoder_input).log_softmax(dim=-1)
    expected = log_probs.gather(2, batch.target.tokens.unsqueeze(2)).sum().item()
    assert translation.log_prob == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_shallow_fusion_refuses_a_weight_that_is_not_a_number(weight: float) -> None:
    with pytest.raises(InputError, match="weight"):
        make_conv_s2s(200).translator(fusion=ShallowFusion(make_generator(200), weight))("a b")


def test_a_very_low_temperature_samples_the_likeliest_tokens() -> None:
    coldest = make_generator(30).sample(2, SamplingConfig(temperature=1e-40), max_tokens=5)
    assert coldest == make_generator(30).sample(2, SamplingConfig(top_k=1), max_tokens=5)
