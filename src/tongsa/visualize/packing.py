"""Matrices in JSON: 16-bit integers, compressed with zlib, in base64. A head of 512 × 512 weights takes about 50 kB."""

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

MAX_UINT16 = 65_535


def pack_uint16(numbers: NDArray[np.float64]) -> str:
    """Round numbers from 0 to 65,535 to little-endian 16-bit integers in row-major order, and compress them."""
    return base64.b64encode(zlib.compress(np.rint(numbers).astype("<u2").tobytes())).decode("ascii")


def unpack_uint16(text: str) -> NDArray[np.uint16]:
    """Return the packed numbers as a flat array."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u2").astype(np.uint16)
