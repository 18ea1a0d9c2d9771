"""The special functions by SciPy's names: beside SciPy's values, compiled, and in place of SciPy's ufuncs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calque_autodiff import grad
from calque_batching import vmap
from calque_numpy.scipy import special
from calque_xla_backend import jit

scipys = pytest.importorskip("scipy.special", reason="scipy is not installed")

POSITIVE = np.logspace(-3, 1.5, 200)
REAL = np.linspace(-6.0, 6.0, 241)
PAIRS = tuple(x.ravel() for x in np.meshgrid(np.logspace(-3, 1.3, 30), np.logspace(-3, 1.3, 30)))
# name -> points, bound in ulp against SciPy, bound between the evaluators
POINTS = {
    "expit": ((REAL * 10,), 8, 8),
    "logit": ((np.linspace(0.001, 0.999, 300),), 8, 8),
    "ndtr": ((REAL,), 128, 16),
    "log_ndtr": ((np.concatenate([-np.logspace(0, 4, 200), np.linspace(-1, 2, 100)]),), 32, 16),
    "gamma": ((np.concatenate([-POSITIVE - 0.0123, POSITIVE]),), 64, 32),
    "gammasgn": ((REAL + 0.01,), 0, 0),
    "entr": ((POSITIVE,), 8, 8),
    "xlogy": (PAIRS, 8, 8),
    "xlog1py": (PAIRS, 8, 8),
    "rel_entr": (PAIRS, 8, 8),
    "i0": ((REAL * 6,), 64, 64),
    "i1": ((REAL * 6 + 0.01,), 64, 64),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POINTS)
def test_values_are_scipys_evaluated_and_compiled(name, dtype):
    points, bound, gap = POINTS[name]
    x, function = [p.astype(dtype) for p in points], getattr(special, name)
    want = getattr(scipys, name)(*[p.astype(np.float64) for p in x])
    is_used = (np.abs(want) > np.finfo(dtype).tiny) & (np.abs(want) < np.finfo(dtype).max)
    evaluated, compiled = function(*x), np.asarray(jit(function)(*x))
    assert evaluated.dtype == compiled.dtype == dtype
    scale = np.spacing(np.abs(want[is_used].astype(dtype))).astype(float)
    assert (np.abs(evaluated.astype(float) - want)[is_used] / scale).max() <= bound
    assert (np.abs(compiled.astype(float) - evaluated.astype(float))[is_used] / scale).max() <= gap


def test_betaln_is_exact_where_the_gammas_cancel():
    for b in (1e2, 1e6, 1e10):
        np.testing.assert_allclose(special.betaln(1.0, b), -math.log(b), rtol=1e-14)
        np.testing.assert_allclose(special.betaln(b, 2.0), -math.log(b) - math.log1p(b), rtol=1e-14)
    a, b = PAIRS
    np.testing.assert_allclose(special.betaln(a, b), scipys.betaln(a, b), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(special.beta(a, b), scipys.beta(a, b), rtol=1e-12)


def test_derivatives_at_edges():
    inf = math.inf
    with np.errstate(all="ignore"):
        assert grad(special.xlogy, argnums=(0, 1))(0.0, 0.0) == (-inf, 0.0)
        assert grad(special.xlogy, argnums=(0, 1))(0.0, 2.0) == (math.log(2.0), 0.0)
        assert grad(special.kl_div, argnums=(0, 1))(0.0, 2.0) == (-inf, 1.0)
        assert grad(special.entr)(0.0) == inf
    assert [grad(special.expit)(x) for x in (-800.0, 800.0)] == [0.0, 0.0]
    np.testing.assert_allclose(grad(special.log_ndtr)(-1e3), 1000.000999998, rtol=1e-12)
    np.testing.assert_allclose(grad(grad(special.log_ndtr))(-1e3), -0.999999000006, rtol=1e-10)


@pytest.mark.parametrize("name", ["expit", "logit", "erf", "gammaln", "psi", "digamma", "gamma", "entr", "i0", "ndtr"])
def test_a_ufunc_of_scipy_is_traced_by_its_name(name):
    theirs, ours = getattr(scipys, name), getattr(special, name)
    x = np.array([0.2, 0.7])
    assert grad(lambda x: theirs(x))(0.3) == grad(ours)(0.3)
    np.testing.assert_array_equal(jit(lambda x: theirs(x))(x), jit(ours)(x))
    np.testing.assert_array_equal(vmap(lambda x: theirs(x))(x), ours(x))


def test_zeta_of_scipy_is_traced_although_it_is_no_ufunc():
    assert grad(lambda q: scipys.zeta(3.0, q))(1.5) == grad(lambda q: special.zeta(3.0, q))(1.5)


def test_the_incomplete_gamma_function_of_float32_does_not_overflow():
    assert special.gammainc(np.float32(7.9), np.float32(1e5)) == 1.0
    assert special.gammaincc(np.float32(7.9), np.float32(1e5)) == 0.0
