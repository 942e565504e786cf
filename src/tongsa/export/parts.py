"""What other programs ask of our Transformer: which settings they can hold, and its weights one by one."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from tongsa.bundle import Bundle
from tongsa.errors import InputError
from tongsa.layers.multi_head import CrossAttention, SelfAttention
from tongsa.models.transformer import TransformerConfig


class Affine(NamedTuple):
    """x W + b, its rows one for each output."""

    weight: Tensor  # (output, input)
    bias: Tensor  # (output,)


class Attention(NamedTuple):
    query: Affine
    keys: Affine
    values: Affine
    join: Affine


def holdable(bundle: Bundle, program: str, held: Mapping[str, tuple[Any, ...]]) -> TransformerConfig:
    """The settings of a Transformer, refused where the program has no place for one of them."""
    if bundle.kind != "transformer":
        raise InputError(f"{program} cannot hold model.kind = {bundle.kind!r}, only 'transformer'; try --to onnx")
    config = cast(TransformerConfig, bundle.config)
    for name, values in held.items():
        value = getattr(config, name)
        if value not in values:
            known = " or ".join(map(repr, values))
            raise InputError(
                f"{program} cannot hold model.{name} = {value!r}, only {known}: "
                f"train with --set model.{name}={values[0]}, or try --to onnx"
            )
    share = config.width // config.heads
    for name, width in (("key_width", config.each_head.key_width), ("value_width", config.each_head.value_width)):
        if (width, config.width) != (share, share * config.heads):
            raise InputError(
                f"{program} cannot hold model.{name} = {width}, only width / heads: "
                f"train with --set model.{name}=0, or try --to onnx"
            )
    return config


def affine(layer: nn.Linear) -> Affine:
    return Affine(layer.weight.detach(), layer.bias.detach())


def self_attention(layer: SelfAttention) -> Attention:
    query, keys, values = _blocks(layer.project, 3)
    return Attention(_scaled(query, layer), keys, values, affine(layer.join))


def cross_attention(layer: CrossAttention) -> Attention:
    keys, values = _blocks(layer.memory, 2)
    return Attention(_scaled(affine(layer.query), layer), keys, values, affine(layer.join))


def joined(*parts: Affine) -> Affine:
    """One above the other: one product gives what all of them give."""
    return Affine(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))


def _blocks(layer: nn.Linear, count: int) -> list[Affine]:
    return [Affine(*both) for both in zip(*(part.chunk(count) for part in affine(layer)), strict=True)]


def _scaled(query: Affine, layer: SelfAttention | CrossAttention) -> Affine:
    """Others always divide q·k by √d_k: where the model does not, its queries are that much larger."""
    if layer.heads.comparison == "scaled-dot":
        return query
    return Affine(*(part * math.sqrt(layer.heads.key_width) for part in query))
