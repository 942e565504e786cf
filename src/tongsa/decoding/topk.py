"""The likeliest of very many candidates, most of which are looked at only as parts of a block.

torch puts every candidate through a heap. The largest of each block is found several times faster, and then only the
blocks with the largest ones are looked into.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.nn.beam_layout import BeamLayout
from tongsa.tokenization.special import EOS

BLOCK_SIZE = 64
"""Candidates in a block."""
MIN_BLOCKWISE_CANDIDATES = 1 << 16
"""Candidates in a batch from which blocks pay."""


class BeamStep(NamedTuple):
    """Those that go on, best first; each part is (sentence, rank)."""

    parent: Tensor
    """The hypothesis that it makes longer."""
    token: Tensor
    token_log_prob: Tensor
    """Of the piece."""
    ranking_score: Tensor


def blockwise_topk(log_probs: Tensor, ranking_scores: Tensor, layout: BeamLayout, k: int) -> BeamStep:
    """The best `count` of merits (sentence, hypothesis) + logs of their next pieces.

    The logs (row, piece) are those of the living hypotheses; </s>, and <pad> and <s> before it, are not chosen here.
    """
    sentences, first = len(ranking_scores), EOS + 1
    each = (log_probs.shape[1] - first) // BLOCK_SIZE
    rows = layout.scatter(torch.arange(len(log_probs), device=log_probs.device), sentences)  # (sentence, hypothesis)
    blocks = log_probs[:, first:].unfold(1, BLOCK_SIZE, BLOCK_SIZE)  # (row, block, piece)
    tops = layout.scatter(blocks.amax(dim=2), sentences) + ranking_scores.unsqueeze(2)  # (sentence, hypothesis, block)
    best = tops.flatten(1).topk(min(k, tops[0].numel()), dim=1).indices
    origin = (best // each).unsqueeze(2)
    piece = (best % each * BLOCK_SIZE + first).unsqueeze(2) + torch.arange(BLOCK_SIZE, device=log_probs.device)
    inside = _score_candidates(log_probs, ranking_scores, rows, origin.expand_as(piece), piece)
    width = ranking_scores.shape[1]  # of what stands behind the last whole block, every piece is a candidate
    rest = torch.arange(each * BLOCK_SIZE + first, log_probs.shape[1], device=log_probs.device)
    origin = torch.arange(width, device=log_probs.device).view(1, -1, 1).expand(sentences, width, len(rest))
    behind = _score_candidates(log_probs, ranking_scores, rows, origin, rest.expand_as(origin))
    every = BeamStep(*(torch.cat(parts, dim=1) for parts in zip(inside, behind, strict=True)))
    places = every.ranking_score.topk(min(k, every.ranking_score.shape[1]), dim=1).indices
    return BeamStep(*(part.gather(1, places) for part in every))


def _score_candidates(
    log_probs: Tensor, ranking_scores: Tensor, rows: Tensor, parent: Tensor, token: Tensor
) -> BeamStep:
    """These (sentence, …) with what they are worth, a row for each sentence."""
    parent, token = parent.flatten(1), token.flatten(1)
    own = log_probs[rows.gather(1, parent), token]
    return BeamStep(parent, token, own, ranking_scores.gather(1, parent) + own)
