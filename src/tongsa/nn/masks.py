"""Attention masks: True where a key may be read, unless a function says otherwise."""

import torch
from torch import Tensor


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:  # (query, key)
    """Return a mask that lets a query read itself and all positions on its left."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def banded_mask(length: int, before: int, after: int, device: torch.device | None = None) -> Tensor:  # (query, key)
    """Return a mask that lets a query read `before` positions on its left to `after` positions on its right."""
    return torch.ones(length, length, dtype=torch.bool, device=device).triu(-before).tril(after)


def key_mask(padding_mask: Tensor) -> Tensor:  # (batch, head, query, key)
    """Return a padding mask (batch, slot) that broadcasts over heads and queries."""
    return padding_mask[:, None, None, :]


def additive_key_mask(padding_mask: Tensor) -> Tensor:  # (batch, head, query, key)
    """Return 0 where a key may be read and -inf elsewhere, to be added to scores; it broadcasts as `key_mask` does."""
    return torch.zeros(padding_mask.shape, device=padding_mask.device).masked_fill_(~padding_mask, -torch.inf)[
        :, None, None, :
    ]
