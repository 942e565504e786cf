"""Dropout (Srivastava et al. 2014) whose random numbers cost little on a CPU.

torch draws one number for each element, on one core. Here a 64-bit draw of torch's own generator serves four elements,
sixteen bits each: the rate is exact to 1/65,536, the masks are independent, and they follow `torch.manual_seed`.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 1 << 16


def kept(shape: torch.Size, rate: float) -> Tensor:
    """A mask of this shape, 1 with probability 1 - rate, else 0; as numbers, for a product with booleans is slow."""
    count = shape.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    lanes = draws.view(torch.int16)[:count].view(shape)
    return torch.ge(lanes, round(rate * LEVELS) - LEVELS // 2, out=torch.empty(shape))


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor, rate: float) -> Tensor:
        mask = kept(values.shape, rate)
        context.save_for_backward(mask)
        context.scale = 1 / (1 - rate)
        return (values * mask).mul_(context.scale)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (mask,) = context.saved_tensors
        return (gradients[0] * mask).mul_(context.scale), None


class Dropout(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return values
        if values.device.type != "cpu":
            return F.dropout(values, self.rate)
        dropped: Tensor = _Drop.apply(values, self.rate)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        return str(self.rate)
