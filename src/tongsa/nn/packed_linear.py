"""Matrix products of inference on a CPU: each weight is packed once into the memory layout of oneDNN.

`F.linear` calls MKL, which reads the matrix as it is stored, and copies parts of it into another order in each product.
With few rows, as in a search step, most of the time goes into that. oneDNN can keep the weight in its order: packed.
Figures are in benchmarks/LOG.md (2026-11-18).

A packed weight is a copy, so it must follow its parameter. It is kept with the version number that torch increases
with each change of a tensor, and packed again when the number or the address differs. Changes through `.data` leave
the number as it is: use `torch.no_grad()` instead.

oneDNN compiles a kernel for each number of rows, in about 0.5 ms. So from 16 rows on the number is rounded up to a
multiple of 16, by zeros that are dropped again.
"""

import weakref
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROW_MULTIPLE = 16
"""Products with more rows have a multiple of this number."""
MAX_ROWS = None if torch.backends.cpu.get_cpu_capability() == "AVX512" else 32
"""Most rows of a packed product. Without AVX-512, MKL is faster from 64 rows on."""
PACKED_FOR_ROWS = 320
"""Number of rows for which oneDNN chooses the layout."""

Epilogue = Literal["none", "relu"]
"""Function of the product that is applied in the same pass."""


class _PackedWeight(NamedTuple):
    """A packed weight, and the tensor and version that it was made from."""

    packed: Tensor
    source: Tensor  # shares the parameter's memory: its address cannot be used for another tensor meanwhile
    version: int


_packed_weights: dict[int, _PackedWeight] = {}
"""By the id of the parameter; an entry is removed together with its parameter."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, epilogue: Epilogue = "none") -> Tensor:  # (…, output)
    """Return xWᵀ + b, then the epilogue; x is (…, input). Inside `torch.inference_mode()` the weight is packed."""
    packed = packed_weight(x, weight)
    if packed is None:
        product = F.linear(x, weight, bias)
        return F.relu(product) if epilogue == "relu" else product
    rows = x.numel() // x.shape[-1]
    if rows > ROW_MULTIPLE and rows % ROW_MULTIPLE:
        padded = F.pad(x.reshape(rows, -1), (0, 0, 0, -rows % ROW_MULTIPLE))
        product = torch.ops.mkldnn._linear_pointwise(padded, packed, bias, epilogue, [], "")
        return product[:rows].view(*x.shape[:-1], -1)
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, epilogue, [], "")
    return result


def packed_weight(x: Tensor, weight: Tensor) -> Tensor | None:
    """Return the packed weight for a product with x (…, input); None if `F.linear` computes this product."""
    if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
        return None
    known = _packed_weights.get(id(weight))
    if known is None or known.version != weight._version or known.source.data_ptr() != weight.data_ptr():
        if not _can_pack(weight):
            return None
        known = _pack(weight)
    rows = x.numel() // weight.shape[1]
    fits = 0 < rows and (MAX_ROWS is None or rows <= MAX_ROWS) and x.dtype == torch.float32
    return known.packed if fits else None


def _can_pack(weight: Tensor) -> bool:
    """Return True for a parameter on a CPU in float32. A tensor of inference mode has no version."""
    is_parameter = type(weight) is nn.Parameter and not weight.is_inference()
    return is_parameter and weight.is_cpu and weight.dtype == torch.float32 and torch.backends.mkldnn.is_available()


def _pack(weight: Tensor) -> _PackedWeight:
    version = weight._version
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), PACKED_FOR_ROWS)
    if id(weight) not in _packed_weights:
        weakref.finalize(weight, _packed_weights.pop, id(weight), None)
    _packed_weights[id(weight)] = _PackedWeight(packed, weight.detach(), version)
    return _packed_weights[id(weight)]
