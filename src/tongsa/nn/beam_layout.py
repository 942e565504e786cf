"""What all hypotheses of a sentence read is kept once for each sentence, however wide the beam."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class BeamLayout(NamedTuple):
    """Where rows of hypotheses stand beside each other: (sentence, hypothesis), with places that may be empty."""

    width: int
    """Places for each sentence."""
    positions: Tensor | None = None
    """Of each row (row,) in the flat rectangle, rising; None where none is empty."""

    def scatter(self, rows: Tensor, num_sentences: int) -> Tensor:  # (sentence, hypothesis, …)
        """Rows at their places; zeros where there is none."""
        if self.positions is not None:
            rows = rows.new_zeros(num_sentences * self.width, *rows.shape[1:]).index_copy_(0, self.positions, rows)
        return rows.view(-1, self.width, *rows.shape[1:])

    def gather(self, grid: Tensor) -> Tensor:  # (row, …)
        """What stands at the places of the rows."""
        flat = grid.flatten(0, 1)
        return flat if self.positions is None else flat.index_select(0, self.positions)

    def hypothesis_counts(self, sentences: Tensor) -> Tensor:  # (sentence,)
        """How many rows each sentence has; these tensors have a row for each sentence."""
        if self.positions is None:
            return torch.full((len(sentences),), self.width, device=sentences.device)
        return torch.bincount(self.positions // self.width, minlength=len(sentences))


def select_sentences(
    tensors: tuple[Tensor, ...], layout: BeamLayout, rows: Tensor
) -> tuple[tuple[Tensor, ...], BeamLayout]:
    """Tensors with a row for each sentence, for these rows of hypotheses; and where those stand now."""
    places = rows if layout.positions is None else layout.positions[rows]
    sentences, counts = torch.unique_consecutive(places // layout.width, return_counts=True)
    after = _packed_layout(counts, len(rows))
    count = len(tensors[0])
    if len(sentences) == count and torch.equal(sentences, torch.arange(count, device=rows.device)):
        return tensors, after  # the usual step of a beam: nothing is copied
    return tuple(tensor.index_select(0, sentences) for tensor in tensors), after


def concat_sentences(
    first: Sequence[Tensor], second: Sequence[Tensor], layouts: tuple[BeamLayout, BeamLayout], slot_dims: Sequence[int]
) -> tuple[tuple[Tensor, ...], BeamLayout]:
    """Tensors with a row for each sentence, one below the other, and where the rows of hypotheses stand then.

    `slots` is the dimension of each in which a source's slots lie; the last tensor is the mask over them. A shorter
    source gets slots that are not read, and slots above that nobody reads any more are left out.
    """
    read = first[-1].flatten(0, -2).any(dim=0).nonzero()
    most = int(read[-1]) + 1 if len(read) else 0
    joined = tuple(
        _concat_padded(one.narrow(at, 0, most), two, at) for one, two, at in zip(first, second, slot_dims, strict=True)
    )
    counts = torch.cat([layouts[0].hypothesis_counts(first[-1]), layouts[1].hypothesis_counts(second[-1])])
    return joined, _packed_layout(counts, int(counts.sum()))


def _concat_padded(first: Tensor, second: Tensor, slot_dim: int) -> Tensor:
    shape = [len(first) + len(second), *first.shape[1:]]
    shape[slot_dim] = max(first.shape[slot_dim], second.shape[slot_dim])
    both = first.new_zeros(shape)
    both[: len(first)].narrow(slot_dim, 0, first.shape[slot_dim]).copy_(first)
    both[len(first) :].narrow(slot_dim, 0, second.shape[slot_dim]).copy_(second)
    return both


def _packed_layout(counts: Tensor, total: int) -> BeamLayout:
    """So many hypotheses for each sentence, each sentence's from the left."""
    width = int(counts.max()) if total else 1
    if width * len(counts) == total:
        return BeamLayout(width)
    row = torch.arange(total, device=counts.device)
    sentence = torch.repeat_interleave(counts)
    return BeamLayout(width, row + (sentence * width - (counts.cumsum(0) - counts)[sentence]))
