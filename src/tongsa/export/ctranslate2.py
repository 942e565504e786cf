"""A Transformer for CTranslate2 (Klein et al. 2020): its specification is filled from our weights, without a detour."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongsa.bundle import Bundle
from tongsa.decoding.ctranslate2_engine import LIST, library
from tongsa.export.parts import Affine, affine, cross_attention, holdable, joined, self_attention
from tongsa.layers.positions import Positions
from tongsa.models.parts.decoder import Decoder
from tongsa.models.parts.encoder import Encoder
from tongsa.models.transformer import TransformerConfig
from tongsa.text import BOS, EOS, UNK
from tongsa.text.shortlist import Candidates

HELD: dict[str, tuple[Any, ...]] = {
    "attention": ("scaled-dot", "dot"),
    "query_norm": (False,),  # it has a place for these norms, but 4.8 finds other totals at each try
    "neighbourhood": (0,),
    "norm_kind": ("layer", "rms"),
}
"""The settings that CTranslate2 does not run with every value, and the values that it runs."""

PLACES = 2048
"""Positions that are computed are written down up to here: CTranslate2 would compute others than ours."""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]:
    """Fill a folder; what is returned the engine needs to know."""
    config = holdable(bundle, "CTranslate2", HELD)
    places = min(bundle.model.longest, PLACES)
    made = specification(bundle, config, places)
    made.validate()
    made.optimize(quantization="int8" if int8 else None)
    made.save(str(folder))
    if (listed := bundle.listed()) is not None:
        (folder / LIST).write_text(_mapping(listed.candidates), "utf-8")
    return {"longest": bundle.model.longest, "places": places, "int8": int8, "shortlist": bundle.list_digest}


def _mapping(candidates: Candidates) -> str:
    """What may become of each source piece, and of none: pieces that are always there."""
    always = [*range(UNK + 1), *candidates.frequent.tolist()]
    every = [("", always), *((str(source), found) for source, found in enumerate(candidates.each.tolist()))]
    return "".join(f"{source}\t{' '.join(map(str, sorted(set(found))))}\n" for source, found in every)


def specification(bundle: Bundle, config: TransformerConfig, places: int) -> Any:
    """A TransformerSpec. Its tokens are our indices: pieces may hold line ends, and names may be shown alike."""
    specs = library("ctranslate2.specs")
    encoder, decoder = _stacks(specs, config)
    made = specs.TransformerSpec(encoder, decoder)
    _fill_encoder(made.encoder, bundle.model.encoder, places)  # type: ignore[arg-type]
    _fill_decoder(made.decoder, bundle.model.decoder, places)  # type: ignore[arg-type]
    made.config.bos_token = made.config.decoder_start_token = str(BOS)
    made.config.eos_token, made.config.unk_token = str(EOS), str(UNK)
    made.config.layer_norm_epsilon = 1e-6 if config.norm_kind == "rms" else 1e-5
    made.register_source_vocabulary([str(index) for index in range(len(bundle.source))])
    made.register_target_vocabulary([str(index) for index in range(len(bundle.target))])
    return made


def _stacks(specs: Any, config: TransformerConfig) -> tuple[Any, Any]:
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


def _fill_encoder(spec: Any, encoder: Encoder, places: int) -> None:
    spec.embeddings[0].weight = _own(encoder.embedding.vectors.weight)
    _fill_positions(spec, encoder.embedding.positions, places)
    _fill_norm(getattr(spec, "layer_norm", None), encoder.norm)
    for part, layer in zip(spec.layer, encoder.layers, strict=True):
        _fill_self_attention(part, layer)
        _fill_feed_forward(part.ffn, layer)


def _fill_decoder(spec: Any, decoder: Decoder, places: int) -> None:
    spec.embeddings.weight = _own(decoder.embedding.vectors.weight)
    spec.projection.weight = _own(decoder.output.weight)
    _fill_positions(spec, decoder.embedding.positions, places)
    _fill_norm(getattr(spec, "layer_norm", None), decoder.norm)
    for part, layer in zip(spec.layer, decoder.layers, strict=True):
        _fill_self_attention(part, layer)
        assert layer.cross_attention is not None  # noqa: S101 - for the type: a translating decoder reads
        assert layer.around_cross_attention is not None  # noqa: S101 - the same
        cross = cross_attention(layer.cross_attention)
        _fill_linear(part.attention.linear[0], cross.query)
        _fill_linear(part.attention.linear[1], joined(cross.keys, cross.values))
        _fill_linear(part.attention.linear[2], cross.join)
        _fill_norm(part.attention.layer_norm, layer.around_cross_attention.norm)
        _fill_feed_forward(part.ffn, layer)


def _fill_positions(spec: Any, positions: Positions, places: int) -> None:
    """Where positions are rotary the attention turns, and nothing is added."""
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _own(positions(0, places, torch.device("cpu")))


def _fill_self_attention(spec: Any, layer: Any) -> None:
    own = self_attention(layer.attention)
    _fill_linear(spec.self_attention.linear[0], joined(own.query, own.keys, own.values))
    _fill_linear(spec.self_attention.linear[1], own.join)
    _fill_norm(spec.self_attention.layer_norm, layer.around_attention.norm)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    wide = affine(layer.feed_forward.widen)
    blocks = [Affine(*both) for both in zip(*(part.chunk(layer.feed_forward.blocks) for part in wide), strict=True)]
    _fill_linear(spec.linear_0, blocks[0])
    if len(blocks) > 1:  # the gate is bent, and multiplied with what is not
        _fill_linear(spec.linear_0_noact, blocks[1])
    _fill_linear(spec.linear_1, affine(layer.feed_forward.narrow))
    _fill_norm(spec.layer_norm, layer.around_feed_forward.norm)


def _fill_linear(spec: Any, values: Affine) -> None:
    spec.weight, spec.bias = _own(values.weight), _own(values.bias)


def _fill_norm(spec: Any, norm: Any) -> None:
    """A specification that normalises nothing has no place for it."""
    if spec is None:
        return
    spec.gamma = _own(norm.weight)
    if hasattr(norm, "bias"):
        spec.beta = _own(norm.bias)


def _own(tensor: Tensor) -> Any:
    """A copy: quantization writes into what it is given."""
    return tensor.detach().float().cpu().numpy().copy()
