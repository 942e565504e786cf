"""The loss: cross-entropy against a smoothed target (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4)."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tongsa.batch import Padded
from tongsa.nn.output import Judge

ROWS_PER_CHUNK = 512
"""Rows whose logits are there at once."""
MIN_SHIFTED_LOGIT = -80.0
"""Below the largest logit: e to that is nothing beside 1, but a number with which processors still compute fast."""


class _LabelSmoothedCrossEntropy(torch.autograd.Function):
    """Sum over the kept rows of -Σ q log p, with q = (1-ε) one-hot + ε/V: two passes over the logits, one copy of them.

    -Σ q log p = logsumexp(z) - (1-ε) z_target - ε mean(z), and its gradient is softmax(z) - q.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, mask: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        total = logits.logsumexp(dim=-1)  # (row,)
        chosen = logits.gather(1, target.unsqueeze(1)).squeeze(1)
        plain = (total - chosen) @ mask
        loss = plain + label_smoothing * ((chosen - logits.mean(dim=-1)) @ mask)
        ctx.save_for_backward(logits, target, mask, total)
        ctx.smoothing = label_smoothing
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None, None]:
        logits, target, kept, total = ctx.saved_tensors
        slope = (logits - total.unsqueeze(1)).exp_().sub_(ctx.smoothing / logits.shape[1])
        slope[torch.arange(len(target), device=target.device), target] -= 1 - ctx.smoothing
        return slope.mul_((grad_outputs[0] * kept).unsqueeze(1)), None, None, None


def cross_entropy(logits: Tensor, target: Padded, label_smoothing: float) -> tuple[Tensor, Tensor]:
    """Summed over the target's pieces, padding left out: smoothed, to be learnt from; and plain, to be reported."""
    rows, pieces = logits.flatten(0, 1).float(), target.tokens.flatten()
    kept = target.mask.flatten().to(rows.dtype)
    sums: tuple[Tensor, Tensor] = _LabelSmoothedCrossEntropy.apply(rows, pieces, kept, label_smoothing)  # type: ignore[no-untyped-call]
    return sums


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The same from what stands before the last layer, some rows at a time: logits are made, judged, and forgotten.

    With e = exp(z - max z) and s = Σe the slope of a kept row is (e - (1-ε) s one-hot) / s - ε/V. Only e is as large as
    the logits: 1/s waits for the products that make it smaller, and ε/V, the same for all pieces, is a product with the
    mean of the weights. So an exponential, a difference and three sums are all that is done beside the products.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        mask: Tensor,
        label_smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        total, chosen = torch.empty_like(mask), torch.empty_like(mask)
        value_slope, weight_slope = torch.empty_like(hidden), torch.zeros_like(weight)
        bias_slope = None if bias is None else torch.zeros_like(bias)
        for first in range(0, len(hidden), ROWS_PER_CHUNK):
            part = slice(first, first + ROWS_PER_CHUNK)
            pieces = target[part].unsqueeze(1)
            logits = F.linear(hidden[part], weight, bias)
            chosen[part] = logits.gather(1, pieces).squeeze(1)
            top = logits.amax(dim=1, keepdim=True)
            raised = logits.sub_(top).clamp_(min=MIN_SHIFTED_LOGIT).exp_()
            sums = raised.sum(dim=1, keepdim=True)
            total[part] = (top + sums.log()).squeeze(1)
            raised.scatter_add_(1, pieces, sums * (label_smoothing - 1))
            share = mask[part].unsqueeze(1) / sums
            torch.mm(raised, weight, out=value_slope[part]).mul_(share)
            weight_slope.addmm_(raised.T, hidden[part] * share)
            if bias_slope is not None:
                bias_slope.addmv_(raised.T, share.squeeze(1))
        even = label_smoothing / len(weight)
        value_slope.addr_(mask, weight.sum(dim=0), alpha=-even)
        weight_slope.sub_(mask @ hidden, alpha=even)
        mean = hidden @ weight.mean(dim=0)
        if bias is not None and bias_slope is not None:
            bias_slope.sub_(mask.sum(), alpha=even)
            mean += bias.mean()
        plain = (total - chosen) @ mask
        ctx.slopes = value_slope, weight_slope, bias_slope
        ctx.mark_non_differentiable(plain)
        return plain + label_smoothing * ((chosen - mean) @ mask), plain

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        slopes = (None if slope is None else slope * grad_outputs[0] for slope in ctx.slopes)
        return *slopes, None, None, None


def make_chunked_loss(target: Padded, label_smoothing: float) -> Judge:
    """Asks a last layer for what `cross_entropy` says of its logits: both sums (2,)."""
    pieces, mask = target.tokens.flatten(), target.mask.flatten()

    def sums(values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = values.flatten(0, 1)
        kept = mask.to(rows.dtype)
        return torch.stack(_ChunkedCrossEntropy.apply(rows, weight, bias, pieces, kept, label_smoothing))  # type: ignore[no-untyped-call]

    return sums
