"""Matrix products of inference on a CPU: each weight is copied once into the memory layout that its product reads.

`F.linear` calls MKL, which reads a matrix as it is stored, and copies parts of it into another order in each product.
A search step has few rows, so most of the time goes into that. Two layouts avoid it:

    1 row           the transposed matrix, which `torch.addmm` reads from the beginning to the end
    several rows    the blocks of oneDNN: packed

Figures are in benchmarks/LOG.md (2026-11-18).

A copy must follow its parameter. So only frozen parameters (`requires_grad = False`) have copies, as those of a loaded
bundle: a model in training is computed with its own weights (nn/onednn_linear.py). A copy is kept with the version
number that torch increases when a tensor is changed, and made again when the number or the address differs. That alone
would not be enough: torch's fused optimizers and changes through `.data` leave the number as it is.

oneDNN compiles a kernel for each shape, in about 0.5 ms, and keeps it, in about 0.6 MiB. So products have few numbers
of rows, ROW_COUNTS: others are padded by zeros, which are dropped again. Larger products read the stored weight.

Weights that were quantized have products in 8 bits instead (nn/int8_linear.py).
"""

import weakref
from bisect import bisect_left
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.int8_linear import quantized_product, quantized_weight
from tongsa.nn.onednn_linear import can_use_onednn, is_large_enough, onednn_linear

ROW_COUNTS: tuple[int, ...] = (
    *range(1, 9),
    *range(16, 64, 16),
    *range(64, 128, 32),
    *range(128, 512, 64),
    *range(512, 1025, 128),
)
"""Numbers of rows of products by oneDNN."""


def _max_rows() -> int:
    """Return the largest number of rows of a product by oneDNN in a search; 0 if oneDNN is not used there.

    Without AVX-512, MKL is faster from 64 rows on. Other processors were not measured.
    """
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):  # a build of torch without oneDNN
        return 0
    capability: str = torch.backends.cpu.get_cpu_capability()
    return {"AVX512": ROW_COUNTS[-1], "AVX2": 32}.get(capability, 0)


MAX_ROWS = _max_rows()
PACKED_FOR_ROWS = 8
"""Number of rows for which oneDNN chooses its blocks: good for all numbers of rows above 1."""

Layout = Literal["transposed", "packed"]
Activation = Literal["none", "relu"]
"""Function of the product that is applied in the same pass."""

_packed_product: Callable[..., Tensor] = torch.ops.mkldnn._linear_pointwise.default if MAX_ROWS else F.linear


class _Copy(NamedTuple):
    """A copy of a weight, and the tensor and version that it was made from."""

    values: Tensor
    source: Tensor  # shares the parameter's memory: its address cannot be used for another tensor meanwhile
    version: int


_copies: dict[tuple[int, Layout], _Copy] = {}
"""By the id of the parameter and the layout; removed together with the parameter."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, activation: Activation = "none") -> Tensor:  # (…, output)
    """Return the activation of xWᵀ + b; x is (…, input)."""
    if not in_inference_mode():
        return _activate(onednn_linear(x, weight, bias), activation)
    rows = x.numel() // weight.shape[1]
    if rows and (quantized := quantized_weight(weight)) is not None:
        return _activate(quantized_product(x, quantized, bias), activation)
    values = None
    if 0 < rows <= MAX_ROWS and x.dtype == torch.float32:
        values = _copy(weight, "transposed" if rows == 1 else "packed")
        if values is None and rows > 1 and can_use_onednn(x, weight):
            is_dense = weight.is_contiguous() or weight.t().is_contiguous()
            values = weight if is_dense else weight.contiguous()  # oneDNN reads the rows of a slice very slowly
    if values is None:
        return _activate(onednn_linear(x, weight, bias), activation)
    if rows == 1:
        row = x if x.dim() == 2 else x.view(1, -1)
        product = torch.mm(row, values) if bias is None else torch.addmm(bias, row, values)
        return _activate(product if row is x else product.view(*x.shape[:-1], -1), activation)
    if (padded_rows := padded_row_count(rows, weight)) > rows:
        padded = F.pad(x.reshape(rows, -1), (0, 0, 0, padded_rows - rows))
        return _packed_product(padded, values, bias, activation, [], "")[:rows].view(*x.shape[:-1], -1)
    return _packed_product(x, values, bias, activation, [], "")


def in_inference_mode() -> bool:
    """Return True inside `torch.inference_mode()`, except in a compiled or exported graph."""
    return not torch.compiler.is_compiling() and torch.is_inference_mode_enabled()


def padded_row_count(rows: int, weight: Tensor) -> int:
    """Return the number of rows of a product with a weight, padding included.

    A search step that begins with this number of rows is not padded in each product.
    """
    is_small = in_inference_mode() and 0 < rows <= MAX_ROWS
    if is_small and (_can_copy(weight) or is_large_enough(rows, weight)):
        return ROW_COUNTS[bisect_left(ROW_COUNTS, rows)]
    return rows


def _activate(product: Tensor, activation: Activation) -> Tensor:
    return F.relu(product) if activation == "relu" else product


def _copy(weight: Tensor, layout: Layout) -> Tensor | None:
    """Return the weight in this layout; None for a tensor that is not a frozen parameter on a CPU in float32."""
    known = None if weight.requires_grad else _copies.get((id(weight), layout))
    if known is None or known.version != weight._version or known.source.data_ptr() != weight.data_ptr():
        if not _can_copy(weight):
            return None
        known = _make_copy(weight, layout)
    return known.values


def _can_copy(weight: Tensor) -> bool:
    is_frozen = type(weight) is nn.Parameter and not weight.requires_grad
    # tensors of inference mode have no version
    return is_frozen and not weight.is_inference() and weight.is_cpu and weight.dtype == torch.float32


def _make_copy(weight: Tensor, layout: Layout) -> _Copy:
    key, source, version = (id(weight), layout), weight.detach(), weight._version
    if key not in _copies:
        weakref.finalize(weight, _copies.pop, key, None)
    if layout == "transposed":
        values = source.t().contiguous()
    else:
        values = torch.ops.mkldnn._reorder_linear_weight(source, PACKED_FOR_ROWS)
    _copies[key] = _Copy(values, source, version)
    return _copies[key]
