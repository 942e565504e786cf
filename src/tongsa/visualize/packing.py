"""Arrays in JSON: compressed with zlib, in base64.

Weights are 16-bit integers: a head of 512 × 512 weights takes about 50 kB. Recorded tensors are floats; their bytes
are stored plane by plane (all first bytes, all second bytes, …), which compresses better, as exponents are similar.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

MAX_UINT16 = 65_535
ROUNDED_BITS = 1 << 4
"""The last four of the 24 significant bits of a float are rounded."""
FloatType = Literal["float32", "float16"]


def pack_uint16(numbers: NDArray[np.float64]) -> str:
    """Round numbers from 0 to 65,535 to little-endian 16-bit integers in row-major order, and compress them."""
    return base64.b64encode(zlib.compress(np.rint(numbers).astype("<u2").tobytes())).decode("ascii")


def unpack_uint16(text: str) -> NDArray[np.uint16]:
    """Return the packed numbers as a flat array."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u2").astype(np.uint16)


def pack_floats(numbers: NDArray[np.floating[Any]], dtype: FloatType = "float32") -> str:
    """Compress numbers as little-endian floats in row-major order, plane by plane.

    32-bit floats are rounded to 20 significant bits: a relative error of 1e-6, and a seventh less to store.
    """
    values = np.ascontiguousarray(numbers, dtype=np.dtype(dtype).newbyteorder("<"))
    if dtype == "float32":
        values = ((values.view("<u4") + ROUNDED_BITS // 2) & ~np.uint32(ROUNDED_BITS - 1)).view("<f4")
    planes = values.reshape(-1).view(np.uint8).reshape(-1, values.itemsize).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii")


def unpack_floats(text: str, dtype: FloatType = "float32") -> NDArray[np.float32]:
    """Return the packed numbers as a flat array."""
    float_type = np.dtype(dtype).newbyteorder("<")
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(float_type.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(float_type).reshape(-1).astype(np.float32)


def pack_bits(mask: NDArray[np.bool_]) -> str:
    """Compress a mask in row-major order, eight cells to a byte, the first in the highest bit."""
    return base64.b64encode(zlib.compress(np.packbits(mask.reshape(-1)).tobytes(), 9)).decode("ascii")


def pack_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Compress JSON, except the packed arrays in it, which would only grow: entries "values" become indices of them."""
    arrays: list[str] = []

    def without_arrays(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: without_array(key, inner) for key, inner in value.items()}
        return [without_arrays(inner) for inner in value] if isinstance(value, list | tuple) else value

    def without_array(key: str, value: Any) -> Any:
        if key != "values" or not isinstance(value, str):
            return without_arrays(value)
        arrays.append(value)
        return len(arrays) - 1

    text = json.dumps(without_arrays(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    packed = base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")
    return {"packed": packed, "arrays": arrays}
