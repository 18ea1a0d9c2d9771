from __future__ import annotations

import numpy as np
import pytest

from calque_jet.series import (
    coefficient,
    derivative,
    integral,
    minus,
    plus,
    power,
    quotient,
    solution,
    square_coefficient,
    whole_power,
)

XS, YS = [2.0, 1.0, -3.0, 0.5], [0.5, -1.0, 2.0, 1.5]


def product(xs, ys):
    return list(np.convolve(xs, ys)[: len(xs)])


def coefficients(get):
    return [get(k) for k in range(4)]


def test_none_is_zero():
    assert (plus(None, None), plus(1.0, None), plus(None, 1.0), minus(1.0, None), minus(None, 1.0)) == (
        None, 1.0, 1.0, 1.0, -1.0,
    )  # fmt: skip
    assert coefficient([1.0, None], [None, 2.0], 0) is None
    assert coefficient([1.0, None], [None, 2.0], 1) == 2.0


def test_products_are_those_of_polynomials():
    np.testing.assert_allclose(coefficients(lambda k: coefficient(XS, YS, k)), product(XS, YS))
    np.testing.assert_allclose(coefficients(lambda k: square_coefficient(XS, k)), product(XS, XS))


def test_a_quotient_times_its_divisor_is_what_was_divided():
    np.testing.assert_allclose(product(quotient(XS, YS), YS), XS)
    np.testing.assert_allclose(quotient(XS, YS, start=4.0), quotient(XS, YS))


def test_the_integral_of_the_derivative_is_the_series():
    np.testing.assert_allclose(integral(XS[0], derivative(XS)), XS)


@pytest.mark.parametrize("exponent", [1, 2, 3, 6, 7])
def test_whole_powers_are_repeated_products(exponent):
    want = [1.0, 0.0, 0.0, 0.0]
    for _ in range(exponent):
        want = product(want, XS)
    np.testing.assert_allclose(whole_power(XS, exponent), want)
    np.testing.assert_allclose(power(XS[0] ** exponent, XS, float(exponent)), want)


def test_the_square_of_a_root_is_its_series():
    root = power(np.sqrt(XS[0]), XS, 0.5)
    np.testing.assert_allclose(product(root, root), XS)


def test_equations_between_derivatives_are_solved_together():
    sines, cosines = solution([np.sin(2.0), np.cos(2.0)], lambda s, c: [c[-1], -s[-1]], XS)
    ones = np.add(product(sines, sines), product(cosines, cosines))
    np.testing.assert_allclose(ones, [1, 0, 0, 0], atol=1e-12)
