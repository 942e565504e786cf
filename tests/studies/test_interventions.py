"""Measurements on models by the trained studies: shifted and compressed positions, entropy of attention."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from studies.dropout.study import attention_entropy
from studies.positions.interventions import changed_positions, compress_positions, shift_positions
from tongsa.batch import Batch, Padded, pad
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.multi_head import SelfAttention

SOURCE, TARGET = pad([[5, 6, 7, 8], [9, 5]]), pad([[1, 6, 7], [1, 8, 9]])


def build(positions: Any) -> Any:
    torch.manual_seed(1)
    config = TransformerConfig(
        width=16, ffn_width=32, heads=2, encoder_layers=2, decoder_layers=1, positions=positions, max_positions=600
    )
    return SimpleNamespace(model=config.build(12, 12).eval())


@torch.inference_mode()
def logits(translator: Any) -> Tensor:
    result: Tensor = translator.model(SOURCE, TARGET)
    return result


@pytest.mark.parametrize("positions", ["rotary", "none"])
def test_a_shift_changes_nothing_where_only_distances_count(positions: str) -> None:
    translator = build(positions)
    with changed_positions(translator, shift_positions(24), 24):
        torch.testing.assert_close(logits(translator), logits(build(positions)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_shift_changes_added_positions_until_the_context_ends(positions: str) -> None:
    translator = build(positions)
    before = logits(translator)
    with changed_positions(translator, shift_positions(24), 24):
        assert not torch.allclose(logits(translator), before)
    assert torch.equal(logits(translator), before)


def test_compression_by_one_changes_nothing_and_by_less_than_one_does() -> None:
    translator = build("sinusoidal")
    before = logits(translator)
    with changed_positions(translator, compress_positions(1.0), 0):
        torch.testing.assert_close(logits(translator), before)
    with changed_positions(translator, compress_positions(0.5), 0):
        assert not torch.allclose(logits(translator), before)


def test_the_entropy_of_uniform_attention_is_the_logarithm_of_the_number_of_keys() -> None:
    model = build("none").model
    for module in model.modules():
        if isinstance(module, SelfAttention):
            torch.nn.init.zeros_(module.qkv_projection.weight)  # all scores are 0
            torch.nn.init.zeros_(module.qkv_projection.bias)
    batch = Batch(SOURCE, TARGET, Padded(TARGET.tokens, TARGET.lengths))
    entropies = attention_entropy(model, batch)
    assert entropies["encoder"] == pytest.approx((4 * math.log(4) + 2 * math.log(2)) / 6, rel=1e-5)
    assert entropies["decoder"] == pytest.approx((math.log(1) + math.log(2) + math.log(3)) / 3, rel=1e-5)
