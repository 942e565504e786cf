"""Transformer weights by the names of Hugging Face: Marian's layout for post-norm, PEGASUS's for pre-norm.

Both layouts have the same names; pre-norm has two more norms, at the end of the encoder and of the decoder. Their
sinusoids have another order than ours: all sines, then all cosines. The order of the model's dimensions is arbitrary,
so the dimensions are permuted to that order in all weights that read or write them.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.bundle import Bundle
from tongsa.export.transformer_weights import (
    AttentionProjections,
    LinearParams,
    cross_attention_projections,
    linear_params,
    self_attention_projections,
)
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.models.transformer.seq2seq import TransformerConfig

MASKED_LOGIT = -1e4
"""Bias of a token that does not exist; half precision can represent it."""

MAX_POSITIONS = 1024
"""Length of the exported position table, for kinds of positions without a limit."""

NamedTensors = Iterator[tuple[str, Tensor]]


def named_weights(bundle: Bundle, config: TransformerConfig) -> NamedTensors:
    """Yield all weights by their names in MarianMTModel or PegasusForConditionalGeneration."""
    encoder: TransformerEncoder = bundle.model.encoder  # type: ignore[assignment]
    decoder: TransformerDecoder = bundle.model.decoder  # type: ignore[assignment]
    embeddings = _marian_embeddings if config.norm == "post" else _pegasus_embeddings
    yield from embeddings(encoder, decoder, config)
    for name, stack in (("encoder", encoder), ("decoder", decoder)):
        positions = stack.embedding.positional_encoding(0, max_positions(config), torch.device("cpu"))
        yield f"model.{name}.embed_positions.weight", _permute_width(positions)
    for i, layer in enumerate(encoder.layers):
        yield from _layer_tensors(f"model.encoder.layers.{i}", layer)
    for i, layer in enumerate(decoder.layers):
        name = f"model.decoder.layers.{i}"
        yield from _layer_tensors(name, layer)
        yield from _attention_tensors(f"{name}.encoder_attn", cross_attention_projections(layer.cross_attention))  # type: ignore[arg-type]
        yield from _norm_tensors(f"{name}.encoder_attn_layer_norm", layer.cross_attention_norm.norm)  # type: ignore[union-attr]
    if config.norm == "pre":
        yield from _norm_tensors("model.encoder.layer_norm", encoder.final_norm)
        yield from _norm_tensors("model.decoder.layer_norm", decoder.final_norm)


def max_positions(config: TransformerConfig) -> int:
    """Return the maximum sequence length of the exported model."""
    return config.max_positions if config.positions == "learned" else MAX_POSITIONS


def _marian_embeddings(
    encoder: TransformerEncoder, decoder: TransformerDecoder, config: TransformerConfig
) -> NamedTensors:
    """Yield the embedding tables of two vocabularies; tied tables appear once."""
    source, target = encoder.embedding.token_embedding.weight, decoder.embedding.token_embedding.weight
    if config.tie_embeddings == "all":
        yield "model.shared.weight", _permute_width(source)
    else:
        yield "model.encoder.embed_tokens.weight", _permute_width(source)
        yield "model.decoder.embed_tokens.weight", _permute_width(target)
    if config.tie_embeddings == "none":
        yield "lm_head.weight", _permute_width(decoder.output_embedding.weight)
    yield "final_logits_bias", _output_bias(decoder).unsqueeze(0)


def _pegasus_embeddings(
    encoder: TransformerEncoder, decoder: TransformerDecoder, config: TransformerConfig
) -> NamedTensors:
    """Yield tables of one size: the smaller vocabulary gets empty rows, and a bias excludes them from the output.

    PEGASUS ties all tables or none. Untied, it still has the unused table `shared`.
    """
    source, target = encoder.embedding.token_embedding.weight, decoder.embedding.token_embedding.weight
    rows = max(len(source), len(target))
    yield "model.shared.weight", _add_rows(_permute_width(source), rows)
    if config.tie_embeddings != "all":
        yield "model.encoder.embed_tokens.weight", _add_rows(_permute_width(source), rows)
        yield "model.decoder.embed_tokens.weight", _add_rows(_permute_width(target), rows)
        yield "lm_head.weight", _add_rows(_permute_width(decoder.output_embedding.weight), rows)
    yield "final_logits_bias", _add_rows(_output_bias(decoder).unsqueeze(1), rows, MASKED_LOGIT).T


def _output_bias(decoder: TransformerDecoder) -> Tensor:  # (token,)
    embedding, bias = decoder.output_embedding, decoder.output_bias
    return torch.zeros(embedding.num_embeddings) if bias is None else bias.detach()


def _add_rows(table: Tensor, rows: int, value: float = 0.0) -> Tensor:  # (rows, width)
    return F.pad(table, (0, 0, 0, rows - len(table)), value=value)


def _layer_tensors(name: str, layer: Any) -> NamedTensors:
    yield from _attention_tensors(f"{name}.self_attn", self_attention_projections(layer.self_attention))
    yield from _norm_tensors(f"{name}.self_attn_layer_norm", layer.self_attention_norm.norm)
    yield from _input_permuted_linear(f"{name}.fc1", linear_params(layer.feed_forward.up_projection))
    yield from _output_permuted_linear(f"{name}.fc2", linear_params(layer.feed_forward.down_projection))
    yield from _norm_tensors(f"{name}.final_layer_norm", layer.feed_forward_norm.norm)


def _attention_tensors(name: str, projections: AttentionProjections) -> NamedTensors:
    yield from _input_permuted_linear(f"{name}.q_proj", projections.query)
    yield from _input_permuted_linear(f"{name}.k_proj", projections.key)
    yield from _input_permuted_linear(f"{name}.v_proj", projections.value)
    yield from _output_permuted_linear(f"{name}.out_proj", projections.output)


def _norm_tensors(name: str, norm: nn.Module) -> NamedTensors:
    for parameter in ("weight", "bias"):
        yield f"{name}.{parameter}", _permute_width(getattr(norm, parameter).detach())


def _input_permuted_linear(name: str, params: LinearParams) -> NamedTensors:
    """Yield a linear layer whose inputs are the model's dimensions."""
    yield f"{name}.weight", _permute_width(params.weight)
    yield f"{name}.bias", params.bias


def _output_permuted_linear(name: str, params: LinearParams) -> NamedTensors:
    """Yield a linear layer whose outputs are added to the model's dimensions."""
    yield f"{name}.weight", params.weight[_sines_first(len(params.weight))]
    yield f"{name}.bias", _permute_width(params.bias)


def _permute_width(values: Tensor) -> Tensor:  # (…, width)
    return values.detach()[..., _sines_first(values.shape[-1])]


def _sines_first(width: int) -> Tensor:
    """Return the even dimensions, which hold our sines, and then the odd ones."""
    return torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])
