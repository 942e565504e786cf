"""Learning Phrase Representations using RNN Encoder-Decoder (Cho et al. 2014).

    source ─► recurrent layers ─► last state ─► summary c (the only slot of the memory)
                                                  │ initial state; with context_input = "always" also at every step
    target ─► recurrent layers ──────────────────┴─► maxout or linear readout ─► logits

With other settings it is Sequence to Sequence Learning with Neural Networks (Sutskever, Vinyals, Le 2014): SUTSKEVER.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import MAX_WIDTH, AtMost, Fraction, In, Layers, Width, check_ranges
from tongsa.interface import EncoderDecoder, Memory, PresetName, Task
from tongsa.nn.decoder_state import RowState
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear, maxout
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT
from tongsa.nn.recording import record
from tongsa.nn.rnn import CellKind, GRUCell, RecurrentLayer, unroll

PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"embedding": 96, "width": 160, "dropout": 0.1},
    "small": {"embedding": 160, "width": 256, "dropout": 0.1},
    "short": {"embedding": 256, "width": 352, "dropout": 0.1},
    "medium": {"embedding": 256, "width": 480, "dropout": 0.15},
    "large": {"embedding": 384, "width": 1024, "dropout": 0.1},
}
START_WIDTHS: dict[PresetName, int] = {"tiny": 128, "small": 192, "short": 272, "medium": 352, "large": 704}
"""Width of each of two layers with context_input = "start": the stacked LSTM of Sutskever et al."""


@dataclass(frozen=True, kw_only=True)
class RNNConfig:
    """The defaults are those of Cho et al., section 4.1.1."""

    width: Annotated[int, In(2), AtMost(MAX_WIDTH)] = 1000
    """Width of the state of every layer, on both sides."""
    embedding: Width = 100
    """Width of the token embeddings, which is also the rank of the input and output matrices."""
    layers: Layers = 1
    """Recurrent layers on each side."""
    cell: CellKind = "gru"
    """Recurrent cell."""
    context_input: Literal["always", "start"] = "always"
    """The decoder reads the summary at every step (Cho et al.), or only as its first state (Sutskever et al.)."""
    output: Literal["maxout", "linear"] = "maxout"
    """width / 2 maxout units over state, last token and summary, then a low-rank matrix; or one matrix on the state."""
    reverse_source: bool = False
    """Read the source from right to left, so that its first words are read last (Sutskever et al., section 3.3).
    Unlike in the paper, </s> is then read first."""
    dropout: Fraction = 0.0
    """On embeddings, between layers and before the output (Zaremba et al. 2014); the paper has none."""
    tie_embeddings: Literal["target", "none"] = "none"
    """One matrix for target embeddings and output, or two."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.tie_embeddings == "target" and self.output == "linear" and self.width != self.embedding:
            raise ValueError(
                f'tie_embeddings = "target": with output = "linear" it needs embedding {self.embedding} and width '
                f'{self.width} to be equal. Change one of them, or set tie_embeddings = "none".'
            )

    @property
    def task(self) -> Task:
        return "seq2seq"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        stacked = {"layers": 2, "width": START_WIDTHS[name]} if self.context_input == "start" else {}
        return {"model": PRESETS[name] | stacked}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        return EncoderDecoder(
            RNNEncoder(source_vocab_size, self), RNNDecoder(target_vocab_size, self), NO_POSITION_LIMIT
        )


SUTSKEVER = RNNConfig(
    embedding=1000, layers=4, cell="lstm", context_input="start", output="linear", reverse_source=True
)


class RNNEmbedding(nn.Module):
    """√embedding times the token embedding, so that its elements have variance 1; with dropout."""

    def __init__(self, vocab_size: int, config: RNNConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.embedding)
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:  # (…, embedding)
        scale = math.sqrt(self.token_embedding.embedding_dim)
        embedded = record("embedding.lookup", self, self.token_embedding(tokens))
        dropped: Tensor = self.dropout(record("embedding.scaled", self, embedded * scale, x=embedded, scale=scale))
        return dropped


class RNNEncoder(nn.Module):
    """One slot: c = tanh(V h) of the last layer's last state h (A.1.1), or all layers' last states, concatenated."""

    def __init__(self, vocab_size: int, config: RNNConfig) -> None:
        super().__init__()
        self.embedding = RNNEmbedding(vocab_size, config)
        input_widths = [config.embedding, *[config.width] * (config.layers - 1)]
        layers = nn.ModuleList(
            RecurrentLayer(width, config.width, config.cell, reverse=config.reverse_source) for width in input_widths
        )
        self.layers: Sequence[RecurrentLayer] = layers  # type: ignore[assignment]
        self.dropout = Dropout(config.dropout)
        self.summary_projection = Linear(config.width, config.width) if config.context_input == "always" else None

    def forward(self, source: Padded) -> Memory:
        x, mask = self.embedding(source.tokens), source.mask
        last_states: list[Tensor] = []  # for each layer (batch, states · width)
        for depth, layer in enumerate(self.layers):
            x, last_state = layer(x if depth == 0 else self.dropout(x), mask)
            last_states.append(last_state)
        if self.summary_projection is None:
            symbols = {
                f"{symbol}_{number}": part
                for number, state in enumerate(last_states, 1)
                for symbol, part in zip("hc", state.chunk(self.layers[0].cell.num_states, dim=1), strict=False)
            }
            summary = record("rnn.last_states", self, torch.cat(last_states, dim=1), **symbols)
        else:
            hidden = self.layers[-1].hidden(last_states[-1])
            summary = record("rnn.summary", self, torch.tanh(self.summary_projection(hidden)), h=hidden)
        return Memory(summary.unsqueeze(1), mask.new_ones(mask.shape[0], 1))


class ContextRecurrentLayer(RecurrentLayer):
    """A recurrent layer that reads the summary at every step, in addition to its input."""

    def __init__(self, input_width: int, width: int, cell: CellKind) -> None:
        super().__init__(input_width, width, cell)
        self.context_projection = Linear(width, self.cell.num_gates * width, blocks=self.cell.num_gates, bias=False)

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, gates · width)
        """Project the summary once: its term is the same at every step."""
        return record("rnn.context", self, self.context_projection(summary), c=summary)

    def project_with_context(self, inputs: Tensor, context: Tensor) -> Tensor:  # (batch, length, gates · width)
        projected = self.project(inputs)
        return record("rnn.summary_input", self, projected + context, a=projected, c=context)


class ContextGRULayer(ContextRecurrentLayer):
    """A GRU with the candidate tanh(We + r ⊙ (Uh + Cc)): appendix A.1.2.

    The reset gate is applied after the product with U; in the encoder it is applied before.
    """

    cell: GRUCell

    def project_with_context(self, inputs: Tensor, context: Tensor) -> Tensor:
        """Return (batch, length, 4 · width): two gates, the candidate, and Cc, which the reset gate multiplies."""
        projected = self.project(inputs)
        gates, candidate = projected.tensor_split([2 * self.width], dim=-1)
        gate_context, candidate_context = context.tensor_split([2 * self.width], dim=-1)
        joined = torch.cat([gates + gate_context, candidate, candidate_context.expand_as(candidate)], dim=-1)
        return record("gru.summary_input", self, joined, a=projected, c=context)

    def step(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, width)
        gates, candidate, context = projected.tensor_split([2 * self.width, 3 * self.width], dim=1)
        reset, update = torch.sigmoid(gates + self.cell.gate_projection(state)).chunk(2, dim=1)
        reset = record("gru.reset", self, reset, a=projected, h=state)
        update = record("gru.update", self, update, a=projected, h=state)
        candidate = torch.tanh(candidate + reset * (self.cell.candidate_projection(state) + context))
        candidate = record("gru.summary_candidate", self, candidate, a=projected, r=reset, h=state)
        return record("gru.state", self, torch.lerp(candidate, state, update), z=update, h=state, n=candidate)


class PlainRecurrentLayer(RecurrentLayer):
    """A recurrent layer that reads the summary only as its initial state."""

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, 0)
        return summary[:, :0]

    def project_with_context(self, inputs: Tensor, _context: Tensor) -> Tensor:  # (batch, length, gates · width)
        return self.project(inputs)


class LinearReadout(nn.Module):
    """Readout from the state alone, without token and summary."""

    def __init__(self, output_embedding: nn.Embedding, config: RNNConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output_embedding = output_embedding

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, 0)
        return summary[:, :0]

    def forward(self, hidden: Tensor, _embedded: Tensor, _context: Tensor) -> Tensor:  # (…, width)
        dropped: Tensor = self.dropout(hidden)
        return dropped


class MaxoutReadout(nn.Module):
    """G_r maxout(O_h h + O_y e(y) + O_c c): appendix A.1.2, where G = G_l G_r. G_l is the output embedding."""

    def __init__(self, output_embedding: nn.Embedding, config: RNNConfig) -> None:
        super().__init__()
        units = config.width // 2
        self.state_projection = Linear(config.width, 2 * units, blocks=2)
        self.token_projection = Linear(config.embedding, 2 * units, blocks=2, bias=False)
        always = config.context_input == "always"
        self.context_projection = Linear(config.width, 2 * units, blocks=2, bias=False) if always else None
        self.dropout = Dropout(config.dropout)
        self.output_projection = Linear(units, config.embedding)
        self.output_embedding = output_embedding

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, 2 · units), or (batch, 1) zeros
        if self.context_projection is None:
            return summary.new_zeros(summary.shape[0], 1)
        return record("maxout.context", self, self.context_projection(summary), c=summary)

    def forward(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (…, embedding)
        units = self.state_projection(hidden) + self.token_projection(embedded) + context
        units = record("maxout.summary_units", self, units, h=hidden, e=embedded, c=context)
        largest = self.dropout(record("maxout.output", self, maxout(units), x=units))
        return record("readout.output", self, self.output_projection(largest), x=largest)


@dataclass(frozen=True)
class RNNState(RowState):
    """Decoder state: the recurrent states and the projected summary."""

    layer_states: tuple[Tensor, ...]  # for each layer (row, states · width)
    contexts: tuple[Tensor, Tensor]
    """The summary as projected for the first layer and for the readout: the same at every step."""
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""


class RNNDecoder(nn.Module):
    """Recurrent layers from h'₀ = tanh(V' c), or from the encoder's last states: appendix A.1.2.

    The first input is the embedding of <s>; in the paper it is zero.
    """

    def __init__(self, vocab_size: int, config: RNNConfig) -> None:
        super().__init__()
        reads_context, has_maxout = config.context_input == "always", config.output == "maxout"
        self.embedding = RNNEmbedding(vocab_size, config)
        context_layer = ContextGRULayer if config.cell == "gru" else ContextRecurrentLayer
        first_layer = context_layer if reads_context else PlainRecurrentLayer
        self.first_layer = first_layer(config.embedding, config.width, config.cell)
        upper = nn.ModuleList(RecurrentLayer(config.width, config.width, config.cell) for _ in range(config.layers - 1))
        self.upper_layers: Sequence[RecurrentLayer] = upper  # type: ignore[assignment]
        states = config.layers * self.first_layer.cell.num_states
        self.bridge = Linear(config.width, states * config.width, blocks=states) if reads_context else None
        self.dropout = Dropout(config.dropout)
        table = self.embedding.token_embedding
        if config.tie_embeddings == "none":
            table = embedding_table(vocab_size, config.embedding if has_maxout else config.width)
        self.readout = MaxoutReadout(table, config) if has_maxout else LinearReadout(table, config)

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.readout.output_embedding.weight)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> RNNState:
        summary = memory.slots.squeeze(1)
        initial = summary
        if self.bridge is not None:
            initial = record("rnn.initial_state", self, torch.tanh(self.bridge(summary)), x=summary)
        contexts = self.first_layer.project_context(summary), self.readout.project_context(summary)
        return RNNState(initial.chunk(1 + len(self.upper_layers), dim=1), contexts, self.output.subset(vocab_subset))

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        state = self.start(memory)
        layer_context, readout_context = (context.unsqueeze(1) for context in state.contexts)
        embedded = self.embedding(target.tokens)
        projected = self.first_layer.project_with_context(embedded, layer_context)
        # no mask: padding follows all tokens
        states, _ = unroll(self.first_layer.step, projected, state.layer_states[0])
        x = self.first_layer.hidden(states)
        for layer, initial in zip(self.upper_layers, state.layer_states[1:], strict=True):
            x, _ = layer(self.dropout(x), None, initial)
        readout: Tensor = self.readout(x, embedded, readout_context)
        return readout

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def step(self, token: Tensor, state: RNNState) -> tuple[Tensor, RNNState]:
        embedded = self.embedding(token)  # (row, embedding)
        layer_context, readout_context = state.contexts
        projected = self.first_layer.project_with_context(embedded, layer_context)
        layer_states = [self.first_layer.step(projected, state.layer_states[0])]
        x = self.first_layer.hidden(layer_states[0])  # (row, width)
        for layer, previous in zip(self.upper_layers, state.layer_states[1:], strict=True):
            layer_states.append(layer.step(layer.project(self.dropout(x)), previous))
            x = layer.hidden(layer_states[-1])
        logits = (state.output_subset or self.output).logits(self.readout(x, embedded, readout_context))
        return logits, replace(state, layer_states=tuple(layer_states))
