"""Known implementations of the Transformer, written again in a few lines each, to compare their logits with ours.

Each function takes our weights and returns logits (batch, length, token). What an implementation does with these
weights is written here from a reading of its code, which recipes/implementations/*.toml cite; nothing is copied.
Dropout is left out: the comparison is in evaluation. `eps` is the ε of the norms.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.rewritten_layers import (
    Inputs,
    attention_projections,
    feed_forward,
    future,
    normalize,
    paper_positions,
    post_norm_stacks,
    pre_norm_stacks,
    scale_embedding,
    timing_signal,
)


def tensor2tensor(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """transformer_base of 2023: the decoder's first input is a zero vector, not an embedding."""

    def embed(embedding: Any, tokens: Tensor) -> Tensor:
        x = scale_embedding(embedding, tokens)
        if tokens is inputs.target:  # shift right: the row of <s> is not used
            x = F.pad(scale_embedding(embedding, tokens[:, 1:]), (0, 0, 1, 0))
        return x + timing_signal(*x.shape[1:])

    hidden = pre_norm_stacks(model, embed, inputs, lambda x, norm: normalize(x, norm, eps))
    return F.linear(hidden, model.encoder.embedding.token_embedding.weight)


def tensor2tensor_2017(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """Its first public version: post-norm, with biases, with the zero vector as well."""
    table = model.encoder.embedding
    target = F.pad(scale_embedding(table, inputs.target[:, 1:]), (0, 0, 1, 0))
    embedded = [x + timing_signal(*x.shape[1:]) for x in (scale_embedding(table, inputs.source), target)]
    hidden = post_norm_stacks(model, (embedded[0], embedded[1]), inputs, eps)
    return F.linear(hidden, table.token_embedding.weight)


def annotated_transformer(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """Its norm divides by the unbiased deviation plus ε; its scale is then √(d / (d - 1)) times ours."""

    def norm(x: Tensor, parameters: Any) -> Tensor:
        scale: Tensor = parameters.weight * math.sqrt(x.shape[-1] / (x.shape[-1] - 1))
        normed: Tensor = scale * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + parameters.bias
        return normed

    def embed(embedding: Any, tokens: Tensor) -> Tensor:
        x = scale_embedding(embedding, tokens)
        return x + paper_positions(*x.shape[1:])

    hidden = pre_norm_stacks(model, embed, inputs, norm)
    return F.linear(hidden, model.decoder.output_embedding.weight, model.decoder.output_bias)


def joeynmt(model: Any, inputs: Inputs, eps: float) -> Tensor:
    def embed(embedding: Any, tokens: Tensor) -> Tensor:
        x = scale_embedding(embedding, tokens)
        return x + paper_positions(*x.shape[1:])

    hidden = pre_norm_stacks(model, embed, inputs, lambda x, norm: normalize(x, norm, eps))
    return F.linear(hidden, model.encoder.embedding.token_embedding.weight)


def simple_nmt(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """Heads are rows of a larger batch. Each decoder layer normalizes the memory with its cross-attention's norm."""

    def embed(embedding: Any, tokens: Tensor) -> Tensor:
        x = F.embedding(tokens, embedding.token_embedding.weight)  # no √d
        position, pair = torch.arange(x.shape[1]).unsqueeze(1), torch.arange(x.shape[2] // 2)
        angles = position / 10000.0 ** (pair / x.shape[2])  # i / d, not 2i / d
        return x + torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)

    def multi_head(x: Tensor, memory: Tensor, attention: Any, hidden: Tensor) -> Tensor:
        weights = attention_projections(attention)
        heads, width = attention.heads.count, x.shape[2] // attention.heads.count
        rows = [
            torch.cat((values @ part.weight.T).chunk(heads, dim=2))  # no biases
            for values, part in ((x, weights.query), (memory, weights.key), (memory, weights.value))
        ]
        scores = torch.bmm(rows[0], rows[1].mT).masked_fill(
            hidden.expand(len(x), -1, -1).repeat(heads, 1, 1), -math.inf
        )
        context = torch.bmm((scores / width**0.5).softmax(-1), rows[2])
        return torch.cat(context.chunk(heads), dim=2) @ weights.output.weight.T

    def norm(x: Tensor, sublayer_norm: Any) -> Tensor:
        return normalize(x, sublayer_norm.norm, eps)

    padding = ~inputs.source_mask.unsqueeze(1)
    memory = embed(model.encoder.embedding, inputs.source)
    for layer in model.encoder.layers:
        y = norm(memory, layer.self_attention_norm)
        memory = memory + multi_head(y, y, layer.self_attention, padding.expand(-1, y.shape[1], -1))
        memory = memory + feed_forward(norm(memory, layer.feed_forward_norm), layer)
    x = embed(model.decoder.embedding, inputs.target)
    for layer in model.decoder.layers:
        y = norm(x, layer.self_attention_norm)
        x = x + multi_head(y, y, layer.self_attention, future(inputs.target)[None])
        y, slots = (norm(values, layer.cross_attention_norm) for values in (x, memory))
        x = x + multi_head(y, slots, layer.cross_attention, padding.expand(-1, y.shape[1], -1))
        x = x + feed_forward(norm(x, layer.feed_forward_norm), layer)
    hidden = normalize(x, model.decoder.final_norm, eps)
    return F.linear(hidden, model.decoder.output_embedding.weight, model.decoder.output_bias)


def transformer_evolution(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """No √d; positions are rows of a table, from 1, and 0 for padding; GELU."""

    def embed(embedding: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        width = embedding.token_embedding.embedding_dim
        exponents = 2 * (torch.arange(width) // 2) / width
        angles = torch.arange(tokens.shape[1] + 1).unsqueeze(1) / 10000.0**exponents
        table = torch.where(torch.arange(width) % 2 == 0, angles.sin(), angles.cos())
        positions = (torch.arange(tokens.shape[1]) + 1).expand_as(tokens).masked_fill(~mask, 0)
        return F.embedding(tokens, embedding.token_embedding.weight) + table[positions]

    source = embed(model.encoder.embedding, inputs.source, inputs.source_mask)
    target = embed(model.decoder.embedding, inputs.target, torch.ones_like(inputs.target).bool())
    hidden = post_norm_stacks(model, (source, target), inputs, eps, activation=F.gelu)
    return F.linear(hidden, model.decoder.output_embedding.weight)


def bentrevett(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """Learned positions, one table for each side."""

    def embed(embedding: Any, tokens: Tensor) -> Tensor:
        x = scale_embedding(embedding, tokens)
        positions: Tensor = embedding.positional_encoding.learned_embedding.weight
        return x + positions[: x.shape[1]]

    embedded = embed(model.encoder.embedding, inputs.source), embed(model.decoder.embedding, inputs.target)
    hidden = post_norm_stacks(model, embedded, inputs, eps)
    return F.linear(hidden, model.decoder.output_embedding.weight, model.decoder.output_bias)


def bentrevett_2020(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """The same, with the norm of the first sub-layer in place of the others."""
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward_norm = layer.self_attention_norm
        if hasattr(layer, "cross_attention_norm"):
            layer.cross_attention_norm = layer.self_attention_norm
    return bentrevett(model, inputs, eps)


def fairseq(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """Positions from 2: the index of padding plus 1."""
    tables = model.encoder.embedding, model.decoder.embedding
    source, target = (
        scale_embedding(table, tokens) for table, tokens in zip(tables, (inputs.source, inputs.target), strict=True)
    )
    embedded = tuple(x + timing_signal(x.shape[1], x.shape[2], start=2) for x in (source, target))
    hidden = post_norm_stacks(model, (embedded[0], embedded[1]), inputs, eps)
    return F.linear(hidden, tables[1].token_embedding.weight)


def torch_nn_transformer(model: Any, inputs: Inputs, eps: float) -> Tensor:
    """The real class, with our weights copied into it."""
    layers, table = model.encoder.layers, model.encoder.embedding
    width, heads = table.token_embedding.embedding_dim, layers[0].self_attention.heads.count
    theirs = nn.Transformer(
        width,
        heads,
        len(layers),
        len(model.decoder.layers),
        layers[0].feed_forward.up_projection.out_features,
        layer_norm_eps=eps,
        batch_first=True,
    ).eval()
    stacks: Any = (theirs.encoder, model.encoder), (theirs.decoder, model.decoder)
    for stack, ours in stacks:
        stack.norm.load_state_dict(ours.final_norm.state_dict())
        for layer, our_layer in zip(stack.layers, ours.layers, strict=True):
            _copy_layer(layer, our_layer)
    embedded = [scale_embedding(table, tokens) for tokens in (inputs.source, inputs.target)]
    source, target = (x + paper_positions(*x.shape[1:]) for x in embedded)
    hidden = theirs(
        source,
        target,
        tgt_mask=future(inputs.target),
        src_key_padding_mask=~inputs.source_mask,
        memory_key_padding_mask=~inputs.source_mask,
    )
    return F.linear(hidden, table.token_embedding.weight)


def _copy_layer(layer: Any, ours: Any) -> None:
    attentions = [(layer.self_attn, attention_projections(ours.self_attention))]
    norms = [ours.self_attention_norm]
    if getattr(ours, "cross_attention", None) is not None:
        attentions.append((layer.multihead_attn, attention_projections(ours.cross_attention)))
        norms.append(ours.cross_attention_norm)
    for attention, weights in attentions:
        attention.in_proj_weight.copy_(torch.cat([part.weight for part in weights[:3]]))
        attention.in_proj_bias.copy_(torch.cat([part.bias for part in weights[:3]]))
        attention.out_proj.load_state_dict(weights.output._asdict())
    for number, norm in enumerate([*norms, ours.feed_forward_norm], 1):
        getattr(layer, f"norm{number}").load_state_dict(norm.norm.state_dict())
    layer.linear1.load_state_dict(ours.feed_forward.up_projection.state_dict())
    layer.linear2.load_state_dict(ours.feed_forward.down_projection.state_dict())


REWRITTEN: dict[str, tuple[Callable[[Any, Inputs, float], Tensor], float]] = {
    "annotated-transformer": (annotated_transformer, 1e-6),
    "bentrevett": (bentrevett, 1e-5),
    "bentrevett-2020": (bentrevett_2020, 1e-5),
    "fairseq": (fairseq, 1e-5),
    "joeynmt": (joeynmt, 1e-6),
    "simple-nmt": (simple_nmt, 1e-5),
    "tensor2tensor": (tensor2tensor, 1e-6),
    "tensor2tensor-2017": (tensor2tensor_2017, 1e-6),
    "torch-nn-transformer": (torch_nn_transformer, 1e-5),
    "transformer-evolution": (transformer_evolution, 1e-12),
}
"""By the name of the recipe: logits from our model's weights, and the ε of the implementation's norms."""
