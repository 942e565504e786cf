"""The decoder of the Transformer (Vaswani et al. 2017, section 3.1), with a memory to read or without one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.layers.attention import KeysValues
from tongsa.layers.linear import Outputs
from tongsa.layers.masks import over_keys
from tongsa.layers.multi_head import CrossAttention, Past, Reading, SelfAttention, apart, together
from tongsa.layers.restricted import behind
from tongsa.layers.shared import Rectangle, regrouped
from tongsa.models.parts.stack import Embedding, Residual, StackConfig, feed_forward, last_norm, small_gain


@dataclass(frozen=True)
class DecoderState:
    """Every layer's keys and values so far, and those of the memory, which all hypotheses of a sentence share."""

    length: int
    """Pieces so far; a neighbourhood may keep fewer of them."""
    past: tuple[KeysValues, ...]  # a row for each hypothesis, as they stood after the last step
    memory: tuple[KeysValues, ...]  # a row for each sentence; none where there is nothing to read
    mask: Tensor  # (sentence, head, query, slot)
    beams: Rectangle
    order: Tensor | None = None
    """The rows (row,) of the past that go on. They are moved when the next step copies them anyway."""
    outputs: Outputs | None = None
    """Of the pieces that are scored, where they are not all."""

    @property
    def rows(self) -> int:
        return (self.past[0].keys if self.order is None else self.order).shape[0]

    @property
    def cohorts(self) -> tuple["DecoderState", ...]:
        return (self,)

    def select(self, rows: Tensor) -> "DecoderState":
        parts = (self.mask, *(part for read in self.memory for part in read))
        (mask, *parts_after), beams = regrouped(parts, self.beams, rows)
        memory = tuple(map(KeysValues, parts_after[::2], parts_after[1::2]))
        order = rows if self.order is None else self.order[rows]
        return DecoderState(self.length, self.past, memory, mask, beams, order, self.outputs)

    def beside(self, others: "DecoderState | Cohorts") -> "Cohorts":
        return Cohorts((self, *others.cohorts))


class Cohorts(NamedTuple):
    """Rows that have not all begun together: they share every product, and each cohort has its own past and memory."""

    cohorts: tuple[DecoderState, ...]

    def select(self, rows: Tensor) -> "DecoderState | Cohorts":
        counts = torch.tensor([state.rows for state in self.cohorts], device=rows.device)
        ends = counts.cumsum(0)
        runs, lengths = torch.unique_consecutive(torch.bucketize(rows, ends, right=True), return_counts=True)
        parts = zip(runs.tolist(), torch.split(rows, lengths.tolist()), strict=True)
        kept = tuple(self.cohorts[at].select(part - (ends - counts)[at]) for at, part in parts)
        return kept[0] if len(kept) == 1 else Cohorts(kept)

    def beside(self, others: "DecoderState | Cohorts") -> "Cohorts":
        return Cohorts((*self.cohorts, *others.cohorts))


class DecoderLayer(nn.Module):
    """Self-attention, attention over the memory where there is one, and the position-wise network."""

    def __init__(self, config: StackConfig, layers: int, *, reads: bool) -> None:
        super().__init__()
        gain = small_gain(config, (3 if reads else 2) * layers)
        self.attention = SelfAttention(
            config.width,
            config.each_head,
            "decoder",
            gain=gain,
            span=behind(config.neighbourhood) if config.neighbourhood else None,
            rotary=config.positions == "rotary",
        )
        self.cross_attention = CrossAttention(config.width, config.each_head, gain=gain) if reads else None
        self.feed_forward = feed_forward(config, gain)
        self.around_attention = Residual(config)
        self.around_cross_attention = Residual(config) if reads else None
        self.around_feed_forward = Residual(config)

    def forward(self, inputs: Tensor, places: Tensor, slots: Tensor, mask: Tensor) -> Tensor:
        def cross(values: Tensor) -> Tensor:
            reader = self.cross_attention
            outputs: Tensor = reader(values, reader.read(slots), mask)  # type: ignore[misc,union-attr]
            return outputs

        own = self.around_attention(inputs, places, lambda values: self.attention(values, places, causal=True))
        return self._rest(own, places, cross)

    def step(
        self, inputs: Tensor, places: Tensor, at: int, cohorts: Sequence[DecoderState]
    ) -> tuple[Tensor, list[KeysValues]]:
        """One place further for inputs (row, 1, width); this layer is the `at`-th."""
        after: list[KeysValues] = []

        def own(values: Tensor) -> Tensor:
            pasts = [Past(state.past[at], state.length, state.order) for state in cohorts]
            outputs, after[:] = self.attention.step(values, pasts)
            return outputs

        def cross(values: Tensor) -> Tensor:
            # a sentence's hypotheses ask in one product
            memories = [Reading(state.memory[at], state.mask, state.beams, state.rows) for state in cohorts]
            outputs: Tensor = self.cross_attention.step(values.squeeze(1), memories)  # type: ignore[union-attr]
            return outputs.unsqueeze(1)

        return self._rest(self.around_attention(inputs, places, own), places, cross), after

    def _rest(self, own: Tensor, places: Tensor, cross: Callable[[Tensor], Tensor]) -> Tensor:
        """What follows self-attention."""
        if self.around_cross_attention is not None:
            own = self.around_cross_attention(own, places, cross)
        outputs: Tensor = self.around_feed_forward(own, places, self.feed_forward)
        return outputs


class Decoder(nn.Module):
    def __init__(
        self, embedding: Embedding, output: nn.Embedding, config: StackConfig, layers: int, *, reads: bool = True
    ) -> None:
        super().__init__()
        self.embedding = embedding
        stack = nn.ModuleList(DecoderLayer(config, layers, reads=reads) for _ in range(layers))
        self.layers: Sequence[DecoderLayer] = stack  # type: ignore[assignment]
        self.norm = last_norm(config)
        self.output = output

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, piece)
        places, mask = target.mask, over_keys(memory.mask)
        values = self.embedding(target.pieces)
        for layer in self.layers:
            values = layer(values, places, memory.slots, mask)
        return Outputs(self.output.weight).logits(self.norm(values, places))

    def start(self, memory: Memory, among: Tensor | None = None) -> DecoderState:
        rows = memory.slots.shape[0]
        return DecoderState(
            length=0,
            past=tuple(layer.attention.nothing(rows, memory.slots) for layer in self.layers),
            memory=tuple(
                layer.cross_attention.read(memory.slots) for layer in self.layers if layer.cross_attention is not None
            ),
            mask=over_keys(memory.mask),
            beams=Rectangle(1),
            outputs=Outputs(self.output.weight).among(among),
        )

    def step(self, piece: Tensor, state: DecoderState | Cohorts) -> tuple[Tensor, DecoderState | Cohorts]:
        cohorts = state.cohorts
        pieces = apart(piece.unsqueeze(1), [part.rows for part in cohorts])
        embedded = [self.embedding(own, start=part.length) for own, part in zip(pieces, cohorts, strict=True)]
        values = together(embedded)  # (row, 1, width)
        places = piece.new_ones(piece.shape[0], 1, dtype=torch.bool)
        pasts: list[list[KeysValues]] = []  # of each layer, of each cohort
        for at, layer in enumerate(self.layers):
            values, after = layer.step(values, places, at, cohorts)
            pasts.append(after)
        last = self.norm(values, places).squeeze(1)  # (row, width)
        logits = (cohorts[0].outputs or Outputs(self.output.weight)).logits(last)
        gone_on = tuple(
            replace(part, length=part.length + 1, past=tuple(past), order=None)
            for part, *past in zip(cohorts, *pasts, strict=True)
        )
        return logits, gone_on[0] if len(gone_on) == 1 else Cohorts(gone_on)
