"""Impossible settings of a Transformer, and the feed-forward networks against their equations."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.feed_forward import ACTIVATIONS, Activation


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 7}, "512: not a multiple of heads 7"),
        ({"heads": 7, "key_width": 64}, "512: not a multiple of heads 7"),
        ({"heads": 0}, "heads: 0 is not at least 1"),
        ({"attention_window": -1}, "attention_window: -1 is not at least 0"),
        ({"norm_kind": "group", "groups": 3}, "512: not a multiple of groups 3"),
        ({"positions": "rotary", "attention": "additive"}, "needs a dot product"),
        ({"positions": "rotary", "key_width": 9}, "key_width 9 is odd"),
        ({"dropout": 1.0}, r"dropout: 1\.0 is not in"),
        ({"decoder_layers": 0}, "decoder_layers: 0 is not at least 1"),
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
