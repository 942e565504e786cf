"""Top-k of all candidates of a step, beam · vocabulary for each sentence; of very many by blocks.

`torch.topk` passes every score through a heap. The maximum of each block of 64 scores is several times cheaper to
compute, because it is vectorized. The k best candidates are in the k blocks with the largest maxima: a candidate
outside of them is smaller than these k maxima. So:

1. Compute the maximum of each block, and add the score of its hypothesis.
2. Take the k best blocks of each sentence.
3. Take the k best candidates of these blocks, and of the few tokens after the last whole block.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.nn.beam_layout import BeamLayout
from tongsa.tokenization.special import EOS

BLOCK_SIZE = 64
"""Candidates in a block."""
MIN_BLOCKWISE_CANDIDATES = 1 << 16
"""Number of candidates in a batch above which blocks are faster."""


class BeamStep(NamedTuple):
    """Selected candidates of a step, best first; each tensor is (sentence, rank)."""

    parent: Tensor
    """The hypothesis that is extended."""
    token: Tensor
    token_log_prob: Tensor
    ranking_score: Tensor
    """Score of the extended hypothesis; -inf if there is no candidate of this rank."""


def gather_candidates(flat_indices: Tensor, log_probs: Tensor, ranking_scores: Tensor) -> BeamStep:
    """Return the candidates at flat indices (sentence, rank): hypothesis · vocabulary size + token."""
    vocab_size = ranking_scores.shape[2]
    token_log_probs = log_probs.flatten(1).gather(1, flat_indices)
    scores = ranking_scores.flatten(1).gather(1, flat_indices)
    return BeamStep(flat_indices // vocab_size, flat_indices % vocab_size, token_log_probs, scores)


def topk_candidates(log_probs: Tensor, ranking_scores: Tensor, layout: BeamLayout, k: int) -> BeamStep:
    """Return the k best candidates of each sentence; PAD, BOS and EOS are not candidates here.

    log_probs: (row, token), a row for each hypothesis that is alive; layout: where these rows are in the beams;
    ranking_scores: (sentence, hypothesis).
    """
    first_token, vocab_size = EOS + 1, log_probs.shape[1]
    if log_probs.numel() >= MIN_BLOCKWISE_CANDIDATES and vocab_size >= first_token + BLOCK_SIZE:
        return blockwise_topk(log_probs, ranking_scores, layout, k)
    if layout == BeamLayout(1):  # one hypothesis for each sentence: its score changes no order
        scores = log_probs[:, first_token:]
        # the maximum of greedy search needs no heap
        best = scores.max(dim=1, keepdim=True) if k == 1 else scores.topk(min(k, scores.shape[1]), dim=1)
        parent = torch.zeros_like(best.indices)
        return BeamStep(parent, best.indices + first_token, best.values, best.values + ranking_scores)
    grid = layout.scatter(log_probs, len(ranking_scores))  # (sentence, hypothesis, token)
    scores = (grid[:, :, first_token:] + ranking_scores.unsqueeze(2)).flatten(1)  # (sentence, candidate)
    best = scores.topk(min(k, scores.shape[1]), dim=1)
    parent = best.indices // (vocab_size - first_token)
    token = best.indices % (vocab_size - first_token) + first_token
    token_log_prob = grid.flatten(1).gather(1, parent * vocab_size + token)
    return BeamStep(parent, token, token_log_prob, best.values)


def blockwise_topk(log_probs: Tensor, ranking_scores: Tensor, layout: BeamLayout, k: int) -> BeamStep:
    """Return the same as `topk_candidates`, by blocks."""
    num_sentences, first_token = len(ranking_scores), EOS + 1
    blocks_per_row = (log_probs.shape[1] - first_token) // BLOCK_SIZE
    row_ids = torch.arange(len(log_probs), device=log_probs.device)
    rows = layout.scatter(row_ids, num_sentences)  # (sentence, hypothesis)
    blocks = log_probs[:, first_token:].unfold(1, BLOCK_SIZE, BLOCK_SIZE)  # (row, block, token in block): a view
    maxima = layout.scatter(blocks.amax(dim=2), num_sentences) + ranking_scores.unsqueeze(2)  # (sentence, hyp., block)
    best = maxima.flatten(1).topk(min(k, maxima[0].numel()), dim=1).indices  # (sentence, rank of block)
    parent = (best // blocks_per_row).unsqueeze(2)  # (sentence, rank of block, 1)
    offsets = torch.arange(BLOCK_SIZE, device=log_probs.device)
    block_start = best % blocks_per_row * BLOCK_SIZE + first_token
    token = block_start.unsqueeze(2) + offsets  # (sentence, rank of block, token in block)
    in_blocks = _score_candidates(log_probs, ranking_scores, rows, parent.expand_as(token), token)
    # the tokens after the last whole block are all candidates
    beam = ranking_scores.shape[1]
    rest = torch.arange(blocks_per_row * BLOCK_SIZE + first_token, log_probs.shape[1], device=log_probs.device)
    parent = torch.arange(beam, device=log_probs.device).view(1, -1, 1).expand(num_sentences, beam, len(rest))
    after_blocks = _score_candidates(log_probs, ranking_scores, rows, parent, rest.expand_as(parent))
    candidates = BeamStep(*(torch.cat(parts, dim=1) for parts in zip(in_blocks, after_blocks, strict=True)))
    selected = candidates.ranking_score.topk(min(k, candidates.ranking_score.shape[1]), dim=1).indices
    return BeamStep(*(part.gather(1, selected) for part in candidates))


def _score_candidates(
    log_probs: Tensor, ranking_scores: Tensor, rows: Tensor, parent: Tensor, token: Tensor
) -> BeamStep:
    """Return candidates (sentence, …) with their scores, flattened to (sentence, candidate)."""
    parent, token = parent.flatten(1), token.flatten(1)
    token_log_prob = log_probs[rows.gather(1, parent), token]
    return BeamStep(parent, token, token_log_prob, ranking_scores.gather(1, parent) + token_log_prob)
