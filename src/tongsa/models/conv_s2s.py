"""Convolutional Sequence to Sequence Learning (Gehring, Auli, Grangier, Yarats, Dauphin 2017).

Left out: weight normalisation, which the paper uses to speed up learning (section 4.2) and which changes no equation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Positive, check_ranges
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.nn.attention import record_weights
from tongsa.nn.beam_layout import BeamLayout, concat_sentences, select_sentences
from tongsa.nn.conv import GatedConvolution, init_normal
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import PositionalEncoding, StartPosition, start_per_row

SQRT_HALF = math.sqrt(0.5)
"""A sum of two with the same variance has twice that variance; times √0.5 it has the same again (section 3.4)."""


@dataclass(frozen=True, kw_only=True)
class ConvS2SConfig:
    """The defaults are the paper's model for WMT'16 English-Romanian."""

    width: Positive = 512
    """Width of embeddings, of the memory and of what stands before the output (f)."""
    hidden: Positive = 512
    """Width of every convolution's output (d)."""
    kernel: Positive = 3
    """How many inputs a convolution sees (k): around its place in the encoder, up to its place in the decoder."""
    encoder_layers: Positive = 20
    decoder_layers: Positive = 20
    dropout: Fraction = 0.2
    """On embeddings, on the input of every convolution and before the output (section 4.2)."""
    max_positions: Positive = 1024
    """How many places have a vector of their own (section 3.1)."""
    tie_embeddings: Literal["all", "target", "none"] = "none"
    """One matrix for source, target and output; for target and output; or three, as in the paper."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel {self.kernel} is even: an odd one has a position in its middle")

    @property
    def task(self) -> Task:
        return "seq2seq"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        if self.tie_embeddings == "all" and source_vocab_size != target_vocab_size:
            raise ValueError('share = "all" needs one vocabulary for both sides: set tokenizer.shared = true')
        inputs = ConvEmbedding(source_vocab_size, self)
        outputs = inputs if self.tie_embeddings == "all" else ConvEmbedding(target_vocab_size, self)
        output = (
            outputs.token_embedding if self.tie_embeddings != "none" else embedding_table(target_vocab_size, self.width)
        )
        nn.init.normal_(
            output.weight, std=0.1 if self.tie_embeddings != "none" else ((1 - self.dropout) / self.width) ** 0.5
        )
        return EncoderDecoder(ConvEncoder(inputs, self), ConvDecoder(outputs, output, self), self.max_positions)


class ConvEmbedding(nn.Module):
    """The vector of the piece plus the vector of its place, section 3.1, both from N(0, 0.1), section 3.5."""

    def __init__(self, vocab_size: int, config: ConvS2SConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.width)
        self.positional_encoding = PositionalEncoding("learned", config.width, config.max_positions)
        self.dropout = Dropout(config.dropout)
        for table in (self.token_embedding, self.positional_encoding.learned_embedding):
            assert table is not None  # noqa: S101 - for the type: these positions are learned
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, tokens: Tensor, start: StartPosition = 0) -> Tensor:  # (batch, length, width)
        placed = self.token_embedding(tokens) + self.positional_encoding(start, tokens.shape[1], tokens.device)
        dropped: Tensor = self.dropout(placed)
        return dropped


class ConvEncoder(nn.Module):
    """Leaves keys z and values z + e of equation 2 side by side: slots of twice the width."""

    def __init__(self, embedding: ConvEmbedding, config: ConvS2SConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.input_projection = init_normal(Linear(config.width, config.hidden), 1 - config.dropout)
        self.layers = nn.ModuleList(
            GatedConvolution(config.hidden, config.kernel, config.kernel // 2, keep_prob=1 - config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.output_projection = init_normal(Linear(config.hidden, config.width), 1.0)
        self.decoder_layers = config.decoder_layers

    def forward(self, source: Padded) -> Memory:
        inside = source.mask.unsqueeze(-1).to(self.input_projection.weight.dtype)  # (batch, length, 1)
        embedded = self.embedding(source.tokens)  # (batch, length, width)
        values = self.input_projection(embedded)  # (batch, length, hidden)
        for layer in self.layers:
            values = (values + layer(self.dropout(values) * inside)) * SQRT_HALF
        keys = self.output_projection(values)  # (batch, length, width)
        # the same keys, but with the gradient of one reader: every decoder layer reads them (section 3.4)
        keys = torch.lerp(keys.detach(), keys, 1 / self.decoder_layers)
        return Memory(torch.cat([keys, keys + embedded], dim=-1), source.mask)


class ConvMemory(NamedTuple):
    """What every decoder layer reads, computed once for each sentence."""

    keys: Tensor  # (batch, slot, width)
    values: Tensor  # (batch, slot, width)
    mask: Tensor  # (batch, query, slot)


def precompute_memory(memory: Memory) -> ConvMemory:
    """Values times m √(1/m), for their mean over m slots has 1/m of their variance (section 3.4)."""
    keys, values = memory.slots.chunk(2, dim=-1)
    lengths = memory.mask.sum(dim=1).to(values.dtype).view(-1, 1, 1)
    return ConvMemory(keys, values * lengths.sqrt(), memory.mask.unsqueeze(1))


class MultiStepAttention(nn.Module):
    """c = Σ a (z + e) with a = softmax(d·z) and d = W h + b + g: equations 1 and 2."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.query_projection = init_normal(Linear(config.hidden, config.width), 1.0)
        self.output_projection = init_normal(Linear(config.width, config.hidden), 1.0)

    def forward(self, hidden: Tensor, embedded: Tensor, memory: ConvMemory) -> Tensor:  # (batch, query, hidden)
        energy = (self.query_projection(hidden) + embedded) @ memory.keys.mT  # (batch, query, slot)
        weights = energy.masked_fill(~memory.mask, -torch.inf).softmax(dim=-1)
        record_weights("cross", weights.unsqueeze(1))
        context: Tensor = self.output_projection(weights @ memory.values)
        return context


@dataclass(frozen=True)
class ConvState:
    cache: tuple[Tensor, ...]  # for each layer the last inputs of its convolution (row, kernel - 1, hidden)
    memory: ConvMemory  # a row for each sentence
    beam_layout: BeamLayout
    position: StartPosition
    """Of the next piece, in all rows or in each."""
    output_subset: OutputProjection | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "ConvState":
        memory, beams = select_sentences(self.memory, self.beam_layout, rows)
        past = tuple(part.index_select(0, rows) for part in self.cache)
        place = self.position[rows] if isinstance(self.position, Tensor) else self.position
        return replace(self, cache=past, memory=ConvMemory(*memory), beam_layout=beams, position=place)

    def concat(self, other: "ConvState") -> "ConvState":
        memory, beams = concat_sentences(
            self.memory, other.memory, (self.beam_layout, other.beam_layout), slot_dims=(1, 1, 2)
        )
        return replace(
            self,
            cache=tuple(torch.cat(both) for both in zip(self.cache, other.cache, strict=True)),
            memory=ConvMemory(*memory),
            beam_layout=beams,
            position=torch.cat([start_per_row(state.position, state.cache[0]) for state in (self, other)]),
        )


class ConvDecoderLayer(nn.Module):
    """A convolution that sees nothing to its right, and attention: each with its short cut (sections 3.2 and 3.3)."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.convolution = GatedConvolution(
            config.hidden, config.kernel, config.kernel - 1, keep_prob=1 - config.dropout
        )
        self.attention = MultiStepAttention(config)

    def forward(self, inputs: Tensor, embedded: Tensor, memory: ConvMemory) -> Tensor:  # (batch, length, hidden)
        values = (inputs + self.convolution(self.dropout(inputs))) * SQRT_HALF
        outputs: Tensor = (values + self.attention(values, embedded, memory)) * SQRT_HALF
        return outputs

    def step(self, inputs: Tensor, embedded: Tensor, cache: Tensor, state: ConvState) -> tuple[Tensor, Tensor]:
        """One place further for inputs (row, hidden); a sentence's hypotheses ask their memory in one product."""
        convolved, cache = self.convolution.step(self.dropout(inputs), cache)
        values = (inputs + convolved) * SQRT_HALF  # (row, hidden)
        asking = (state.beam_layout.scatter(part, state.memory.mask.shape[0]) for part in (values, embedded))
        return (values + state.beam_layout.gather(self.attention(*asking, state.memory))) * SQRT_HALF, cache


class ConvDecoder(nn.Module):
    def __init__(self, embedding: ConvEmbedding, output_embedding: nn.Embedding, config: ConvS2SConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.input_projection = init_normal(Linear(config.width, config.hidden), 1 - config.dropout)
        layers = nn.ModuleList(ConvDecoderLayer(config) for _ in range(config.decoder_layers))
        self.layers: Sequence[ConvDecoderLayer] = layers  # type: ignore[assignment]
        self.output_projection = init_normal(Linear(config.hidden, config.width), 1.0)
        self.output_embedding = output_embedding
        self.bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings))

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.bias)

    def _readout(self, hidden: Tensor) -> Tensor:  # (…, width)
        readout: Tensor = self.dropout(self.output_projection(hidden))
        return readout

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        once = precompute_memory(memory)
        embedded = self.embedding(target.tokens)
        values = self.input_projection(embedded)
        for layer in self.layers:
            values = layer(values, embedded, once)
        return self._readout(values)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        return self.output.logits(self.hidden(target, memory))

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> ConvState:
        before, hidden = self.layers[0].convolution.left_padding, self.input_projection.out_features
        nothing = memory.slots.new_zeros(memory.slots.shape[0], before, hidden)
        past = (nothing,) * len(self.layers)
        return ConvState(
            past,
            precompute_memory(memory),
            BeamLayout(1),
            position=0,
            output_subset=self.output.subset(vocab_subset),
        )

    def step(self, token: Tensor, state: ConvState) -> tuple[Tensor, ConvState]:
        embedded = self.embedding(token.view(-1, 1), start=state.position).squeeze(1)  # (row, width)
        values = self.input_projection(embedded)
        past: list[Tensor] = []
        for layer, before in zip(self.layers, state.cache, strict=True):
            values, after = layer.step(values, embedded, before, state)
            past.append(after)
        logits = (state.output_subset or self.output).logits(self._readout(values))
        return logits, replace(state, cache=tuple(past), position=state.position + 1)
