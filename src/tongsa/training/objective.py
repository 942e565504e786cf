"""The loss: cross-entropy against a smoothed target (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4)."""

from typing import Any

import torch
from torch import Tensor

from tongsa.batch import Padded


class _Smoothed(torch.autograd.Function):
    """Sum over the kept rows of -Σ q log p, with q = (1-ε) one-hot + ε/V: two passes over the logits, one copy of them.

    -Σ q log p = logsumexp(z) - (1-ε) z_target - ε mean(z), and its gradient is softmax(z) - q.
    """

    @staticmethod
    def forward(context: Any, logits: Tensor, target: Tensor, kept: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        total = logits.logsumexp(dim=-1)  # (row,)
        chosen = logits.gather(1, target.unsqueeze(1)).squeeze(1)
        plain = (total - chosen) @ kept
        loss = plain + smoothing * ((chosen - logits.mean(dim=-1)) @ kept)
        context.save_for_backward(logits, target, kept, total)
        context.smoothing = smoothing
        context.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        logits, target, kept, total = context.saved_tensors
        slope = (logits - total.unsqueeze(1)).exp_().sub_(context.smoothing / logits.shape[1])
        slope[torch.arange(len(target), device=target.device), target] -= 1 - context.smoothing
        return slope.mul_((gradients[0] * kept).unsqueeze(1)), None, None, None


def cross_entropy(logits: Tensor, target: Padded, smoothing: float) -> tuple[Tensor, Tensor]:
    """Summed over the target's pieces, padding left out: smoothed, to be learnt from; and plain, to be reported."""
    rows, pieces = logits.flatten(0, 1).float(), target.pieces.flatten()
    kept = target.mask.flatten().to(rows.dtype)
    sums: tuple[Tensor, Tensor] = _Smoothed.apply(rows, pieces, kept, smoothing)  # type: ignore[no-untyped-call]
    return sums
