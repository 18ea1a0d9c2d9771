"""Gauss' hypergeometric function beside its series in exact numbers, at whole parameters, by identities, refused."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from calque_core import eval_jaxpr, make_jaxpr
from calque_numpy.scipy.special import gamma, hyp2f1

# every pair of numbers of these lists: whole differences, close ones, and no relation
FIRSTS, THIRDS = [0.3, 1.0, 2.0, 2.5, 4.0], [0.7, 1.0, 2.0, 3.3 + 1e-9, 5.0]


def parameters(*points):
    return tuple(x.ravel() for x in np.meshgrid(FIRSTS, FIRSTS, THIRDS, *points))


def exact(a, b, c, x):
    """Return the sum of the power series with 50 digits."""
    a, b, c, x = (Decimal(float(v)) for v in (a, b, c, x))
    with localcontext() as context:
        context.prec = 50
        total, term, n = Decimal(1), Decimal(1), 0
        while abs(term) > Decimal("1e-30"):
            term = term * ((a + n) * (b + n) * x) / ((c + n) * (n + 1))
            total, n = total + term, n + 1
    return float(total)


@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-14), ("float32", 5e-6)])
def test_values_are_the_exact_sums(dtype, bound):
    args = tuple(v.astype(dtype) for v in parameters([-0.75, -0.3, 0.3, 0.86]))
    want = [exact(*v) for v in zip(*args)]
    out = hyp2f1(*args)
    assert out.dtype == dtype
    # some functions with c < a have a zero near -0.75
    np.testing.assert_allclose(out, want, rtol=bound, atol=bound)


def test_values_next_to_one_obey_the_connection_of_contiguous_functions():
    a, b, c, gap = parameters([0.07, 1e-3, 1e-8, 2.0**-40])
    c, x = c + 1.0, 1.0 - gap
    below, here, above = (hyp2f1(a, b, c + k, x) for k in (-1, 0, 1))
    terms = c * (c - 1) * (x - 1) * below, c * (c - 1 - (2 * c - a - b - 1) * x) * here, (c - a) * (c - b) * x * above
    np.testing.assert_array_less(abs(sum(terms)) / sum(abs(t) for t in terms), 1e-13)  # DLMF 15.5.18


def test_values_far_below_zero_are_elementary_functions():
    x = -np.logspace(-3, 17, 41)
    np.testing.assert_allclose(hyp2f1(1.0, 1.0, 2.0, x), np.log1p(-x) / -x, rtol=1e-13)  # DLMF 15.4.1
    np.testing.assert_allclose(hyp2f1(0.5, 1.0, 1.5, -(z := np.sqrt(-x)) * z), np.arctan(z) / z, rtol=1e-13)
    np.testing.assert_allclose(hyp2f1(0.5, 0.5, 1.5, x), np.arcsinh(z) / z, rtol=1e-13)
    np.testing.assert_allclose(hyp2f1(0.7, 2.3, 2.3, x), (1 - x) ** -0.7, rtol=1e-13)
    np.testing.assert_allclose(hyp2f1(1.0, 1.0, 2.0, -1e300), math.log(1e300) / 1e300, rtol=1e-13)


def test_the_value_at_one_is_that_of_gauss():
    a, b, c = (v.ravel() for v in np.meshgrid([0.2, 1.0, 1.5], [-0.7, 0.3, 1.0, 2.5], [4.1, 4.5, 6.0]))
    want = gamma(c) * gamma(c - a - b) / (gamma(c - a) * gamma(c - b))  # DLMF 15.4.20
    np.testing.assert_allclose(hyp2f1(a, b, c, 1.0), want, rtol=1e-13)


@pytest.mark.parametrize("x", [-3.5, -0.5, 0.9, 1.0, 4.0])
def test_polynomials_are_the_exact_sums(x):
    for degree in (0, 1, 5, 24):
        want = exact(-degree, 1.25, 0.75, x)
        scale = max(1e-13 * abs(want), 1e-14)
        assert abs(hyp2f1(-degree, 1.25, 0.75, x) - want) <= scale
        assert abs(hyp2f1(1.25, -degree, 0.75, x) - want) <= scale
        if x < 1.0:  # Euler's transformation
            np.testing.assert_allclose(
                hyp2f1(0.75 + degree, -0.5, 0.75, x), (1 - x) ** (0.5 - degree) * want, rtol=1e-11
            )


def test_dtypes_shapes_and_traces():
    for dtype, want in (("int8", "float64"), ("bool", "float64"), ("float16", "float16"), ("float32", "float32")):
        assert hyp2f1(*np.ones((3, 2), dtype), np.zeros((3, 1), dtype)).dtype == want
    assert hyp2f1([], 1.0, 2.0, 0.5).shape == (0,)
    np.testing.assert_allclose(hyp2f1(np.float16(1), np.float16(1), np.float16(2), np.float16(0.5)), 1.386, rtol=1e-3)
    args = parameters([-30.0, 0.0, 0.4, 0.99])
    jaxpr = make_jaxpr(hyp2f1)(*args)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, *args)[0], hyp2f1(*args))
