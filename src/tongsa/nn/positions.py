"""Where in the sequence a piece stands (Vaswani et al. 2017, section 3.5; Su et al. 2021)."""

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

NO_POSITION_LIMIT = 1 << 20
"""The longest sequence where nothing in the model sets a limit."""


def _compute_sinusoids(length: int, width: int) -> Tensor:
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    both = torch.stack([torch.sin(position * rate), torch.cos(position * rate)], dim=2)  # (position, pair, 2)
    return both.flatten(1)[:, :width].float()  # of an odd width the last pair is a sine alone


@lru_cache(maxsize=8)
def _cached_sinusoids(length: int, width: int) -> Tensor:
    with torch.inference_mode(False), torch.device("cpu"):  # it is kept, and others learn from it, elsewhere
        return _compute_sinusoids(length, width)


def sinusoids(length: int, width: int) -> Tensor:  # (position, width)
    """sin(pos / 10000^(2i/width)) in even places, cos in odd ones: wavelengths from 2π to 10000·2π."""
    if torch.compiler.is_compiling():  # a graph for any length has no table of one size in it
        return _compute_sinusoids(length, width)
    room = 64
    while room < length:  # few sizes, so that the tables can be kept
        room *= 2
    return _cached_sinusoids(room, width)[:length]


def apply_rotary(values: Tensor, start: int) -> Tensor:  # (batch, head, position, width)
    """Each pair of elements turned by position / 10000^(2i/width) (Su et al. 2021, equation 34).

    The product of a turned query and a turned key then depends on how far apart they stand, not on where.
    """
    table = sinusoids(start + values.shape[2], values.shape[3])[start:].to(values)
    sine, cosine = table[:, 0::2], table[:, 1::2]  # (position, pair)
    even, odd = values[..., 0::2], values[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(3)


StartPosition = int | Tensor
"""The place of the first piece: the same in all rows, or that of the only one of each (row,)."""


def start_per_row(start: StartPosition, rows: Tensor) -> Tensor:  # (row,)
    """Of every row."""
    return start if isinstance(start, Tensor) else torch.full((len(rows),), start, device=rows.device)


PositionKind = Literal["sinusoidal", "learned", "rotary", "none"]


class PositionalEncoding(nn.Module):
    """Sinusoids, or one learned vector for each place: Table 3, row E. Rotary ones enter later, in the attention."""

    def __init__(self, kind: PositionKind, width: int, max_positions: int) -> None:
        super().__init__()
        self.width = width
        self.max_positions = max_positions if kind == "learned" else NO_POSITION_LIMIT
        self.is_sinusoidal = kind == "sinusoidal"
        self.learned_embedding = nn.Embedding(max_positions, width) if kind == "learned" else None

    def forward(self, start: StartPosition, length: int, device: torch.device) -> Tensor:
        """What is added to the vectors of the pieces: (position, width), or (row, position, width)."""
        if isinstance(start, Tensor):
            return self(0, int(start.max()) + 1, device)[start.unsqueeze(1)]  # type: ignore[no-any-return]
        if self.is_sinusoidal:
            return sinusoids(start + length, self.width)[start:].to(device)
        if self.learned_embedding is None:
            return torch.zeros(length, self.width, device=device)
        vectors: Tensor = self.learned_embedding(torch.arange(start, start + length, device=device))
        return vectors
