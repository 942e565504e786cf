"""Export of a Transformer to CTranslate2 (Klein et al. 2020): fill its model specification with our weights."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongsa import storage
from tongsa.bundle import Bundle
from tongsa.decoding.engines.ctranslate2 import import_library
from tongsa.decoding.engines.ctranslate2_files import VMAP_FILE
from tongsa.export.transformer_weights import (
    LinearParams,
    concat_linear,
    cross_attention_projections,
    linear_params,
    self_attention_projections,
    split_linear,
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
    "qk_norm": (False,),  # CTranslate2 4.8 has these norms, but its log-probabilities differ from run to run
    "attention_window": (0,),
    "norm_kind": ("layer", "rms"),
    "final_norm": ("auto",),
    "residual": (True,),
    "decoder_cell": ("attention",),
}
"""Supported values, for the settings that CTranslate2 supports only in part."""

CONVERSION_VERSION = 2
"""Increased when the conversion changes: tongsa then converts a model again, although its weights are the same."""
MAX_POSITIONS = 2048
"""Number of sinusoidal positions that are exported: CTranslate2 would compute other sinusoids than ours."""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]:
    """Write the model into a folder and return the metadata that the engine needs."""
    config = check_supported(bundle)
    exported_positions = min(bundle.model.max_positions, MAX_POSITIONS)
    spec = model_spec(bundle, config, exported_positions)
    spec.validate()
    spec.optimize(quantization="int8" if int8 else None)
    spec.save(str(folder))
    if (shortlist := bundle.load_shortlist()) is not None:
        (folder / VMAP_FILE).write_text(_vocabulary_map(shortlist.candidates), "utf-8", newline="\n")
    return {
        "max_positions": bundle.model.max_positions,
        "exported_positions": exported_positions,
        "int8": int8,
        "version": CONVERSION_VERSION,
        "sha256": {file.name: storage.file_sha256(file) for file in sorted(folder.iterdir())},
        "total_bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "shortlist_sha256": bundle.shortlist_sha256,
    }


def check_supported(bundle: Bundle) -> TransformerConfig:
    """Return the settings of a model that CTranslate2 supports; raise UnsupportedModelError for any other."""
    return supported_config(bundle, "CTranslate2", SUPPORTED_VALUES)


def _vocabulary_map(candidates: ShortlistCandidates) -> str:
    """Return CTranslate2's vocabulary map: target tokens for each source token. Those of "" are always allowed."""
    always = [*range(UNK + 1), *candidates.always.tolist()]
    rows = [("", always), *((str(source), targets) for source, targets in enumerate(candidates.per_token.tolist()))]
    return "".join(f"{source}\t{' '.join(map(str, sorted(set(targets))))}\n" for source, targets in rows)


def model_spec(bundle: Bundle, config: TransformerConfig, max_positions: int) -> Any:
    """Return a TransformerSpec. Its vocabulary lists token ids: token strings may contain line ends or be ambiguous."""
    specs = import_library("ctranslate2.specs")
    encoder, decoder = _stack_specs(specs, config)
    encoder.scale_embeddings = decoder.scale_embeddings = config.scale_embeddings
    spec = specs.TransformerSpec(encoder, decoder)
    _fill_encoder(spec.encoder, bundle.model.encoder, max_positions)  # type: ignore[arg-type]
    _fill_decoder(spec.decoder, bundle.model.decoder, max_positions)  # type: ignore[arg-type]
    spec.config.bos_token = spec.config.decoder_start_token = str(BOS)
    spec.config.eos_token, spec.config.unk_token = str(EOS), str(UNK)
    spec.config.layer_norm_epsilon = 1e-6 if config.norm_kind == "rms" else 1e-5
    spec.register_source_vocabulary([str(index) for index in range(len(bundle.source_tokenizer))])
    spec.register_target_vocabulary([str(index) for index in range(len(bundle.target_tokenizer))])
    return spec


def _stack_specs(specs: Any, config: TransformerConfig) -> tuple[Any, Any]:
    activation = specs.common_spec.Activation
    shared = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": {"relu": activation.RELU, "gelu": activation.GELU, "swiglu": activation.SWISH}[config.activation],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm_kind == "rms",
        "rotary_dim": 0
        if config.positions == "rotary"
        else None,  # 0 rotates the full head width, pair by pair as we do
    }
    return (
        specs.TransformerEncoderSpec(num_layers=config.encoder_layers, **shared),
        specs.TransformerDecoderSpec(num_layers=config.decoder_layers, **shared),
    )


def _fill_encoder(spec: Any, encoder: TransformerEncoder, max_positions: int) -> None:
    spec.embeddings[0].weight = _to_numpy(encoder.embedding.token_embedding.weight)
    _fill_positions(spec, encoder.embedding.positional_encoding, max_positions)
    _fill_norm(getattr(spec, "layer_norm", None), encoder.final_norm)
    for layer_spec, layer in zip(spec.layer, encoder.layers, strict=True):
        _fill_self_attention(layer_spec, layer)
        _fill_feed_forward(layer_spec.ffn, layer)


def _fill_decoder(spec: Any, decoder: TransformerDecoder, max_positions: int) -> None:
    spec.embeddings.weight = _to_numpy(decoder.embedding.token_embedding.weight)
    spec.projection.weight = _to_numpy(decoder.output_embedding.weight)
    if decoder.output_bias is not None:
        spec.projection.bias = _to_numpy(decoder.output_bias)
    _fill_positions(spec, decoder.embedding.positional_encoding, max_positions)
    _fill_norm(getattr(spec, "layer_norm", None), decoder.final_norm)
    for layer_spec, layer in zip(spec.layer, decoder.layers, strict=True):
        _fill_self_attention(layer_spec, layer)
        assert layer.cross_attention is not None  # noqa: S101 - for the type: a seq2seq decoder has cross-attention
        assert layer.cross_attention_norm is not None  # noqa: S101 - the same
        cross = cross_attention_projections(layer.cross_attention)
        _fill_linear(layer_spec.attention.linear[0], cross.query)
        _fill_linear(layer_spec.attention.linear[1], concat_linear(cross.key, cross.value))
        _fill_linear(layer_spec.attention.linear[2], cross.output)
        _fill_norm(layer_spec.attention.layer_norm, layer.cross_attention_norm.norm)
        _fill_feed_forward(layer_spec.ffn, layer)


def _fill_positions(spec: Any, positions: PositionalEncoding, max_positions: int) -> None:
    """Fill the position table; rotary positions have none."""
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _to_numpy(positions(0, max_positions, torch.device("cpu")))


def _fill_self_attention(spec: Any, layer: Any) -> None:
    projections = self_attention_projections(layer.self_attention)
    qkv = concat_linear(projections.query, projections.key, projections.value)
    _fill_linear(spec.self_attention.linear[0], qkv)
    _fill_linear(spec.self_attention.linear[1], projections.output)
    _fill_norm(spec.self_attention.layer_norm, layer.self_attention_norm.norm)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    blocks = split_linear(linear_params(layer.feed_forward.up_projection), layer.feed_forward.blocks)
    _fill_linear(spec.linear_0, blocks[0])
    if len(blocks) > 1:  # a gated unit: the activation of the first block is multiplied by the second block
        _fill_linear(spec.linear_0_noact, blocks[1])
    _fill_linear(spec.linear_1, linear_params(layer.feed_forward.down_projection))
    _fill_norm(spec.layer_norm, layer.feed_forward_norm.norm)


def _fill_linear(spec: Any, params: LinearParams) -> None:
    spec.weight, spec.bias = _to_numpy(params.weight), _to_numpy(params.bias)


def _fill_norm(spec: Any, norm: Any) -> None:
    """Fill the parameters of a norm; `spec` is None where the model has no norm."""
    if spec is None:
        return
    spec.gamma = _to_numpy(norm.weight)
    if hasattr(norm, "bias"):
        spec.beta = _to_numpy(norm.bias)


def _to_numpy(tensor: Tensor) -> Any:
    """Return a float32 copy; quantization writes into its input."""
    return tensor.detach().float().cpu().numpy().copy()
