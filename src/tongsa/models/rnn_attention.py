"""Neural Machine Translation by Jointly Learning to Align and Translate (Bahdanau, Cho, Bengio 2015).

    source ─► forward and backward RNN ─► annotations h_j (the slots of the memory)
                                              │ additive attention: weights α, context c = Σ α h
    token y, state s ─────────────────────────┴─► next state; maxout(s, y, c) ─► logits

With other settings it is the model that many tutorials and notes draw under the same name: TUTORIAL.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Layers, Width, check_ranges
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

    embedding: Width = 620
    """Width of the token embeddings (m)."""
    width: Width = 1000
    """Width of each encoder direction, of the decoder state and of the alignment model (n and n')."""
    layers: Layers = 1
    """Recurrent layers of each encoder direction and of the decoder. The attention reads the top ones; the paper has
    one."""
    cell: Literal["gru", "gru-reset-after", "lstm"] = "gru"
    """The paper's GRU, that of torch.nn.GRU, or the LSTM that the paper names as the alternative (appendix A.1.1)."""
    initial_state: Literal["backward", "both"] = "backward"
    """First decoder state: tanh(W ←h₁) of the backward state (appendix A.2.2), or tanh(W [→h_T, ←h₁]) of the last
    states of both directions, as many tutorials have it."""
    output: Literal["maxout", "linear"] = "maxout"
    """Maxout over the state before the step, the last token and the context (appendix A.2.2); or, as many tutorials
    have it, one matrix over the state after the step, the last token and the context."""
    maxout_width: Width = 500
    """Width of the maxout layer before the output (l)."""
    dropout: Fraction = 0.2
    """On embeddings, annotations, maxout layer and between layers: not in the paper, and never recurrent (Zaremba et
    al. 2014)."""
    tie_embeddings: Literal["target", "none"] = "none"
    """One matrix for target embeddings and output, or two as in the paper."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.tie_embeddings == "target" and self.output == "linear":
            raise ValueError(
                'tie_embeddings = "target": needs output = "maxout", whose width can be that of the embeddings. Set '
                'output = "maxout", or tie_embeddings = "none".'
            )
        if self.tie_embeddings == "target" and self.embedding != self.maxout_width:
            raise ValueError(
                f'tie_embeddings = "target": embedding {self.embedding} and maxout_width {self.maxout_width} must be '
                'equal. Change one of them, or set tie_embeddings = "none".'
            )

    @property
    def task(self) -> Task:
        return "seq2seq"

    @property
    def readout_width(self) -> int:
        """Width of the input of the output layer."""
        return self.maxout_width if self.output == "maxout" else self.joined_width

    @property
    def joined_width(self) -> int:
        """Width of state, embedding and context together."""
        return self.width + self.embedding + 2 * self.width

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        return {"model": PRESETS[name]}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        source_embedding = embedding_table(source_vocab_size, self.embedding)
        target_embedding = embedding_table(target_vocab_size, self.embedding)
        tied = self.tie_embeddings == "target"
        output_embedding = target_embedding if tied else embedding_table(target_vocab_size, self.readout_width)
        encoder = RNNAttentionEncoder(source_embedding, self)
        return EncoderDecoder(encoder, RNNAttentionDecoder(target_embedding, output_embedding, self), NO_POSITION_LIMIT)


TUTORIAL = RNNAttentionConfig(
    embedding=256, width=512, cell="gru-reset-after", initial_state="both", output="linear", dropout=0.5
)
"""Notebook 3 of bentrevett/pytorch-seq2seq, up to dropout, which it has on embeddings only."""


class BidirectionalLayer(nn.Module):
    """Forward and backward state of each input, concatenated."""

    def __init__(self, input_width: int, config: RNNAttentionConfig) -> None:
        super().__init__()
        self.forward_rnn = RecurrentLayer(input_width, config.width, config.cell)
        self.backward_rnn = RecurrentLayer(input_width, config.width, config.cell, reverse=True)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:  # (batch, length, 2 · width)
        forwards, backwards = self.forward_rnn(inputs, mask)[0], self.backward_rnn(inputs, mask)[0]
        return record("rnn.annotations", self, torch.cat([forwards, backwards], dim=-1), x=forwards, y=backwards)


class RNNAttentionEncoder(nn.Module):
    """One annotation for each token: section 3.2, appendix A.2.1."""

    def __init__(self, embedding: nn.Embedding, config: RNNAttentionConfig) -> None:
        super().__init__()
        self.embedding = embedding
        input_widths = [config.embedding] + [2 * config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(BidirectionalLayer(width, config) for width in input_widths)
        self.dropout = Dropout(config.dropout)

    def forward(self, source: Padded) -> Memory:
        x = self.dropout(record("embedding.lookup", self, self.embedding(source.tokens)))
        for layer in self.layers:
            x = self.dropout(layer(x, source.mask))  # (batch, length, 2 · width)
        return Memory(x, source.mask)


class RNNAttentionMemory(NamedTuple):
    """The memory and its projections, computed once for each sentence and read at every step."""

    keys: Tensor  # (sentence, slot, width)
    gate_inputs: Tensor  # (sentence, slot, gates · width)
    slots: Tensor  # (sentence, slot, 2 · width)
    mask: Tensor  # (sentence, slot)


LayerStates = tuple[Tensor, ...]
"""Recurrent state of each decoder layer (row, states · width)."""


@dataclass(frozen=True)
class RNNAttentionState(RowState):
    """Decoder state: the recurrent states and the memory."""

    layer_states: LayerStates
    memory: PerSentence[RNNAttentionMemory]
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""


class RNNAttentionDecoder(nn.Module):
    """Recurrent layers, the first with the context as input of all gates (appendix A.2.2).

    The update gate here is one minus that of the paper: the same model with the gate's weights negated.
    """

    def __init__(self, embedding: nn.Embedding, output_embedding: nn.Embedding, config: RNNAttentionConfig) -> None:
        super().__init__()
        width, annotation_width = config.width, 2 * config.width
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        input_widths = [config.embedding] + [width] * (config.layers - 1)
        layers = nn.ModuleList(RecurrentLayer(input_width, width, config.cell) for input_width in input_widths)
        self.layers: Sequence[RecurrentLayer] = layers  # type: ignore[assignment]
        gates, states = self.layers[0].cell.num_gates, config.layers * self.layers[0].cell.num_states
        self.context_projection = Linear(annotation_width, gates * width, blocks=gates, bias=False)
        self.starts_from_both = config.initial_state == "both"
        self.bridge = Linear(annotation_width if self.starts_from_both else width, states * width, blocks=states)
        self.attention = AdditiveAttention(width, annotation_width, width)
        self.maxout = Maxout(config.joined_width, config.maxout_width) if config.output == "maxout" else None
        self.output_embedding = output_embedding
        self.bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings))

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.bias)

    def _precompute_memory(self, memory: Memory) -> RNNAttentionMemory:
        # C Σ αh = Σ α(Ch): the product with C is computed once, outside the loop over time steps
        return RNNAttentionMemory(self.attention.keys(memory.slots), self.context_projection(memory.slots), *memory)

    def _initial_states(self, memory: Memory) -> LayerStates:
        """Return s₀ = tanh(W ←h₁), or tanh(W [→h_T, ←h₁]): each direction's state after it has read the source."""
        last_state = memory.slots[:, 0].chunk(2, dim=-1)[1]  # of the backward direction
        if self.starts_from_both:
            last_state = self._join_last_states(memory, last_state)
        initial = record("rnn.initial_state", self, torch.tanh(self.bridge(last_state)), x=last_state)
        return initial.chunk(len(self.layers), dim=1)

    def _join_last_states(self, memory: Memory, backward: Tensor) -> Tensor:  # (batch, 2 · width)
        last_slot = (memory.mask.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, 1, memory.slots.shape[2])
        annotation = memory.slots.gather(1, last_slot).squeeze(1)  # of the last token
        forward = record_copy(annotation.chunk(2, dim=-1)[0], memory.slots)
        return record("rnn.both_last_states", self, torch.cat([forward, backward], dim=-1), x=forward, y=backward)

    def _top(self, layer_states: LayerStates) -> Tensor:  # (row, width)
        return self.layers[-1].hidden(layer_states[-1])

    def _advance(self, projected: Tensor, layer_states: LayerStates) -> LayerStates:
        """Return the states after a step, from the projected input of the first layer."""
        states = [self.layers[0].step(projected, layer_states[0])]
        for below, layer, state in zip(self.layers[:-1], self.layers[1:], layer_states[1:], strict=True):
            states.append(layer.step(layer.project(self.dropout(below.hidden(states[-1]))), state))
        return tuple(states)

    def _readout(self, rnn_hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (…, readout width)
        """Return maxout(U s + V Ey + C c) for the state s from before this step, or [s, Ey, c] for that after it."""
        inputs = torch.cat([rnn_hidden, embedded, context], dim=-1)
        if self.maxout is None:
            return record("readout.input", self, inputs, s=rnn_hidden, e=embedded, c=context)
        inputs = record("maxout.input", self.maxout, inputs, s=rnn_hidden, e=embedded, c=context)
        readout: Tensor = self.dropout(self.maxout(inputs))
        return readout

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, readout width)
        precomputed, states = self._precompute_memory(memory), self._initial_states(memory)
        embedded = self.dropout(record("embedding.lookup", self, self.embedding(target.tokens)))
        rnn_hidden: list[Tensor] = []  # state that the output reads at each time step (batch, 1, width)
        weights: list[Tensor] = []  # at each time step (batch, 1, slot)
        for time, projected in enumerate(self.layers[0].project(embedded).unbind(1)):
            record_time(time)
            previous = record("rnn.previous_state", self, self._top(states).unsqueeze(1), h=states[-1])
            weights.append(self.attention(previous, precomputed.keys, precomputed.mask))
            inputs = projected + (weights[-1] @ precomputed.gate_inputs).squeeze(1)
            inputs = record("rnn.context_input", self.layers[0], inputs, a=projected, A=weights[-1])
            states = self._advance(inputs, states)
            rnn_hidden.append(previous if self.maxout else self._top(states).unsqueeze(1))
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
        precomputed = PerSentence(self._precompute_memory(memory))
        return RNNAttentionState(self._initial_states(memory), precomputed, self.output.subset(vocab_subset))

    def step(self, token: Tensor, state: RNNAttentionState) -> tuple[Tensor, RNNAttentionState]:
        memory, embedded = state.memory, self.dropout(self.embedding(token))
        previous = self._top(state.layer_states)  # (row, width)
        # all hypotheses of a sentence are queries of one product: (sentence, hypothesis, slot)
        weights = self.attention(memory.scatter(previous), memory.tensors.keys, memory.mask)
        record_weights("cross", weights.unsqueeze(1))
        context = memory.gather(weights @ memory.tensors.slots)
        projected = self.layers[0].project(embedded) + memory.gather(weights @ memory.tensors.gate_inputs)
        layer_states = self._advance(projected, state.layer_states)
        readout = self._readout(previous if self.maxout else self._top(layer_states), embedded, context)
        return (state.output_subset or self.output).logits(readout), replace(state, layer_states=layer_states)
