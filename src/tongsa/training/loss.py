"""The loss: cross-entropy against smoothed labels (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4).

`cross_entropy` takes logits. `chunked_cross_entropy` takes the hidden states and the output projection, and never
holds the logits of a whole batch. `TrainingModel` wraps a model so that its forward pass returns
the loss: this is the module that DDP, FSDP and gradient accumulation work with.
"""

from typing import Any

import torch
from torch import Tensor, nn

from tongsa.batch import Batch, Padded
from tongsa.interface import EncoderDecoder
from tongsa.nn.auxiliary_loss import collect_auxiliary_losses
from tongsa.nn.onednn_linear import add_transposed_product, can_use_onednn, product
from tongsa.nn.output import OutputProjection
from tongsa.training.config import TrainingConfig

ROWS_PER_CHUNK = 512
"""Number of rows of logits in memory at once."""
MIN_SHIFTED_LOGIT = -80.0
"""Lowest logit after subtracting the maximum: its exponential is negligible, but not a slow denormal number."""


class TrainingModel(nn.Module):
    """A model whose forward pass returns the loss of a batch."""

    def __init__(self, model: EncoderDecoder, config: TrainingConfig) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = config.label_smoothing
        self.autocast_dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(config.precision)
        # Autocast does not apply inside the hand-written gradient, and a compiled graph includes the logits.
        self.uses_chunks = self.autocast_dtype is None and not config.compile

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss to minimize, with label smoothing and auxiliary losses, and the plain cross-entropy.

        Both are sums over the target's tokens.
        """
        with collect_auxiliary_losses() as auxiliary_losses:
            # A classifier's target is one label: its logits are few, and chunks would save nothing.
            if self.uses_chunks and batch.target.tokens.shape[1] > 1:
                loss, plain = self._loss_from_hidden(batch)
            else:
                loss, plain = self._loss_from_logits(batch)
        return sum(auxiliary_losses, loss), plain

    def _loss_from_hidden(self, batch: Batch) -> tuple[Tensor, Tensor]:
        decoder = self.model.decoder
        hidden = decoder.hidden(batch.decoder_input, self.model.encoder(batch.source))
        return chunked_cross_entropy(hidden, decoder.output, batch.target, self.label_smoothing)

    def _loss_from_logits(self, batch: Batch) -> tuple[Tensor, Tensor]:
        device_type = batch.source.tokens.device.type
        with torch.autocast(device_type, self.autocast_dtype, enabled=self.autocast_dtype is not None):
            logits = self.model(batch.source, batch.decoder_input)
        return cross_entropy(logits, batch.target, self.label_smoothing)  # outside autocast: sums need float32


def cross_entropy(logits: Tensor, target: Padded, label_smoothing: float) -> tuple[Tensor, Tensor]:
    """Return two sums over the target's tokens, without padding: with label smoothing, and plain for reports."""
    rows, tokens = logits.flatten(0, 1).float(), target.tokens.flatten()
    mask = target.mask.flatten().to(rows.dtype)
    sums: tuple[Tensor, Tensor] = _LabelSmoothedCrossEntropy.apply(rows, tokens, mask, label_smoothing)  # type: ignore[no-untyped-call]
    return sums


def chunked_cross_entropy(
    hidden: Tensor, output: OutputProjection, target: Padded, label_smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return the sums of `cross_entropy(output.logits(hidden), …)`, with the logits of a few rows in memory at once."""
    rows, tokens = hidden.flatten(0, 1), target.tokens.flatten()
    mask = target.mask.flatten().to(rows.dtype)
    sums: tuple[Tensor, Tensor] = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        rows, output.weight, output.bias, tokens, mask, label_smoothing
    )
    return sums


class _LabelSmoothedCrossEntropy(torch.autograd.Function):
    """Sum over the rows of -Σ q log p, with q = (1-ε) one-hot + ε/V: two passes over the logits, one copy of them.

    -Σ q log p = logsumexp(z) - (1-ε) z_target - ε mean(z), and its gradient is softmax(z) - q.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, mask: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        log_sum = logits.logsumexp(dim=-1)  # (row,)
        target_logit = logits.gather(1, target.unsqueeze(1)).squeeze(1)
        plain = (log_sum - target_logit) @ mask
        loss = plain + label_smoothing * ((target_logit - logits.mean(dim=-1)) @ mask)
        ctx.save_for_backward(logits, target, mask, log_sum)
        ctx.label_smoothing = label_smoothing
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None, None]:
        logits, target, mask, log_sum = ctx.saved_tensors
        grad = (logits - log_sum.unsqueeze(1)).exp_().sub_(ctx.label_smoothing / logits.shape[1])
        grad[torch.arange(len(target), device=target.device), target] -= 1 - ctx.label_smoothing
        return grad.mul_((grad_outputs[0] * mask).unsqueeze(1)), None, None, None


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The same loss from hidden states and output weights, computed in chunks of rows.

    The gradient is computed in the forward pass, while a chunk's logits z are in memory. Let e = exp(z - max z) and
    s = Σe. The gradient of a row is (e - (1-ε) s one-hot) / s - ε/V. Only e has the size of the logits. The factor 1/s
    is applied after the matrix products, to smaller tensors. The term ε/V is equal for all tokens, so it becomes a
    product with the mean of the weights.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,  # (row, width)
        weight: Tensor,  # (token, width)
        bias: Tensor | None,  # (token,)
        target: Tensor,  # (row,)
        mask: Tensor,  # (row,), 1 for a token and 0 for padding
        label_smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        log_sum, target_logit = torch.empty_like(mask), torch.empty_like(mask)
        hidden_grad, weight_grad = torch.empty_like(hidden), torch.zeros_like(weight)
        if can_use_onednn(hidden[:ROWS_PER_CHUNK], weight):
            weight_grad = weight.new_zeros(weight.shape[::-1]).t()  # in the memory order of its products
        bias_grad = None if bias is None else torch.zeros_like(bias)
        for start in range(0, len(hidden), ROWS_PER_CHUNK):
            chunk = slice(start, start + ROWS_PER_CHUNK)
            tokens = target[chunk].unsqueeze(1)
            logits = product(hidden[chunk], weight, bias)  # (row, token): the only large tensor
            target_logit[chunk] = logits.gather(1, tokens).squeeze(1)
            maximum = logits.amax(dim=1, keepdim=True)
            exponentials = logits.sub_(maximum).clamp_(min=MIN_SHIFTED_LOGIT).exp_()
            sums = exponentials.sum(dim=1, keepdim=True)
            log_sum[chunk] = (maximum + sums.log()).squeeze(1)
            exponentials.scatter_add_(1, tokens, sums * (label_smoothing - 1))  # now e - (1-ε) s one-hot
            row_scale = mask[chunk].unsqueeze(1) / sums
            torch.mul(product(exponentials, weight.t()), row_scale, out=hidden_grad[chunk])
            add_transposed_product(weight_grad, exponentials, hidden[chunk] * row_scale)
            if bias_grad is not None:
                bias_grad.addmv_(exponentials.T, row_scale.squeeze(1))
        uniform = label_smoothing / len(weight)  # ε/V
        hidden_grad.addr_(mask, weight.sum(dim=0), alpha=-uniform)
        weight_grad = weight_grad.contiguous().sub_(mask @ hidden, alpha=uniform)
        mean_logit = hidden @ weight.mean(dim=0)
        if bias is not None and bias_grad is not None:
            bias_grad.sub_(mask.sum(), alpha=uniform)
            mean_logit += bias.mean()
        plain = (log_sum - target_logit) @ mask
        ctx.grads = hidden_grad, weight_grad, bias_grad
        ctx.mark_non_differentiable(plain)
        return plain + label_smoothing * ((target_logit - mean_logit) @ mask), plain

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grads = (None if grad is None else grad * grad_outputs[0] for grad in ctx.grads)
        return *grads, None, None, None
