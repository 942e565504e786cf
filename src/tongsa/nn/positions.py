"""Positional encodings: sinusoids, learned embeddings (Vaswani et al. 2017, section 3.5), rotary (Su et al. 2021)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

from tongsa.config import OptionalPositionCount, check_ranges

NO_POSITION_LIMIT = 1 << 20
"""Value of max_positions for models without a limit."""

SinusoidLayout = Literal["interleaved", "blocks"]


@dataclass(frozen=True, kw_only=True)
class SinusoidConfig:
    """The formula of sinusoidal positions: the table [model.sinusoid]. The defaults are those of section 3.5."""

    exponent: Literal["2i/d", "2i/(d-2)", "i/d"] = "2i/d"
    """Pair i of a vector of width d has the wavelength 2π·10000^exponent. 2i/(d-2) ends at exactly 10000·2π, as in
    tensor2tensor and fairseq. i/d ends at about 100·2π, as in kh-kim/simple-nmt."""
    layout: SinusoidLayout = "interleaved"
    """sin, cos, sin, cos … as in the paper, or all sines and then all cosines, as in tensor2tensor and fairseq."""
    first_position: OptionalPositionCount = 0
    """Position of the first token; 1 in paul-hyun/transformer-evolution, 2 in fairseq."""

    def __post_init__(self) -> None:
        check_ranges(self)


PAPER_SINUSOIDS = SinusoidConfig()


def _compute_sinusoids(length: int, width: int, formula: SinusoidConfig) -> Tensor:
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1) + formula.first_position
    divisor = {"2i/d": width, "2i/(d-2)": max(width - 2, 1), "i/d": 2 * width}[formula.exponent]
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / divisor)
    sines, cosines = torch.sin(position * rate), torch.cos(position * rate)  # (position, pair)
    if formula.layout == "blocks":
        return torch.cat([sines, cosines], dim=1)[:, :width].float()
    return torch.stack([sines, cosines], dim=2).flatten(1)[:, :width].float()  # an odd width ends with a sine


@lru_cache(maxsize=8)
def _cached_sinusoids(length: int, width: int, formula: SinusoidConfig) -> Tensor:
    # the first caller may be in inference mode or on the meta device, but later ones train with the same table
    with torch.inference_mode(False), torch.device("cpu"):
        return _compute_sinusoids(length, width, formula)


def sinusoids(length: int, width: int, formula: SinusoidConfig = PAPER_SINUSOIDS) -> Tensor:  # (position, width)
    """Return sin(pos / 10000^(2i/width)) at even elements, cos at odd ones: wavelengths from 2π to 10000·2π."""
    if torch.compiler.is_compiling():  # a graph for any length cannot hold a table of fixed size
        return _compute_sinusoids(length, width, formula)
    table_length = 64
    while table_length < length:  # powers of two: few different tables to cache
        table_length *= 2
    return _cached_sinusoids(table_length, width, formula)[:length]


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

    def __init__(
        self, kind: PositionKind, width: int, max_positions: int, sinusoid: SinusoidConfig = PAPER_SINUSOIDS
    ) -> None:
        super().__init__()
        self.width = width
        self.sinusoid = sinusoid
        self.max_positions = max_positions if kind == "learned" else NO_POSITION_LIMIT
        self.is_sinusoidal = kind == "sinusoidal"
        self.learned_embedding = nn.Embedding(max_positions, width) if kind == "learned" else None

    def forward(self, start: StartPosition, length: int, device: torch.device) -> Tensor:
        """Return the encoding of positions start … start + length: (position, width), or (row, 1, width)."""
        if isinstance(start, Tensor):
            return self(0, int(start.max()) + 1, device)[start.unsqueeze(1)]  # type: ignore[no-any-return]
        if self.is_sinusoidal:
            return sinusoids(start + length, self.width, self.sinusoid)[start:].to(device)
        if self.learned_embedding is None:
            return torch.zeros(length, self.width, device=device)
        learned: Tensor = self.learned_embedding(torch.arange(start, start + length, device=device))
        return learned
