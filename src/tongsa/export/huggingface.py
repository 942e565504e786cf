"""Export of a Transformer to Hugging Face: the layout of Marian (Junczys-Dowmunt et al. 2018), for MarianMTModel.

Marian's sinusoids have another order: all sines, then all cosines. The order of the model's dimensions is arbitrary, so
the dimensions are permuted to Marian's order in all weights that read or write them.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentencepiece import SentencePieceProcessor
from torch import Tensor, nn

from tongsa.bundle import Bundle
from tongsa.export.transformer_weights import (
    AttentionProjections,
    LinearParams,
    cross_attention_projections,
    linear_params,
    self_attention_projections,
    supported_config,
)
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.special import BOS, EOS, PAD

SUPPORTED_VALUES: dict[str, tuple[Any, ...]] = {
    "norm": ("post",),
    "norm_kind": ("layer",),
    "positions": ("sinusoidal",),
    "activation": ("relu", "gelu"),
    "attention": ("scaled-dot", "dot"),
    "qk_norm": (False,),
    "attention_window": (0,),
}
"""Supported values, for the settings that Marian supports only in part."""

MAX_POSITIONS = 1024
"""Maximum sequence length of the exported MarianMTModel."""

NamedTensors = Iterator[tuple[str, Tensor]]


def write(folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]:
    """Write the model into a folder; the metadata records whether it has files for MarianTokenizer."""
    assert not int8  # noqa: S101 - the command line rejects it
    config = supported_config(bundle, "Marian", SUPPORTED_VALUES)
    tensors = {name: value.float().cpu().contiguous().clone() for name, value in marian_tensors(bundle, config)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", _model_config(bundle, config))
    _write_json(folder / "generation_config.json", _generation_config(bundle))
    has_tokenizer = _marian_tokenizer_matches(bundle)
    if has_tokenizer:
        _write_tokenizer(folder, bundle)
    return {"tokenizer": has_tokenizer}


def marian_tensors(bundle: Bundle, config: TransformerConfig) -> NamedTensors:
    """Yield all weights by Marian's names; tied weights appear once."""
    encoder: TransformerEncoder = bundle.model.encoder  # type: ignore[assignment]
    decoder: TransformerDecoder = bundle.model.decoder  # type: ignore[assignment]
    if config.tie_embeddings == "all":
        yield "model.shared.weight", _permute_width(encoder.embedding.token_embedding.weight)
    else:
        yield "model.encoder.embed_tokens.weight", _permute_width(encoder.embedding.token_embedding.weight)
        yield "model.decoder.embed_tokens.weight", _permute_width(decoder.embedding.token_embedding.weight)
    if config.tie_embeddings == "none":
        yield "lm_head.weight", _permute_width(decoder.output_embedding.weight)
    yield "final_logits_bias", torch.zeros(1, len(bundle.target_tokenizer))
    for i, layer in enumerate(encoder.layers):
        yield from _layer_tensors(f"model.encoder.layers.{i}", layer)
    for i, layer in enumerate(decoder.layers):
        name = f"model.decoder.layers.{i}"
        yield from _layer_tensors(name, layer)
        yield from _attention_tensors(f"{name}.encoder_attn", cross_attention_projections(layer.cross_attention))  # type: ignore[arg-type]
        yield from _norm_tensors(f"{name}.encoder_attn_layer_norm", layer.cross_attention_norm.norm)  # type: ignore[union-attr]


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
    yield f"{name}.weight", params.weight[_marian_permutation(len(params.weight))]
    yield f"{name}.bias", _permute_width(params.bias)


def _permute_width(values: Tensor) -> Tensor:  # (…, width)
    return values.detach()[..., _marian_permutation(values.shape[-1])]


def _marian_permutation(width: int) -> Tensor:
    """Return the even dimensions, which hold our sines, and then the odd ones."""
    return torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])


def _model_config(bundle: Bundle, config: TransformerConfig) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        sides |= {
            f"{side}_layers": layers,
            f"{side}_ffn_dim": config.ffn_width,
            f"{side}_attention_heads": config.heads,
        }
    return (
        sides
        | {
            "model_type": "marian",
            "architectures": ["MarianMTModel"],
            "vocab_size": len(bundle.source_tokenizer),
            "decoder_vocab_size": len(bundle.target_tokenizer),
            "share_encoder_decoder_embeddings": config.tie_embeddings == "all",
            "tie_word_embeddings": config.tie_embeddings != "none",
            "d_model": config.width,
            "activation_function": config.activation,
            "dropout": config.dropout,
            "activation_dropout": config.ffn_dropout,
            "scale_embedding": True,
            "static_position_embeddings": True,
            "max_position_embeddings": MAX_POSITIONS,
            "is_encoder_decoder": True,
            "forced_eos_token_id": EOS,
            "dtype": "float32",
        }
        | _special_token_ids()
    )


def _generation_config(bundle: Bundle) -> dict[str, Any]:
    """Return the generation settings. The length penalty is defined differently, so a translation may differ."""
    beam = bundle.decoding.beam
    penalty = {"length_penalty": bundle.decoding.alpha} if beam > 1 else {}
    return (
        penalty
        | {"num_beams": beam, "max_length": MAX_POSITIONS // 2, "suppress_tokens": [PAD, BOS]}
        | _special_token_ids()
    )


def _special_token_ids() -> dict[str, int]:
    return {
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": EOS,
    }


def _marian_tokenizer_matches(bundle: Bundle) -> bool:
    """Return whether MarianTokenizer splits like our tokenizer: it has no jamo, and merges adjacent unknown words."""
    return not bundle.source_tokenizer.jamo and bundle.source_tokenizer.model_type != "word"


def _write_tokenizer(folder: Path, bundle: Bundle) -> None:
    is_separate = bundle.target_tokenizer.model_bytes != bundle.source_tokenizer.model_bytes
    _write_json(folder / "vocab.json", _token_to_id(bundle.source_tokenizer.model_bytes))
    if is_separate:
        _write_json(folder / "target_vocab.json", _token_to_id(bundle.target_tokenizer.model_bytes))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": bundle.source_language,
        "target_lang": bundle.target_language,
        "separate_vocabs": is_separate,
        "model_max_length": MAX_POSITIONS,
    }
    _write_json(folder / "tokenizer_config.json", settings)


def _token_to_id(model_bytes: bytes) -> dict[str, int]:
    processor = SentencePieceProcessor(model_proto=model_bytes)
    name: Callable[[int], str] = processor.id_to_piece
    return {name(index): index for index in range(processor.get_piece_size())}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8", newline="\n")
