"""Local self-attention over r positions (Vaswani et al. 2017, section 4, "restricted"): O(r·n·d), not O(n²·d).

The queries are split into blocks of r positions. A block can see the keys of one span of 2r - 1 positions; the spans of
neighboring blocks overlap. So there are n/r small attentions, and no matrix has n·n elements:

    r = 3, causal        queries     [0 1 2] [3 4 5] [6 7 8]
                         their keys  [· · 0 1 2]
                                        [1 2 3 4 5]
                                              [4 5 6 7 8]
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tongsa.nn.attention import KeyValue
from tongsa.nn.masks import banded_mask, key_mask


class Window(NamedTuple):
    """Number of positions that a query sees before and after itself."""

    before: int
    after: int

    @property
    def size(self) -> int:
        """Number of positions in the window, the query included."""
        return self.before + 1 + self.after


def centered_window(size: int) -> Window:
    """Return a window with the query in the middle; an even size has one more position on the left."""
    return Window(size // 2, (size - 1) // 2)


def causal_window(size: int) -> Window:
    """Return a window that ends at the query."""
    return Window(size - 1, 0)


AttendFunction = Callable[[Tensor, KeyValue, Tensor], Tensor]
"""An attention function: from query, keys and values, and mask to the context."""


def masked_local_attention(
    query: Tensor, kv: KeyValue, padding_mask: Tensor, window: Window, attention: AttendFunction
) -> Tensor:
    """Local attention with the full score matrix and a banded mask: to record weights, or if n ≤ r."""
    length = query.shape[2]
    diagonal = torch.eye(length, dtype=torch.bool, device=query.device)
    # a padding query that sees only padding reads itself: a softmax over nothing is NaN
    return attention(query, kv, (banded_mask(length, *window, query.device) & key_mask(padding_mask)) | diagonal)


def unfold_windows(slots: Tensor, window: int, stride: int) -> Tensor:  # (batch · block, head, window, width)
    """Return sliding windows of (batch, head, slot, width), one every `stride` slots, as rows of a larger batch."""
    return slots.unfold(2, window, stride).permute(0, 2, 1, 4, 3).flatten(0, 1)


def blockwise_local_attention(
    query: Tensor, kv: KeyValue, padding_mask: Tensor, window: Window, attention: AttendFunction
) -> Tensor:  # (batch, head, query, value width)
    """Local attention in O(r·n); the padding mask (batch, slot) is True for tokens."""
    length, size = query.shape[2], window.size
    num_blocks = -(-length // size)
    fill = num_blocks * size - length  # the last block is padded to its full size
    span = 2 * size - 1
    padding = (window.before, window.after + fill)

    queries = unfold_windows(F.pad(query, (0, 0, 0, fill)), size, size)
    is_token = F.pad(padding_mask, padding).unfold(1, span, size).unsqueeze(2)  # (batch, block, 1, span)
    offset = torch.arange(span, device=query.device) - torch.arange(size, device=query.device).unsqueeze(1)
    # (batch, block, query, span): the query's window, padding left out; every query reads itself
    mask = ((offset >= 0) & (offset < size) & is_token) | (offset == window.before)
    kv = KeyValue(*(unfold_windows(F.pad(slots, (0, 0, *padding)), span, size) for slots in kv))
    context = attention(queries, kv, mask.flatten(0, 1).unsqueeze(1))  # (batch · block, head, query, width)
    joined = context.view(-1, num_blocks, *context.shape[1:]).transpose(1, 2).flatten(2, 3)  # concatenate the blocks
    return joined[:, :, :length]
