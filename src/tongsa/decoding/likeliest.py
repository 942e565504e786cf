"""The likeliest of very many candidates, most of which are looked at only as parts of a block.

torch puts every candidate through a heap. The largest of each block is found several times faster, and then only the
blocks with the largest ones are looked into.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.layers.shared import Rectangle
from tongsa.text import EOS

BLOCK = 64
"""Candidates in a block."""
MANY = 1 << 16
"""Candidates in a batch from which blocks pay."""


class Chosen(NamedTuple):
    """Those that go on, best first; each part is (sentence, rank)."""

    origin: Tensor
    """The hypothesis that it makes longer."""
    piece: Tensor
    log: Tensor
    """Of the piece."""
    merit: Tensor


def likeliest(logs: Tensor, merits: Tensor, living: Rectangle, count: int) -> Chosen:
    """The best `count` of merits (sentence, hypothesis) + logs of their next pieces.

    The logs (row, piece) are those of the living hypotheses; </s>, and <pad> and <s> before it, are not chosen here.
    """
    sentences, first = len(merits), EOS + 1
    each = (logs.shape[1] - first) // BLOCK
    rows = living.filled(torch.arange(len(logs), device=logs.device), sentences)  # (sentence, hypothesis)
    blocks = logs[:, first:].unfold(1, BLOCK, BLOCK)  # (row, block, piece)
    tops = living.filled(blocks.amax(dim=2), sentences) + merits.unsqueeze(2)  # (sentence, hypothesis, block)
    best = tops.flatten(1).topk(min(count, tops[0].numel()), dim=1).indices
    origin = (best // each).unsqueeze(2)
    piece = (best % each * BLOCK + first).unsqueeze(2) + torch.arange(BLOCK, device=logs.device)
    inside = _candidates(logs, merits, rows, origin.expand_as(piece), piece)
    width = merits.shape[1]  # of what stands behind the last whole block, every piece is a candidate
    rest = torch.arange(each * BLOCK + first, logs.shape[1], device=logs.device)
    origin = torch.arange(width, device=logs.device).view(1, -1, 1).expand(sentences, width, len(rest))
    behind = _candidates(logs, merits, rows, origin, rest.expand_as(origin))
    every = Chosen(*(torch.cat(parts, dim=1) for parts in zip(inside, behind, strict=True)))
    places = every.merit.topk(min(count, every.merit.shape[1]), dim=1).indices
    return Chosen(*(part.gather(1, places) for part in every))


def _candidates(logs: Tensor, merits: Tensor, rows: Tensor, origin: Tensor, piece: Tensor) -> Chosen:
    """These (sentence, …) with what they are worth, a row for each sentence."""
    origin, piece = origin.flatten(1), piece.flatten(1)
    own = logs[rows.gather(1, origin), piece]
    return Chosen(origin, piece, own, merits.gather(1, origin) + own)
