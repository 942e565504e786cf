"""Neural Machine Translation by Jointly Learning to Align and Translate (Bahdanau, Cho, Bengio 2015).

source ─► forward and backward RNN ─► annotations h_j (the slots of the memory)
                                          │ additive attention: weights α, context c = Σ α h
token y, state s ─────────────────────────┴─► next state; maxout(s, y, c) ─► logits
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Positive, check_ranges
from tongsa.interface import EncoderDecoder, Memory, PresetName, Task
from tongsa.nn.additive_attention import AdditiveAttention
from tongsa.nn.beam_layout import PerSentence
from tongsa.nn.decoder_state import RowState
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear, Maxout
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT
from tongsa.nn.recording import record, record_copy, record_time, record_weights
from tongsa.nn.rnn import RecurrentLayer

PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"embedding": 96, "width": 128, "maxout_width": 96, "dropout": 0.1},
    "small": {"embedding": 160, "width": 192, "maxout_width": 160, "dropout": 0.1},
    "short": {"embedding": 256, "width": 256, "maxout_width": 256, "dropout": 0.1},
    "medium": {"embedding": 256, "width": 384, "maxout_width": 256, "dropout": 0.15},
    "large": {"embedding": 512, "width": 640, "maxout_width": 512, "dropout": 0.1},
}


@dataclass(frozen=True, kw_only=True)
class RNNAttentionConfig:
    """The defaults are the paper's RNNsearch (appendix A.2.3), but with dropout."""

    embedding: Positive = 620
    """Width of the token embeddings (m)."""
    width: Positive = 1000
    """Width of each encoder direction, of the decoder state and of the alignment model (n and n')."""
    maxout_width: Positive = 500
    """Width of the maxout layer before the output (l)."""
    cell: Literal["gru", "lstm"] = "gru"
    """The paper's GRU, or the LSTM that it names as the alternative (appendix A.1.1)."""
    dropout: Fraction = 0.2
    """On embeddings, annotations and maxout layer: not in the paper, and never recurrent (Zaremba et al. 2014)."""
    tie_embeddings: Literal["target", "none"] = "none"
    """One matrix for target embeddings and output, or two as in the paper."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.tie_embeddings == "target" and self.embedding != self.maxout_width:
            raise ValueError(
                f'tie_embeddings = "target": embedding {self.embedding} and maxout_width {self.maxout_width} must be '
                'equal. Change one of them, or set tie_embeddings = "none".'
            )

    @property
    def task(self) -> Task:
        return "seq2seq"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        return {"model": PRESETS[name]}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        source_embedding = embedding_table(source_vocab_size, self.embedding)
        target_embedding = embedding_table(target_vocab_size, self.embedding)
        tied = self.tie_embeddings == "target"
        output_embedding = target_embedding if tied else embedding_table(target_vocab_size, self.maxout_width)
        encoder = RNNAttentionEncoder(source_embedding, self)
        return EncoderDecoder(encoder, RNNAttentionDecoder(target_embedding, output_embedding, self), NO_POSITION_LIMIT)


class RNNAttentionEncoder(nn.Module):
    """One annotation for each token, forward and backward state concatenated: section 3.2, appendix A.2.1."""

    def __init__(self, embedding: nn.Embedding, config: RNNAttentionConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.forward_rnn = RecurrentLayer(config.embedding, config.width, config.cell)
        self.backward_rnn = RecurrentLayer(config.embedding, config.width, config.cell, reverse=True)
        self.dropout = Dropout(config.dropout)

    def forward(self, source: Padded) -> Memory:
        embedded, mask = self.dropout(record("embedding.lookup", self, self.embedding(source.tokens))), source.mask
        forwards, backwards = self.forward_rnn(embedded, mask)[0], self.backward_rnn(embedded, mask)[0]
        annotations = torch.cat([forwards, backwards], dim=-1)  # (batch, length, 2 · width)
        return Memory(self.dropout(record("rnn.annotations", self, annotations, x=forwards, y=backwards)), mask)


class RNNAttentionMemory(NamedTuple):
    """The memory and its projections, computed once for each sentence and read at every step."""

    keys: Tensor  # (sentence, slot, width)
    gate_inputs: Tensor  # (sentence, slot, gates · width)
    slots: Tensor  # (sentence, slot, 2 · width)
    mask: Tensor  # (sentence, slot)


@dataclass(frozen=True)
class RNNAttentionState(RowState):
    """Decoder state: the recurrent state and the memory."""

    rnn_state: Tensor  # (row, states · width)
    memory: PerSentence[RNNAttentionMemory]
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""


class RNNAttentionDecoder(nn.Module):
    """A recurrent layer with the context as input of all gates (appendix A.2.2). The output reads the previous state.

    The update gate here is one minus that of the paper: the same model with the gate's weights negated.
    """

    def __init__(self, embedding: nn.Embedding, output_embedding: nn.Embedding, config: RNNAttentionConfig) -> None:
        super().__init__()
        width, annotation_width = config.width, 2 * config.width
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.rnn = RecurrentLayer(config.embedding, width, config.cell)
        gates, states = self.rnn.cell.num_gates, self.rnn.cell.num_states
        self.context_projection = Linear(annotation_width, gates * width, blocks=gates, bias=False)
        self.bridge = Linear(width, states * width, blocks=states)
        self.attention = AdditiveAttention(width, annotation_width, width)
        self.maxout = Maxout(width + config.embedding + annotation_width, config.maxout_width)
        self.output_embedding = output_embedding
        self.bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings))

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.bias)

    def _precompute_memory(self, memory: Memory) -> RNNAttentionMemory:
        # C Σ αh = Σ α(Ch): the product with C is computed once, outside the loop over time steps
        return RNNAttentionMemory(self.attention.keys(memory.slots), self.context_projection(memory.slots), *memory)

    def _initial_state(self, memory: Memory) -> Tensor:  # (batch, states · width)
        """Return s₀ = tanh(W ←h₁): the backward state at the first token has read the whole source."""
        backward = memory.slots[:, 0].chunk(2, dim=-1)[1]
        return record("rnn.initial_state", self, torch.tanh(self.bridge(backward)), x=backward)

    def _readout(self, rnn_hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (…, maxout width)
        """Return maxout(U s + V Ey + C c), with the state s from before this step."""
        inputs = torch.cat([rnn_hidden, embedded, context], dim=-1)
        inputs = record("maxout.input", self.maxout, inputs, s=rnn_hidden, e=embedded, c=context)
        readout: Tensor = self.dropout(self.maxout(inputs))
        return readout

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, maxout width)
        precomputed, state = self._precompute_memory(memory), self._initial_state(memory)
        embedded = self.dropout(record("embedding.lookup", self, self.embedding(target.tokens)))
        rnn_hidden: list[Tensor] = []  # at each time step (batch, 1, width)
        weights: list[Tensor] = []  # at each time step (batch, 1, slot)
        for time, projected in enumerate(self.rnn.project(embedded).unbind(1)):
            record_time(time)
            previous = self.rnn.hidden(state).unsqueeze(1)
            rnn_hidden.append(record("rnn.previous_state", self, previous, h=state))
            weights.append(self.attention(rnn_hidden[-1], precomputed.keys, precomputed.mask))
            inputs = projected + (weights[-1] @ precomputed.gate_inputs).squeeze(1)
            inputs = record("rnn.context_input", self.rnn, inputs, a=projected, A=weights[-1])
            state = self.rnn.step(inputs, state)
        record_time(None)
        all_weights = record_copy(torch.cat(weights, dim=1), weights[-1])  # (batch, length, slot)
        record_weights("cross", all_weights.unsqueeze(1))
        context = all_weights @ precomputed.slots
        context = record("alignment.context", self.attention, context, A=all_weights, V=precomputed.slots)
        return self._readout(record_copy(torch.cat(rnn_hidden, dim=1), rnn_hidden[-1]), embedded, context)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> RNNAttentionState:
        return RNNAttentionState(
            self._initial_state(memory), PerSentence(self._precompute_memory(memory)), self.output.subset(vocab_subset)
        )

    def step(self, token: Tensor, state: RNNAttentionState) -> tuple[Tensor, RNNAttentionState]:
        memory, embedded = state.memory, self.dropout(self.embedding(token))
        rnn_hidden = self.rnn.hidden(state.rnn_state)  # (row, width)
        # all hypotheses of a sentence are queries of one product: (sentence, hypothesis, slot)
        weights = self.attention(memory.scatter(rnn_hidden), memory.tensors.keys, memory.mask)
        record_weights("cross", weights.unsqueeze(1))
        readout = self._readout(rnn_hidden, embedded, memory.gather(weights @ memory.tensors.slots))
        projected = self.rnn.project(embedded) + memory.gather(weights @ memory.tensors.gate_inputs)
        next_state = replace(state, rnn_state=self.rnn.step(projected, state.rnn_state))
        return (state.output_subset or self.output).logits(readout), next_state
