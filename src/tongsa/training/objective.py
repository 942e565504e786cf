"""The loss: cross-entropy against a smoothed target (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4)."""

from typing import Any

import torch
from torch import Tensor

from tongsa.batch import Padded


class _Smoothed(torch.autograd.Function):
    """Sum over rows of -Σ q log p, with q = (1-ε) one-hot + ε/V, in two passes over the logits and one copy of them.

    -Σ q log p = logsumexp(z) - (1-ε) z_target - ε mean(z), and its gradient is softmax(z) - q.
    """

    @staticmethod
    def forward(context: Any, logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        total = logits.logsumexp(dim=-1)  # (row,)
        chosen = logits.gather(1, target.unsqueeze(1)).squeeze(1)
        plain = (total - chosen).sum()
        loss = plain + smoothing * (chosen - logits.mean(dim=-1)).sum() if smoothing else plain.clone()
        context.save_for_backward(logits, target, total)
        context.smoothing = smoothing
        context.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        logits, target, total = context.saved_tensors
        slope = (logits - total.unsqueeze(1)).exp_()
        if context.smoothing:
            slope.sub_(context.smoothing / logits.shape[1])
        rows = torch.arange(len(target), device=target.device)
        slope[rows, target] -= 1 - context.smoothing
        return slope.mul_(gradients[0]), None, None


def cross_entropy(logits: Tensor, target: Padded, smoothing: float) -> tuple[Tensor, Tensor]:
    """Summed over the target's pieces, padding left out: smoothed, to be learnt from; and plain, to be reported."""
    mask = target.mask
    sums: tuple[Tensor, Tensor] = _Smoothed.apply(logits[mask].float(), target.pieces[mask], smoothing)  # type: ignore[no-untyped-call]
    return sums
