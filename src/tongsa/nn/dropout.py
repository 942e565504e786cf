"""Dropout (Srivastava et al. 2014) with cheap random numbers on a CPU.

torch draws one random number for each element, on one core. Here each 64-bit draw of torch's generator serves four
elements with 16 bits each: the rate is exact to 1/65,536 and the masks are independent. They follow
`torch.manual_seed`, or inside `seed_dropout` a seed of the thread. The operations next to a dropout, a residual sum or
a ReLU, are computed in the same pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.recording import is_recording_tensors, record, record_copy

UINT16_LEVELS = 1 << 16
_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


@contextmanager
def seed_dropout(seed: int) -> Iterator[None]:
    """Draw masks inside this block from this seed, as after `torch.manual_seed`, independent of other threads."""
    token = _generator.set(torch.Generator().manual_seed(seed))
    try:
        yield
    finally:
        _generator.reset(token)


def sample_keep_mask(shape: torch.Size, rate: float) -> Tensor:
    """Return a mask that is 1.0 with probability 1 - rate, else 0.0. Floats, as products with booleans are slow."""
    count = shape.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None, generator=_generator.get())
    lanes = draws.view(torch.int16)[:count].view(shape)
    return torch.ge(lanes, round(rate * UINT16_LEVELS) - UINT16_LEVELS // 2, out=torch.empty(shape))


class _DropoutFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float) -> Tensor:
        mask = sample_keep_mask(values.shape, rate).mul_(1 / (1 - rate))
        ctx.save_for_backward(mask)
        return values * mask

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grad_outputs[0] * mask, None


class _DropoutAddFunction(torch.autograd.Function):
    """residual + dropout(values)."""

    @staticmethod
    def forward(ctx: Any, residual: Tensor, values: Tensor, rate: float) -> Tensor:
        mask = sample_keep_mask(values.shape, rate)
        ctx.save_for_backward(mask)
        ctx.scale = 1 / (1 - rate)
        return torch.addcmul(residual, values, mask, value=ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grad_outputs[0], (grad_outputs[0] * mask).mul_(ctx.scale), None


class _ReluDropoutFunction(torch.autograd.Function):
    """dropout(max(0, values)). Backward needs only the outputs: those above 0 passed both ReLU and dropout."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rate: float) -> Tensor:
        ctx.scale = 1 / (1 - rate)
        outputs = F.relu(values).mul_(sample_keep_mask(values.shape, rate).mul_(ctx.scale))
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (outputs,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad_outputs[0], outputs, 0).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Set elements to zero with probability `rate` in training, and scale the others by 1 / (1 - rate)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    @property
    def is_active(self) -> bool:
        """True in training with a rate above 0."""
        return self.training and self.rate > 0

    def forward(self, values: Tensor) -> Tensor:
        return record("dropout.output", self, self.drop(values), x=values, rate=self.rate)

    def drop(self, values: Tensor) -> Tensor:
        """Return the values after dropout, without recording them."""
        return (
            self._apply_function(_DropoutFunction, values)
            if self._uses_packed_mask(values)
            else self._torch_dropout(values)
        )

    def add_residual(self, residual: Tensor, values: Tensor) -> Tensor:
        """Return residual + dropout(values), in one pass."""
        if is_recording_tensors():
            dropped: Tensor = self(values)
            record_copy(values, dropped)  # as an operand of the sum, values are what dropout left of them
            return residual + dropped
        return (
            self._apply_function(_DropoutAddFunction, residual, values)
            if self._uses_packed_mask(values)
            else residual + self._torch_dropout(values)
        )

    def relu(self, values: Tensor) -> Tensor:
        """Return dropout(max(0, values)), in one pass."""
        return (
            self._apply_function(_ReluDropoutFunction, values)
            if self._uses_packed_mask(values)
            else self._torch_dropout(F.relu(values))
        )

    def _uses_packed_mask(self, values: Tensor) -> bool:
        """Return True on a CPU in training. A GPU and a compiled graph already have fast random numbers."""
        is_cpu_float32 = values.device.type == "cpu" and values.dtype == torch.float32
        return self.is_active and is_cpu_float32 and not torch.compiler.is_compiling()

    def _torch_dropout(self, values: Tensor) -> Tensor:
        return F.dropout(values, self.rate) if self.training else values

    def _apply_function(self, function: type[torch.autograd.Function], *values: Tensor) -> Tensor:
        result: Tensor = function.apply(*values, self.rate)  # type: ignore[no-untyped-call]
        return result

    def extra_repr(self) -> str:
        return str(self.rate)
