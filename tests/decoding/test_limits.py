"""What once broke decoding."""

import numpy as np
import pytest
import torch

from tongsa.batch import Examples, Ragged
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import ShallowFusion
from tongsa.errors import InputError
from tongsa.interface import ModelConfig
from tongsa.models.conv_s2s import ConvS2SConfig
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.transformer.language_model import TransformerLMConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

PIECES = train_tokenizer(["a b c d", "가 나 다 라"], TokenizerConfig(model="char", vocab_size=300))
LONG = "a b c d " * 8


def made(kind: str, config: ModelConfig) -> Bundle:
    torch.manual_seed(1)
    model = config.build(len(PIECES), len(PIECES)).eval()
    decoding = DecodingConfig(beam=2, max_extra_tokens=5)
    return Bundle(
        kind=kind, config=config, model=model, source_tokenizer=PIECES, target_tokenizer=PIECES, decoding=decoding
    )


def convolutional(longest: int) -> Bundle:
    config = ConvS2SConfig(width=8, hidden=8, encoder_layers=1, decoder_layers=1, max_positions=longest)
    return made("conv_s2s", config)


def writer(longest: int) -> TextGenerator:
    config = TransformerLMConfig(width=8, ffn_width=8, heads=2, layers=1, positions="learned", max_positions=longest)
    return made("transformer_lm", config).generator()


def test_an_ensemble_reads_what_its_shortest_member_holds() -> None:
    answer = convolutional(200).translator([convolutional(20)])(LONG)
    assert answer.truncated


def test_an_ensemble_does_not_score_what_a_member_cannot_hold() -> None:
    with pytest.raises(InputError, match="19"):
        convolutional(200).translator([convolutional(20)]).score([(LONG, "가")])


def test_fusion_writes_no_more_than_its_language_model_holds() -> None:
    answer = convolutional(200).translator(fusion=ShallowFusion(writer(20), 0.5))(LONG)
    assert len(answer.tokens) < 20


def test_the_total_of_a_fused_search_is_still_log_p_given_the_source() -> None:
    loaded = convolutional(200)
    lm = made("rnn_lm", RNNLMConfig(width=8, layers=1)).generator()
    answer = loaded.translator(fusion=ShallowFusion(lm, 0.5))("a b")
    source, target = answer._token_ids
    batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0]))
    with torch.inference_mode():
        every = loaded.model(batch.source, batch.decoder_input).log_softmax(dim=-1)
    given = every.gather(2, batch.target.tokens.unsqueeze(2)).sum().item()
    assert answer.log_prob == pytest.approx(given, abs=1e-3)


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_fusion_refuses_a_weight_that_is_no_number(weight: float) -> None:
    with pytest.raises(InputError, match="weight"):
        convolutional(200).translator(fusion=ShallowFusion(writer(200), weight))("a b")


def test_a_very_low_temperature_draws_the_likeliest() -> None:
    cold = writer(30).sample(2, SamplingConfig(temperature=1e-40), max_tokens=5)
    assert cold == writer(30).sample(2, SamplingConfig(top_k=1), max_tokens=5)
