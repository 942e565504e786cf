"""What other programs ask of our Transformer: which settings they can hold, and its weights one by one."""

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
    """x W + b, its rows one for each output."""

    weight: Tensor  # (output, input)
    bias: Tensor  # (output,)


class AttentionProjections(NamedTuple):
    query: LinearParams
    key: LinearParams
    value: LinearParams
    output: LinearParams


def supported_config(bundle: Bundle, program: str, supported: Mapping[str, tuple[Any, ...]]) -> TransformerConfig:
    """The settings of a Transformer, refused where the program has no place for one of them."""
    if bundle.kind != "transformer":
        raise InputError(f"{program} cannot hold model.kind = {bundle.kind!r}, only 'transformer'; try --to onnx")
    config = cast(TransformerConfig, bundle.config)
    for name, values in supported.items():
        value = getattr(config, name)
        if value not in values:
            known = " or ".join(map(repr, values))
            raise InputError(
                f"{program} cannot hold model.{name} = {value!r}, only {known}: "
                f"train with --set model.{name}={values[0]}, or try --to onnx"
            )
    share = config.width // config.heads
    for name, width in (("key_width", config.head_config.key_width), ("value_width", config.head_config.value_width)):
        if (width, config.width) != (share, share * config.heads):
            raise InputError(
                f"{program} cannot hold model.{name} = {width}, only width / heads: "
                f"train with --set model.{name}=0, or try --to onnx"
            )
    return config


def linear_params(layer: nn.Linear) -> LinearParams:
    return LinearParams(layer.weight.detach(), layer.bias.detach())


def self_attention_projections(layer: SelfAttention) -> AttentionProjections:
    query, keys, values = _split_linear(layer.qkv_projection, 3)
    return AttentionProjections(_scale_query(query, layer), keys, values, linear_params(layer.output_projection))


def cross_attention_projections(layer: CrossAttention) -> AttentionProjections:
    keys, values = _split_linear(layer.kv_projection, 2)
    return AttentionProjections(
        _scale_query(linear_params(layer.query_projection), layer), keys, values, linear_params(layer.output_projection)
    )


def concat_linear(*parts: LinearParams) -> LinearParams:
    """One above the other: one product gives what all of them give."""
    return LinearParams(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))


def _split_linear(layer: nn.Linear, count: int) -> list[LinearParams]:
    return [LinearParams(*both) for both in zip(*(part.chunk(count) for part in linear_params(layer)), strict=True)]


def _scale_query(query: LinearParams, layer: SelfAttention | CrossAttention) -> LinearParams:
    """Others always divide q·k by √d_k: where the model does not, its queries are that much larger."""
    if layer.heads.score_function == "scaled-dot":
        return query
    return LinearParams(*(part * math.sqrt(layer.heads.key_width) for part in query))
