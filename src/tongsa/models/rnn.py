"""Learning Phrase Representations using RNN Encoder-Decoder (Cho et al. 2014).

With other options it is Sequence to Sequence Learning with Neural Networks (Sutskever, Vinyals, Le 2014).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, In, Positive, check_ranges
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.maxout import maxout
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT
from tongsa.nn.rnn import CellKind, GRUCell, RecurrentLayer, unroll


@dataclass(frozen=True, kw_only=True)
class RNNConfig:
    """The defaults are those of Cho et al., section 4.1.1."""

    width: Annotated[int, In(2)] = 1000
    """Width of the state of every layer, on both sides."""
    embedding: Positive = 100
    """Width of the vectors of pieces, which is the rank of the input and output matrices."""
    layers: Positive = 1
    cell: CellKind = "gru"
    context_input: Literal["always", "start"] = "always"
    """The summary is read at every step (Cho et al.), or is only the decoder's first state (Sutskever et al.)."""
    output: Literal["maxout", "linear"] = "maxout"
    """width / 2 maxout units over state, last piece and summary, then a low-rank matrix; or one matrix on the state."""
    reverse_source: bool = False
    """Read the source from right to left, so that its beginning is fresh (Sutskever et al., section 3.3); </s>, which
    they read last, then comes first."""
    dropout: Fraction = 0.0
    """On vectors of pieces, between layers and before the last matrix (Zaremba et al. 2014); the paper has none."""
    tie_embeddings: Literal["target", "none"] = "none"
    """One matrix for the vectors of target pieces and the output, or two."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.tie_embeddings == "target" and self.output == "linear" and self.width != self.embedding:
            raise ValueError(f"a shared linear output needs embedding {self.embedding} to equal width {self.width}")

    @property
    def task(self) -> Task:
        return "seq2seq"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        return EncoderDecoder(
            RNNEncoder(source_vocab_size, self), RNNDecoder(target_vocab_size, self), NO_POSITION_LIMIT
        )


SUTSKEVER = RNNConfig(
    embedding=1000, layers=4, cell="lstm", context_input="start", output="linear", reverse_source=True
)


class RNNEmbedding(nn.Module):
    """√embedding times the vector of the piece, so that its elements have variance 1; with dropout."""

    def __init__(self, vocab_size: int, config: RNNConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.embedding)
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:  # (..., embedding)
        dropped: Tensor = self.dropout(self.token_embedding(tokens) * math.sqrt(self.token_embedding.embedding_dim))
        return dropped


class RNNEncoder(nn.Module):
    """One slot: c = tanh(V h), h the last state of the last layer (A.1.1); or the last states of all layers, joined."""

    def __init__(self, vocab_size: int, config: RNNConfig) -> None:
        super().__init__()
        self.embedding = RNNEmbedding(vocab_size, config)
        inputs = [config.embedding, *[config.width] * (config.layers - 1)]
        layers = nn.ModuleList(
            RecurrentLayer(width, config.width, config.cell, reverse=config.reverse_source) for width in inputs
        )
        self.layers: Sequence[RecurrentLayer] = layers  # type: ignore[assignment]
        self.dropout = Dropout(config.dropout)
        self.summary_projection = Linear(config.width, config.width) if config.context_input == "always" else None

    def forward(self, source: Padded) -> Memory:
        values, mask = self.embedding(source.tokens), source.mask
        states: list[Tensor] = []
        for depth, layer in enumerate(self.layers):
            values, last = layer(values if depth == 0 else self.dropout(values), mask)
            states.append(last)
        slot = torch.cat(states, dim=1)
        if self.summary_projection is not None:
            slot = torch.tanh(self.summary_projection(self.layers[-1].hidden(states[-1])))
        return Memory(slot.unsqueeze(1), mask.new_ones(mask.shape[0], 1))


class ContextRecurrentLayer(RecurrentLayer):
    """A layer that reads the summary at every step, beside its input."""

    def __init__(self, input_width: int, width: int, cell: CellKind) -> None:
        super().__init__(input_width, width, cell)
        self.context_projection = Linear(width, self.cell.num_gates * width, blocks=self.cell.num_gates, bias=False)

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, gates · width)
        """What the summary brings to every step, computed once."""
        context: Tensor = self.context_projection(summary)
        return context

    def project_with_context(self, inputs: Tensor, context: Tensor) -> Tensor:  # (batch, length, gates · width)
        return self.project(inputs) + context


class ContextGRULayer(ContextRecurrentLayer):
    """The candidate is tanh(We + r ⊙ (Uh + Cc)): unlike the encoder's, reset after the product (A.1.2)."""

    cell: GRUCell

    def project_with_context(
        self, inputs: Tensor, context: Tensor
    ) -> Tensor:  # (batch, length, 4 · width), the last block Cc
        gates, candidate = self.project(inputs).tensor_split([2 * self.width], dim=-1)
        of_gates, of_candidate = context.tensor_split([2 * self.width], dim=-1)
        return torch.cat([gates + of_gates, candidate, of_candidate.expand_as(candidate)], dim=-1)

    def step(self, projected: Tensor, state: Tensor) -> Tensor:  # (batch, width)
        gates, candidate, context = projected.tensor_split([2 * self.width, 3 * self.width], dim=1)
        reset, update = torch.sigmoid(gates + self.cell.gate_projection(state)).chunk(2, dim=1)
        candidate = torch.tanh(candidate + reset * (self.cell.candidate_projection(state) + context))
        return torch.lerp(candidate, state, update)


class PlainRecurrentLayer(RecurrentLayer):
    """A layer that starts from the summary and reads it no more."""

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, 0)
        return summary[:, :0]

    def project_with_context(self, inputs: Tensor, _context: Tensor) -> Tensor:  # (batch, length, gates · width)
        return self.project(inputs)


class LinearReadout(nn.Module):
    """One matrix on the state alone."""

    def __init__(self, output_embedding: nn.Embedding, config: RNNConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output_embedding = output_embedding

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, 0)
        return summary[:, :0]

    def forward(self, hidden: Tensor, _embedded: Tensor, _context: Tensor) -> Tensor:  # (..., width)
        """What is multiplied with the row of each piece."""
        dropped: Tensor = self.dropout(hidden)
        return dropped


class MaxoutReadout(nn.Module):
    """G maxout(O_h h + O_y e(y) + O_c c) with G = G_l G_r, a row of G_l for each piece: appendix A.1.2."""

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

    def project_context(self, summary: Tensor) -> Tensor:  # (batch, 2 · units), or one zero for all of them
        return (
            summary.new_zeros(summary.shape[0], 1)
            if self.context_projection is None
            else self.context_projection(summary)
        )

    def forward(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (..., embedding)
        units = maxout(self.state_projection(hidden) + self.token_projection(embedded) + context)
        vector: Tensor = self.output_projection(self.dropout(units))
        return vector


@dataclass(frozen=True)
class RNNState:
    """The state of every layer, and what the summary brings to the first layer and to the output at every step."""

    layer_states: tuple[Tensor, ...]  # each (row, parts · width)
    contexts: tuple[Tensor, Tensor]
    output_subset: OutputProjection | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "RNNState":
        first, output = self.contexts
        return RNNState(
            tuple(layer.index_select(0, rows) for layer in self.layer_states),
            (first.index_select(0, rows), output.index_select(0, rows)),
            self.output_subset,
        )

    def concat(self, other: "RNNState") -> "RNNState":
        layers = tuple(torch.cat(both) for both in zip(self.layer_states, other.layer_states, strict=True))
        first, output = (torch.cat(both) for both in zip(self.contexts, other.contexts, strict=True))
        return RNNState(layers, (first, output), self.output_subset)


class RNNDecoder(nn.Module):
    """From h'₀ = tanh(V' c), or from the encoder's last states, one piece at a time: appendix A.1.2.

    The first input is the vector of <s>, where the paper has zeros.
    """

    def __init__(self, vocab_size: int, config: RNNConfig) -> None:
        super().__init__()
        always, deep = config.context_input == "always", config.output == "maxout"
        self.embedding = RNNEmbedding(vocab_size, config)
        fed = ContextGRULayer if config.cell == "gru" else ContextRecurrentLayer
        self.first_layer = (fed if always else PlainRecurrentLayer)(config.embedding, config.width, config.cell)
        upper = nn.ModuleList(RecurrentLayer(config.width, config.width, config.cell) for _ in range(config.layers - 1))
        self.upper_layers: Sequence[RecurrentLayer] = upper  # type: ignore[assignment]
        parts = config.layers * self.first_layer.cell.num_states
        self.bridge = Linear(config.width, parts * config.width, blocks=parts) if always else None
        self.dropout = Dropout(config.dropout)
        table = self.embedding.token_embedding
        if config.tie_embeddings == "none":
            table = embedding_table(vocab_size, config.embedding if deep else config.width)
        self.readout = MaxoutReadout(table, config) if deep else LinearReadout(table, config)

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.readout.output_embedding.weight)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> RNNState:
        summary = memory.slots.squeeze(1)
        joined = summary if self.bridge is None else torch.tanh(self.bridge(summary))
        contexts = self.first_layer.project_context(summary), self.readout.project_context(summary)
        return RNNState(
            joined.chunk(1 + len(self.upper_layers), dim=1), contexts, self.output.subset(vocab_subset)
        )

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        state = self.start(memory)
        context, for_output = (context.unsqueeze(1) for context in state.contexts)
        embedded = self.embedding(target.tokens)
        # padding stands behind the last piece, where it changes nothing that counts: no mask
        states, _ = unroll(
            self.first_layer.step, self.first_layer.project_with_context(embedded, context), state.layer_states[0]
        )
        values = self.first_layer.hidden(states)
        for layer, before in zip(self.upper_layers, state.layer_states[1:], strict=True):
            values, _ = layer(self.dropout(values), None, before)
        readout: Tensor = self.readout(values, embedded, for_output)
        return readout

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        return self.output.logits(self.hidden(target, memory))

    def step(self, token: Tensor, state: RNNState) -> tuple[Tensor, RNNState]:
        embedded = self.embedding(token)  # (row, embedding)
        context, for_output = state.contexts
        layers = [
            self.first_layer.step(self.first_layer.project_with_context(embedded, context), state.layer_states[0])
        ]
        values = self.first_layer.hidden(layers[0])  # (row, width)
        for layer, before in zip(self.upper_layers, state.layer_states[1:], strict=True):
            layers.append(layer.step(layer.project(self.dropout(values)), before))
            values = layer.hidden(layers[-1])
        logits = (state.output_subset or self.output).logits(self.readout(values, embedded, for_output))
        return logits, RNNState(tuple(layers), state.contexts, state.output_subset)
