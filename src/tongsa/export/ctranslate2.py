"""A Transformer for CTranslate2 (Klein et al. 2020): its specification is filled from our weights, without a detour."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongsa.bundle import Bundle
from tongsa.decoding.engines.ctranslate2 import VMAP_FILE, import_library
from tongsa.export.parts import (
    LinearParams,
    concat_linear,
    cross_attention_projections,
    linear_params,
    self_attention_projections,
    supported_config,
)
from tongsa.models.transformer.decoder import TransformerDecoder
from tongsa.models.transformer.encoder import TransformerEncoder
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.positions import PositionalEncoding
from tongsa.tokenization.lexicon import ShortlistCandidates
from tongsa.tokenization.special import BOS, EOS, UNK

SUPPORTED_VALUES: dict[str, tuple[Any, ...]] = {
    "attention": ("scaled-dot", "dot"),
    "qk_norm": (False,),  # it has a place for these norms, but 4.8 finds other totals at each try
    "attention_window": (0,),
    "norm_kind": ("layer", "rms"),
}
"""The settings that CTranslate2 does not run with every value, and the values that it runs."""

MAX_POSITIONS = 2048
"""Positions that are computed are written down up to here: CTranslate2 would compute others than ours."""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]:
    """Fill a folder; what is returned the engine needs to know."""
    config = supported_config(bundle, "CTranslate2", SUPPORTED_VALUES)
    places = min(bundle.model.max_positions, MAX_POSITIONS)
    made = model_spec(bundle, config, places)
    made.validate()
    made.optimize(quantization="int8" if int8 else None)
    made.save(str(folder))
    if (listed := bundle.load_shortlist()) is not None:
        (folder / VMAP_FILE).write_text(_vocabulary_map(listed.candidates), "utf-8")
    return {
        "max_positions": bundle.model.max_positions,
        "exported_positions": places,
        "int8": int8,
        "shortlist_sha256": bundle.shortlist_sha256,
    }


def _vocabulary_map(candidates: ShortlistCandidates) -> str:
    """What may become of each source piece, and of none: pieces that are always there."""
    always = [*range(UNK + 1), *candidates.always.tolist()]
    every = [("", always), *((str(source), found) for source, found in enumerate(candidates.per_token.tolist()))]
    return "".join(f"{source}\t{' '.join(map(str, sorted(set(found))))}\n" for source, found in every)


def model_spec(bundle: Bundle, config: TransformerConfig, max_positions: int) -> Any:
    """A TransformerSpec. Its tokens are our indices: pieces may hold line ends, and names may be shown alike."""
    specs = import_library("ctranslate2.specs")
    encoder, decoder = _stack_specs(specs, config)
    made = specs.TransformerSpec(encoder, decoder)
    _fill_encoder(made.encoder, bundle.model.encoder, max_positions)  # type: ignore[arg-type]
    _fill_decoder(made.decoder, bundle.model.decoder, max_positions)  # type: ignore[arg-type]
    made.config.bos_token = made.config.decoder_start_token = str(BOS)
    made.config.eos_token, made.config.unk_token = str(EOS), str(UNK)
    made.config.layer_norm_epsilon = 1e-6 if config.norm_kind == "rms" else 1e-5
    made.register_source_vocabulary([str(index) for index in range(len(bundle.source_tokenizer))])
    made.register_target_vocabulary([str(index) for index in range(len(bundle.target_tokenizer))])
    return made


def _stack_specs(specs: Any, config: TransformerConfig) -> tuple[Any, Any]:
    activation = specs.common_spec.Activation
    shared = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": {"relu": activation.RELU, "gelu": activation.GELU, "swiglu": activation.SWISH}[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm_kind == "rms",
        "rotary_dim": 0 if config.positions == "rotary" else None,  # 0 turns all of a head, pair by pair as we do
    }
    return (
        specs.TransformerEncoderSpec(num_layers=config.encoder_layers, **shared),
        specs.TransformerDecoderSpec(num_layers=config.decoder_layers, **shared),
    )


def _fill_encoder(spec: Any, encoder: TransformerEncoder, max_positions: int) -> None:
    spec.embeddings[0].weight = _to_numpy(encoder.embedding.token_embedding.weight)
    _fill_positions(spec, encoder.embedding.positional_encoding, max_positions)
    _fill_norm(getattr(spec, "layer_norm", None), encoder.final_norm)
    for part, layer in zip(spec.layer, encoder.layers, strict=True):
        _fill_self_attention(part, layer)
        _fill_feed_forward(part.ffn, layer)


def _fill_decoder(spec: Any, decoder: TransformerDecoder, max_positions: int) -> None:
    spec.embeddings.weight = _to_numpy(decoder.embedding.token_embedding.weight)
    spec.projection.weight = _to_numpy(decoder.output_embedding.weight)
    _fill_positions(spec, decoder.embedding.positional_encoding, max_positions)
    _fill_norm(getattr(spec, "layer_norm", None), decoder.final_norm)
    for part, layer in zip(spec.layer, decoder.layers, strict=True):
        _fill_self_attention(part, layer)
        assert layer.cross_attention is not None  # noqa: S101 - for the type: a translating decoder reads
        assert layer.cross_attention_norm is not None  # noqa: S101 - the same
        cross = cross_attention_projections(layer.cross_attention)
        _fill_linear(part.attention.linear[0], cross.query)
        _fill_linear(part.attention.linear[1], concat_linear(cross.key, cross.value))
        _fill_linear(part.attention.linear[2], cross.output)
        _fill_norm(part.attention.layer_norm, layer.cross_attention_norm.norm)
        _fill_feed_forward(part.ffn, layer)


def _fill_positions(spec: Any, positions: PositionalEncoding, max_positions: int) -> None:
    """Where positions are rotary the attention turns, and nothing is added."""
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _to_numpy(positions(0, max_positions, torch.device("cpu")))


def _fill_self_attention(spec: Any, layer: Any) -> None:
    own = self_attention_projections(layer.attention)
    _fill_linear(spec.self_attention.linear[0], concat_linear(own.query, own.key, own.value))
    _fill_linear(spec.self_attention.linear[1], own.output)
    _fill_norm(spec.self_attention.layer_norm, layer.around_attention.norm)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    wide = linear_params(layer.feed_forward.widen)
    blocks = [
        LinearParams(*both) for both in zip(*(part.chunk(layer.feed_forward.blocks) for part in wide), strict=True)
    ]
    _fill_linear(spec.linear_0, blocks[0])
    if len(blocks) > 1:  # the gate is bent, and multiplied with what is not
        _fill_linear(spec.linear_0_noact, blocks[1])
    _fill_linear(spec.linear_1, linear_params(layer.feed_forward.narrow))
    _fill_norm(spec.layer_norm, layer.around_feed_forward.norm)


def _fill_linear(spec: Any, params: LinearParams) -> None:
    spec.weight, spec.bias = _to_numpy(params.weight), _to_numpy(params.bias)


def _fill_norm(spec: Any, norm: Any) -> None:
    """A specification that normalises nothing has no place for it."""
    if spec is None:
        return
    spec.gamma = _to_numpy(norm.weight)
    if hasattr(norm, "bias"):
        spec.beta = _to_numpy(norm.bias)


def _to_numpy(tensor: Tensor) -> Any:
    """A copy: quantization writes into what it is given."""
    return tensor.detach().float().cpu().numpy().copy()
