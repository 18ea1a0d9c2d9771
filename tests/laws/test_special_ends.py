"""Special functions and their derivatives at the ends of their ranges, beside mpmath's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import calque_numpy
from calque_autodiff import grad
from calque_numpy.scipy import special
from calque_xla_backend import jit

mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")


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
