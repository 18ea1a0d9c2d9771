"""Integer division and rounding compile to NumPy's values: zero divisors and the least integer included."""

from __future__ import annotations

import numpy as np
import pytest

from calque import jit, vmap
from calque import numpy as cnp
from calque_core import lax

DIVISIONS = ["floor_divide", "remainder", "fmod", "divmod"]


def edges(dtype):
    info = np.iinfo(dtype)
    negative = [-1, -2, -3, -7, info.min, info.min + 1] if info.min else []
    return np.array([0, 1, 2, 3, 7, info.max, info.max - 1, *negative], dtype)


def all_divisions(x, y):
    return [getattr(cnp, name)(x, y) for name in DIVISIONS] + [cnp.reciprocal(x)]


def by_operators(x, y):
    return [x // y, x % y, divmod(x, y), lax.add(x, 0) // 0, lax.add(x, 0) % 0]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("program", [all_divisions, by_operators])
def test_integer_division_compiles_to_numpys_values(dtype, program):
    x, y = (a.ravel() for a in np.meshgrid(edges(dtype), edges(dtype)))
    with np.errstate(all="ignore"):
        want = [getattr(np, name)(x, y) for name in DIVISIONS] + [np.reciprocal(x)]
        if program is by_operators:
            want = [x // y, x % y, divmod(x, y), x // x.dtype.type(0), x % x.dtype.type(0)]
        for got in (jit(program)(x, y), vmap(program)(x, y)):
            for a, b in zip(np.concatenate([np.atleast_2d(g) for g in got]), np.vstack(want), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_rounding_to_tens_compiles_to_numpys_values_which_wrap(dtype):
    x = edges(dtype)
    for decimals in (-1, -2):
        for got in (jit(lambda a, d=decimals: np.round(a, d))(x), vmap(lambda a, d=decimals: np.round(a, d))(x)):
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, np.round(x, decimals))
