"""Positional encodings: sinusoids, learned embeddings (Vaswani et al. 2017, section 3.5), rotary (Su et al. 2021)."""

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

NO_POSITION_LIMIT = 1 << 20
"""Value of max_positions for models without a limit."""


def _compute_sinusoids(length: int, width: int) -> Tensor:
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    pairs = torch.stack([torch.sin(position * rate), torch.cos(position * rate)], dim=2)  # (position, pair, 2)
    return pairs.flatten(1)[:, :width].float()  # an odd width ends with a sine


@lru_cache(maxsize=8)
def _cached_sinusoids(length: int, width: int) -> Tensor:
    # the first caller may be in inference mode or on the meta device, but later ones train with the same table
    with torch.inference_mode(False), torch.device("cpu"):
        return _compute_sinusoids(length, width)


def sinusoids(length: int, width: int) -> Tensor:  # (position, width)
    """Return sin(pos / 10000^(2i/width)) at even elements, cos at odd ones: wavelengths from 2π to 10000·2π."""
    if torch.compiler.is_compiling():  # a graph for any length cannot hold a table of fixed size
        return _compute_sinusoids(length, width)
    table_length = 64
    while table_length < length:  # powers of two: few different tables to cache
        table_length *= 2
    return _cached_sinusoids(table_length, width)[:length]


def apply_rotary(values: Tensor, start: int) -> Tensor:  # (batch, head, position, width)
    """Rotate each pair of elements by the angle position / 10000^(2i/width) (Su et al. 2021, equation 34).

    The dot product of a rotated query and a rotated key depends on their distance, not on their positions.
    """
    table = sinusoids(start + values.shape[2], values.shape[3])[start:].to(values)
    sine, cosine = table[:, 0::2], table[:, 1::2]  # (position, pair)
    even, odd = values[..., 0::2], values[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(3)


StartPosition = int | Tensor
"""Position of the first token: one for all rows, or one for each row (row,), which then has a single token."""

PositionKind = Literal["sinusoidal", "learned", "rotary", "none"]


class PositionalEncoding(nn.Module):
    """The encoding added to embeddings: sinusoids or learned (table 3, row E). Rotary encodings add nothing here."""

    def __init__(self, kind: PositionKind, width: int, max_positions: int) -> None:
        super().__init__()
        self.width = width
        self.max_positions = max_positions if kind == "learned" else NO_POSITION_LIMIT
        self.is_sinusoidal = kind == "sinusoidal"
        self.learned_embedding = nn.Embedding(max_positions, width) if kind == "learned" else None

    def forward(self, start: StartPosition, length: int, device: torch.device) -> Tensor:
        """Return the encoding of positions start … start + length: (position, width), or (row, 1, width)."""
        if isinstance(start, Tensor):
            return self(0, int(start.max()) + 1, device)[start.unsqueeze(1)]  # type: ignore[no-any-return]
        if self.is_sinusoidal:
            return sinusoids(start + length, self.width)[start:].to(device)
        if self.learned_embedding is None:
            return torch.zeros(length, self.width, device=device)
        learned: Tensor = self.learned_embedding(torch.arange(start, start + length, device=device))
        return learned
