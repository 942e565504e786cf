"""Matrices inside JSON: whole numbers of 16 bits, deflated, in base64. 512 × 512 weights of a head are some 50 kB."""

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

MAX_UINT16 = 65_535


def pack_uint16(numbers: NDArray[np.float64]) -> str:
    """Numbers from 0 to 65,535, rounded; the lower byte first, rows one behind the other."""
    return base64.b64encode(zlib.compress(np.rint(numbers).astype("<u2").tobytes())).decode("ascii")


def unpack_uint16(text: str) -> NDArray[np.uint16]:
    """The numbers, flat."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u2").astype(np.uint16)
