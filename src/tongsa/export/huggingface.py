"""Export of a Transformer to Hugging Face, for AutoModelForSeq2SeqLM and AutoTokenizer of transformers.

A post-norm model has the layout of Marian (Junczys-Dowmunt et al. 2018), a pre-norm model that of PEGASUS (Zhang et al.
2020). Both have our sinusoids; M2M-100, which is pre-norm too, has other frequencies and starts at another position.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import save_file
from sentencepiece import SentencePieceProcessor

from tongsa.bounded_files import MAX_TOML_BYTES, read_bytes
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.export.huggingface_weights import max_positions, named_weights
from tongsa.export.transformer_weights import supported_config
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.special import BOS, EOS, PAD

SUPPORTED_VALUES: dict[str, tuple[Any, ...]] = {
    "norm_kind": ("layer",),
    "positions": ("sinusoidal", "learned", "none"),
    "activation": ("relu", "gelu"),
    "attention": ("scaled-dot", "dot"),
    "qk_norm": (False,),
    "attention_window": (0,),
    "final_norm": ("auto",),
    "residual": (True,),
    "decoder_cell": ("attention",),
}
"""Supported values, for the settings that Hugging Face supports only in part."""

TYPICAL_LENGTH = 20
"""Length in tokens at which the length penalties agree."""


class Layout(NamedTuple):
    """A family of models in transformers."""

    model_type: str
    architecture: str


LAYOUTS = {"post": Layout("marian", "MarianMTModel"), "pre": Layout("pegasus", "PegasusForConditionalGeneration")}
"""Layout of each `model.norm`."""

USAGE = """
## Usage
Needs transformers 5 or newer, torch and sentencepiece.
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = "."  # this folder, or its name on the Hub
model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
batch = tokenizer(["one sentence", "another sentence"], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```
"""
USAGE_WITH_IDS = """
## Usage
Needs transformers 5 or newer, torch and sentencepiece. No tokenizer of transformers gives these word tokens, so the
ids come from sentencepiece.
```python
import torch
from sentencepiece import SentencePieceProcessor
from transformers import AutoModelForSeq2SeqLM

folder = "."  # this folder
model = AutoModelForSeq2SeqLM.from_pretrained(folder)
source, target = (SentencePieceProcessor(model_file=f"{folder}/{side}.spm") for side in ("source", "target"))
ids = [source.piece_to_id("▁" + word) for word in "one sentence".split()] + [source.eos_id()]
print(target.decode(model.generate(torch.tensor([ids]))[0].tolist()))
```
"""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> dict[str, Any]:
    """Write the model into a folder; the metadata records whether it has a tokenizer for AutoTokenizer."""
    assert not int8  # noqa: S101 - the command line rejects it
    config = supported_config(bundle, "Hugging Face", SUPPORTED_VALUES)
    tensors = {name: value.float().cpu().contiguous().clone() for name, value in named_weights(bundle, config)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", _model_config(bundle, config))
    _write_json(folder / "generation_config.json", _generation_config(bundle, config))
    has_tokenizer = _marian_tokenizer_matches(bundle)
    if has_tokenizer:
        _write_tokenizer(folder, bundle, config)
    usage = USAGE if has_tokenizer else USAGE_WITH_IDS
    (folder / "README.md").write_text(_readme(bundle, usage), "utf-8", newline="\n")
    return {"tokenizer": has_tokenizer}


def _readme(bundle: Bundle, usage: str) -> str:
    """Return the model card with an example; the Hub shows it as the model's page."""
    card = read_bytes(bundle.folder / "card.md", MAX_TOML_BYTES).decode("utf-8", "replace") if bundle.folder else ""
    if card.startswith("---\n"):
        card = card.replace("---\n", "---\nlibrary_name: transformers\n", 1)
    return card + usage


def _model_config(bundle: Bundle, config: TransformerConfig) -> dict[str, Any]:
    layout, sides = LAYOUTS[config.norm], dict[str, Any]()
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        sides |= {
            f"{side}_layers": layers,
            f"{side}_ffn_dim": config.ffn_width,
            f"{side}_attention_heads": config.heads,
        }
    return (
        sides
        | {
            "model_type": layout.model_type,
            "architectures": [layout.architecture],
            "d_model": config.width,
            "activation_function": config.activation,
            "dropout": config.dropout,
            "activation_dropout": config.ffn_dropout,
            "attention_dropout": config.attention_dropout,
            "scale_embedding": config.scale_embeddings,
            "max_position_embeddings": max_positions(config),
            "is_encoder_decoder": True,
            "forced_eos_token_id": EOS,
            "dtype": "float32",
        }
        | _vocabulary_settings(bundle, config)
        | _special_token_ids()
    )


def _vocabulary_settings(bundle: Bundle, config: TransformerConfig) -> dict[str, Any]:
    """Return vocabulary sizes and tied tables. PEGASUS has one size for both sides, and ties all tables or none."""
    sizes, tied = (len(bundle.source_tokenizer), len(bundle.target_tokenizer)), config.tie_embeddings
    if config.norm == "pre":
        return {"vocab_size": max(sizes), "tie_word_embeddings": tied == "all"}
    return {
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "share_encoder_decoder_embeddings": tied == "all",
        "tie_word_embeddings": tied != "none",
        "static_position_embeddings": True,
    }


def _generation_config(bundle: Bundle, config: TransformerConfig) -> dict[str, Any]:
    """Return the generation settings. `early_stopping` is nearest to our search, but outputs may differ."""
    beam = bundle.decoding.beam
    search = {"length_penalty": _length_penalty(bundle.decoding), "early_stopping": True} if beam > 1 else {}
    limits = {"max_length": max_positions(config) // 2, "suppress_tokens": [PAD, BOS]}
    return {"num_beams": beam} | search | limits | _special_token_ids()


def _length_penalty(decoding: DecodingConfig) -> float:
    """Return p so that length^p, the divisor in transformers, grows like ours near a typical length.

    The GNMT divisor ((5 + length) / 6)^alpha has the slope alpha · length / (5 + length) on logarithmic axes.
    """
    slopes = {"gnmt": TYPICAL_LENGTH / (5 + TYPICAL_LENGTH), "plain": 1.0, "none": 0.0}
    return round(slopes[decoding.length_normalization] * decoding.alpha, 4)


def _special_token_ids() -> dict[str, int]:
    return {
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": EOS,
    }


def _marian_tokenizer_matches(bundle: Bundle) -> bool:
    """Return whether MarianTokenizer splits like our tokenizer: it merges adjacent unknown words."""
    return bundle.source_tokenizer.model_type != "word"


def _write_tokenizer(folder: Path, bundle: Bundle, config: TransformerConfig) -> None:
    is_separate = bundle.target_tokenizer.model_bytes != bundle.source_tokenizer.model_bytes
    _write_json(folder / "vocab.json", _token_to_id(bundle.source_tokenizer.model_bytes))
    if is_separate:
        _write_json(folder / "target_vocab.json", _token_to_id(bundle.target_tokenizer.model_bytes))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": bundle.source_language,
        "target_lang": bundle.target_language,
        "separate_vocabs": is_separate,
        "model_max_length": max_positions(config),
    }
    _write_json(folder / "tokenizer_config.json", settings)


def _token_to_id(model_bytes: bytes) -> dict[str, int]:
    processor = SentencePieceProcessor(model_proto=model_bytes)
    name: Callable[[int], str] = processor.id_to_piece
    return {name(index): index for index in range(processor.get_piece_size())}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8", newline="\n")
