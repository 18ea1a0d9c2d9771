"""Positions in sorted arrays have no derivative: with a tangent beside the values, they are NumPy's own."""

import numpy as np
import pytest

from calque import grad, jvp
from calque.numpy import bfloat16, searchsorted

VALUES = np.array([1.0, 3.0, -1.0, 4.0, np.nan])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bfloat16"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_positions_of_values_with_a_tangent_are_those_of_values_without(dtype, side):
    table = np.array([0, 1, 1, 2, 4]).astype(bfloat16 if dtype == "bfloat16" else dtype)
    wanted = VALUES[:-1] if dtype == "bfloat16" else VALUES  # ml_dtypes warns of nan
    values = wanted if dtype == "int32" else wanted.astype(table.dtype)
    found = []
    grad(lambda v: found.append(searchsorted(table, v, side)) or np.sum(v))(values)
    jvp(lambda v: found.append(searchsorted(table, v, side)) or v, (values,), (values,))
    for positions in found:
        np.testing.assert_array_equal(positions, np.searchsorted(table.astype(float), wanted, side))
