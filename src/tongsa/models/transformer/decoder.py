"""The decoder of the Transformer (Vaswani et al. 2017, section 3.1), with a memory to read or without one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.models.transformer.config import (
    SublayerConnection,
    TransformerEmbedding,
    TransformerStackConfig,
    build_feed_forward,
    build_final_norm,
    residual_gain,
)
from tongsa.nn.attention import KeyValue
from tongsa.nn.beam_layout import BeamLayout, select_sentences
from tongsa.nn.local_attention import causal_window
from tongsa.nn.masks import key_mask
from tongsa.nn.multi_head import CachedMemory, CrossAttention, KVCache, SelfAttention, concat_rows, split_rows
from tongsa.nn.output import OutputProjection


@dataclass(frozen=True)
class TransformerState:
    """Every layer's keys and values so far, and those of the memory, which all hypotheses of a sentence share."""

    length: int
    """Pieces so far; a neighbourhood may keep fewer of them."""
    cache: tuple[KeyValue, ...]  # a row for each hypothesis, as they stood after the last step
    cached_memory: tuple[KeyValue, ...]  # a row for each sentence; none where there is nothing to read
    memory_mask: Tensor  # (sentence, head, query, slot)
    beam_layout: BeamLayout
    row_order: Tensor | None = None
    """The rows (row,) of the past that go on. They are moved when the next step copies them anyway."""
    output_subset: OutputProjection | None = None
    """Of the pieces that are scored, where they are not all."""

    @property
    def row_count(self) -> int:
        return (self.cache[0].keys if self.row_order is None else self.row_order).shape[0]

    @property
    def groups(self) -> tuple["TransformerState", ...]:
        return (self,)

    def select(self, rows: Tensor) -> "TransformerState":
        parts = (self.memory_mask, *(part for read in self.cached_memory for part in read))
        (mask, *parts_after), beams = select_sentences(parts, self.beam_layout, rows)
        memory = tuple(map(KeyValue, parts_after[::2], parts_after[1::2]))
        order = rows if self.row_order is None else self.row_order[rows]
        return TransformerState(self.length, self.cache, memory, mask, beams, order, self.output_subset)

    def concat(self, other: "TransformerState | TransformerStateGroups") -> "TransformerStateGroups":
        return TransformerStateGroups((self, *other.groups))


class TransformerStateGroups(NamedTuple):
    """Rows that have not all begun together: they share every product, and each cohort has its own past and memory."""

    groups: tuple[TransformerState, ...]

    def select(self, rows: Tensor) -> "TransformerState | TransformerStateGroups":
        counts = torch.tensor([state.row_count for state in self.groups], device=rows.device)
        ends = counts.cumsum(0)
        runs, lengths = torch.unique_consecutive(torch.bucketize(rows, ends, right=True), return_counts=True)
        parts = zip(runs.tolist(), torch.split(rows, lengths.tolist()), strict=True)
        kept = tuple(self.groups[at].select(part - (ends - counts)[at]) for at, part in parts)
        return kept[0] if len(kept) == 1 else TransformerStateGroups(kept)

    def concat(self, other: "TransformerState | TransformerStateGroups") -> "TransformerStateGroups":
        return TransformerStateGroups((*self.groups, *other.groups))


class TransformerDecoderLayer(nn.Module):
    """Self-attention, attention over the memory where there is one, and the position-wise network."""

    def __init__(self, config: TransformerStackConfig, num_layers: int, *, with_cross_attention: bool) -> None:
        super().__init__()
        gain = residual_gain(config, (3 if with_cross_attention else 2) * num_layers)
        self.self_attention = SelfAttention(
            config.width,
            config.head_config,
            "decoder",
            gain=gain,
            window=causal_window(config.attention_window) if config.attention_window else None,
            rotary=config.positions == "rotary",
        )
        self.cross_attention = (
            CrossAttention(config.width, config.head_config, gain=gain) if with_cross_attention else None
        )
        self.feed_forward = build_feed_forward(config, gain)
        self.self_attention_norm = SublayerConnection(config)
        self.cross_attention_norm = SublayerConnection(config) if with_cross_attention else None
        self.feed_forward_norm = SublayerConnection(config)

    def forward(self, inputs: Tensor, padding_mask: Tensor, slots: Tensor, mask: Tensor) -> Tensor:
        def cross(values: Tensor) -> Tensor:
            reader = self.cross_attention
            outputs: Tensor = reader(values, reader.project_memory(slots), mask)  # type: ignore[misc,union-attr]
            return outputs

        own = self.self_attention_norm(
            inputs, padding_mask, lambda values: self.self_attention(values, padding_mask, causal=True)
        )
        return self._after_self_attention(own, padding_mask, cross)

    def step(
        self, inputs: Tensor, padding_mask: Tensor, layer_index: int, groups: Sequence[TransformerState]
    ) -> tuple[Tensor, list[KeyValue]]:
        """One place further for inputs (row, 1, width); this layer is the `at`-th."""
        after: list[KeyValue] = []

        def own(values: Tensor) -> Tensor:
            pasts = [KVCache(state.cache[layer_index], state.length, state.row_order) for state in groups]
            outputs, after[:] = self.self_attention.step(values, pasts)
            return outputs

        def cross(values: Tensor) -> Tensor:
            # a sentence's hypotheses ask in one product
            memories = [
                CachedMemory(state.cached_memory[layer_index], state.memory_mask, state.beam_layout, state.row_count)
                for state in groups
            ]
            outputs: Tensor = self.cross_attention.step(values.squeeze(1), memories)  # type: ignore[union-attr]
            return outputs.unsqueeze(1)

        return self._after_self_attention(
            self.self_attention_norm(inputs, padding_mask, own), padding_mask, cross
        ), after

    def _after_self_attention(
        self, hidden: Tensor, padding_mask: Tensor, cross_attend: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """What follows self-attention."""
        if self.cross_attention_norm is not None:
            hidden = self.cross_attention_norm(hidden, padding_mask, cross_attend)
        outputs: Tensor = self.feed_forward_norm(hidden, padding_mask, self.feed_forward)
        return outputs


class TransformerDecoder(nn.Module):
    def __init__(
        self,
        embedding: TransformerEmbedding,
        output_embedding: nn.Embedding,
        config: TransformerStackConfig,
        num_layers: int,
        *,
        with_cross_attention: bool = True,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        stack = nn.ModuleList(
            TransformerDecoderLayer(config, num_layers, with_cross_attention=with_cross_attention)
            for _ in range(num_layers)
        )
        self.layers: Sequence[TransformerDecoderLayer] = stack  # type: ignore[assignment]
        self.final_norm = build_final_norm(config)
        self.output_embedding = output_embedding

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight)

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        places, mask = target.mask, key_mask(memory.mask)
        values = self.embedding(target.tokens)
        for layer in self.layers:
            values = layer(values, places, memory.slots, mask)
        normed: Tensor = self.final_norm(values, places)
        return normed

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        return self.output.logits(self.hidden(target, memory))

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> TransformerState:
        rows = memory.slots.shape[0]
        return TransformerState(
            length=0,
            cache=tuple(layer.self_attention.empty_cache(rows, memory.slots) for layer in self.layers),
            cached_memory=tuple(
                layer.cross_attention.project_memory(memory.slots)
                for layer in self.layers
                if layer.cross_attention is not None
            ),
            memory_mask=key_mask(memory.mask),
            beam_layout=BeamLayout(1),
            output_subset=self.output.subset(vocab_subset),
        )

    def step(
        self, token: Tensor, state: TransformerState | TransformerStateGroups
    ) -> tuple[Tensor, TransformerState | TransformerStateGroups]:
        cohorts = state.groups
        pieces = split_rows(token.unsqueeze(1), [part.row_count for part in cohorts])
        embedded = [self.embedding(own, start=part.length) for own, part in zip(pieces, cohorts, strict=True)]
        values = concat_rows(embedded)  # (row, 1, width)
        places = token.new_ones(token.shape[0], 1, dtype=torch.bool)
        pasts: list[list[KeyValue]] = []  # of each layer, of each cohort
        for at, layer in enumerate(self.layers):
            values, after = layer.step(values, places, at, cohorts)
            pasts.append(after)
        last = self.final_norm(values, places).squeeze(1)  # (row, width)
        logits = (cohorts[0].output_subset or self.output).logits(last)
        gone_on = tuple(
            replace(part, length=part.length + 1, cache=tuple(past), row_order=None)
            for part, *past in zip(cohorts, *pasts, strict=True)
        )
        return logits, gone_on[0] if len(gone_on) == 1 else TransformerStateGroups(gone_on)
