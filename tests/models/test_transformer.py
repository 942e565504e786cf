"""Impossible settings of a Transformer, its initial weights, and the feed-forward networks against their equations."""

from typing import Any, get_args

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tongsa.bundle_description import count_layers
from tongsa.interface import named_tensors
from tongsa.models.transformer.config import Initialization
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.feed_forward import ACTIVATIONS, Activation
from tongsa.nn.multi_head import HeadConfig, SelfAttention
from tongsa.nn.ssru import SSRU


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 7}, "512: not a multiple of heads 7"),
        ({"heads": 7, "key_width": 64}, "512: not a multiple of heads 7"),
        ({"heads": 0}, "heads: 0 is out of range"),
        ({"attention_window": -1}, "attention_window: -1 is out of range"),
        ({"norm_kind": "group", "groups": 3}, "512: not a multiple of groups 3"),
        ({"positions": "rotary", "attention": "additive"}, "needs a dot product"),
        ({"positions": "rotary", "key_width": 9}, "key_width 9 is odd"),
        ({"dropout": 1.0}, r"dropout: 1\.0 is out of range"),
        ({"decoder_layers": 0}, "decoder_layers: 0 is out of range"),
        ({"final_norm": "decoder"}, "needs pre-norm"),
        ({"shared_norm": True, "norm_kind": "batch"}, "cannot be shared"),
        ({"final_norm": "decoder", "norm": "pre", "norm_kind": "batch"}, "cannot be shared"),
    ],
)
def test_impossible_settings_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**settings)


def test_feed_forward_networks_by_their_equations() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(2, 3, 4)
    for activation, network in ACTIVATIONS.items():
        layer = network(4, 6, 0.0, gain=1.0)
        hidden = inputs @ layer.up_projection.weight.T + layer.up_projection.bias
        if activation == "relu":
            activated = hidden.clamp(min=0)
        elif activation == "gelu":
            activated = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
        else:
            activated = hidden[..., :6] * torch.sigmoid(hidden[..., :6]) * hidden[..., 6:]
        assert_close(layer(inputs), F.linear(activated, layer.down_projection.weight, layer.down_projection.bias))


def test_swiglu_with_two_thirds_of_the_width_has_as_many_parameters_as_relu() -> None:
    def size(activation: Activation, ffn_width: int) -> int:
        network = ACTIVATIONS[activation](512, ffn_width, 0.0, gain=1.0)
        return sum(weight.numel() for weight in network.parameters())

    assert size("swiglu", 1024) - size("relu", 1536) == 512  # biases


def test_initial_weights() -> None:
    """Standard deviation of a sub-layer's last matrix, source embeddings, output layer and biases, for each setting."""
    deviations = {}
    for name in get_args(Initialization):
        torch.manual_seed(1)
        config = TransformerConfig(
            width=64,
            ffn_width=64,
            heads=2,
            encoder_layers=3,
            norm="pre",
            tie_embeddings="none",
            output_bias=True,
            initialization=name,
        )
        model: Any = config.build(300, 300)
        layer = model.encoder.layers[1]
        embeddings = model.encoder.embedding.token_embedding.weight, model.decoder.output_embedding.weight
        biases = layer.self_attention.output_projection.bias, model.decoder.output_bias
        deviations[name] = [
            weight.std().item() for weight in (layer.feed_forward.down_projection.weight, *embeddings, *biases)
        ]
    glorot, table = (2 / (64 + 64)) ** 0.5, (2 / (300 + 64)) ** 0.5
    uniform = (1 / 64 / 3) ** 0.5  # of U(-1/√64, 1/√64)
    expected = {
        "scaled-xavier": [glorot / 6**0.5, 64**-0.5, 64**-0.5, 0, 0],
        "xavier": [glorot, 64**-0.5, 64**-0.5, 0, 0],
        "xavier-all": [glorot, table, table, 0, 0],
        "torch": [uniform, 1, uniform, uniform, uniform],
    }
    for name, values in expected.items():
        assert deviations[name] == pytest.approx(values, rel=0.15), name


def test_a_shared_norm_is_one_norm_for_all_sub_layers_and_is_saved_once() -> None:
    settings: dict[str, Any] = {"width": 16, "ffn_width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}
    separate: Any = TransformerConfig(**settings).build(9, 9)
    shared: Any = TransformerConfig(**settings, shared_norm=True).build(9, 9)
    sizes = [sum(value.numel() for value in named_tensors(model).values()) for model in (separate, shared)]
    assert sizes[0] - sizes[1] == 2 * 16 * (2 * 1 + 2 * 2)  # scale and shift of the second and third sub-layer
    layer = shared.decoder.layers[0]
    assert layer.self_attention_norm.norm.weight is layer.feed_forward_norm.norm.weight
    assert layer.self_attention_norm.norm.bias is layer.cross_attention_norm.norm.bias


@pytest.mark.parametrize("norm_kind", ["layer", "batch"])
def test_tied_decoder_layers_are_one_layer_that_is_saved_once(norm_kind: Any) -> None:
    sizes: dict[str, Any] = {"width": 16, "ffn_width": 24, "heads": 2, "encoder_layers": 1, "norm_kind": norm_kind}
    tied = TransformerConfig(**sizes, decoder_layers=3, tie_decoder_layers=True).build(9, 9)
    single = TransformerConfig(**sizes, decoder_layers=1).build(9, 9)
    assert [name for name, _ in tied.named_parameters()] == [name for name, _ in single.named_parameters()]
    before = named_tensors(tied)["decoder.layers.0.feed_forward.down_projection.weight"].clone()
    with torch.no_grad():
        tied.get_submodule("decoder.layers.2.feed_forward.down_projection").weight.add_(1)  # type: ignore[operator]
    after = named_tensors(tied)["decoder.layers.0.feed_forward.down_projection.weight"]
    assert_close(after, before + 1)


def test_a_file_of_tied_layers_has_enough_tensors_to_be_loaded() -> None:
    sizes: dict[str, Any] = {"width": 4, "ffn_width": 4, "heads": 1, "encoder_layers": 1, "decoder_layers": 50}
    for config in (TransformerConfig(**sizes), TransformerConfig(**sizes, tie_decoder_layers=True)):
        assert count_layers(config) <= len(named_tensors(config.build(9, 9)))
    assert count_layers(TransformerConfig(**sizes)) == 51


def test_an_ssru_keeps_its_cell_in_float32_when_products_are_in_bf16() -> None:
    torch.manual_seed(0)
    cell, inputs = SSRU(8), torch.randn(2, 30, 8)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = cell(inputs)
    outputs.sum().backward()
    assert outputs.dtype == torch.float32
    assert_close(outputs, cell(inputs), rtol=0.05, atol=0.05)


def test_the_bias_of_the_keys_has_no_effect() -> None:
    torch.manual_seed(1)
    heads = HeadConfig(count=2, key_width=4, value_width=4)
    layer, inputs, mask = SelfAttention(8, heads, "encoder", gain=1.0), torch.randn(2, 5, 8), torch.ones(2, 5).bool()
    before = layer(inputs, mask)
    with torch.no_grad():
        layer.qkv_projection.bias.chunk(3)[1].add_(torch.randn(8))
    assert_close(layer(inputs, mask), before)
