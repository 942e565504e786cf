"""Self-attention restricted to a neighbourhood of r places (Vaswani et al. 2017, section 4): O(r·n·d), not O(n²·d).

Queries stand in blocks of r. All that a block may see lies in one window of 2r - 1 keys, and neighbouring windows
overlap: n/r small attentions in place of one large one, and no matrix has n·n elements.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from tongsa.layers.attention import KeysValues
from tongsa.layers.masks import banded, over_keys


class Span(NamedTuple):
    """How far a query sees to either side of itself."""

    before: int
    after: int

    @property
    def size(self) -> int:
        """The places in sight, the query's own included."""
        return self.before + 1 + self.after


def around(size: int) -> Span:
    """`size` places, the query in the middle; of an even number, one more lies to the left."""
    return Span(size // 2, (size - 1) // 2)


def behind(size: int) -> Span:
    """The last `size` places, the query's own included."""
    return Span(size - 1, 0)


Weigh = Callable[[Tensor, KeysValues, Tensor], Tensor]
"""(query, read, mask) to context: any attention."""


def by_mask(query: Tensor, read: KeysValues, places: Tensor, span: Span, weigh: Weigh) -> Tensor:
    """The restriction as its definition says it, with a full matrix: to be seen, or where n ≤ r."""
    length = query.shape[2]
    itself = torch.eye(length, dtype=torch.bool, device=query.device)
    # padding with nothing but padding around it reads itself: a softmax over nothing would not be a number
    return weigh(query, read, (banded(length, *span, query.device) & over_keys(places)) | itself)


def cut(slots: Tensor, window: int, step: int) -> Tensor:  # (batch · block, head, window, width)
    """Windows of (batch, head, slot, width), one at every `step`, as rows of a batch."""
    return slots.unfold(2, window, step).permute(0, 2, 1, 4, 3).flatten(0, 1)


def by_blocks(query: Tensor, read: KeysValues, places: Tensor, span: Span, weigh: Weigh) -> Tensor:
    """The same in O(r·n); `places` (batch, slot) are those with a piece; (batch, head, query, value width)."""
    length, size = query.shape[2], span.size
    blocks = -(-length // size)
    spare = blocks * size - length  # the last block is filled up
    ends = (span.before, span.after + spare)

    queries = cut(F.pad(query, (0, 0, 0, spare)), size, size)
    there = F.pad(places, ends).unfold(1, 2 * size - 1, size).unsqueeze(2)  # (batch, block, query, window)
    offset = torch.arange(2 * size - 1, device=query.device) - torch.arange(size, device=query.device).unsqueeze(1)
    mask = ((offset >= 0) & (offset < size) & there) | (offset == span.before)
    read = KeysValues(*(cut(F.pad(slots, (0, 0, *ends)), 2 * size - 1, size) for slots in read))
    context = weigh(queries, read, mask.flatten(0, 1).unsqueeze(1))  # (batch · block, head, query, width)
    joined = context.view(-1, blocks, *context.shape[1:]).transpose(1, 2).flatten(2, 3)  # the blocks in a row again
    return joined[:, :, :length]
