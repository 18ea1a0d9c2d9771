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


def orders(dtype):
    """Return orders and limits of the integral: small and large orders, in the middle and towards both tails."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-4, 3, 2000)
    x = np.abs(a + 3 * np.sqrt(a) * rng.normal(size=2000))
    return a.astype(dtype), x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions(name, dtype):
    a, x = orders(dtype)
    function, reference = getattr(lax, name), {"igamma": special.gammainc, "igammac": special.gammaincc}[name]
    want = reference(a.astype(np.float64), x.astype(np.float64))
    is_normal = want > 1e-30
    # A relative error of the exponent counts as often as the exponent is large; SciPy has 640 ulp itself.
    bound = (1024 if dtype == "float64" else 32) * (1 - np.log(np.maximum(want, 1e-30)))
    evaluated, compiled = function(a, x), np.asarray(jit(function)(a, x))
    assert (ulps(evaluated, want, dtype) <= bound)[is_normal].all()
    assert (ulps(compiled, evaluated, dtype) <= 32 * (1 - np.log(np.maximum(want, 1e-30))))[is_normal].all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_incomplete_beta_functions(dtype):
    rng = np.random.default_rng(0)
    a, b = (10 ** rng.uniform(-3, 3, (2, 2000))).astype(dtype)
    x = rng.beta(np.maximum(a, 0.05), np.maximum(b, 0.05)).astype(dtype).clip(1e-6, 1 - 1e-6)
    want = special.betainc(a.astype(np.float64), b.astype(np.float64), x.astype(np.float64))
    tolerance = {"rtol": 512 * np.finfo(dtype).eps, "atol": 512 * np.finfo(dtype).eps}
    np.testing.assert_allclose(lax.betainc(a, b, x), want, **tolerance)
    np.testing.assert_allclose(jit(lax.betainc)(a, b, x), want, **tolerance)
