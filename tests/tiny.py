"""Tiny models of every kind, and tiny data."""

import random
from pathlib import Path

import torch

from tongsa.batch import Padded, pad
from tongsa.interface import EncoderDecoder, ModelConfig
from tongsa.models import KINDS
from tongsa.models.bytenet import ByteNetConfig
from tongsa.models.conv_s2s import ConvS2SConfig
from tongsa.models.rnn import RNNConfig
from tongsa.models.rnn_attention import RNNAttentionConfig
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig
from tongsa.models.transformer.classifier import TransformerClassifierConfig
from tongsa.models.transformer.language_model import TransformerLMConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.positions import SinusoidConfig
from tongsa.tokenization.special import EOS, UNK


def kind_of(name: str) -> str:
    return name.partition(",")[0]


SIZE = 17
CONFIGS: dict[str, ModelConfig] = {
    "rnn_attention": RNNAttentionConfig(embedding=12, width=16, maxout_width=10, dropout=0.1),
    "rnn_attention, lstm": RNNAttentionConfig(
        embedding=16, width=16, maxout_width=16, cell="lstm", dropout=0.1, tie_embeddings="target"
    ),
    "conv_s2s": ConvS2SConfig(width=16, hidden=24, encoder_layers=2, decoder_layers=2, dropout=0.1, max_positions=64),
    "conv_s2s, kernel 5 and one vocabulary": ConvS2SConfig(
        width=24,
        hidden=16,
        kernel=5,
        encoder_layers=1,
        decoder_layers=3,
        dropout=0.1,
        max_positions=64,
        tie_embeddings="all",
    ),
    "rnn_lm": RNNLMConfig(width=16, layers=2, dropout=0.1),
    "rnn_lm, tanh": RNNLMConfig(width=16, layers=1, cell="tanh", dropout=0.1, tie_embeddings="none"),
    "rnn_lm, sigmoid": RNNLMConfig(width=16, layers=1, cell="sigmoid", dropout=0.1),
    "rnn_lm, gru": RNNLMConfig(width=16, layers=2, cell="gru", dropout=0.1),
    "rnn": RNNConfig(width=24, embedding=12, dropout=0.1),
    "rnn, stacked lstm, reversed source, context at the start": RNNConfig(
        width=16,
        embedding=12,
        layers=2,
        cell="lstm",
        context_input="start",
        output="linear",
        reverse_source=True,
        dropout=0.1,
    ),
    "rnn, stacked lstm, context always": RNNConfig(
        width=16, embedding=16, layers=2, cell="lstm", output="linear", dropout=0.1, tie_embeddings="target"
    ),
    "rnn, gru, context at the start": RNNConfig(
        width=24, embedding=12, layers=2, context_input="start", dropout=0.1, tie_embeddings="target"
    ),
    "structured_self_attention": StructuredSelfAttentionConfig(
        embedding=12, width=8, layers=2, attention=10, hops=3, hidden=16, dropout=0.1, input_dropout=0.1
    ),
    "structured_self_attention, decoder": StructuredSelfAttentionConfig(
        head="decoder", embedding=16, width=16, attention=10, hops=3, hidden=16, dropout=0.1, input_dropout=0.1
    ),
    "transformer": TransformerConfig(
        width=16, ffn_width=32, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.1, max_positions=64
    ),
    "transformer, additive attention with a window of 3": TransformerConfig(
        width=16,
        ffn_width=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=2,
        attention="additive",
        attention_window=3,
        positions="learned",
        max_positions=64,
    ),
    "transformer, rotary positions, rms norm and swiglu with a window of 4": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        encoder_layers=2,
        decoder_layers=1,
        attention_window=4,
        positions="rotary",
        norm="pre",
        norm_kind="rms",
        activation="swiglu",
    ),
    "transformer, qk norm of free widths, three matrices": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        key_width=6,
        value_width=10,
        encoder_layers=1,
        decoder_layers=2,
        qk_norm=True,
        norm="pre",
        tie_embeddings="none",
    ),
    "transformer, batch norm and gelu": TransformerConfig(
        width=16,
        ffn_width=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=1,
        norm="pre",
        norm_kind="batch",
        activation="gelu",
    ),
    "transformer, free widths, plain products and group norm": TransformerConfig(
        width=16,
        ffn_width=32,
        heads=3,
        key_width=4,
        value_width=6,
        encoder_layers=1,
        decoder_layers=1,
        attention="dot",
        norm_kind="group",
        groups=4,
        tie_embeddings="none",
    ),
    "transformer, neither norm nor positions": TransformerConfig(
        width=16,
        ffn_width=32,
        heads=4,
        encoder_layers=1,
        decoder_layers=1,
        norm_kind="none",
        positions="none",
        tie_embeddings="target",
    ),
    "transformer_classifier": TransformerClassifierConfig(width=16, ffn_width=32, heads=4, layers=2, hidden=16),
    "transformer_classifier, batch norm with a window of 2": TransformerClassifierConfig(
        width=16, ffn_width=32, heads=4, layers=1, hidden=16, attention_window=2, norm_kind="batch"
    ),
    "transformer_lm": TransformerLMConfig(width=16, ffn_width=32, heads=4, layers=2),
    "transformer_lm, rotary positions with a window of 2": TransformerLMConfig(
        width=16,
        ffn_width=32,
        heads=4,
        layers=1,
        attention_window=2,
        positions="rotary",
        norm="pre",
        tie_embeddings="none",
    ),
    "transformer, dropout on attention weights, projections without bias, sinusoids in blocks": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        encoder_layers=1,
        decoder_layers=2,
        attention_dropout=0.1,
        projection_bias=False,
        norm="pre",
        sinusoid=SinusoidConfig(exponent="2i/(d-2)", layout="blocks", first_position=2),
        initialization="xavier-all",
    ),
    "transformer, memory normalized by the decoder, unscaled embeddings, output bias": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        encoder_layers=2,
        decoder_layers=2,
        norm="pre",
        final_norm="decoder",
        scale_embeddings=False,
        sinusoid=SinusoidConfig(exponent="i/d", first_position=1),
        tie_embeddings="none",
        output_bias=True,
        initialization="torch",
    ),
    "transformer, no residuals, one norm for a layer, final norms": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
        residual=False,
        shared_norm=True,
        final_norm="both",
    ),
    "rnn_attention, two layers from both states, linear output, gru of torch": RNNAttentionConfig(
        embedding=12,
        width=16,
        layers=2,
        cell="gru-reset-after",
        initial_state="both",
        output="linear",
        dropout=0.1,
    ),
    "bytenet": ByteNetConfig(
        width=16, hidden=12, encoder_layers=2, decoder_layers=2, max_dilation=2, decoder_kernel=2, dropout=0.1
    ),
    "bytenet, separable convolutions and one vocabulary": ByteNetConfig(
        width=16,
        hidden=12,
        encoder_kernel=5,
        encoder_layers=1,
        decoder_layers=2,
        max_dilation=4,
        convolution="separable",
        dropout=0.1,
        tie_embeddings="all",
    ),
    "transformer, tied decoder layers": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        encoder_layers=1,
        decoder_layers=3,
        norm="pre",
        tie_decoder_layers=True,
        tie_embeddings="target",
    ),
    "transformer, ssru decoder": TransformerConfig(
        width=16,
        ffn_width=24,
        heads=2,
        encoder_layers=1,
        decoder_layers=2,
        norm="pre",
        positions="learned",
        max_positions=64,
        decoder_cell="ssru",
    ),
}
"""By kind, or "kind, option" for an option that changes the equations."""
assert {kind_of(name) for name in CONFIGS} == KINDS.keys(), "every kind needs a tiny model: the laws run over CONFIGS"


WITHOUT_ATTENTION = ("bytenet", "rnn", "rnn_lm")
"""Kinds that record no attention weights."""


def tiny(name: str, seed: int = 1) -> EncoderDecoder:
    torch.manual_seed(seed)
    return CONFIGS[name].build(SIZE, SIZE).eval()


def sentence(length: int, seed: int = 0) -> list[int]:
    """Return random tokens and </s>."""
    generator = random.Random(1000 * seed + length)
    return [generator.randrange(UNK + 1, SIZE) for _ in range(length - 1)] + [EOS]


def padded_batch(*rows: list[int], extra: int = 0) -> Padded:
    """Return a batch, with `extra` columns of padding."""
    batch = pad(rows)
    return Padded(torch.nn.functional.pad(batch.tokens, (0, extra)), batch.lengths)


WORDS = {"a": "가", "b": "나", "c": "다", "d": "라", "e": "마", "f": "바"}


def reversing(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return pairs of a task that can be learned: the words are translated and reversed."""
    generator = random.Random(seed)
    sources = [[generator.choice(list(WORDS)) for _ in range(generator.randint(1, 6))] for _ in range(count)]
    return [(" ".join(source), " ".join(WORDS[word] for word in reversed(source))) for source in sources]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


SMALL = [
    "model.width=32",
    "model.ffn_width=64",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.dropout=0.1",
    "tokenizer.vocab_size=300",
    "training.batch_tokens=256",
    "training.threads=1",
    "training.precision=fp32",
    "data.source_language=en",
    "data.target_language=ko",
]
"""Settings of a run that takes seconds."""
