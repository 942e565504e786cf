"""Products of inference with 8-bit weights and 8-bit inputs, for CPUs with VNNI instructions.

    W ≈ diag(s) Q,  s_i = max |W_i| / 127        each row of a weight has a scale; Q is rounded once (`quantize`)
    x ≈ t q,        t = max |x| / 127            each row of an input has a scale, in every product
    x Wᵀ + b ≈ t (q Qᵀ) diag(s) + b              q Qᵀ in integers (fbgemm), the rest in float32

The scale of an input row depends on this row alone, so a batch or padding changes a result no more than the rounding of
float32 does. Weights are known
by their id, as the copies of packed_linear.py are: only frozen ones, and again after a change. Figures are in
benchmarks/LOG.md (2026-11-18).
"""

import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

LARGEST, ZERO_POINT = 127, 128
"""Largest absolute value of a rounded number; inputs are stored without sign, as q + 128."""
_PRODUCT = "linear_with_input_q_dq_qweight_dq_output_fp32"


class QuantizedWeight(NamedTuple):
    """A rounded weight in the layout of its product, and the tensor and version that it was made from."""

    packed: Any
    source: Tensor  # shares the parameter's memory: its address cannot be used for another tensor meanwhile
    version: int


_weights: dict[int, QuantizedWeight] = {}
"""By the id of the parameter; removed together with the parameter."""


def is_supported() -> bool:
    """Return whether this CPU and this build of torch have products of 8-bit numbers that do not overflow."""
    has_vnni: Callable[[], bool] = getattr(torch.cpu, "_is_vnni_supported", bool)
    has_product = hasattr(torch, "quantize_per_channel") and hasattr(_operations(), _PRODUCT)
    return has_vnni() and has_product and "fbgemm" in torch.backends.quantized.supported_engines


def quantize(weight: Tensor) -> None:
    """Compute the products of a frozen weight (output, input) in 8 bits from now on, in inference mode."""
    if id(weight) not in _weights:
        weakref.finalize(weight, _weights.pop, id(weight), None)
    source = weight.detach()
    scales = (source.abs().amax(dim=1) / LARGEST).clamp(min=1e-12).double()
    with warnings.catch_warnings():  # torch will replace these tensors; `is_supported` is then false
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)
        zero_points = torch.zeros_like(scales, dtype=torch.long)
        rounded = torch.quantize_per_channel(source, scales, zero_points, 0, torch.qint8)
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"  # the layout of the packed weight
    try:
        packed = _operations().linear_prepack(rounded, None)
    finally:
        torch.backends.quantized.engine = engine
    _weights[id(weight)] = QuantizedWeight(packed, source, _version(weight))


def _version(weight: Tensor) -> int:
    return (
        0 if weight.is_inference() else weight._version
    )  # of a model that was loaded in inference mode: never changed


def quantized_weight(weight: Tensor) -> QuantizedWeight | None:
    """Return the 8-bit form of a weight; None if its products are in float32."""
    known = _weights.get(id(weight)) if _weights else None
    if known is None or weight.requires_grad or not isinstance(weight, nn.Parameter):
        return None
    if known.version != _version(weight) or known.source.data_ptr() != weight.data_ptr():
        quantize(weight)
        known = _weights[id(weight)]
    return known


def quantized_product(x: Tensor, weight: QuantizedWeight, bias: Tensor | None) -> Tensor:  # (…, output)
    """Return xWᵀ + b; x is (…, input) in float32, and not empty."""
    product = getattr(_operations(), _PRODUCT)
    y: Tensor
    if x.numel() == x.shape[-1]:  # one row: fewer operations
        low, high = torch.aminmax(x)
        y = product(x, max(-low.item(), high.item(), 1e-12) / LARGEST, ZERO_POINT, weight.packed)
    else:
        largest = x.abs().amax(dim=-1, keepdim=True).clamp_(min=1e-12)  # (…, 1)
        y = product(x / largest, 1 / LARGEST, ZERO_POINT, weight.packed).mul_(largest)
    return y if bias is None else y.add_(bias)


def _operations() -> Any:
    return torch.ops.quantized
