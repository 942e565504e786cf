"""The layout of hypotheses in a batch, and tensors that all hypotheses of a sentence share.

Decoder states have one row for each hypothesis. The memory of the source is the same for all hypotheses of a sentence,
so it is stored once for each sentence. A BeamLayout converts between the two:

    rows (row, …)  ──scatter──►  grid (sentence, hypothesis, …)  ──attention over the sentence's slots──►
    rows (row, …)  ◄──gather───  grid (sentence, hypothesis, …)

So all hypotheses of a sentence attend to its slots in one matrix product, for any beam width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

M = TypeVar("M", bound=tuple[Any, ...])
Tree = TypeVar("Tree")


class BeamLayout(NamedTuple):
    """The cell of each row in a grid (sentence, hypothesis). Some cells may be empty."""

    width: int
    """Number of cells for each sentence."""
    positions: Tensor | None = None
    """Index of each row (row,) in the flat grid, ascending; None if no cell is empty."""

    def scatter(self, rows: Tensor, num_sentences: int) -> Tensor:  # (sentence, hypothesis, …)
        """Put rows into the grid, zeros into empty cells."""
        if self.positions is not None:
            rows = rows.new_zeros(num_sentences * self.width, *rows.shape[1:]).index_copy_(0, self.positions, rows)
        return rows.view(-1, self.width, *rows.shape[1:])

    def gather(self, grid: Tensor) -> Tensor:  # (row, …)
        """Return the rows of the grid: the inverse of `scatter`."""
        flat = grid.flatten(0, 1)
        return flat if self.positions is None else flat.index_select(0, self.positions)

    def hypothesis_counts(self, num_sentences: int, device: torch.device) -> Tensor:  # (sentence,)
        """Return the number of rows of each sentence."""
        if self.positions is None:
            return torch.full((num_sentences,), self.width, device=device)
        return torch.bincount(self.positions // self.width, minlength=num_sentences)


SINGLE_HYPOTHESIS = BeamLayout(1)


def map_leaves(function: Callable[..., Any], *trees: Tree) -> Tree:
    """Apply a function to the corresponding leaves of nested tuples; the result is nested in the same way."""
    first: Any = trees[0]
    if not isinstance(first, tuple):
        result: Tree = function(*trees)
        return result
    parts = [map_leaves(function, *children) for children in zip(*trees, strict=True)]
    mapped: Tree = type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)  # type: ignore[assignment]
    return mapped


@dataclass(frozen=True)
class PerSentence(Generic[M]):
    """Tensors with one row for each sentence, and the layout of the hypotheses that read them.

    The tensors are a named tuple, possibly nested, whose last field is the mask of the slots.
    """

    tensors: M
    layout: BeamLayout = SINGLE_HYPOTHESIS

    @property
    def mask(self) -> Tensor:  # (sentence, …, slot)
        mask: Tensor = self.tensors[-1]
        return mask

    def scatter(self, rows: Tensor) -> Tensor:  # (sentence, hypothesis, …)
        return self.layout.scatter(rows, self.mask.shape[0])

    def gather(self, grid: Tensor) -> Tensor:  # (row, …)
        return self.layout.gather(grid)

    def select(self, rows: Tensor) -> "PerSentence[M]":
        """Keep these rows of hypotheses, and the sentences that still have one."""
        if self.mask.shape[0] == 1 and len(rows):
            return PerSentence(self.tensors, BeamLayout(len(rows)))
        cells = rows if self.layout.positions is None else self.layout.positions[rows]
        sentences, counts = torch.unique_consecutive(cells // self.layout.width, return_counts=True)
        layout = _packed_layout(counts, len(rows))
        count = self.mask.shape[0]
        if len(sentences) == count and torch.equal(sentences, torch.arange(count, device=rows.device)):
            return PerSentence(self.tensors, layout)  # the usual case: all sentences continue, nothing is copied
        return PerSentence(map_leaves(lambda tensor: tensor.index_select(0, sentences), self.tensors), layout)

    def concat(self, other: "PerSentence[M]") -> "PerSentence[M]":
        """Append the sentences of another batch. All tensors are (sentence, slot, …).

        The batch with fewer slots is padded; slots at the end that no sentence of the first batch reads are dropped.
        """
        readable = self.mask.any(dim=0).nonzero()
        num_slots = int(readable[-1]) + 1 if len(readable) else 0
        tensors = map_leaves(
            lambda first, second: _concat_padded(first[:, :num_slots], second), self.tensors, other.tensors
        )
        counts = torch.cat(
            [part.layout.hypothesis_counts(part.mask.shape[0], part.mask.device) for part in (self, other)]
        )
        return PerSentence(tensors, _packed_layout(counts, int(counts.sum())))


def _concat_padded(first: Tensor, second: Tensor) -> Tensor:  # (sentence, slot, …)
    num_slots = max(first.shape[1], second.shape[1])
    joined = first.new_zeros(len(first) + len(second), num_slots, *first.shape[2:])
    joined[: len(first), : first.shape[1]] = first
    joined[len(first) :, : second.shape[1]] = second
    return joined


def _packed_layout(counts: Tensor, total: int) -> BeamLayout:
    """Return the layout of these numbers of hypotheses, with each sentence's empty cells on the right."""
    width = int(counts.max()) if total else 1
    if width * len(counts) == total:
        return BeamLayout(width)
    row = torch.arange(total, device=counts.device)
    sentence = torch.repeat_interleave(counts)
    first_row = (counts.cumsum(0) - counts)[sentence]  # of the row's sentence
    return BeamLayout(width, row + (sentence * width - first_row))
