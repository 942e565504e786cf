"""A recurrent language model: p(x) = ∏ p(x_t | x_<t), h_t = f(h_t-1, x_t) (Cho et al. 2014, section 2.1, eq. 1-3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Outputs, vectors
from tongsa.layers.positions import UNBOUNDED
from tongsa.layers.recurrence import Cell, Recurrence


@dataclass(frozen=True, kw_only=True)
class LanguageModelConfig:
    """The defaults are the medium model of Zaremba et al. 2014, section 4.1, but for the shared matrix."""

    width: int = 650
    """Width of the vectors of pieces and of the state of every layer."""
    layers: int = 2
    cell: Cell = "lstm"
    dropout: float = 0.5
    """On vectors of pieces, between layers and before the last matrix, never from time to time (Zaremba et al. 3.2)."""
    share: Literal["target", "none"] = "target"
    """One matrix for the vectors of pieces and the output (Press and Wolf 2017), or two."""

    def __post_init__(self) -> None:
        if min(self.width, self.layers) < 1:
            raise ValueError("width and layers are at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} is not in [0, 1)")

    @property
    def task(self) -> Task:
        return "text"

    def build(self, source: int, target: int) -> EncoderDecoder:  # noqa: ARG002 - no source is read
        return EncoderDecoder(Encoder(self.width), Decoder(target, self), UNBOUNDED)


class Encoder(nn.Module):
    """There is nothing to read: no slots."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, source: Padded) -> Memory:
        slots = torch.zeros(source.pieces.shape[0], 0, self.width, device=source.pieces.device)
        return Memory(slots, source.mask[:, :0])


@dataclass(frozen=True)
class DecoderState:
    layers: tuple[Tensor, ...]  # each (row, parts · width)
    outputs: Outputs | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "DecoderState":
        return DecoderState(tuple(layer.index_select(0, rows) for layer in self.layers), self.outputs)

    def beside(self, others: "DecoderState") -> "DecoderState":
        both = zip(self.layers, others.layers, strict=True)
        return DecoderState(tuple(map(torch.cat, both)), self.outputs)


class Decoder(nn.Module):
    def __init__(self, size: int, config: LanguageModelConfig) -> None:
        super().__init__()
        self.vectors = vectors(size, config.width)
        self.dropout = Dropout(config.dropout)
        layers = nn.ModuleList(Recurrence(config.width, config.width, config.cell) for _ in range(config.layers))
        self.layers: Sequence[Recurrence] = layers  # type: ignore[assignment]
        self.output = self.vectors if config.share == "target" else vectors(size, config.width)

    def embedded(self, pieces: Tensor) -> Tensor:  # (..., width)
        """√width times the vector of the piece, so that its elements have variance 1."""
        scaled: Tensor = self.vectors(pieces) * math.sqrt(self.vectors.embedding_dim)
        return scaled

    @property
    def _outputs(self) -> Outputs:
        return Outputs(self.output.weight)

    def forward(self, target: Padded, _memory: Memory) -> Tensor:  # (batch, length, piece)
        values = self.embedded(target.pieces)
        for layer in self.layers:
            values, _ = layer(self.dropout(values), None)  # no mask: padding stands behind all that counts
        return self._outputs.logits(self.dropout(values))

    def start(self, memory: Memory, among: Tensor | None = None) -> DecoderState:
        layers = tuple(layer.nothing(memory.slots.shape[0], memory.slots) for layer in self.layers)
        return DecoderState(layers, self._outputs.among(among))

    def step(self, piece: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        values = self.embedded(piece)  # (row, width)
        states: list[Tensor] = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            states.append(layer.step(layer.project(self.dropout(values)), before))
            values = layer.hidden(states[-1])
        logits = (state.outputs or self._outputs).logits(self.dropout(values))
        return logits, DecoderState(tuple(states), state.outputs)
