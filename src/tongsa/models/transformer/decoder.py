"""The decoder of the Transformer (Vaswani et al. 2017, section 3.1); in language models without cross-attention.

    x: (batch, length, width) in training; (row, 1, width) in a step, one row for each hypothesis

Training runs over whole targets with a causal mask (`hidden`). Decoding goes token by token (`step`): keys and values
of earlier positions are kept in the KV cache, those of the memory are computed once (`start`).

                      training                         one step
    self-attention    all positions, causal mask       1 query over the KV cache, which grows by one position
    or an SSRU        a recurrence over all positions  the cell state, in a cache of two positions (nn/ssru.py)
    cross-attention   all positions over the memory    the hypotheses of a sentence over its keys and values

Neither `select` nor `concat` of the state copies the cache, so it does not inherit RowState. `select` stores the order
of the rows (nn/kv_cache.py). States that are joined at different steps stay groups with caches of different lengths. A
step computes all linear layers for all rows together, and attention group by group.

Of a step only attention weights are recorded, and it has no dropout. The trace page runs teacher forcing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.models.transformer.config import DecoderStack, TransformerStackConfig
from tongsa.models.transformer.embedding import TransformerEmbedding
from tongsa.models.transformer.residual import ResidualDropout, SublayerNorm, build_final_norm, residual_gain
from tongsa.nn.attention import KeyValue
from tongsa.nn.beam_layout import PerSentence
from tongsa.nn.feed_forward import build_feed_forward
from tongsa.nn.kv_cache import KVCache, RowGroup
from tongsa.nn.local_attention import causal_window
from tongsa.nn.masks import additive_key_mask, key_mask
from tongsa.nn.multi_head import CrossAttention, SelfAttention
from tongsa.nn.output import OutputProjection
from tongsa.nn.packed_linear import padded_row_count
from tongsa.nn.recording import record
from tongsa.nn.ssru import MAX_SLOTS, SSRU


class TransformerMemory(NamedTuple):
    """The memory as each layer's cross-attention reads it, computed once for each sentence."""

    layers: tuple[KeyValue, ...]  # empty without cross-attention
    mask: Tensor  # (sentence, head, query, slot): 0 where a slot may be read, else -inf


@dataclass(frozen=True)
class TransformerState:
    """Hypotheses that are at the same step: the KV cache and the projected memory."""

    length: int
    """Tokens so far; with an attention window the cache may hold fewer."""
    cache: KVCache
    memory: PerSentence[TransformerMemory]
    has_padding: bool = True
    """False if all sentences of the memory have the same length: then attention needs no mask."""
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""

    @property
    def row_count(self) -> int:
        return self.cache.row_count

    @property
    def groups(self) -> tuple["TransformerState", ...]:
        return (self,)

    def select(self, rows: Tensor) -> "TransformerState":
        return replace(self, memory=self.memory.select(rows), cache=self.cache.select(rows))

    def concat(self, other: "TransformerState | TransformerStateGroups") -> "TransformerStateGroups":
        return TransformerStateGroups((self, *other.groups))

    def extend(self, max_slots: int | None) -> "TransformerState":
        """Return the state after one more token; the layers have yet to write its slot of the cache."""
        cache = self.cache.extend(max_slots)
        return TransformerState(self.length + 1, cache, self.memory, self.has_padding, self.output_subset)

    def row_group(self, first_row: int) -> RowGroup:
        """Return the rows of an extended state, which begin at `first_row` of the step."""
        memory = self.memory.tensors
        return RowGroup(
            slice(first_row, first_row + self.row_count),
            self.length - 1,
            self.cache.slots,
            memory.layers,
            memory.mask if self.has_padding else None,
            self.memory.layout,
        )


class TransformerStateGroups(NamedTuple):
    """Hypotheses at different steps: the rows of the groups follow each other."""

    groups: tuple[TransformerState, ...]

    def select(self, rows: Tensor) -> "TransformerState | TransformerStateGroups":
        counts = torch.tensor([state.row_count for state in self.groups], device=rows.device)
        ends = counts.cumsum(0)
        starts = ends - counts
        # a run of consecutive rows from one group becomes a group; rows are not sorted across groups
        group_of_run, run_lengths = torch.unique_consecutive(
            torch.bucketize(rows, ends, right=True), return_counts=True
        )
        runs = zip(group_of_run.tolist(), torch.split(rows, run_lengths.tolist()), strict=True)
        return _from_groups([self.groups[group].select(run - starts[group]) for group, run in runs])

    def concat(self, other: "TransformerState | TransformerStateGroups") -> "TransformerStateGroups":
        return TransformerStateGroups((*self.groups, *other.groups))


def _from_groups(groups: Sequence[TransformerState]) -> TransformerState | TransformerStateGroups:
    return groups[0] if len(groups) == 1 else TransformerStateGroups(tuple(groups))


def build_self_attention(config: TransformerStackConfig, gain: float) -> SelfAttention:
    return SelfAttention(
        config.width,
        config.head_config,
        "decoder",
        gain=gain,
        window=causal_window(config.attention_window) if config.attention_window else None,
        rotary=config.positions == "rotary",
    )


class TransformerDecoderLayer(nn.Module):
    """Causal self-attention or an SSRU, cross-attention if there is a source, feed-forward network; all residual."""

    def __init__(self, config: TransformerStackConfig, stack: DecoderStack) -> None:
        super().__init__()
        with_cross_attention, has_ssru = stack.with_cross_attention, stack.cell == "ssru"
        gain = residual_gain(config, (3 if with_cross_attention else 2) * stack.num_layers)
        self.self_attention = None if has_ssru else build_self_attention(config, gain)
        self.ssru = SSRU(config.width) if has_ssru else None
        self.cross_attention = (
            CrossAttention(config.width, config.head_config, gain=gain) if with_cross_attention else None
        )
        self.feed_forward = build_feed_forward(
            config.activation, config.width, config.ffn_width, config.ffn_dropout, gain=gain
        )
        first_norm = SublayerNorm(config)
        self.self_attention_norm = None if has_ssru else first_norm
        self.ssru_norm = first_norm if has_ssru else None
        shared = first_norm if config.shared_norm else None
        self.cross_attention_norm = SublayerNorm(config, shared) if with_cross_attention else None
        normalizes_memory = with_cross_attention and config.final_norm == "decoder"
        self.cross_attention_memory_norm = (
            SublayerNorm(config, self.cross_attention_norm) if normalizes_memory else None
        )
        self.feed_forward_norm = SublayerNorm(config, shared)
        self.dropout = ResidualDropout(config)

    def project_memory(self, memory: Memory) -> KeyValue | None:
        """Return keys and values of the memory for cross-attention; None without it."""
        if self.cross_attention is None:
            return None
        norm = self.cross_attention_memory_norm
        slots = memory.slots if norm is None else norm.before(memory.slots, memory.mask)
        return self.cross_attention.project_memory(slots)

    def forward(self, x: Tensor, padding_mask: Tensor, memory: Memory) -> Tensor:
        """Teacher forcing: x and the result are (batch, length, width)."""
        # connect(x, y) is x + dropout(y) in one pass
        if self.self_attention is not None and self.self_attention_norm is not None:
            norm = self.self_attention_norm
            y = self.self_attention(norm.before(x, padding_mask), padding_mask, causal=True)
            x = record("residual.self_attention", self, self.dropout.connect(x, y), x=x, y=y)
            x = norm.after(x, padding_mask)
        if self.ssru is not None and self.ssru_norm is not None:
            norm = self.ssru_norm
            y = self.ssru(norm.before(x, padding_mask))
            x = record("residual.ssru", self, self.dropout.connect(x, y), x=x, y=y)
            x = norm.after(x, padding_mask)

        kv = self.project_memory(memory)
        if self.cross_attention is not None and self.cross_attention_norm is not None:
            norm = self.cross_attention_norm
            y = self.cross_attention(norm.before(x, padding_mask), kv, key_mask(memory.mask))
            x = record("residual.cross_attention", self, self.dropout.connect(x, y), x=x, y=y)
            x = norm.after(x, padding_mask)

        return self._feed_forward_sublayer(x, padding_mask)

    def step(self, x: Tensor, groups: Sequence[RowGroup], layer_index: int) -> Tensor:  # (row, width)
        """Decode one position of each row: x is (row, width)."""
        connect = self.dropout.connect_step  # x + y
        if self.self_attention is not None and self.self_attention_norm is not None:
            norm = self.self_attention_norm
            x = norm.after_step(connect(x, self.self_attention.step(norm.before_step(x), groups, layer_index)))
        if self.ssru is not None and self.ssru_norm is not None:
            norm = self.ssru_norm
            x = norm.after_step(connect(x, self.ssru.step(norm.before_step(x), groups, layer_index)))
        if self.cross_attention is not None and self.cross_attention_norm is not None:
            norm = self.cross_attention_norm
            x = norm.after_step(connect(x, self.cross_attention.step(norm.before_step(x), groups, layer_index)))
        norm = self.feed_forward_norm
        return norm.after_step(connect(x, self.feed_forward.step(norm.before_step(x))))

    def _feed_forward_sublayer(self, x: Tensor, padding_mask: Tensor) -> Tensor:
        norm = self.feed_forward_norm
        y = self.feed_forward(norm.before(x, padding_mask))
        x = record("residual.feed_forward", self, self.dropout.connect(x, y), x=x, y=y)
        return norm.after(x, padding_mask)


def tie_parameters(layers: nn.ModuleList) -> None:
    """Give all layers the parameters of the first; running statistics of norms stay their own."""
    for layer in layers:
        for module, first in zip(layer.modules(), layers[0].modules(), strict=True):
            for name, parameter in first.named_parameters(recurse=False, remove_duplicate=False):
                setattr(module, name, parameter)


class TransformerDecoder(nn.Module):
    """A stack of layers over the target, and the output projection, which may share the embedding table."""

    def __init__(
        self,
        embedding: TransformerEmbedding,
        output_embedding: nn.Embedding,
        config: TransformerStackConfig,
        stack: DecoderStack,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        layers = nn.ModuleList(TransformerDecoderLayer(config, stack) for _ in range(stack.num_layers))
        if stack.tie_layers:
            tie_parameters(layers)
        self.layers: Sequence[TransformerDecoderLayer] = layers  # type: ignore[assignment]
        self.final_norm = build_final_norm(config, "decoder")
        self.output_embedding = output_embedding
        self.output_bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings)) if stack.output_bias else None
        heads, has_ssru = config.head_config, stack.cell == "ssru"
        self.max_slots = MAX_SLOTS if has_ssru else config.attention_window or None
        self.initial_slots = int(has_ssru)
        """Slots before the first token: an SSRU starts with the cell state 0."""
        self.cache_width = config.width if has_ssru else heads.count * (heads.key_width + heads.value_width)
        """Width of the keys and values of a layer, or of its cell state."""

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.output_bias)

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        padding_mask = target.mask
        x = self.embedding(target.tokens)
        for layer in self.layers:
            x = layer(x, padding_mask, memory)
        normed: Tensor = self.final_norm(x, padding_mask)
        return normed

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> TransformerState:
        projected = [layer.project_memory(memory) for layer in self.layers]
        # in the order in which a step reads them: the slots of each head together
        kvs = tuple(KeyValue(kv.keys.contiguous(), kv.values.contiguous()) for kv in projected if kv is not None)
        cache = memory.slots.new_zeros(self.initial_slots, memory.slots.shape[0], len(self.layers), self.cache_width)
        return TransformerState(
            length=0,
            cache=KVCache(cache),
            memory=PerSentence(TransformerMemory(kvs, additive_key_mask(memory.mask))),
            has_padding=torch.compiler.is_exporting() or not bool(memory.mask.all()),
            output_subset=self.output.subset(vocab_subset),
        )

    def step(
        self, token: Tensor, state: TransformerState | TransformerStateGroups
    ) -> tuple[Tensor, TransformerState | TransformerStateGroups]:
        next_groups = [group.extend(self.max_slots) for group in state.groups]
        groups: list[RowGroup] = []
        num_rows = 0
        for group in next_groups:
            groups.append(group.row_group(num_rows))
            num_rows += group.row_count
        if (padded_rows := padded_row_count(num_rows, self.output_embedding.weight)) > num_rows:
            token = F.pad(token, (0, padded_rows - num_rows))  # rows that no attention reads
        x = self.embedding.step(token, groups)  # (row, width)
        for index, layer in enumerate(self.layers):
            x = layer.step(x, groups, index)
        logits = (next_groups[0].output_subset or self.output).logits(self.final_norm.normalize(x))
        return logits[:num_rows], _from_groups(next_groups)
