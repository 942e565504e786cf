"""Layers that several known implementations of the Transformer have in common, for tests/models/rewritten.py."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tongsa.export.transformer_weights import (
    AttentionProjections,
    cross_attention_projections,
    self_attention_projections,
)


class Inputs(NamedTuple):
    """Token ids (batch, length) and what is no padding, True for tokens."""

    source: Tensor
    source_mask: Tensor
    target: Tensor


def linear(x: Tensor, parameters: Any) -> Tensor:
    return F.linear(x, parameters.weight, parameters.bias)


def normalize(x: Tensor, norm: Any, eps: float) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, eps)


def attention_projections(attention: Any) -> AttentionProjections:
    is_cross = hasattr(attention, "kv_projection")
    return (cross_attention_projections if is_cross else self_attention_projections)(attention)


def future(target: Tensor) -> Tensor:  # (query, key)
    """Return True where a key is later than the query."""
    return torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)


def feed_forward(x: Tensor, layer: Any, activation: Callable[[Tensor], Tensor] = F.relu) -> Tensor:
    network = layer.feed_forward
    return linear(activation(linear(x, network.up_projection)), network.down_projection)


def attend(x: Tensor, memory: Tensor, attention: Any, hidden: Tensor, masked_score: float = -1e9) -> Tensor:
    """Multi-head attention with a large negative score where `hidden` (batch, query, key) is True."""
    projections = attention_projections(attention)
    heads, (batch, length, width) = attention.heads.count, x.shape
    query, key, value = (
        linear(values, part).view(batch, -1, heads, width // heads).transpose(1, 2)
        for values, part in ((x, projections.query), (memory, projections.key), (memory, projections.value))
    )
    scores = query @ key.transpose(2, 3) / math.sqrt(width // heads)
    weights = scores.masked_fill(hidden.unsqueeze(1), masked_score).softmax(-1)
    return linear((weights @ value).transpose(1, 2).reshape(batch, length, width), projections.output)


def pre_norm_stacks(model: Any, embed: Callable[[Any, Tensor], Tensor], inputs: Inputs, norm: Any) -> Tensor:
    """x + sublayer(norm(x)), and a norm at the end of both stacks: Annotated Transformer, JoeyNMT, tensor2tensor."""
    padding = ~inputs.source_mask.unsqueeze(1)
    x = embed(model.encoder.embedding, inputs.source)
    for layer in model.encoder.layers:
        y = norm(x, layer.self_attention_norm.norm)
        x = x + attend(y, y, layer.self_attention, padding)
        x = x + feed_forward(norm(x, layer.feed_forward_norm.norm), layer)
    memory = norm(x, model.encoder.final_norm)
    x = embed(model.decoder.embedding, inputs.target)
    for layer in model.decoder.layers:
        y = norm(x, layer.self_attention_norm.norm)
        x = x + attend(y, y, layer.self_attention, future(inputs.target)[None])
        y = norm(x, layer.cross_attention_norm.norm)
        x = x + attend(y, memory, layer.cross_attention, padding)
        x = x + feed_forward(norm(x, layer.feed_forward_norm.norm), layer)
    hidden: Tensor = norm(x, model.decoder.final_norm)
    return hidden


def post_norm_stacks(model: Any, embedded: tuple[Tensor, Tensor], inputs: Inputs, eps: float, **options: Any) -> Tensor:
    """norm(x + sublayer(x)): the paper, tensor2tensor of 2017, fairseq, bentrevett, transformer-evolution."""
    padding = ~inputs.source_mask.unsqueeze(1)
    memory, x = embedded
    for layer in model.encoder.layers:
        memory = memory + attend(memory, memory, layer.self_attention, padding)
        memory = normalize(memory, layer.self_attention_norm.norm, eps)
        memory = normalize(memory + feed_forward(memory, layer, **options), layer.feed_forward_norm.norm, eps)
    for layer in model.decoder.layers:
        y = attend(x, x, layer.self_attention, future(inputs.target)[None])
        x = normalize(x + y, layer.self_attention_norm.norm, eps)
        y = attend(x, memory, layer.cross_attention, padding)
        x = normalize(x + y, layer.cross_attention_norm.norm, eps)
        x = normalize(x + feed_forward(x, layer, **options), layer.feed_forward_norm.norm, eps)
    return x


def paper_positions(length: int, width: int) -> Tensor:
    """The table of the Annotated Transformer and JoeyNMT: exp of logarithms, sines and cosines in turn."""
    table, position = torch.zeros(length, width), torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * -(math.log(10000.0) / width))
    table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
    return table


def timing_signal(length: int, width: int, start: int = 0) -> Tensor:
    """The table of tensor2tensor and fairseq: geometric timescales from 1 to 10000, sines before cosines."""
    increment = math.log(10000.0) / (width // 2 - 1)
    angles = torch.arange(start, start + length).unsqueeze(1) * torch.exp(torch.arange(width // 2) * -increment)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def scale_embedding(embedding: Any, tokens: Tensor) -> Tensor:
    weight = embedding.token_embedding.weight
    return F.embedding(tokens, weight) * math.sqrt(weight.shape[1])
