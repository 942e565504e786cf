"""Transformer weights for other programs: supported settings, and the projections as separate matrices."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from tongsa.bundle import Bundle
from tongsa.errors import InputError
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.multi_head import CrossAttention, SelfAttention


class LinearParams(NamedTuple):
    """Weight and bias of a linear layer."""

    weight: Tensor  # (output, input)
    bias: Tensor  # (output,)


class AttentionProjections(NamedTuple):
    """Projections of a multi-head attention."""

    query: LinearParams
    key: LinearParams
    value: LinearParams
    output: LinearParams


class UnsupportedModelError(InputError):
    """A kind or a setting of a model that another program lacks."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}")
        self.reason = reason
        """The message without its remedy, which is about the export."""


def supported_config(bundle: Bundle, program: str, supported: Mapping[str, tuple[Any, ...]]) -> TransformerConfig:
    """Return the settings of a Transformer; raise an error for a kind or a setting that the program lacks."""
    if bundle.kind != "transformer":
        raise UnsupportedModelError(
            f"model.kind = {bundle.kind!r}: {program} supports only 'transformer'.", "Export with --to onnx."
        )
    config = cast(TransformerConfig, bundle.config)
    for name, values in supported.items():
        value = getattr(config, name)
        if value not in values:
            choices = " or ".join(map(repr, values))
            raise UnsupportedModelError(
                f"model.{name} = {value!r}: {program} supports only {choices}.",
                f"Train with --set model.{name}={_toml_value(values[0])}, or export with --to onnx.",
            )
    head_width = config.width // config.heads
    for name, width in (("key_width", config.head_config.key_width), ("value_width", config.head_config.value_width)):
        if (width, config.width) != (head_width, head_width * config.heads):
            raise UnsupportedModelError(
                f"model.{name} = {width}: {program} supports only width / heads.",
                f"Train with --set model.{name}=0, or export with --to onnx.",
            )
    return config


def _toml_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def linear_params(layer: nn.Linear) -> LinearParams:
    """Return weight and bias; zeros for a layer without a bias, which the other programs do not know."""
    bias = layer.weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias
    return LinearParams(layer.weight.detach(), bias.detach())


def self_attention_projections(layer: SelfAttention) -> AttentionProjections:
    query, key, value = split_linear(linear_params(layer.qkv_projection), 3)
    return AttentionProjections(_scale_query(query, layer), key, value, linear_params(layer.output_projection))


def cross_attention_projections(layer: CrossAttention) -> AttentionProjections:
    key, value = split_linear(linear_params(layer.kv_projection), 2)
    return AttentionProjections(
        _scale_query(linear_params(layer.query_projection), layer), key, value, linear_params(layer.output_projection)
    )


def concat_linear(*parts: LinearParams) -> LinearParams:
    """Stack linear layers: one product computes the outputs of all of them."""
    return LinearParams(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))


def split_linear(params: LinearParams, count: int) -> list[LinearParams]:
    """Split a linear layer into layers of equal output size: the inverse of `concat_linear`."""
    return [LinearParams(*pair) for pair in zip(*(tensor.chunk(count) for tensor in params), strict=True)]


def _scale_query(query: LinearParams, layer: SelfAttention | CrossAttention) -> LinearParams:
    """Fold the scale into the query projection: other programs always divide q·k by √d_k."""
    if layer.heads.score_function == "scaled-dot":
        return query
    return LinearParams(*(tensor * math.sqrt(layer.heads.key_width) for tensor in query))
