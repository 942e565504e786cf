"""Models and data small enough to see."""

import random
from pathlib import Path

import torch

from tongsa.batch import Padded, pad
from tongsa.interface import Config, EncoderDecoder
from tongsa.models import KINDS
from tongsa.models.transformer import TransformerConfig
from tongsa.text import EOS, UNK


def kind_of(name: str) -> str:
    return name.partition(",")[0]


SIZE = 17
CONFIGS: dict[str, Config] = {
    "transformer": TransformerConfig(
        width=16, inner=32, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.1, longest=64
    ),
}
"""Under the name of each kind, and of each kind with an option that changes its mathematics: "kind, option"."""
assert {kind_of(name) for name in CONFIGS} == KINDS.keys(), "a kind without a tiny model escapes the laws"


def tiny(name: str, seed: int = 1) -> EncoderDecoder:
    torch.manual_seed(seed)
    return CONFIGS[name].build(SIZE, SIZE).eval()


def sentence(length: int, seed: int = 0) -> list[int]:
    """Some pieces and </s>."""
    generator = random.Random(1000 * seed + length)
    return [generator.randrange(UNK + 1, SIZE) for _ in range(length - 1)] + [EOS]


def padded(*rows: list[int], extra: int = 0) -> Padded:
    """A batch, with `extra` columns of padding that nobody needs."""
    batch = pad(rows)
    return Padded(torch.nn.functional.pad(batch.pieces, (0, extra)), batch.lengths)


WORDS = {"a": "가", "b": "나", "c": "다", "d": "라", "e": "마", "f": "바"}


def reversing(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """A task with an answer: the words translated, last first."""
    generator = random.Random(seed)
    sources = [[generator.choice(list(WORDS)) for _ in range(generator.randint(1, 6))] for _ in range(count)]
    return [(" ".join(source), " ".join(WORDS[word] for word in reversed(source))) for source in sources]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


SMALL = [
    "model.width=32",
    "model.inner=64",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.dropout=0.1",
    "pieces.size=300",
    "training.batch_tokens=256",
    "training.threads=1",
    "training.precision=fp32",
    "data.source_language=en",
    "data.target_language=ko",
]
"""A run of seconds."""
