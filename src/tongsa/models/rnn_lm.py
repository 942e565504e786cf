"""A recurrent language model: p(x) = ∏ p(x_t | x_<t), h_t = f(h_t-1, x_t) (Cho et al. 2014, section 2.1, eq. 1-3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Layers, Width, check_ranges
from tongsa.interface import EncoderDecoder, Memory, PresetName, Task
from tongsa.nn.decoder_state import RowState
from tongsa.nn.dropout import Dropout
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT
from tongsa.nn.recording import record
from tongsa.nn.rnn import CellKind, RecurrentLayer

PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"width": 256, "layers": 1, "dropout": 0.1},
    "small": {"width": 384, "layers": 1, "dropout": 0.1},
    "short": {"width": 576, "layers": 1, "dropout": 0.1},
    "medium": {"width": 576, "layers": 2, "dropout": 0.15},
    "large": {"width": 1152, "layers": 2, "dropout": 0.1},
}


@dataclass(frozen=True, kw_only=True)
class RNNLMConfig:
    """The defaults are the medium model of Zaremba et al. 2014, section 4.1, but with tied embeddings."""

    width: Width = 650
    """Width of the token embeddings and of the state of every layer."""
    layers: Layers = 2
    """Recurrent layers."""
    cell: CellKind = "lstm"
    """Recurrent cell."""
    dropout: Fraction = 0.5
    """On embeddings, between layers and before the output, never on the recurrent connections (Zaremba et al. 3.2)."""
    tie_embeddings: Literal["target", "none"] = "target"
    """One matrix for token embeddings and output (Press and Wolf 2017), or two."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def task(self) -> Task:
        return "language_model"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        return {"model": PRESETS[name]}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:  # noqa: ARG002 - there is no source
        return EncoderDecoder(EmptyEncoder(self.width), RNNLMDecoder(target_vocab_size, self), NO_POSITION_LIMIT)


class EmptyEncoder(nn.Module):
    """The encoder of a language model: a memory without slots."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, source: Padded) -> Memory:
        slots = torch.zeros(source.tokens.shape[0], 0, self.width, device=source.tokens.device)
        return Memory(slots, source.mask[:, :0])


@dataclass(frozen=True)
class RNNLMState(RowState):
    """Decoder state: the recurrent state of each layer."""

    layer_states: tuple[Tensor, ...]  # for each layer (row, states · width)
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""


class RNNLMDecoder(nn.Module):
    """Stacked recurrent layers over the target alone."""

    def __init__(self, vocab_size: int, config: RNNLMConfig) -> None:
        super().__init__()
        self.embedding = embedding_table(vocab_size, config.width)
        self.dropout = Dropout(config.dropout)
        layers = nn.ModuleList(RecurrentLayer(config.width, config.width, config.cell) for _ in range(config.layers))
        self.layers: Sequence[RecurrentLayer] = layers  # type: ignore[assignment]
        self.output_embedding = (
            self.embedding if config.tie_embeddings == "target" else embedding_table(vocab_size, config.width)
        )

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight)

    def embed(self, tokens: Tensor) -> Tensor:  # (…, width)
        """Return √width times the token embeddings: their elements have variance 1."""
        scale = math.sqrt(self.embedding.embedding_dim)
        embedded = record("embedding.lookup", self, self.embedding(tokens))
        return record("embedding.scaled", self, embedded * scale, x=embedded, scale=scale)

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # noqa: ARG002 - the memory is empty
        x = self.embed(target.tokens)  # (batch, length, width)
        for layer in self.layers:
            x, _ = layer(self.dropout(x), None)  # no mask: padding follows all tokens
        dropped: Tensor = self.dropout(x)
        return dropped

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> RNNLMState:
        layer_states = tuple(layer.initial_state(memory.slots.shape[0], memory.slots) for layer in self.layers)
        return RNNLMState(layer_states, self.output.subset(vocab_subset))

    def step(self, token: Tensor, state: RNNLMState) -> tuple[Tensor, RNNLMState]:
        x = self.embed(token)  # (row, width)
        layer_states: list[Tensor] = []
        for layer, previous in zip(self.layers, state.layer_states, strict=True):
            layer_states.append(layer.step(layer.project(self.dropout(x)), previous))
            x = layer.hidden(layer_states[-1])
        logits = (state.output_subset or self.output).logits(self.dropout(x))
        return logits, replace(state, layer_states=tuple(layer_states))
