"""Self-attention restricted to a neighbourhood of r places (Vaswani et al. 2017, section 4): O(r·n·d), not O(n²·d).

Queries stand in blocks of r. All that a block may see lies in one window of 2r - 1 keys, and neighbouring windows
overlap: n/r small attentions in place of one large one, and no matrix has n·n elements.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tongsa.nn.attention import KeyValue
from tongsa.nn.masks import banded_mask, key_mask


class Window(NamedTuple):
    """How far a query sees to either side of itself."""

    before: int
    after: int

    @property
    def size(self) -> int:
        """The places in sight, the query's own included."""
        return self.before + 1 + self.after


def centered_window(size: int) -> Window:
    """`size` places, the query in the middle; of an even number, one more lies to the left."""
    return Window(size // 2, (size - 1) // 2)


def causal_window(size: int) -> Window:
    """The last `size` places, the query's own included."""
    return Window(size - 1, 0)


AttendFunction = Callable[[Tensor, KeyValue, Tensor], Tensor]
"""(query, read, mask) to context: any attention."""


def masked_local_attention(
    query: Tensor, kv: KeyValue, padding_mask: Tensor, window: Window, attention: AttendFunction
) -> Tensor:
    """The restriction as its definition says it, with a full matrix: to be seen, or where n ≤ r."""
    length = query.shape[2]
    itself = torch.eye(length, dtype=torch.bool, device=query.device)
    # padding with nothing but padding around it reads itself: a softmax over nothing would not be a number
    return attention(query, kv, (banded_mask(length, *window, query.device) & key_mask(padding_mask)) | itself)


def unfold_windows(slots: Tensor, window: int, stride: int) -> Tensor:  # (batch · block, head, window, width)
    """Windows of (batch, head, slot, width), one at every `step`, as rows of a batch."""
    return slots.unfold(2, window, stride).permute(0, 2, 1, 4, 3).flatten(0, 1)


def blockwise_local_attention(
    query: Tensor, kv: KeyValue, padding_mask: Tensor, window: Window, attention: AttendFunction
) -> Tensor:
    """The same in O(r·n); `places` (batch, slot) are those with a piece; (batch, head, query, value width)."""
    length, size = query.shape[2], window.size
    blocks = -(-length // size)
    spare = blocks * size - length  # the last block is filled up
    ends = (window.before, window.after + spare)

    queries = unfold_windows(F.pad(query, (0, 0, 0, spare)), size, size)
    there = F.pad(padding_mask, ends).unfold(1, 2 * size - 1, size).unsqueeze(2)  # (batch, block, query, window)
    offset = torch.arange(2 * size - 1, device=query.device) - torch.arange(size, device=query.device).unsqueeze(1)
    mask = ((offset >= 0) & (offset < size) & there) | (offset == window.before)
    kv = KeyValue(*(unfold_windows(F.pad(slots, (0, 0, *ends)), 2 * size - 1, size) for slots in kv))
    context = attention(queries, kv, mask.flatten(0, 1).unsqueeze(1))  # (batch · block, head, query, width)
    joined = context.view(-1, blocks, *context.shape[1:]).transpose(1, 2).flatten(2, 3)  # the blocks in a row again
    return joined[:, :, :length]
