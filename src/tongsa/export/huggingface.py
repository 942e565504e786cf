"""A Transformer in the layout of Marian (Junczys-Dowmunt et al. 2018), as transformers' MarianMTModel loads it.

Marian's sinusoids are ours in another order: all sines, then all cosines. To a model any order of its width is as
good, so ours is put in theirs once and for all, in every weight that reads it or writes it.
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
from tongsa.export.parts import Affine, Attention, affine, cross_attention, holdable, self_attention
from tongsa.models.parts.decoder import Decoder
from tongsa.models.parts.encoder import Encoder
from tongsa.models.transformer import TransformerConfig
from tongsa.text import BOS, EOS, PAD

HELD: dict[str, tuple[Any, ...]] = {
    "norm": ("post",),
    "norm_kind": ("layer",),
    "positions": ("sinusoidal",),
    "activation": ("relu", "gelu"),
    "attention": ("scaled-dot", "dot"),
    "query_norm": (False,),
    "neighbourhood": (0,),
}
"""The settings that Marian does not have with every value, and the values that it has."""

PLACES = 1024
"""The longest sequence that MarianMTModel makes room for."""

Named = Iterator[tuple[str, Tensor]]


def write(folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]:
    """Fill a folder; `int8` is for another format. Returned is whether MarianTokenizer splits as our pieces do."""
    assert not int8  # noqa: S101 - the verb has refused it
    config = holdable(bundle, "Marian", HELD)
    content = {name: value.float().cpu().contiguous().clone() for name, value in tensors(bundle, config)}
    save_file(content, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", _model_settings(bundle, config))
    _write_json(folder / "generation_config.json", _search_settings(bundle))
    splits_alike = _splits_alike(bundle)
    if splits_alike:
        _write_tokenizer(folder, bundle)
    return {"tokenizer": splits_alike}


def tensors(bundle: Bundle, config: TransformerConfig) -> Named:
    """Every weight by Marian's name; what is tied there has one name."""
    encoder: Encoder = bundle.model.encoder  # type: ignore[assignment]
    decoder: Decoder = bundle.model.decoder  # type: ignore[assignment]
    if config.share == "all":
        yield "model.shared.weight", _reading(encoder.embedding.vectors.weight)
    else:
        yield "model.encoder.embed_tokens.weight", _reading(encoder.embedding.vectors.weight)
        yield "model.decoder.embed_tokens.weight", _reading(decoder.embedding.vectors.weight)
    if config.share == "none":
        yield "lm_head.weight", _reading(decoder.output.weight)
    yield "final_logits_bias", torch.zeros(1, len(bundle.target))
    for at, layer in enumerate(encoder.layers):
        yield from _layer(f"model.encoder.layers.{at}", layer)
    for at, layer in enumerate(decoder.layers):
        name = f"model.decoder.layers.{at}"
        yield from _layer(name, layer)
        yield from _attention(f"{name}.encoder_attn", cross_attention(layer.cross_attention))  # type: ignore[arg-type]
        yield from _norm(f"{name}.encoder_attn_layer_norm", layer.around_cross_attention.norm)  # type: ignore[union-attr]


def _layer(name: str, layer: Any) -> Named:
    yield from _attention(f"{name}.self_attn", self_attention(layer.attention))
    yield from _norm(f"{name}.self_attn_layer_norm", layer.around_attention.norm)
    yield from _reader(f"{name}.fc1", affine(layer.feed_forward.widen))
    yield from _writer(f"{name}.fc2", affine(layer.feed_forward.narrow))
    yield from _norm(f"{name}.final_layer_norm", layer.around_feed_forward.norm)


def _attention(name: str, attention: Attention) -> Named:
    yield from _reader(f"{name}.q_proj", attention.query)
    yield from _reader(f"{name}.k_proj", attention.keys)
    yield from _reader(f"{name}.v_proj", attention.values)
    yield from _writer(f"{name}.out_proj", attention.join)


def _norm(name: str, norm: nn.Module) -> Named:
    for part in ("weight", "bias"):
        yield f"{name}.{part}", _reading(getattr(norm, part).detach())


def _reader(name: str, values: Affine) -> Named:
    """A product that reads the width."""
    yield f"{name}.weight", _reading(values.weight)
    yield f"{name}.bias", values.bias


def _writer(name: str, values: Affine) -> Named:
    """A product whose outputs are added to the width."""
    yield f"{name}.weight", values.weight[_order(len(values.weight))]
    yield f"{name}.bias", _reading(values.bias)


def _reading(values: Tensor) -> Tensor:  # (…, width)
    return values.detach()[..., _order(values.shape[-1])]


def _order(width: int) -> Tensor:
    """Even places, where ours has sines, and then the odd ones."""
    return torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])


def _model_settings(bundle: Bundle, config: TransformerConfig) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        sides |= {f"{side}_layers": layers, f"{side}_ffn_dim": config.inner, f"{side}_attention_heads": config.heads}
    return (
        sides
        | {
            "model_type": "marian",
            "architectures": ["MarianMTModel"],
            "vocab_size": len(bundle.source),
            "decoder_vocab_size": len(bundle.target),
            "share_encoder_decoder_embeddings": config.share == "all",
            "tie_word_embeddings": config.share != "none",
            "d_model": config.width,
            "activation_function": config.activation,
            "dropout": config.dropout,
            "activation_dropout": config.inner_dropout,
            "scale_embedding": True,
            "static_position_embeddings": True,
            "max_position_embeddings": PLACES,
            "is_encoder_decoder": True,
            "forced_eos_token_id": EOS,
            "dtype": "float32",
        }
        | _marks()
    )


def _search_settings(bundle: Bundle) -> dict[str, Any]:
    """The same beam; their penalty is another one, so that a translation may differ."""
    beam = bundle.decoding.beam
    penalty = {"length_penalty": bundle.decoding.alpha} if beam > 1 else {}
    return penalty | {"num_beams": beam, "max_length": PLACES // 2, "suppress_tokens": [PAD, BOS]} | _marks()


def _marks() -> dict[str, int]:
    return {
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": EOS,
    }


def _splits_alike(bundle: Bundle) -> bool:
    """MarianTokenizer takes no syllables apart, and sentencepiece makes one <unk> of two unknown words."""
    return not bundle.source.jamo and bundle.source.kind != "word"


def _write_tokenizer(folder: Path, bundle: Bundle) -> None:
    apart = bundle.target.model != bundle.source.model
    _write_json(folder / "vocab.json", _indices(bundle.source.model))
    if apart:
        _write_json(folder / "target_vocab.json", _indices(bundle.target.model))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": bundle.source_language,
        "target_lang": bundle.target_language,
        "separate_vocabs": apart,
        "model_max_length": PLACES,
    }
    _write_json(folder / "tokenizer_config.json", settings)


def _indices(model: bytes) -> dict[str, int]:
    processor = SentencePieceProcessor(model_proto=model)
    name: Callable[[int], str] = processor.id_to_piece
    return {name(index): index for index in range(processor.get_piece_size())}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")
