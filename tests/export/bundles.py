"""Bundles small enough to export in no time, their weights shaken so that nothing in them is a zero or a one."""

import json
from pathlib import Path

import torch

from tongsa import files
from tongsa.bundle import Bundle, save
from tongsa.decoding.search import SearchConfig
from tongsa.interface import Config
from tongsa.models.transformer import TransformerConfig
from tongsa.text import Labels, Pieces, PiecesConfig, Vocabulary, learn

SOURCE = learn(["a b c d e f g 가 나 다"], PiecesConfig(kind="char", size=300))
TARGET = learn(["가 나 다 라 마 바 사 아 자 a b c d e"], PiecesConfig(kind="char", size=300, byte_fallback=False))
"""With a vocabulary of its own, which is much smaller."""
LABELS = Labels(["good", "좋다", "그저 그렇다"])

SETTINGS = {"width": 16, "inner": 24, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "longest": 64}


def shaken(kind: str, config: Config, *, target: Vocabulary = SOURCE, seed: int = 1) -> Bundle:
    torch.manual_seed(seed)
    model = config.build(len(SOURCE), len(target)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return Bundle(
        kind=kind,
        config=config,
        model=model,
        source=SOURCE,
        target=target,
        decoding=SearchConfig(),
        source_language="en",
        target_language="ko",
    )


def transformer(*, target: Pieces = SOURCE, seed: int = 1, **settings: object) -> Bundle:
    config = TransformerConfig(**(SETTINGS | settings))  # type: ignore[arg-type]
    return shaken("transformer", config, target=target, seed=seed)


def saved(folder: Path, bundle: Bundle) -> Path:
    save(folder / "model", bundle, "# card")
    return folder


def told(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "tongsa.json").read_text("utf-8"))
    return content


def everything(folder: Path) -> dict[str, str]:
    return {file.name: files.digest(file) for file in folder.iterdir()}
