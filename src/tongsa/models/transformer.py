"""Attention Is All You Need (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.layers.attention import CrossAttention, KeysValues, SelfAttention
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear, vectors
from tongsa.layers.masks import over_keys
from tongsa.layers.positions import Positions


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The defaults are the paper's base model: 44,138,496 + 512·V parameters."""

    width: int = 512
    """Width of the embeddings and of every layer's output (d_model)."""
    inner: int = 2048
    """Width inside the position-wise network (d_ff)."""
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    """On each sub-layer's output and on embeddings + positions (section 5.4)."""
    inner_dropout: float = 0.0
    """Inside the position-wise network too: not in the paper, and good for small data."""
    norm: Literal["post", "pre"] = "post"
    """LayerNorm(x + Sublayer(x)) as in the paper, or x + Sublayer(LayerNorm(x)), which needs no long warm-up."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    longest: int = 1024
    """How many places learned positions have; sinusoids know no limit."""
    share: Literal["all", "target", "none"] = "all"
    """One matrix for source, target and output (section 3.4); for target and output; or three."""

    def __post_init__(self) -> None:
        if self.width % self.heads or self.width < 1:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        for rate in (self.dropout, self.inner_dropout):
            if not 0 <= rate < 1:
                raise ValueError(f"dropout {rate} is not in [0, 1)")
        if min(self.inner, self.encoder_layers, self.decoder_layers, self.longest) < 1:
            raise ValueError("inner, encoder_layers, decoder_layers and longest are at least 1")

    @property
    def task(self) -> Task:
        return "pairs"

    def build(self, source: int, target: int) -> EncoderDecoder:
        if self.share == "all" and source != target:
            raise ValueError('share = "all" needs one vocabulary for both sides: set pieces.shared = true')
        inputs = Embedding(source, self)
        outputs = inputs if self.share == "all" else Embedding(target, self)
        output = outputs.vectors if self.share != "none" else vectors(target, self.width)
        return EncoderDecoder(Encoder(inputs, self), Decoder(outputs, output, self), inputs.positions.longest)


BASE = TransformerConfig()
BIG = TransformerConfig(width=1024, inner=4096, heads=16, dropout=0.3)


class Embedding(nn.Module):
    """√width times the vector of the piece, plus its position, with dropout (sections 3.4, 3.5, 5.4)."""

    def __init__(self, size: int, config: TransformerConfig) -> None:
        super().__init__()
        self.vectors = vectors(size, config.width)
        self.positions = Positions(config.positions, config.width, config.longest)
        self.dropout = Dropout(config.dropout)

    def forward(self, pieces: Tensor, start: int = 0) -> Tensor:  # (batch, length, width)
        scaled = self.vectors(pieces) * math.sqrt(self.vectors.embedding_dim)
        dropped: Tensor = self.dropout(scaled + self.positions(start, pieces.shape[1], pieces.device))
        return dropped


class Residual(nn.Module):
    """A sub-layer with its short cut, dropout and normalisation (sections 3.1 and 5.4)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)
        self.before = config.norm == "pre"

    def forward(self, inputs: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.before:
            return self.dropout.onto(inputs, sublayer(self.norm(inputs)))
        normed: Tensor = self.norm(self.dropout.onto(inputs, sublayer(inputs)))
        return normed


class FeedForward(nn.Module):
    """max(0, xW₁ + b₁)W₂ + b₂, the same at every position: equation 2."""

    def __init__(self, config: TransformerConfig, gain: float) -> None:
        super().__init__()
        self.widen = Linear(config.width, config.inner)
        self.narrow = Linear(config.inner, config.width, gain=gain)
        self.dropout = Dropout(config.inner_dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.narrow(self.dropout.relu(self.widen(inputs)))
        return outputs


def gain(config: TransformerConfig, sublayers: int) -> float:
    """Without a norm after each sum, every sum adds variance: sub-layers begin smaller (Radford et al. 2019, 2.3)."""
    return sublayers**-0.5 if config.norm == "pre" else 1.0


def last_norm(config: TransformerConfig, birth: float = 1.0) -> nn.Module:
    """With the norm before each sub-layer, nothing has normalised the last sum yet."""
    if config.norm == "post":
        return nn.Identity()
    norm = nn.LayerNorm(config.width)
    nn.init.constant_(norm.weight, birth)
    return norm


class EncoderLayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        small = gain(config, 2 * config.encoder_layers)
        self.attention = SelfAttention(config.width, config.heads, "encoder", gain=small)
        self.feed_forward = FeedForward(config, small)
        self.around_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        read = self.around_attention(inputs, lambda values: self.attention(values, mask))
        outputs: Tensor = self.around_feed_forward(read, self.feed_forward)
        return outputs


class Encoder(nn.Module):
    def __init__(self, embedding: Embedding, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = last_norm(config)

    def forward(self, source: Padded) -> Memory:
        mask = over_keys(source.mask)
        slots = self.embedding(source.pieces)
        for layer in self.layers:
            slots = layer(slots, mask)
        return Memory(self.norm(slots), source.mask)


@dataclass(frozen=True)
class DecoderState:
    """Every layer's keys and values so far, and those of the memory, which all hypotheses of a sentence share."""

    past: tuple[KeysValues, ...]  # a row for each hypothesis
    memory: tuple[KeysValues, ...]  # a row for each sentence
    mask: Tensor  # (sentence, head, query, slot)
    width: int
    """Hypotheses a sentence; they stand side by side."""

    def select(self, rows: Tensor) -> "DecoderState":
        sentences, counts = torch.unique_consecutive(rows // self.width, return_counts=True)
        width = int(counts[0])
        if not bool((counts == width).all()):
            sentences, width = rows // self.width, 1
        memory, mask = self.memory, self.mask
        if len(sentences) != len(mask) or not torch.equal(sentences, torch.arange(len(mask), device=rows.device)):
            memory, mask = tuple(read.select(sentences) for read in memory), mask.index_select(0, sentences)
        return DecoderState(tuple(past.select(rows) for past in self.past), memory, mask, width)


class DecoderLayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        small = gain(config, 3 * config.decoder_layers)
        self.attention = SelfAttention(config.width, config.heads, "decoder", gain=small)
        self.cross_attention = CrossAttention(config.width, config.heads, gain=small)
        self.feed_forward = FeedForward(config, small)
        self.around_attention = Residual(config)
        self.around_cross_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(self, inputs: Tensor, read: KeysValues, mask: Tensor) -> Tensor:
        own = self.around_attention(inputs, lambda values: self.attention(values, causal=True))
        both = self.around_cross_attention(own, lambda values: self.cross_attention(values, read, mask))
        outputs: Tensor = self.around_feed_forward(both, self.feed_forward)
        return outputs

    def step(
        self, inputs: Tensor, past: KeysValues, read: KeysValues, mask: Tensor, width: int
    ) -> tuple[Tensor, KeysValues]:
        def own(values: Tensor) -> Tensor:
            nonlocal past
            outputs, past = self.attention.step(values, past)
            return outputs

        def cross(values: Tensor) -> Tensor:
            together = values.view(-1, width, values.shape[-1])  # a sentence's hypotheses ask in one product
            outputs: Tensor = self.cross_attention(together, read, mask)
            return outputs.view_as(values)

        both = self.around_cross_attention(self.around_attention(inputs, own), cross)
        return self.around_feed_forward(both, self.feed_forward), past


class Decoder(nn.Module):
    def __init__(self, embedding: Embedding, output: nn.Embedding, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = embedding
        layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.layers: Sequence[DecoderLayer] = layers  # type: ignore[assignment]
        self.norm = last_norm(config, float(__import__("os").environ.get("BIRTH", "1")))
        self.output = output

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, piece)
        mask = over_keys(memory.mask)
        values = self.embedding(target.pieces)
        for layer in self.layers:
            values = layer(values, layer.cross_attention.read(memory.slots), mask)
        return F.linear(self.norm(values), self.output.weight)

    def start(self, memory: Memory) -> DecoderState:
        rows = len(memory.slots)
        return DecoderState(
            past=tuple(layer.attention.nothing(rows, memory.slots) for layer in self.layers),
            memory=tuple(layer.cross_attention.read(memory.slots) for layer in self.layers),
            mask=over_keys(memory.mask),
            width=1,
        )

    def step(self, piece: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        values = self.embedding(piece.unsqueeze(1), start=state.past[0].keys.shape[2])  # (row, 1, width)
        past: list[KeysValues] = []
        for layer, before, read in zip(self.layers, state.past, state.memory, strict=True):
            values, after = layer.step(values, before, read, state.mask, state.width)
            past.append(after)
        logits = F.linear(self.norm(values).squeeze(1), self.output.weight)  # (row, piece)
        return logits, DecoderState(tuple(past), state.memory, state.mask, state.width)
