"""The comparisons of `ordering.py` are NumPy's for pairs of real and complex numbers, evaluated and staged."""

import numpy as np
import pytest

from calque_core import eval_jaxpr, lax, make_jaxpr
from calque_core.errors import ShapeError
from calque_core.ops.elementwise import ordering

NAMES = ["less", "less_equal", "greater", "greater_equal"]
PARTS = [-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan]
COMPLEX = np.array([complex(real, imag) for real in PARTS for imag in PARTS])


def evaluated(function, x, y):
    return function(x, y)


def staged(function, x, y):
    jaxpr = make_jaxpr(function)(x, y)
    return eval_jaxpr(jaxpr, jaxpr.consts, x, y)[0]


@pytest.mark.parametrize("of", [evaluated, staged])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtypes", [("complex128",) * 2, ("complex64", "float64"), ("float32",) * 2], ids=str)
def test_comparisons_are_numpys(of, name, dtypes):
    with np.errstate(invalid="ignore"):
        numbers = [COMPLEX.astype(d) if d.startswith("complex") else np.array(PARTS, d) for d in dtypes]
        x, y = np.meshgrid(*numbers)
        want = getattr(np, name)(x, y)
        got = of(getattr(ordering, name), x, y)
    assert got.dtype == bool
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_comparison_is_one_equation(name):
    assert len(make_jaxpr(getattr(ordering, name))(1.0, np.ones(3)).eqns) == 1


@pytest.mark.parametrize("name", NAMES)
def test_shapes_that_do_not_broadcast_are_refused(name):
    with pytest.raises(ShapeError, match=r"of complex128\[2\] and complex128\[3\] at test_ops_ordering.py:\d+"):
        getattr(ordering, name)(np.ones(2, complex), np.ones(3, complex))


@pytest.mark.parametrize(("name", "numpys"), [("cummax", np.maximum), ("cummin", np.minimum)])
def test_running_extremes_of_complex_numbers_are_numpys(name, numpys):
    for x in (COMPLEX, COMPLEX[np.isfinite(COMPLEX)][::-1]):
        want = numpys.accumulate(x)
        np.testing.assert_array_equal(getattr(lax, name)(x), want)
        decomposition = getattr(lax, f"{name}_p").rules["decomposition"]
        np.testing.assert_array_equal(decomposition(x, axis=0, reverse=False), want)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_extremes_of_no_complex_numbers_lose_to_every_number(dtype):
    empty, infinite = np.zeros((2, 0), dtype), np.array([complex(-np.inf, -5.0), complex(np.inf, 5.0)], dtype)
    np.testing.assert_array_equal(lax.max(lax.reduce_max(empty, 1), infinite), infinite)
    np.testing.assert_array_equal(lax.min(lax.reduce_min(empty, 1), infinite), infinite)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_position_of_an_extreme_complex_number_is_that_of_the_first_or_of_the_first_nan(name):
    x = np.array([[1, 1 + 2j, 1 + 2j, 0], [1 - 2j, 1, 1 - 2j, 1], [2, complex(1, np.nan), 3, complex(np.nan, 0)]])
    np.testing.assert_array_equal(getattr(lax, name)(x, 1), getattr(np, name)(x, 1))
