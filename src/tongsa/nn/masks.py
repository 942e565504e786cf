"""Masks are always True where something may be read."""

import torch
from torch import Tensor


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:  # (query, key)
    """True where a query may look: at itself and to its left."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def banded_mask(length: int, before: int, after: int, device: torch.device | None = None) -> Tensor:  # (query, key)
    """True from `before` places to the left of a query to `after` places to its right."""
    return torch.ones(length, length, dtype=torch.bool, device=device).triu(-before).tril(after)


def key_mask(padding_mask: Tensor) -> Tensor:  # (batch, head, query, key)
    """A mask of slots (batch, slot), spread over heads and queries."""
    return padding_mask[:, None, None, :]
