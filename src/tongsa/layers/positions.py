"""Where in the sequence a piece stands (Vaswani et al. 2017, section 3.5)."""

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

UNBOUNDED = 1 << 20
"""The longest sequence where nothing in the model sets a limit."""


@lru_cache(maxsize=8)
def _table(length: int, width: int) -> Tensor:
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    table = torch.zeros(length, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate[: width // 2])
    return table.float()


def sinusoids(length: int, width: int) -> Tensor:  # (position, width)
    """sin(pos / 10000^(2i/width)) in even places, cos in odd ones: wavelengths from 2π to 10000·2π."""
    room = 64
    while room < length:  # few sizes, so that the tables can be kept
        room *= 2
    return _table(room, width)[:length]


class Positions(nn.Module):
    """Sinusoids, or one learned vector for each place: Table 3, row E."""

    def __init__(self, kind: Literal["sinusoidal", "learned"], width: int, longest: int) -> None:
        super().__init__()
        self.width = width
        self.longest = longest if kind == "learned" else UNBOUNDED
        self.learned = nn.Embedding(longest, width) if kind == "learned" else None

    def forward(self, start: int, length: int, device: torch.device) -> Tensor:  # (position, width)
        if self.learned is None:
            return sinusoids(start + length, self.width)[start:].to(device)
        vectors: Tensor = self.learned(torch.arange(start, start + length, device=device))
        return vectors
