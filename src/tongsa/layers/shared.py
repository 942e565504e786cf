"""What all hypotheses of a sentence read is kept once for each sentence, however wide the beam."""

import torch
from torch import Tensor


def regrouped(tensors: tuple[Tensor, ...], width: int, rows: Tensor) -> tuple[tuple[Tensor, ...], int]:
    """Tensors with a row for each sentence, for these rows of hypotheses; and how many hypotheses a sentence has now.

    Before, each sentence had `width` of them side by side. If now they differ in number, each row gets its own.
    """
    sentences, counts = torch.unique_consecutive(rows // width, return_counts=True)
    width_after = int(counts[0])
    if not bool((counts == width_after).all()):
        sentences, width_after = rows // width, 1
    count = len(tensors[0])
    if len(sentences) == count and torch.equal(sentences, torch.arange(count, device=rows.device)):
        return tensors, width_after  # the usual step of a beam: nothing is copied
    return tuple(tensor.index_select(0, sentences) for tensor in tensors), width_after
