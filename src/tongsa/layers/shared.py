"""What all hypotheses of a sentence read is kept once for each sentence, however wide the beam."""

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


def regrouped(tensors: tuple[Tensor, ...], before: Rectangle, rows: Tensor) -> tuple[tuple[Tensor, ...], Rectangle]:
    """Tensors with a row for each sentence, for these rows of hypotheses; and where those stand now."""
    places = rows if before.places is None else before.places[rows]
    sentences, counts = torch.unique_consecutive(places // before.width, return_counts=True)
    after = _packed(counts, len(rows))
    count = len(tensors[0])
    if len(sentences) == count and torch.equal(sentences, torch.arange(count, device=rows.device)):
        return tensors, after  # the usual step of a beam: nothing is copied
    return tuple(tensor.index_select(0, sentences) for tensor in tensors), after


def _packed(counts: Tensor, total: int) -> Rectangle:
    """So many hypotheses for each sentence, each sentence's from the left."""
    width = int(counts.max()) if total else 1
    if width * len(counts) == total:
        return Rectangle(width)
    row = torch.arange(total, device=counts.device)
    sentence = torch.repeat_interleave(counts)
    return Rectangle(width, row + (sentence * width - (counts.cumsum(0) - counts)[sentence]))
