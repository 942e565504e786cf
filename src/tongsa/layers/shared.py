"""What all hypotheses of a sentence read is kept once for each sentence, however wide the beam."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Rectangle(NamedTuple):
    """Where rows of hypotheses stand beside each other: (sentence, hypothesis), with places that may be empty."""

    width: int
    """Places for each sentence."""
    places: Tensor | None = None
    """Of each row (row,) in the flat rectangle, rising; None where none is empty."""

    def filled(self, rows: Tensor, sentences: int) -> Tensor:  # (sentence, hypothesis, …)
        """Rows at their places; zeros where there is none."""
        if self.places is not None:
            rows = rows.new_zeros(sentences * self.width, *rows.shape[1:]).index_copy_(0, self.places, rows)
        return rows.view(-1, self.width, *rows.shape[1:])

    def rows(self, filled: Tensor) -> Tensor:  # (row, …)
        """What stands at the places of the rows."""
        flat = filled.flatten(0, 1)
        return flat if self.places is None else flat.index_select(0, self.places)

    def counts(self, sentences: Tensor) -> Tensor:  # (sentence,)
        """How many rows each sentence has; these tensors have a row for each sentence."""
        if self.places is None:
            return torch.full((len(sentences),), self.width, device=sentences.device)
        return torch.bincount(self.places // self.width, minlength=len(sentences))


def regrouped(tensors: tuple[Tensor, ...], before: Rectangle, rows: Tensor) -> tuple[tuple[Tensor, ...], Rectangle]:
    """Tensors with a row for each sentence, for these rows of hypotheses; and where those stand now."""
    places = rows if before.places is None else before.places[rows]
    sentences, counts = torch.unique_consecutive(places // before.width, return_counts=True)
    after = _packed(counts, len(rows))
    count = len(tensors[0])
    if len(sentences) == count and torch.equal(sentences, torch.arange(count, device=rows.device)):
        return tensors, after  # the usual step of a beam: nothing is copied
    return tuple(tensor.index_select(0, sentences) for tensor in tensors), after


def stacked(
    above: Sequence[Tensor], below: Sequence[Tensor], both: tuple[Rectangle, Rectangle], slots: Sequence[int]
) -> tuple[tuple[Tensor, ...], Rectangle]:
    """Tensors with a row for each sentence, one below the other, and where the rows of hypotheses stand then.

    `slots` is the dimension of each in which a source's slots lie; the last tensor is the mask over them. A shorter
    source gets slots that are not read, and slots above that nobody reads any more are left out.
    """
    read = above[-1].flatten(0, -2).any(dim=0).nonzero()
    most = int(read[-1]) + 1 if len(read) else 0
    joined = tuple(_stacked(one.narrow(at, 0, most), two, at) for one, two, at in zip(above, below, slots, strict=True))
    counts = torch.cat([both[0].counts(above[-1]), both[1].counts(below[-1])])
    return joined, _packed(counts, int(counts.sum()))


def _stacked(above: Tensor, below: Tensor, slots: int) -> Tensor:
    shape = [len(above) + len(below), *above.shape[1:]]
    shape[slots] = max(above.shape[slots], below.shape[slots])
    both = above.new_zeros(shape)
    both[: len(above)].narrow(slots, 0, above.shape[slots]).copy_(above)
    both[len(above) :].narrow(slots, 0, below.shape[slots]).copy_(below)
    return both


def _packed(counts: Tensor, total: int) -> Rectangle:
    """So many hypotheses for each sentence, each sentence's from the left."""
    width = int(counts.max()) if total else 1
    if width * len(counts) == total:
        return Rectangle(width)
    row = torch.arange(total, device=counts.device)
    sentence = torch.repeat_interleave(counts)
    return Rectangle(width, row + (sentence * width - (counts.cumsum(0) - counts)[sentence]))
