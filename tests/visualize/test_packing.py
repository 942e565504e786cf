"""Arrays in JSON."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.visualize.packing import FloatType, pack_floats, unpack_floats

ERRORS: dict[FloatType, float] = {"float32": 1e-6, "float16": 5e-4}
finite = st.floats(2**-10, 1e4, width=32) | st.floats(-1e4, -(2**-10), width=32) | st.just(0.0)


@pytest.mark.parametrize("dtype", ERRORS)
@given(values=st.lists(finite))
def test_packed_floats_keep_their_digits(dtype: FloatType, values: list[float]) -> None:
    array = np.array(values, dtype=np.float32)
    np.testing.assert_allclose(unpack_floats(pack_floats(array, dtype), dtype), array, rtol=ERRORS[dtype])


def test_masked_scores_stay_infinite() -> None:
    array = np.array([1.5, -np.inf, 0.0], dtype=np.float32)
    np.testing.assert_array_equal(unpack_floats(pack_floats(array)), array)
