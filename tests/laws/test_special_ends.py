"""Special functions and their derivatives at the ends of their ranges, beside mpmath's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import calque_numpy
from calque import hessian
from calque_autodiff import grad
from calque_numpy import nn
from calque_numpy.scipy import special
from calque_xla_backend import jit

mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(40):
        yield


def both(f, *args):
    """Return the results evaluated and compiled."""
    return [float(f(*args)), float(jit(f)(*args))]


def nth(f, order, argnums=0):
    for _ in range(order):
        f = grad(f, argnums=argnums)
    return f


def agree(f, args, want, rtol=1e-13):
    np.testing.assert_allclose(both(f, *args), [float(want)] * 2, rtol=rtol)


@pytest.mark.parametrize("x", [-713.0, -1e-20, 1e-300, 1e-9, 0.4, 3.0, 713.0])
@pytest.mark.parametrize("function", [special.i0, calque_numpy.i0])
def test_the_derivatives_of_i0_have_all_digits_near_zero_and_near_the_overflow(function, x):
    agree(nth(function, 0), [x], mpmath.besseli(0, x))
    agree(nth(function, 1), [x], mpmath.besseli(1, x))
    agree(nth(function, 2), [x], (mpmath.besseli(0, x) + mpmath.besseli(2, x)) / 2)


@pytest.mark.parametrize("x", [1e5, 1e16, 1e100, -1e16])
def test_the_derivatives_of_scaled_bessel_functions_do_not_cancel_for_large_arguments(x):
    size, sign = mpmath.mpf(abs(x)), np.sign(x)
    front = 1 / mpmath.sqrt(2 * mpmath.pi * size)  # DLMF 10.40.1, to the second term
    agree(nth(special.i0e, 1), [x], -sign * front / (2 * size) * (1 + 3 / (8 * size)), 1e-9)
    agree(nth(special.i1e, 1), [x], -front / (2 * size) * (1 - 9 / (8 * size)), 1e-9)
    agree(nth(special.i0e, 2), [x], front * 3 / (4 * size**2) * (1 + 5 / (8 * size)), 1e-9)
    agree(nth(special.i1e, 2), [x], sign * front * 3 / (4 * size**2) * (1 - 15 / (8 * size)), 1e-9)


def test_derivatives_of_i1_that_overflow_are_infinite():
    for order in (0, 1, 2):
        assert both(nth(special.i1, order), 720.0) == [np.inf, np.inf]
        assert both(nth(special.i0, order), -720.0) == [np.inf if order % 2 == 0 else -np.inf] * 2


def logarithm_of_weighted_sum(a, b):
    return mpmath.log(mpmath.fsum(mpmath.mpf(w) * mpmath.exp(x) for x, w in zip(a, b)))


@pytest.mark.parametrize("function", [special.logsumexp, nn.logsumexp])
@pytest.mark.parametrize("a", [[0.0, 0.0, 0.0], [1.0, 3.0, -2.0], [700.0, 0.5, -700.0], [-2.0, 4.0, -np.inf]])
def test_a_weight_of_zero_has_the_derivative_of_logsumexp(function, a):
    weights = [2.0, 0.0, 5.0]
    f = lambda b: function(np.array(a), b=b)
    want = [float(mpmath.exp(mpmath.mpf(x) - logarithm_of_weighted_sum(a, weights))) for x in a]
    for slope in (grad(f), jit(grad(f)), grad(jit(f))):
        np.testing.assert_allclose(slope(np.array(weights)), want, rtol=1e-14)
    rows = [[-x * y for y in want] for x in want]
    np.testing.assert_allclose(hessian(f)(np.array(weights)), rows, rtol=1e-13, atol=1e-300)


def test_an_element_of_weight_zero_does_not_overflow_the_others():
    a, b = np.array([1e4, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])
    value = np.log(np.exp(1.0) + np.exp(2.0))
    for function in (special.logsumexp, jit(lambda a, b: special.logsumexp(a, b=b))):
        np.testing.assert_allclose(function(a, b=b) if function is special.logsumexp else function(a, b), value)
    slope = grad(lambda a: special.logsumexp(a, b=b))(a)
    np.testing.assert_allclose(slope, [0.0, *np.exp(a[1:] - value)], rtol=1e-14)


def test_logsumexp_of_complex_numbers_is_scipys_with_its_derivative():
    scipys = pytest.importorskip("scipy.special", reason="scipy is not installed")
    random = np.random.default_rng(0)
    z, w = (random.normal(size=(3, 4)) * 5 + 1j * random.normal(size=(3, 4)) for _ in range(2))
    w[0, 0] = 0.0
    for options in ({}, {"b": w}, {"axis": 1, "b": w}, {"axis": 0, "keepdims": True, "return_sign": True}):
        f = lambda z, options=options: special.logsumexp(z, **options)
        for got in (f(z), jit(f)(z)):
            np.testing.assert_allclose(got, scipys.logsumexp(z, **options), rtol=1e-13)
    f, step = lambda z: special.logsumexp(z, b=w[0]).real, 1e-6
    slope = grad(f)(z[0])
    for k, unit in enumerate(np.eye(4)):
        for turn, part in ((1.0, slope[k].real), (1j, -slope[k].imag)):
            change = step * turn * unit
            np.testing.assert_allclose((f(z[0] + change) - f(z[0] - change)) / (2 * step), part, rtol=1e-7, atol=1e-9)
