"""Neural Machine Translation by Jointly Learning to Align and Translate (Bahdanau, Cho, Bengio 2015)."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.layers.additive import AdditiveAttention
from tongsa.layers.attention import sighted
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear, Outputs, vectors
from tongsa.layers.maxout import Maxout
from tongsa.layers.positions import UNBOUNDED
from tongsa.layers.recurrence import Recurrence
from tongsa.layers.shared import Rectangle, regrouped, stacked


@dataclass(frozen=True, kw_only=True)
class AdditiveConfig:
    """The defaults are the paper's RNNsearch (appendix A.2.3), but for dropout."""

    embedding: int = 620
    """Width of the vectors of pieces (m)."""
    width: int = 1000
    """Width of each encoder direction, of the decoder state and of the alignment (n and n')."""
    readout: int = 500
    """Width of the maxout layer before the output (l)."""
    cell: Literal["gated", "lstm"] = "gated"
    """The paper's unit, or the LSTM that it names as the alternative (appendix A.1.1)."""
    dropout: float = 0.2
    """On vectors, annotations and readout: not in the paper, and only where nothing recurs (Zaremba et al. 2014)."""
    share: Literal["target", "none"] = "none"
    """One matrix for target and output, or two as in the paper."""

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} is not in [0, 1)")
        if min(self.embedding, self.width, self.readout) < 1:
            raise ValueError("embedding, width and readout are at least 1")
        if self.share == "target" and self.embedding != self.readout:
            raise ValueError(
                f'share = "target" needs embedding and readout alike, not {self.embedding}, {self.readout}'
            )

    @property
    def task(self) -> Task:
        return "pairs"

    def build(self, source: int, target: int) -> EncoderDecoder:
        inputs, outputs = vectors(source, self.embedding), vectors(target, self.embedding)
        output = outputs if self.share == "target" else vectors(target, self.readout)
        return EncoderDecoder(Encoder(inputs, self), Decoder(outputs, output, self), UNBOUNDED)


class Encoder(nn.Module):
    """An annotation for each piece, the forward and the backward state joined: section 3.2, appendix A.2.1."""

    def __init__(self, embedding: nn.Embedding, config: AdditiveConfig) -> None:
        super().__init__()
        self.vectors = embedding
        self.forwards = Recurrence(config.embedding, config.width, config.cell)
        self.backwards = Recurrence(config.embedding, config.width, config.cell, reverse=True)
        self.dropout = Dropout(config.dropout)

    def forward(self, source: Padded) -> Memory:
        embedded, mask = self.dropout(self.vectors(source.pieces)), source.mask
        both = [self.forwards(embedded, mask)[0], self.backwards(embedded, mask)[0]]
        return Memory(self.dropout(torch.cat(both, dim=-1)), mask)  # (batch, length, 2 · width)


class Read(NamedTuple):
    """What every step reads, computed once for each sentence."""

    keys: Tensor  # (batch, slot, width)
    entering: Tensor  # (batch, slot, gates · width)
    slots: Tensor  # (batch, slot, 2 · width)
    mask: Tensor  # (batch, slot)


@dataclass(frozen=True)
class DecoderState:
    state: Tensor  # (row, parts · width)
    memory: Read  # a row for each sentence
    beams: Rectangle
    outputs: Outputs | None = None
    """Of the pieces that are scored, where they are not all."""

    def select(self, rows: Tensor) -> "DecoderState":
        memory, beams = regrouped(self.memory, self.beams, rows)
        return DecoderState(self.state.index_select(0, rows), Read(*memory), beams, self.outputs)

    def beside(self, others: "DecoderState") -> "DecoderState":
        memory, beams = stacked(self.memory, others.memory, (self.beams, others.beams), slots=(1, 1, 1, 1))
        return DecoderState(torch.cat([self.state, others.state]), Read(*memory), beams, self.outputs)


class Decoder(nn.Module):
    """A unit whose gates and candidate read the context too; its output is read with one step's delay: appendix A.2.2.

    The paper's update gate is one minus ours, the same equations with the opposite sign of its weights.
    """

    def __init__(self, embedding: nn.Embedding, output: nn.Embedding, config: AdditiveConfig) -> None:
        super().__init__()
        width, annotation = config.width, 2 * config.width
        self.vectors = embedding
        self.dropout = Dropout(config.dropout)
        self.recurrence = Recurrence(config.embedding, width, config.cell)
        gates, parts = self.recurrence.unit.gates, self.recurrence.unit.parts
        self.from_context = Linear(annotation, gates * width, blocks=gates, bias=False)
        self.first = Linear(width, parts * width, blocks=parts)
        self.attention = AdditiveAttention(width, annotation, width)
        self.maxout = Maxout(width + config.embedding + annotation, config.readout)
        self.output = output
        self.bias = nn.Parameter(torch.zeros(output.num_embeddings))

    def _read(self, memory: Memory) -> Read:
        # the context enters the unit by C Σ αh = Σ α(Ch): the product with C need not wait in the loop over time
        return Read(self.attention.keys(memory.slots), self.from_context(memory.slots), *memory)

    def _first(self, memory: Memory) -> Tensor:  # (batch, parts · width)
        """s₀ = tanh(W ←h₁), from the backward state that has seen all of the source."""
        return torch.tanh(self.first(memory.slots[:, 0].chunk(2, dim=-1)[1]))

    @property
    def _outputs(self) -> Outputs:
        return Outputs(self.output.weight, self.bias)

    def _readout(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:  # (…, readout)
        """Maxout over U s + V Ey + C c, with the s from before this step; its product with each piece is its logit."""
        readout: Tensor = self.dropout(self.maxout(torch.cat([hidden, embedded, context], dim=-1)))
        return readout

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, piece)
        read, state = self._read(memory), self._first(memory)
        embedded = self.dropout(self.vectors(target.pieces))
        hidden: list[Tensor] = []
        weights: list[Tensor] = []
        for projected in self.recurrence.project(embedded).unbind(1):
            hidden.append(self.recurrence.hidden(state).unsqueeze(1))
            weights.append(self.attention(hidden[-1], read.keys, read.mask))
            state = self.recurrence.step(projected + (weights[-1] @ read.entering).squeeze(1), state)
        together = torch.cat(weights, dim=1)  # (batch, length, slot)
        sighted("cross", together.unsqueeze(1))
        return self._outputs.logits(self._readout(torch.cat(hidden, dim=1), embedded, together @ read.slots))

    def start(self, memory: Memory, among: Tensor | None = None) -> DecoderState:
        return DecoderState(self._first(memory), self._read(memory), Rectangle(1), self._outputs.among(among))

    def step(self, piece: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        read, embedded = state.memory, self.dropout(self.vectors(piece))
        hidden = self.recurrence.hidden(state.state)
        # a sentence's hypotheses ask together
        weights = self.attention(state.beams.filled(hidden, read.mask.shape[0]), read.keys, read.mask)
        sighted("cross", weights.unsqueeze(1))
        readout = self._readout(hidden, embedded, state.beams.rows(weights @ read.slots))
        projected = self.recurrence.project(embedded) + state.beams.rows(weights @ read.entering)
        after = replace(state, state=self.recurrence.step(projected, state.state))
        return (state.outputs or self._outputs).logits(readout), after
