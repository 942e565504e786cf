"""Outputs drawn from the model instead of searched for: step after step, each piece by its probability."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from tongsa.config import In, NonNegative, PositiveFloat, check_ranges

Sampler = Callable[[Tensor], Tensor]
"""From log-scores (row, choice) to numbers whose largest in each row is the choice drawn."""


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    temperature: PositiveFloat = 1.0
    """Below 1 the likely becomes likelier, above 1 the unlikely does."""
    top_k: NonNegative = 0
    """Draw from the k likeliest only (Fan et al. 2018, section 5.4); 0 takes all."""
    top_p: Annotated[float, In(0, 1, open_low=True)] = 1.0
    """Draw from the likeliest that together have this probability (Holtzman et al. 2020, section 3.1)."""
    min_p: Annotated[float, In(0, 1)] = 0.0
    """Draw from those at least this share as likely as the likeliest (Nguyen et al. 2024, section 3); 0 takes all."""
    seed: int = 1
    """The same call with the same seed draws the same."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self) -> Sampler:
        """The largest of log p plus Gumbel noise is a draw from p (Gumbel 1954)."""
        generator = torch.Generator().manual_seed(self.seed % 2**63)

        def draw(scores: Tensor) -> Tensor:
            below = scores - scores.max(dim=1, keepdim=True).values  # so that no temperature makes all of them -inf
            kept = top_p_filter(
                top_k_filter(min_p_filter(below / self.temperature, self.min_p), self.top_k), self.top_p
            )
            noise = torch.empty(scores.shape).exponential_(generator=generator).log_().to(scores.device)
            return kept - noise

        return draw


def top_k_filter(scores: Tensor, k: int) -> Tensor:  # (row, choice)
    """All but the `count` largest become impossible."""
    if not 0 < k < scores.shape[1]:
        return scores
    places = scores.topk(k, dim=1).indices
    return torch.full_like(scores, -torch.inf).scatter(1, places, scores.gather(1, places))


def min_p_filter(scores: Tensor, min_p: float) -> Tensor:  # (row, choice)
    """All but those at least `share` times as likely as the likeliest become impossible."""
    if not min_p:
        return scores
    return scores.masked_fill(scores < scores.max(dim=1, keepdim=True).values + math.log(min_p), -torch.inf)


def top_p_filter(scores: Tensor, top_p: float) -> Tensor:  # (row, choice)
    """The fewest largest whose probabilities reach `share`; the others become impossible."""
    if top_p >= 1:
        return scores
    ordered, places = scores.log_softmax(dim=1).sort(dim=1, descending=True, stable=True)
    before = ordered.exp().cumsum(dim=1) - ordered.exp()  # what those in front of each have together
    beyond = (before >= top_p).scatter(1, places, before >= top_p)
    return scores.masked_fill(beyond, -torch.inf)
