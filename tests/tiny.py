"""Models and data small enough to see."""

import random
from pathlib import Path

import torch

from tongsa.batch import Padded, pad
from tongsa.interface import Config, EncoderDecoder
from tongsa.models import KINDS
from tongsa.models.additive import AdditiveConfig
from tongsa.models.convolutional import ConvolutionalConfig
from tongsa.models.language_model import LanguageModelConfig
from tongsa.models.recurrent import RecurrentConfig
from tongsa.models.self_attentive import SelfAttentiveConfig
from tongsa.models.transformer import TransformerConfig
from tongsa.models.transformer_classifier import TransformerClassifierConfig
from tongsa.models.transformer_language_model import TransformerLanguageModelConfig
from tongsa.text import EOS, UNK


def kind_of(name: str) -> str:
    return name.partition(",")[0]


SIZE = 17
CONFIGS: dict[str, Config] = {
    "additive": AdditiveConfig(embedding=12, width=16, readout=10, dropout=0.1),
    "additive, lstm": AdditiveConfig(embedding=16, width=16, readout=16, cell="lstm", dropout=0.1, share="target"),
    "convolutional": ConvolutionalConfig(
        width=16, hidden=24, encoder_layers=2, decoder_layers=2, dropout=0.1, longest=64
    ),
    "convolutional, kernel 5 and one vocabulary": ConvolutionalConfig(
        width=24, hidden=16, kernel=5, encoder_layers=1, decoder_layers=3, dropout=0.1, longest=64, share="all"
    ),
    "language_model": LanguageModelConfig(width=16, layers=2, dropout=0.1),
    "language_model, tanh": LanguageModelConfig(width=16, layers=1, cell="tanh", dropout=0.1, share="none"),
    "language_model, logistic": LanguageModelConfig(width=16, layers=1, cell="logistic", dropout=0.1),
    "language_model, gated": LanguageModelConfig(width=16, layers=2, cell="gated", dropout=0.1),
    "recurrent": RecurrentConfig(width=24, embedding=12, dropout=0.1),
    "recurrent, stacked lstm that starts from the source reversed": RecurrentConfig(
        width=16, embedding=12, layers=2, cell="lstm", feed="start", output="linear", reverse_source=True, dropout=0.1
    ),
    "recurrent, stacked lstm fed always": RecurrentConfig(
        width=16, embedding=16, layers=2, cell="lstm", output="linear", dropout=0.1, share="target"
    ),
    "recurrent, gated fed at the start alone": RecurrentConfig(
        width=24, embedding=12, layers=2, feed="start", dropout=0.1, share="target"
    ),
    "self_attentive": SelfAttentiveConfig(
        embedding=12, width=8, layers=2, attention=10, hops=3, hidden=16, dropout=0.1, input_dropout=0.1
    ),
    "self_attentive, decoder": SelfAttentiveConfig(
        reader="decoder", embedding=16, width=16, attention=10, hops=3, hidden=16, dropout=0.1, input_dropout=0.1
    ),
    "transformer": TransformerConfig(
        width=16, inner=32, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.1, longest=64
    ),
    "transformer, additive attention in a neighbourhood of 3": TransformerConfig(
        width=16,
        inner=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=2,
        attention="additive",
        neighbourhood=3,
        positions="learned",
        longest=64,
    ),
    "transformer, rotary positions, rms norm and swiglu in a neighbourhood of 4": TransformerConfig(
        width=16,
        inner=24,
        heads=2,
        encoder_layers=2,
        decoder_layers=1,
        neighbourhood=4,
        positions="rotary",
        norm="pre",
        norm_kind="rms",
        activation="swiglu",
    ),
    "transformer, normed queries of free widths, three matrices": TransformerConfig(
        width=16,
        inner=24,
        heads=2,
        key_width=6,
        value_width=10,
        encoder_layers=1,
        decoder_layers=2,
        query_norm=True,
        norm="pre",
        share="none",
    ),
    "transformer, batch norm and gelu": TransformerConfig(
        width=16,
        inner=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=1,
        norm="pre",
        norm_kind="batch",
        activation="gelu",
    ),
    "transformer, free widths, plain products and group norm": TransformerConfig(
        width=16,
        inner=32,
        heads=3,
        key_width=4,
        value_width=6,
        encoder_layers=1,
        decoder_layers=1,
        attention="dot",
        norm_kind="group",
        groups=4,
        share="none",
    ),
    "transformer, neither norm nor positions": TransformerConfig(
        width=16,
        inner=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=1,
        norm_kind="none",
        positions="none",
        share="target",
    ),
    "transformer_classifier": TransformerClassifierConfig(width=16, inner=32, heads=4, layers=2, hidden=16),
    "transformer_classifier, batch norm in a neighbourhood of 2": TransformerClassifierConfig(
        width=16, inner=32, heads=4, layers=1, hidden=16, neighbourhood=2, norm_kind="batch"
    ),
    "transformer_language_model": TransformerLanguageModelConfig(width=16, inner=32, heads=4, layers=2),
    "transformer_language_model, rotary positions in a neighbourhood of 2": TransformerLanguageModelConfig(
        width=16, inner=32, heads=4, layers=1, neighbourhood=2, positions="rotary", norm="pre", share="none"
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
