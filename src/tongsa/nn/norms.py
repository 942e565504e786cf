"""Normalization layers. Each takes values (batch, length, width) and a padding mask (batch, length).

Only BatchNorm reads the mask, which is True for tokens; the others take it so that all have the same signature.
`normalize` is the function alone, of values (…, width), as a search step calls it: in evaluation and not recorded.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.recording import record

NormKind = Literal["layer", "batch", "group", "rms", "none"]


class LayerNorm(nn.Module):
    """Layer normalization over the width of each position (Ba, Kiros, Hinton 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def normalize(self, values: Tensor) -> Tensor:
        return torch.layer_norm(values, self.weight.shape, self.weight, self.bias)

    def forward(self, values: Tensor, _padding_mask: Tensor) -> Tensor:
        normed = self.normalize(values)
        return record("norm.layer", self, normed, x=values, gamma=self.weight, beta=self.bias, eps=1e-5)


class GroupNorm(LayerNorm):
    """Normalization over groups of each position's elements (Wu, He 2018); one group is a layer norm."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__(width)
        self.groups = groups

    def normalize(self, values: Tensor) -> Tensor:
        rows = values.reshape(-1, values.shape[-1])
        return F.group_norm(rows, self.groups, self.weight, self.bias).view_as(values)

    def forward(self, values: Tensor, _padding_mask: Tensor) -> Tensor:
        normed = self.normalize(values)
        scale_shift = {"gamma": self.weight, "beta": self.bias}
        return record("norm.group", self, normed, x=values, groups=self.groups, eps=1e-5, **scale_shift)


class RMSNorm(nn.Module):
    """Division by the root mean square, without mean and shift (Zhang, Sennrich 2019, equation 4)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def normalize(self, values: Tensor) -> Tensor:
        return F.rms_norm(values, self.weight.shape, self.weight, eps=1e-6)

    def forward(self, values: Tensor, _padding_mask: Tensor) -> Tensor:
        normed = self.normalize(values)
        return record("norm.rms", self, normed, x=values, gamma=self.weight, eps=1e-6)


class BatchNorm(LayerNorm):
    """Normalization over all tokens of the batch, without padding (Ioffe, Szegedy 2015, algorithm 1).

    In evaluation it uses running statistics: a fixed scale and shift. In training, a decoder sees a
    little of later tokens through the mean over all positions.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int, momentum: float = 0.1) -> None:
        super().__init__(width)
        self.momentum = momentum
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, values: Tensor, padding_mask: Tensor) -> Tensor:
        mean, variance = (
            self._batch_statistics(values[padding_mask].float())
            if self.training
            else (self.running_mean, self.running_var)
        )
        normed = self._scale_and_shift(values, mean, variance)
        statistics: dict[str, Tensor | float] = {"mean": mean, "variance": variance, "eps": 1e-5}
        return record("norm.batch", self, normed, x=values, gamma=self.weight, beta=self.bias, **statistics)

    def normalize(self, values: Tensor) -> Tensor:
        return self._scale_and_shift(values, self.running_mean, self.running_var)

    def _scale_and_shift(self, values: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return (values - mean) * (self.weight * torch.rsqrt(variance + 1e-5)) + self.bias

    def _batch_statistics(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance of values (token, width), and update the running statistics."""
        variance, mean = torch.var_mean(values, dim=0, correction=0)
        count = len(values)
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / max(count - 1, 1)), self.momentum)  # unbiased
        return mean, variance


class NoNorm(nn.Module):
    """The identity, with the signature of a norm."""

    def normalize(self, values: Tensor) -> Tensor:
        return values

    def forward(self, values: Tensor, _padding_mask: Tensor) -> Tensor:
        return values


Norm = LayerNorm | RMSNorm | NoNorm


def build_norm(kind: NormKind, width: int, groups: int) -> Norm:
    match kind:
        case "layer":
            return LayerNorm(width)
        case "batch":
            return BatchNorm(width)
        case "group":
            return GroupNorm(width, groups)
        case "rms":
            return RMSNorm(width)
        case "none":
            return NoNorm()
