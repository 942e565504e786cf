"""Neural Machine Translation by Jointly Learning to Align and Translate (Bahdanau, Cho, Bengio 2015)."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Positive, check_ranges
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.nn.additive_attention import AdditiveAttention
from tongsa.nn.attention import record_weights
from tongsa.nn.beam_layout import BeamLayout, concat_sentences, select_sentences
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.maxout import Maxout
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT
from tongsa.nn.rnn import RecurrentLayer


@dataclass(frozen=True, kw_only=True)
class RNNAttentionConfig:
    """The defaults are the paper's RNNsearch (appendix A.2.3), but for dropout."""

    embedding: Positive = 620
    """Width of the vectors of pieces (m)."""
    width: Positive = 1000
    """Width of each encoder direction, of the decoder state and of the alignment (n and n')."""
    maxout_width: Positive = 500
    """Width of the maxout layer before the output (l)."""
    cell: Literal["gru", "lstm"] = "gru"
    """The paper's unit, or the LSTM that it names as the alternative (appendix A.1.1)."""
    dropout: Fraction = 0.2
    """On vectors, annotations and readout: not in the paper, and only where nothing recurs (Zaremba et al. 2014)."""
    tie_embeddings: Literal["target", "none"] = "none"
    """One matrix for target and output, or two as in the paper."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.tie_embeddings == "target" and self.embedding != self.maxout_width:
            raise ValueError(
                'tie_embeddings = "target" needs embedding and maxout_width alike, '
                f"not {self.embedding} and {self.maxout_width}"
            )

    @property
    def task(self) -> Task:
        return "seq2seq"

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        inputs, outputs = (
            embedding_table(source_vocab_size, self.embedding),
            embedding_table(target_vocab_size, self.embedding),
        )
        output = outputs if self.tie_embeddings == "target" else embedding_table(target_vocab_size, self.maxout_width)
        return EncoderDecoder(
            RNNAttentionEncoder(inputs, self), RNNAttentionDecoder(outputs, output, self), NO_POSITION_LIMIT
        )


class RNNAttentionEncoder(nn.Module):
    """An annotation for each piece, the forward and the backward state joined: section 3.2, appendix A.2.1."""

    def __init__(self, embedding: nn.Embedding, config: RNNAttentionConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.forward_rnn = RecurrentLayer(config.embedding, config.width, config.cell)
        self.backward_rnn = RecurrentLayer(config.embedding, config.width, config.cell, reverse=True)
        self.dropout = Dropout(config.dropout)

    def forward(self, source: Padded) -> Memory:
        embedded, mask = self.dropout(self.embedding(source.tokens)), source.mask
        both = [self.forward_rnn(embedded, mask)[0], self.backward_rnn(embedded, mask)[0]]
        return Memory(self.dropout(torch.cat(both, dim=-1)), mask)  # (batch, length, 2 · width)


class RNNAttentionMemory(NamedTuple):
    """What every step reads, computed once for each sentence."""

    keys: Tensor  # (batch, slot, width)
    gate_inputs: Tensor  # (batch, slot, gates · width)
    slots: Tensor  # (batch, slot, 2 · width)
    mask: Tensor  # (batch, slot)


@dataclass(frozen=True)
class RNNAttentionState:
    rnn_state: Tensor  # (row, parts · width)
    memory: RNNAttentionMemory  # a row for each sentence
    beam_layout: BeamLayout
    output_subset: OutputProjection | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "RNNAttentionState":
        memory, beams = select_sentences(self.memory, self.beam_layout, rows)
        return RNNAttentionState(
            self.rnn_state.index_select(0, rows), RNNAttentionMemory(*memory), beams, self.output_subset
        )

    def concat(self, other: "RNNAttentionState") -> "RNNAttentionState":
        memory, beams = concat_sentences(
            self.memory, other.memory, (self.beam_layout, other.beam_layout), slot_dims=(1, 1, 1, 1)
        )
        return RNNAttentionState(
            torch.cat([self.rnn_state, other.rnn_state]), RNNAttentionMemory(*memory), beams, self.output_subset
        )


class RNNAttentionDecoder(nn.Module):
    """A unit whose gates and candidate read the context too; its output is read with one step's delay: appendix A.2.2.

    The paper's update gate is one minus ours, the same equations with the opposite sign of its weights.
    """

    def __init__(self, embedding: nn.Embedding, output_embedding: nn.Embedding, config: RNNAttentionConfig) -> None:
        super().__init__()
        width, annotation = config.width, 2 * config.width
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.rnn = RecurrentLayer(config.embedding, width, config.cell)
        gates, parts = self.rnn.cell.num_gates, self.rnn.cell.num_states
        self.context_projection = Linear(annotation, gates * width, blocks=gates, bias=False)
        self.bridge = Linear(width, parts * width, blocks=parts)
        self.attention = AdditiveAttention(width, annotation, width)
        self.maxout = Maxout(width + config.embedding + annotation, config.maxout_width)
        self.output_embedding = output_embedding
        self.bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings))

    def _precompute_memory(self, memory: Memory) -> RNNAttentionMemory:
        # the context enters the unit by C Σ αh = Σ α(Ch): the product with C need not wait in the loop over time
        return RNNAttentionMemory(self.attention.keys(memory.slots), self.context_projection(memory.slots), *memory)

    def _initial_state(self, memory: Memory) -> Tensor:  # (batch, parts · width)
        """s₀ = tanh(W ←h₁), from the backward state that has seen all of the source."""
        return torch.tanh(self.bridge(memory.slots[:, 0].chunk(2, dim=-1)[1]))

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.bias)

    def _readout(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (…, readout)
        """Maxout over U s + V Ey + C c, with the s from before this step; its product with each piece is its logit."""
        readout: Tensor = self.dropout(self.maxout(torch.cat([hidden, embedded, context], dim=-1)))
        return readout

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, maxout width)
        read, state = self._precompute_memory(memory), self._initial_state(memory)
        embedded = self.dropout(self.embedding(target.tokens))
        hidden: list[Tensor] = []
        weights: list[Tensor] = []
        for projected in self.rnn.project(embedded).unbind(1):
            hidden.append(self.rnn.hidden(state).unsqueeze(1))
            weights.append(self.attention(hidden[-1], read.keys, read.mask))
            state = self.rnn.step(projected + (weights[-1] @ read.gate_inputs).squeeze(1), state)
        together = torch.cat(weights, dim=1)  # (batch, length, slot)
        record_weights("cross", together.unsqueeze(1))
        return self._readout(torch.cat(hidden, dim=1), embedded, together @ read.slots)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        return self.output.logits(self.hidden(target, memory))

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> RNNAttentionState:
        return RNNAttentionState(
            self._initial_state(memory),
            self._precompute_memory(memory),
            BeamLayout(1),
            self.output.subset(vocab_subset),
        )

    def step(self, token: Tensor, state: RNNAttentionState) -> tuple[Tensor, RNNAttentionState]:
        read, embedded = state.memory, self.dropout(self.embedding(token))
        hidden = self.rnn.hidden(state.rnn_state)
        # a sentence's hypotheses ask together
        weights = self.attention(state.beam_layout.scatter(hidden, read.mask.shape[0]), read.keys, read.mask)
        record_weights("cross", weights.unsqueeze(1))
        readout = self._readout(hidden, embedded, state.beam_layout.gather(weights @ read.slots))
        projected = self.rnn.project(embedded) + state.beam_layout.gather(weights @ read.gate_inputs)
        after = replace(state, rnn_state=self.rnn.step(projected, state.rnn_state))
        return (state.output_subset or self.output).logits(readout), after
