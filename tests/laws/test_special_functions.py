"""The special functions against SciPy's, evaluated and compiled, over their whole domain.

SciPy's values are those of double precision; the bound is in ulp of the dtype, and wide enough for SciPy's own error.
"""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

special = pytest.importorskip("scipy.special", reason="scipy is not installed")

WIDE = np.logspace(-8, 8, 400)
SIGNED = np.concatenate([-WIDE[::-1], WIDE])
# name -> SciPy's function, points, bound against SciPy, bound between the evaluators
UNARY = {
    "erf": (special.erf, SIGNED, 8, 4),
    "erfc": (special.erfc, np.linspace(-6, 4, 801), 16, 8),
    # Near 1 and 2 SciPy has few digits; `test_ops_coefficients.py` compares with decimal numbers there.
    "lgamma": (special.gammaln, np.concatenate([WIDE[WIDE < 0.95], np.linspace(2.1, 20, 500), WIDE[WIDE > 9]]), 16, 4),
    "digamma": (special.digamma, np.concatenate([WIDE, np.linspace(0.1, 20, 500)]), 8, 4),
    "bessel_i0e": (special.i0e, SIGNED, 16, 4),
    "bessel_i1e": (special.i1e, SIGNED, 16, 4),
}


def ulps(got, want, dtype):
    return np.abs(np.asarray(got, float) - np.asarray(want, float)) / np.spacing(np.abs(np.asarray(want, dtype)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(name, dtype):
    reference, points, bound, gap = UNARY[name]
    x, function = points.astype(dtype), getattr(lax, name)
    want = reference(x.astype(np.float64))
    is_normal = np.abs(want) > np.finfo(dtype).tiny
    evaluated, compiled = function(x), np.asarray(jit(function)(x))
    assert evaluated.dtype == compiled.dtype == dtype
    assert ulps(evaluated, want, dtype)[is_normal].max() <= bound
    assert ulps(compiled, evaluated, dtype)[is_normal].max() <= gap


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("x", [1.01, 1.5, 2.0, 5.0, 8.0])
def test_zeta(x, dtype):
    q = np.logspace(-3, 3, 300).astype(dtype)
    want = special.zeta(np.float64(np.dtype(dtype).type(x)), q.astype(np.float64))
    function = lambda q: lax.zeta(np.dtype(dtype).type(x), q)
    assert ulps(function(q), want, dtype).max() <= 8 + x
    assert ulps(jit(function)(q), function(q), dtype).max() <= 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m", [0, 1, 2, 3, 7])
def test_polygamma(m, dtype):
    x = np.logspace(-2, 2, 300).astype(dtype)
    want = special.polygamma(m, x.astype(np.float64))
    function = lambda x: lax.polygamma(np.dtype(dtype).type(m), x)
    assert ulps(function(x), want, dtype).max() <= 16 + m
    assert ulps(jit(function)(x), function(x), dtype).max() <= 8  # a power is squared, and so is its error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_negative_numbers_beside_the_zeros_and_poles(dtype):
    x = np.linspace(-9.95, -0.05, 397).astype(dtype)
    for function, reference in ((lax.lgamma, special.gammaln), (lax.digamma, special.digamma)):
        want = reference(x.astype(np.float64))
        tolerance = {"rtol": 64 * np.finfo(dtype).eps, "atol": 64 * np.finfo(dtype).eps}
        np.testing.assert_allclose(function(x), want, **tolerance)
        np.testing.assert_allclose(jit(function)(x), want, **tolerance)
