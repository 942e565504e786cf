"""Matrix products of training by oneDNN, on AMD CPUs with AVX-512.

torch computes float32 products with MKL, which uses AVX-512 on Intel's CPUs only. oneDNN, which torch contains too,
uses it on all: on Zen 5 its products are 2.2 times as fast (benchmarks/LOG.md, 2026-11-19). A linear layer needs three:

    y = x Wᵀ + b         product(x, W)            x: (row, input), W: (output, input)
    gradient of x: g W   product(g, Wᵀ)           g: (row, output)
    gradient of W: gᵀ x  product(gᵀ, xᵀ), or product(xᵀ, gᵀ) transposed

oneDNN reads a transposed right matrix as it is stored, but torch copies a transposed left one first. So the gradient
of W is computed in the form that copies the smaller of g and x.

oneDNN compiles a kernel for each shape, in about 0.5 ms, and each kernel takes up to 1 MiB. Without a limit the caches
grow with every new shape of a batch, to gigabytes. The limit is one of the process: other products by oneDNN share it.
"""

import os
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tongsa.system import cpu_vendor

HAS_ONEDNN = hasattr(torch.ops.mkldnn, "_linear_pointwise")
"""False in a build of torch without oneDNN."""
USES_ONEDNN = HAS_ONEDNN and torch.backends.cpu.get_cpu_capability() == "AVX512" and cpu_vendor() == "AuthenticAMD"
"""True on CPUs on which oneDNN has faster float32 products than MKL."""
MIN_MULTIPLY_ADDS = 1 << 22
"""Smaller products are left to MKL: each is called more quickly there, and needs no kernel of its own."""

KERNEL_CACHE_SIZE = 256
"""Number of kernels kept: an update has about 60 shapes, a search up to 20 numbers of rows (nn/packed_linear.py)."""
if USES_ONEDNN:
    for _variable in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):  # of oneDNN and of torch, read once
        os.environ.setdefault(_variable, str(KERNEL_CACHE_SIZE))


def is_large_enough(rows: int, weight: Tensor) -> bool:
    """Return whether a product with this number of rows is faster by oneDNN on this CPU."""
    is_float32 = weight.is_cpu and weight.dtype == torch.float32
    return USES_ONEDNN and is_float32 and rows * weight.numel() >= MIN_MULTIPLY_ADDS


def can_use_onednn(x: Tensor, weight: Tensor) -> bool:
    """Return whether `onednn_linear` can compute x Wᵀ, and is faster; x is (…, input)."""
    return (
        not torch.compiler.is_compiling()  # first: a compiled graph must not depend on the number of rows
        and is_large_enough(x.numel() // max(1, x.shape[-1]), weight)
        and x.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
    )


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:  # (…, output)
    """Return xWᵀ + b, with gradients, by oneDNN where it is faster; x is (…, input)."""
    if not can_use_onednn(x, weight):
        return F.linear(x, weight, bias)
    y: Tensor = _OneDNNLinear.apply(x.reshape(-1, x.shape[-1]), weight, bias)  # type: ignore[no-untyped-call]
    return y.view(*x.shape[:-1], len(weight))


def product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:  # (row, column)
    """Return left rightᵀ + bias; left is (row, inner), right (column, inner). No gradients."""
    if can_use_onednn(left, right):
        if not (right.is_contiguous() or right.t().is_contiguous()):  # oneDNN reads the rows of a slice very slowly
            right = right.contiguous()
        return torch.ops.mkldnn._linear_pointwise.default(left, right, bias, "none", [], "")  # type: ignore[no-any-return]
    return F.linear(left, right, bias)


def transposed_product(left: Tensor, right: Tensor) -> Tensor:  # (row, column)
    """Return leftᵀ right, as in the gradient of a weight; left is (inner, row), right (inner, column). No gradients."""
    if left.shape[1] <= right.shape[1]:
        return product(left.t(), right.t())
    return product(right.t(), left.t()).t()


def add_transposed_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add leftᵀ right to the total (row, column); left is (inner, row), right (inner, column). No gradients."""
    if can_use_onednn(left.t(), right.t()):
        total += transposed_product(left, right)
    else:
        total.addmm_(left.t(), right)


class _OneDNNLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs_x, needs_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if needs_weight else None, weight if needs_x else None)
        return product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        # faster than a sum, and nearly as exact: with 2,048 rows the error is 3e-6 of the deviation of the sums
        bias_grad = torch.mv(grad.t(), grad.new_ones(len(grad))) if needs_bias else None
        return (
            product(grad, weight.t()) if needs_x else None,
            transposed_product(grad, x).contiguous() if needs_weight else None,
            bias_grad,
        )
