"""Sampling: draw each token by its probability, with temperature, top-k, top-p and min-p."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from tongsa.config import MAX_FACTOR, MAX_VOCAB_SIZE, AtMost, In, check_ranges

Sampler = Callable[[Tensor], Tensor]
"""Map scores (row, candidate) to perturbed scores; the largest in each row is the sampled candidate."""


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """Settings of sampling."""

    temperature: Annotated[float, In(0, open_low=True), AtMost(MAX_FACTOR)] = 1.0
    """Divisor of the scores: below 1 likely tokens become likelier, above 1 unlikely ones do."""
    top_k: Annotated[int, In(0), AtMost(MAX_VOCAB_SIZE)] = 0
    """Draw only from the k likeliest tokens (Fan et al. 2018, section 5.4); 0 draws from all."""
    top_p: Annotated[float, In(0, 1, open_low=True)] = 1.0
    """Draw only from the likeliest tokens with this total probability (Holtzman et al. 2020, section 3.1)."""
    min_p: Annotated[float, In(0, 1)] = 0.0
    """Draw only from tokens with at least this fraction of the largest probability (Nguyen et al. 2024, section 3)."""
    seed: int = 1
    """Random seed: the same request with the same seed gives the same samples."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self) -> Sampler:
        """Return a sampler: the argmax of log p plus Gumbel noise is a draw from p (Gumbel 1954)."""
        generator = torch.Generator().manual_seed(self.seed % 2**63)

        def sample(scores: Tensor) -> Tensor:
            # the largest becomes 0, so that no temperature makes all scores -inf
            shifted = scores - scores.max(dim=1, keepdim=True).values
            filtered = min_p_filter(shifted / self.temperature, self.min_p)
            filtered = top_p_filter(top_k_filter(filtered, self.top_k), self.top_p)
            noise = torch.empty(scores.shape).exponential_(generator=generator).log_().to(scores.device)
            return filtered - noise

        return sample


def top_k_filter(scores: Tensor, k: int) -> Tensor:  # (row, candidate)
    """Set all but the k largest scores to -inf."""
    if not 0 < k < scores.shape[1]:
        return scores
    kept = scores.topk(k, dim=1).indices
    return torch.full_like(scores, -torch.inf).scatter(1, kept, scores.gather(1, kept))


def min_p_filter(scores: Tensor, min_p: float) -> Tensor:  # (row, candidate)
    """Set scores with less than `min_p` times the largest probability to -inf."""
    if not min_p:
        return scores
    return scores.masked_fill(scores < scores.max(dim=1, keepdim=True).values + math.log(min_p), -torch.inf)


def top_p_filter(scores: Tensor, top_p: float) -> Tensor:  # (row, candidate)
    """Keep the smallest set of likeliest candidates with a total probability of `top_p`; set the others to -inf."""
    if top_p >= 1:
        return scores
    ordered, indices = scores.log_softmax(dim=1).sort(dim=1, descending=True, stable=True)
    total_before = ordered.exp().cumsum(dim=1) - ordered.exp()  # probability of all likelier candidates
    dropped = (total_before >= top_p).scatter(1, indices, total_before >= top_p)
    return scores.masked_fill(dropped, -torch.inf)
