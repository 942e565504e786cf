"""Learning Phrase Representations using RNN Encoder-Decoder (Cho et al. 2014).

With other options it is Sequence to Sequence Learning with Neural Networks (Sutskever, Vinyals, Le 2014).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear, Outputs, vectors
from tongsa.layers.maxout import maxout
from tongsa.layers.positions import UNBOUNDED
from tongsa.layers.recurrence import Cell, Gated, Recurrence, over_time


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """The defaults are those of Cho et al., section 4.1.1."""

    width: int = 1000
    """Width of the state of every layer, on both sides."""
    embedding: int = 100
    """Width of the vectors of pieces, which is the rank of the input and output matrices."""
    layers: int = 1
    cell: Cell = "gated"
    feed: Literal["always", "start"] = "always"
    """The summary is read at every step (Cho et al.), or is only the decoder's first state (Sutskever et al.)."""
    output: Literal["maxout", "linear"] = "maxout"
    """width / 2 maxout units over state, last piece and summary, then a low-rank matrix; or one matrix on the state."""
    reverse_source: bool = False
    """Read the source from right to left, so that its beginning is fresh (Sutskever et al., section 3.3); </s>, which
    they read last, then comes first."""
    dropout: float = 0.0
    """On vectors of pieces, between layers and before the last matrix (Zaremba et al. 2014); the paper has none."""
    share: Literal["target", "none"] = "none"
    """One matrix for the vectors of target pieces and the output, or two."""

    def __post_init__(self) -> None:
        if min(self.width // 2, self.embedding, self.layers) < 1:
            raise ValueError("width is at least 2, embedding and layers are at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} is not in [0, 1)")
        if self.share == "target" and self.output == "linear" and self.width != self.embedding:
            raise ValueError(f"a shared linear output needs embedding {self.embedding} to equal width {self.width}")

    @property
    def task(self) -> Task:
        return "pairs"

    def build(self, source: int, target: int) -> EncoderDecoder:
        return EncoderDecoder(Encoder(source, self), Decoder(target, self), UNBOUNDED)


SUTSKEVER = RecurrentConfig(embedding=1000, layers=4, cell="lstm", feed="start", output="linear", reverse_source=True)


class Embedding(nn.Module):
    """√embedding times the vector of the piece, so that its elements have variance 1; with dropout."""

    def __init__(self, size: int, config: RecurrentConfig) -> None:
        super().__init__()
        self.vectors = vectors(size, config.embedding)
        self.dropout = Dropout(config.dropout)

    def forward(self, pieces: Tensor) -> Tensor:  # (..., embedding)
        dropped: Tensor = self.dropout(self.vectors(pieces) * math.sqrt(self.vectors.embedding_dim))
        return dropped


class Encoder(nn.Module):
    """One slot: c = tanh(V h), h the last state of the last layer (A.1.1); or the last states of all layers, joined."""

    def __init__(self, size: int, config: RecurrentConfig) -> None:
        super().__init__()
        self.embedding = Embedding(size, config)
        inputs = [config.embedding, *[config.width] * (config.layers - 1)]
        layers = nn.ModuleList(
            Recurrence(width, config.width, config.cell, reverse=config.reverse_source) for width in inputs
        )
        self.layers: Sequence[Recurrence] = layers  # type: ignore[assignment]
        self.dropout = Dropout(config.dropout)
        self.summary = Linear(config.width, config.width) if config.feed == "always" else None

    def forward(self, source: Padded) -> Memory:
        values, mask = self.embedding(source.pieces), source.mask
        states: list[Tensor] = []
        for depth, layer in enumerate(self.layers):
            values, last = layer(values if depth == 0 else self.dropout(values), mask)
            states.append(last)
        slot = torch.cat(states, dim=1)
        if self.summary is not None:
            slot = torch.tanh(self.summary(self.layers[-1].hidden(states[-1])))
        return Memory(slot.unsqueeze(1), mask.new_ones(mask.shape[0], 1))


class Fed(Recurrence):
    """A layer that reads the summary at every step, beside its input."""

    def __init__(self, inputs: int, width: int, cell: Cell) -> None:
        super().__init__(inputs, width, cell)
        self.from_summary = Linear(width, self.unit.gates * width, blocks=self.unit.gates, bias=False)

    def context(self, summary: Tensor) -> Tensor:  # (batch, gates · width)
        """What the summary brings to every step, computed once."""
        context: Tensor = self.from_summary(summary)
        return context

    def fed(self, inputs: Tensor, context: Tensor) -> Tensor:  # (batch, length, gates · width)
        return self.project(inputs) + context


class FedGated(Fed):
    """The candidate is tanh(We + r ⊙ (Uh + Cc)): unlike the encoder's, reset after the product (A.1.2)."""

    unit: Gated

    def fed(self, inputs: Tensor, context: Tensor) -> Tensor:  # (batch, length, 4 · width), the last block Cc
        gates, candidate = self.project(inputs).tensor_split([2 * self.width], dim=-1)
        of_gates, of_candidate = context.tensor_split([2 * self.width], dim=-1)
        return torch.cat([gates + of_gates, candidate, of_candidate.expand_as(candidate)], dim=-1)

    def step(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, width)
        gates, candidate, context = projected.tensor_split([2 * self.width, 3 * self.width], dim=1)
        reset, update = torch.sigmoid(gates + self.unit.to_gates(state)).chunk(2, dim=1)
        candidate = torch.tanh(candidate + reset * (self.unit.to_candidate(state) + context))
        return torch.lerp(candidate, state, update)


class Unfed(Recurrence):
    """A layer that starts from the summary and reads it no more."""

    def context(self, summary: Tensor) -> Tensor:  # (batch, 0)
        return summary[:, :0]

    def fed(self, inputs: Tensor, _context: Tensor) -> Tensor:  # (batch, length, gates · width)
        return self.project(inputs)


class LinearOutput(nn.Module):
    """One matrix on the state alone."""

    def __init__(self, table: nn.Embedding, config: RecurrentConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.table = table

    def context(self, summary: Tensor) -> Tensor:  # (batch, 0)
        return summary[:, :0]

    def forward(self, hidden: Tensor, _embedded: Tensor, _context: Tensor) -> Tensor:  # (..., width)
        """What is multiplied with the row of each piece."""
        dropped: Tensor = self.dropout(hidden)
        return dropped


class MaxoutOutput(nn.Module):
    """G maxout(O_h h + O_y e(y) + O_c c) with G = G_l G_r, a row of G_l for each piece: appendix A.1.2."""

    def __init__(self, table: nn.Embedding, config: RecurrentConfig) -> None:
        super().__init__()
        units = config.width // 2
        self.from_state = Linear(config.width, 2 * units, blocks=2)
        self.from_piece = Linear(config.embedding, 2 * units, blocks=2, bias=False)
        always = config.feed == "always"
        self.from_summary = Linear(config.width, 2 * units, blocks=2, bias=False) if always else None
        self.dropout = Dropout(config.dropout)
        self.to_vector = Linear(units, config.embedding)
        self.table = table

    def context(self, summary: Tensor) -> Tensor:  # (batch, 2 · units), or one zero for all of them
        return summary.new_zeros(summary.shape[0], 1) if self.from_summary is None else self.from_summary(summary)

    def forward(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (..., embedding)
        units = maxout(self.from_state(hidden) + self.from_piece(embedded) + context)
        vector: Tensor = self.to_vector(self.dropout(units))
        return vector


@dataclass(frozen=True)
class DecoderState:
    """The state of every layer, and what the summary brings to the first layer and to the output at every step."""

    layers: tuple[Tensor, ...]  # each (row, parts · width)
    contexts: tuple[Tensor, Tensor]
    outputs: Outputs | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "DecoderState":
        first, output = self.contexts
        return DecoderState(
            tuple(layer.index_select(0, rows) for layer in self.layers),
            (first.index_select(0, rows), output.index_select(0, rows)),
            self.outputs,
        )

    def beside(self, others: "DecoderState") -> "DecoderState":
        layers = tuple(torch.cat(both) for both in zip(self.layers, others.layers, strict=True))
        first, output = (torch.cat(both) for both in zip(self.contexts, others.contexts, strict=True))
        return DecoderState(layers, (first, output), self.outputs)


class Decoder(nn.Module):
    """From h'₀ = tanh(V' c), or from the encoder's last states, one piece at a time: appendix A.1.2.

    The first input is the vector of <s>, where the paper has zeros.
    """

    def __init__(self, size: int, config: RecurrentConfig) -> None:
        super().__init__()
        always, deep = config.feed == "always", config.output == "maxout"
        self.embedding = Embedding(size, config)
        fed = FedGated if config.cell == "gated" else Fed
        self.first = (fed if always else Unfed)(config.embedding, config.width, config.cell)
        upper = nn.ModuleList(Recurrence(config.width, config.width, config.cell) for _ in range(config.layers - 1))
        self.upper: Sequence[Recurrence] = upper  # type: ignore[assignment]
        parts = config.layers * self.first.unit.parts
        self.birth = Linear(config.width, parts * config.width, blocks=parts) if always else None
        self.dropout = Dropout(config.dropout)
        table = self.embedding.vectors
        if config.share == "none":
            table = vectors(size, config.embedding if deep else config.width)
        self.output = MaxoutOutput(table, config) if deep else LinearOutput(table, config)

    @property
    def _outputs(self) -> Outputs:
        return Outputs(self.output.table.weight)

    def start(self, memory: Memory, among: Tensor | None = None) -> DecoderState:
        summary = memory.slots.squeeze(1)
        joined = summary if self.birth is None else torch.tanh(self.birth(summary))
        contexts = self.first.context(summary), self.output.context(summary)
        return DecoderState(joined.chunk(1 + len(self.upper), dim=1), contexts, self._outputs.among(among))

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, piece)
        state = self.start(memory)
        context, for_output = (context.unsqueeze(1) for context in state.contexts)
        embedded = self.embedding(target.pieces)
        # padding stands behind the last piece, where it changes nothing that counts: no mask
        states, _ = over_time(self.first.step, self.first.fed(embedded, context), state.layers[0])
        values = self.first.hidden(states)
        for layer, before in zip(self.upper, state.layers[1:], strict=True):
            values, _ = layer(self.dropout(values), None, before)
        return self._outputs.logits(self.output(values, embedded, for_output))

    def step(self, piece: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        embedded = self.embedding(piece)  # (row, embedding)
        context, for_output = state.contexts
        layers = [self.first.step(self.first.fed(embedded, context), state.layers[0])]
        values = self.first.hidden(layers[0])  # (row, width)
        for layer, before in zip(self.upper, state.layers[1:], strict=True):
            layers.append(layer.step(layer.project(self.dropout(values)), before))
            values = layer.hidden(layers[-1])
        logits = (state.outputs or self._outputs).logits(self.output(values, embedded, for_output))
        return logits, DecoderState(tuple(layers), state.contexts, state.outputs)
