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
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.layers.attention import sighted
from tongsa.layers.convolution import GatedConvolution, born
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear, Outputs, vectors
from tongsa.layers.positions import Positions, Start, each
from tongsa.layers.shared import Rectangle, regrouped, stacked

HALF = math.sqrt(0.5)
"""A sum of two with the same variance has twice that variance; times √0.5 it has the same again (section 3.4)."""


@dataclass(frozen=True, kw_only=True)
class ConvolutionalConfig:
    """The defaults are the paper's model for WMT'16 English-Romanian."""

    width: int = 512
    """Width of embeddings, of the memory and of what stands before the output (f)."""
    hidden: int = 512
    """Width of every convolution's output (d)."""
    kernel: int = 3
    """How many inputs a convolution sees (k): around its place in the encoder, up to its place in the decoder."""
    encoder_layers: int = 20
    decoder_layers: int = 20
    dropout: float = 0.2
    """On embeddings, on the input of every convolution and before the output (section 4.2)."""
    longest: int = 1024
    """How many places have a vector of their own (section 3.1)."""
    share: Literal["all", "target", "none"] = "none"
    """One matrix for source, target and output; for target and output; or three, as in the paper."""

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} is not in [0, 1)")
        if min(self.width, self.hidden, self.kernel, self.encoder_layers, self.decoder_layers, self.longest) < 1:
            raise ValueError("width, hidden, kernel, encoder_layers, decoder_layers and longest are at least 1")
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel {self.kernel} is even: an odd one has a place in its middle")

    @property
    def task(self) -> Task:
        return "pairs"

    def build(self, source: int, target: int) -> EncoderDecoder:
        if self.share == "all" and source != target:
            raise ValueError('share = "all" needs one vocabulary for both sides: set pieces.shared = true')
        inputs = Embedding(source, self)
        outputs = inputs if self.share == "all" else Embedding(target, self)
        output = outputs.vectors if self.share != "none" else vectors(target, self.width)
        nn.init.normal_(output.weight, std=0.1 if self.share != "none" else ((1 - self.dropout) / self.width) ** 0.5)
        return EncoderDecoder(Encoder(inputs, self), Decoder(outputs, output, self), self.longest)


class Embedding(nn.Module):
    """The vector of the piece plus the vector of its place, section 3.1, both from N(0, 0.1), section 3.5."""

    def __init__(self, size: int, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.vectors = vectors(size, config.width)
        self.positions = Positions("learned", config.width, config.longest)
        self.dropout = Dropout(config.dropout)
        for table in (self.vectors, self.positions.learned):
            assert table is not None  # noqa: S101 - for the type: these positions are learned
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, pieces: Tensor, start: Start = 0) -> Tensor:  # (batch, length, width)
        placed = self.vectors(pieces) + self.positions(start, pieces.shape[1], pieces.device)
        dropped: Tensor = self.dropout(placed)
        return dropped


class Encoder(nn.Module):
    """Leaves keys z and values z + e of equation 2 side by side: slots of twice the width."""

    def __init__(self, embedding: Embedding, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.widen = born(Linear(config.width, config.hidden), 1 - config.dropout)
        self.layers = nn.ModuleList(
            GatedConvolution(config.hidden, config.kernel, config.kernel // 2, kept=1 - config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.narrow = born(Linear(config.hidden, config.width), 1.0)
        self.readers = config.decoder_layers

    def forward(self, source: Padded) -> Memory:
        inside = source.mask.unsqueeze(-1).to(self.widen.weight.dtype)  # (batch, length, 1)
        embedded = self.embedding(source.pieces)  # (batch, length, width)
        values = self.widen(embedded)  # (batch, length, hidden)
        for layer in self.layers:
            values = (values + layer(self.dropout(values) * inside)) * HALF
        keys = self.narrow(values)  # (batch, length, width)
        # the same keys, but with the gradient of one reader: every decoder layer reads them (section 3.4)
        keys = torch.lerp(keys.detach(), keys, 1 / self.readers)
        return Memory(torch.cat([keys, keys + embedded], dim=-1), source.mask)


class Read(NamedTuple):
    """What every decoder layer reads, computed once for each sentence."""

    keys: Tensor  # (batch, slot, width)
    values: Tensor  # (batch, slot, width)
    mask: Tensor  # (batch, query, slot)


def read(memory: Memory) -> Read:
    """Values times m √(1/m), for their mean over m slots has 1/m of their variance (section 3.4)."""
    keys, values = memory.slots.chunk(2, dim=-1)
    lengths = memory.mask.sum(dim=1).to(values.dtype).view(-1, 1, 1)
    return Read(keys, values * lengths.sqrt(), memory.mask.unsqueeze(1))


class MultiStepAttention(nn.Module):
    """c = Σ a (z + e) with a = softmax(d·z) and d = W h + b + g: equations 1 and 2."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.query = born(Linear(config.hidden, config.width), 1.0)
        self.widen = born(Linear(config.width, config.hidden), 1.0)

    def forward(self, values: Tensor, embedded: Tensor, memory: Read) -> Tensor:  # (batch, query, hidden)
        energy = (self.query(values) + embedded) @ memory.keys.mT  # (batch, query, slot)
        weights = energy.masked_fill(~memory.mask, -torch.inf).softmax(dim=-1)
        sighted("cross", weights.unsqueeze(1))
        context: Tensor = self.widen(weights @ memory.values)
        return context


@dataclass(frozen=True)
class DecoderState:
    past: tuple[Tensor, ...]  # for each layer the last inputs of its convolution (row, kernel - 1, hidden)
    memory: Read  # a row for each sentence
    beams: Rectangle
    place: Start
    """Of the next piece, in all rows or in each."""
    outputs: Outputs | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "DecoderState":
        memory, beams = regrouped(self.memory, self.beams, rows)
        past = tuple(part.index_select(0, rows) for part in self.past)
        place = self.place[rows] if isinstance(self.place, Tensor) else self.place
        return replace(self, past=past, memory=Read(*memory), beams=beams, place=place)

    def beside(self, others: "DecoderState") -> "DecoderState":
        memory, beams = stacked(self.memory, others.memory, (self.beams, others.beams), slots=(1, 1, 2))
        return replace(
            self,
            past=tuple(torch.cat(both) for both in zip(self.past, others.past, strict=True)),
            memory=Read(*memory),
            beams=beams,
            place=torch.cat([each(state.place, state.past[0]) for state in (self, others)]),
        )


class DecoderLayer(nn.Module):
    """A convolution that sees nothing to its right, and attention: each with its short cut (sections 3.2 and 3.3)."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.convolution = GatedConvolution(config.hidden, config.kernel, config.kernel - 1, kept=1 - config.dropout)
        self.attention = MultiStepAttention(config)

    def forward(self, inputs: Tensor, embedded: Tensor, memory: Read) -> Tensor:  # (batch, length, hidden)
        values = (inputs + self.convolution(self.dropout(inputs))) * HALF
        outputs: Tensor = (values + self.attention(values, embedded, memory)) * HALF
        return outputs

    def step(self, inputs: Tensor, embedded: Tensor, past: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        """One place further for inputs (row, hidden); a sentence's hypotheses ask their memory in one product."""
        convolved, past = self.convolution.step(self.dropout(inputs), past)
        values = (inputs + convolved) * HALF  # (row, hidden)
        asking = (state.beams.filled(part, state.memory.mask.shape[0]) for part in (values, embedded))
        return (values + state.beams.rows(self.attention(*asking, state.memory))) * HALF, past


class Decoder(nn.Module):
    def __init__(self, embedding: Embedding, output: nn.Embedding, config: ConvolutionalConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.widen = born(Linear(config.width, config.hidden), 1 - config.dropout)
        layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.layers: Sequence[DecoderLayer] = layers  # type: ignore[assignment]
        self.narrow = born(Linear(config.hidden, config.width), 1.0)
        self.output = output
        self.bias = nn.Parameter(torch.zeros(output.num_embeddings))

    @property
    def _outputs(self) -> Outputs:
        return Outputs(self.output.weight, self.bias)

    def _readout(self, values: Tensor) -> Tensor:  # (…, width)
        readout: Tensor = self.dropout(self.narrow(values))
        return readout

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, piece)
        once = read(memory)
        embedded = self.embedding(target.pieces)
        values = self.widen(embedded)
        for layer in self.layers:
            values = layer(values, embedded, once)
        return self._outputs.logits(self._readout(values))

    def start(self, memory: Memory, among: Tensor | None = None) -> DecoderState:
        before, hidden = self.layers[0].convolution.before, self.widen.out_features
        nothing = memory.slots.new_zeros(memory.slots.shape[0], before, hidden)
        past = (nothing,) * len(self.layers)
        return DecoderState(past, read(memory), Rectangle(1), place=0, outputs=self._outputs.among(among))

    def step(self, piece: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        embedded = self.embedding(piece.view(-1, 1), start=state.place).squeeze(1)  # (row, width)
        values = self.widen(embedded)
        past: list[Tensor] = []
        for layer, before in zip(self.layers, state.past, strict=True):
            values, after = layer.step(values, embedded, before, state)
            past.append(after)
        logits = (state.outputs or self._outputs).logits(self._readout(values))
        return logits, replace(state, past=tuple(past), place=state.place + 1)
