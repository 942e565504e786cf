"""The KV cache of a Transformer decoder: keys and values of earlier positions, of all layers in one tensor.

    slots   (slot, row, layer, width of keys and values): a slot for each position, a row for each hypothesis

1. A step extends the cache by one slot (`extend`). Each layer writes its new keys and values into it, then attends.
2. The tensor has room for some more slots. So a step of greedy search copies nothing: it uses the next free slot.
3. `select` does not copy. It stores the order of the rows, and the next `extend` copies them into a new tensor.
4. A state may be continued twice. The second continuation sees that the next slot is in use, and copies the others.

Outside of `torch.inference_mode()`, as in an exported graph, every step copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.nn.attention import KeyValue
from tongsa.nn.beam_layout import BeamLayout
from tongsa.nn.packed_linear import in_inference_mode

SLOTS_PER_ALLOCATION = 8
"""A new tensor has room for a multiple of this number of slots."""


class _Allocation:
    """A tensor with room for more slots, and the number of slots that are in use."""

    def __init__(self, tensor: Tensor, used: int) -> None:
        self.tensor, self.used = tensor, used


@dataclass(frozen=True)
class KVCache:
    """Cached keys and values, for rows that are at the same position."""

    slots: Tensor  # (slot, row, layer, width)
    row_order: Tensor | None = None
    """Rows (row,) that continue, in their new order; None continues all of them as they are."""
    allocation: _Allocation | None = None
    """The tensor that `slots` are the beginning of."""

    @property
    def row_count(self) -> int:
        return self.slots.shape[1] if self.row_order is None else self.row_order.shape[0]

    def select(self, rows: Tensor) -> "KVCache":
        row_order = rows if self.row_order is None else self.row_order[rows]
        return KVCache(self.slots, row_order, self.allocation)

    def extend(self, max_slots: int | None = None) -> "KVCache":
        """Return the rows in their order with one more slot, to be written; with `max_slots`, the last slots only."""
        if not in_inference_mode():
            slots = self.slots if self.row_order is None else self.slots.index_select(1, self.row_order)
            longer = torch.cat([slots, slots.new_zeros(1, *slots.shape[1:])])
            return KVCache(longer if max_slots is None else _last_slots(longer, max_slots))
        allocation = self.allocation
        if allocation is None or self.row_order is not None or not self._has_room(allocation, max_slots):
            kept = self.slots[1:] if self.slots.shape[0] == max_slots else self.slots
            allocation = _allocate(kept, self.row_order)
        allocation.used += 1
        return KVCache(allocation.tensor[: allocation.used], None, allocation)

    def _has_room(self, allocation: _Allocation, max_slots: int | None) -> bool:
        """Return True if a slot can be added, and no other continuation of this cache has added it."""
        count = self.slots.shape[0]
        return allocation.used == count < allocation.tensor.shape[0] and count != max_slots


def _allocate(slots: Tensor, row_order: Tensor | None) -> _Allocation:
    """Copy slots, their rows in this order, into a tensor with room for one more at least."""
    count, num_rows = slots.shape[0], slots.shape[1] if row_order is None else row_order.shape[0]
    capacity = (count // SLOTS_PER_ALLOCATION + 1) * SLOTS_PER_ALLOCATION
    tensor = slots.new_empty(capacity, num_rows, *slots.shape[2:])
    if row_order is None:
        tensor[:count] = slots
    else:
        torch.index_select(slots, 1, row_order, out=tensor[:count])
    return _Allocation(tensor, count)


def _last_slots(slots: Tensor, max_slots: int) -> Tensor:
    """Return the last slots, after one was appended: at most one slot is dropped."""
    if torch.compiler.is_exporting():  # a slice or a maximum would be fixed to the length of the example
        num_slots = slots.shape[0]
        return slots.index_select(0, torch.arange((num_slots - 1) // max_slots, num_slots))
    return slots[-max_slots:]


class RowGroup(NamedTuple):
    """Rows of one step that are at the same position, and what attention reads for them."""

    rows: slice
    position: int
    slots: Tensor  # (slot, row, layer, width): the KV cache; the last slot is that of this step
    memory: Sequence[KeyValue]  # for each layer, one row for each sentence; empty without cross-attention
    memory_mask: Tensor | None  # (sentence, head, query, slot), added to the scores; None without padding
    layout: BeamLayout
    """The sentence of each row."""


def concat_groups(groups: Sequence[Tensor], num_rows: int) -> Tensor:  # (row, …)
    """Join the rows of all groups, with zeros up to this number of rows. A single group of this size is not copied."""
    missing = num_rows - sum(group.shape[0] for group in groups)
    if missing:
        groups = [*groups, groups[0].new_zeros(missing, *groups[0].shape[1:])]
    return groups[0] if len(groups) == 1 else torch.cat(list(groups))
