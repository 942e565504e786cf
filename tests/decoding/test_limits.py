"""What once broke decoding."""

import numpy as np
import pytest
import torch

from tongsa.batch import Examples, Ragged
from tongsa.bundle import Bundle
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.search import SearchConfig
from tongsa.decoding.translator import Fusion
from tongsa.decoding.writer import Writer
from tongsa.errors import InputError
from tongsa.interface import Config
from tongsa.models.convolutional import ConvolutionalConfig
from tongsa.models.language_model import LanguageModelConfig
from tongsa.models.transformer_language_model import TransformerLanguageModelConfig
from tongsa.text import PiecesConfig, learn

PIECES = learn(["a b c d", "가 나 다 라"], PiecesConfig(kind="char", size=300))
LONG = "a b c d " * 8


def made(kind: str, config: Config) -> Bundle:
    torch.manual_seed(1)
    model = config.build(len(PIECES), len(PIECES)).eval()
    decoding = SearchConfig(beam=2, beyond=5)
    return Bundle(kind=kind, config=config, model=model, source=PIECES, target=PIECES, decoding=decoding)


def convolutional(longest: int) -> Bundle:
    config = ConvolutionalConfig(width=8, hidden=8, encoder_layers=1, decoder_layers=1, longest=longest)
    return made("convolutional", config)


def writer(longest: int) -> Writer:
    config = TransformerLanguageModelConfig(width=8, inner=8, heads=2, layers=1, positions="learned", longest=longest)
    return made("transformer_language_model", config).writer()


def test_an_ensemble_reads_what_its_shortest_member_holds() -> None:
    answer = convolutional(200).translator([convolutional(20)])(LONG)
    assert answer.cut


def test_an_ensemble_does_not_score_what_a_member_cannot_hold() -> None:
    with pytest.raises(InputError, match="19"):
        convolutional(200).translator([convolutional(20)]).score([(LONG, "가")])


def test_fusion_writes_no_more_than_its_language_model_holds() -> None:
    answer = convolutional(200).translator(fusion=Fusion(writer(20), 0.5))(LONG)
    assert len(answer.pieces) < 20


def test_the_total_of_a_fused_search_is_still_log_p_given_the_source() -> None:
    loaded = convolutional(200)
    lm = made("language_model", LanguageModelConfig(width=8, layers=1)).writer()
    answer = loaded.translator(fusion=Fusion(lm, 0.5))("a b")
    source, target = answer._indices
    batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0]))
    with torch.inference_mode():
        every = loaded.model(batch.source, batch.shifted).log_softmax(dim=-1)
    given = every.gather(2, batch.target.pieces.unsqueeze(2)).sum().item()
    assert answer.total == pytest.approx(given, abs=1e-3)


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_fusion_refuses_a_weight_that_is_no_number(weight: float) -> None:
    with pytest.raises(InputError, match="weight"):
        convolutional(200).translator(fusion=Fusion(writer(200), weight))("a b")


def test_a_very_low_temperature_draws_the_likeliest() -> None:
    cold = writer(30).sample(2, SamplingConfig(temperature=1e-40), longest=5)
    assert cold == writer(30).sample(2, SamplingConfig(top_k=1), longest=5)
