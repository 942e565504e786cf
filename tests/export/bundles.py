"""Small bundles with random weights: no parameter keeps its initial zero or one."""

import json
from pathlib import Path

import torch

from tongsa import storage
from tongsa.bundle import Bundle, save_bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.interface import ModelConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer, TokenizerConfig, train_tokenizer
from tongsa.tokenization.tokenizer import Tokenizer

SOURCE = train_tokenizer(["a b c d e f g 가 나 다"], TokenizerConfig(model="char", vocab_size=300))
TARGET = train_tokenizer(
    ["가 나 다 라 마 바 사 아 자 a b c d e"], TokenizerConfig(model="char", vocab_size=300, byte_fallback=False)
)
"""Another, much smaller vocabulary."""
LABELS = LabelTokenizer(["good", "좋다", "그저 그렇다"])

SETTINGS = {"width": 16, "ffn_width": 24, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "max_positions": 64}


def random_bundle(kind: str, config: ModelConfig, *, target: Tokenizer = SOURCE, seed: int = 1) -> Bundle:
    torch.manual_seed(seed)
    model = config.build(len(SOURCE), len(target)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return Bundle(
        kind=kind,
        config=config,
        model=model,
        source_tokenizer=SOURCE,
        target_tokenizer=target,
        decoding=DecodingConfig(),
        source_language="en",
        target_language="ko",
    )


def transformer(*, target: SubwordTokenizer = SOURCE, seed: int = 1, **settings: object) -> Bundle:
    config = TransformerConfig(**(SETTINGS | settings))  # type: ignore[arg-type]
    return random_bundle("transformer", config, target=target, seed=seed)


def save_run(folder: Path, bundle: Bundle) -> Path:
    """Save a bundle as the model of a run and return the run."""
    save_bundle(folder / "model", bundle, "# card")
    return folder


def read_metadata(folder: Path) -> dict[str, object]:
    """Return the tongsa.json of an export."""
    content: dict[str, object] = json.loads((folder / "tongsa.json").read_text("utf-8"))
    return content


def file_hashes(folder: Path) -> dict[str, str]:
    return {file.name: storage.file_sha256(file) for file in folder.iterdir()}
