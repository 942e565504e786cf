"""A recurrent language model: p(x) = ∏ p(x_t | x_<t), h_t = f(h_t-1, x_t) (Cho et al. 2014, section 2.1, eq. 1-3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Positive, check_ranges
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.nn.dropout import Dropout
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT
from tongsa.nn.rnn import CellKind, RecurrentLayer


@dataclass(frozen=True, kw_only=True)
class RNNLMConfig:
    """The defaults are the medium model of Zaremba et al. 2014, section 4.1, but for the shared matrix."""

    width: Positive = 650
    """Width of the vectors of pieces and of the state of every layer."""
    layers: Positive = 2
    cell: CellKind = "lstm"
    dropout: Fraction = 0.5
    """On vectors of pieces, between layers and before the last matrix, never from time to time (Zaremba et al. 3.2)."""
    tie_embeddings: Literal["target", "none"] = "target"
    """One matrix for the vectors of pieces and the output (Press and Wolf 2017), or two."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def task(self) -> Task:
        return "language_model"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:  # noqa: ARG002 - no source is read
        return EncoderDecoder(EmptyEncoder(self.width), RNNLMDecoder(target_vocab_size, self), NO_POSITION_LIMIT)


class EmptyEncoder(nn.Module):
    """There is nothing to read: no slots."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, source: Padded) -> Memory:
        slots = torch.zeros(source.tokens.shape[0], 0, self.width, device=source.tokens.device)
        return Memory(slots, source.mask[:, :0])


@dataclass(frozen=True)
class RNNLMState:
    layer_states: tuple[Tensor, ...]  # each (row, parts · width)
    output_subset: OutputProjection | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "RNNLMState":
        return RNNLMState(tuple(layer.index_select(0, rows) for layer in self.layer_states), self.output_subset)

    def concat(self, other: "RNNLMState") -> "RNNLMState":
        both = zip(self.layer_states, other.layer_states, strict=True)
        return RNNLMState(tuple(map(torch.cat, both)), self.output_subset)


class RNNLMDecoder(nn.Module):
    def __init__(self, vocab_size: int, config: RNNLMConfig) -> None:
        super().__init__()
        self.embedding = embedding_table(vocab_size, config.width)
        self.dropout = Dropout(config.dropout)
        layers = nn.ModuleList(RecurrentLayer(config.width, config.width, config.cell) for _ in range(config.layers))
        self.layers: Sequence[RecurrentLayer] = layers  # type: ignore[assignment]
        self.output_embedding = (
            self.embedding if config.tie_embeddings == "target" else embedding_table(vocab_size, config.width)
        )

    def embed(self, tokens: Tensor) -> Tensor:  # (..., width)
        """√width times the vector of the piece, so that its elements have variance 1."""
        scaled: Tensor = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return scaled

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight)

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # noqa: ARG002 - a language model reads no source
        values = self.embed(target.tokens)
        for layer in self.layers:
            values, _ = layer(self.dropout(values), None)  # no mask: padding stands behind all that counts
        dropped: Tensor = self.dropout(values)
        return dropped  # (batch, length, width)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        return self.output.logits(self.hidden(target, memory))

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> RNNLMState:
        layers = tuple(layer.initial_state(memory.slots.shape[0], memory.slots) for layer in self.layers)
        return RNNLMState(layers, self.output.subset(vocab_subset))

    def step(self, token: Tensor, state: RNNLMState) -> tuple[Tensor, RNNLMState]:
        values = self.embed(token)  # (row, width)
        states: list[Tensor] = []
        for layer, before in zip(self.layers, state.layer_states, strict=True):
            states.append(layer.step(layer.project(self.dropout(values)), before))
            values = layer.hidden(states[-1])
        logits = (state.output_subset or self.output).logits(self.dropout(values))
        return logits, RNNLMState(tuple(states), state.output_subset)
