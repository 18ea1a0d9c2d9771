"""The parts of formulas that other packages use, against exact numbers and differences."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from calque_core import lax
from calque_core.engine import scaled_erfc
from calque_special import kit


def test_each_name_is_there():
    assert {name for name in dir(kit) if name in kit.__all__} == set(kit.__all__)
    assert all(getattr(kit, name) is not None for name in kit.__all__)


@pytest.mark.parametrize("t", [-0.875, -0.25, -1e-9, 1e-12, 1e-4, 0.375, 0.5, 30.0])
def test_a_deviance_has_all_digits_near_0(t):
    with localcontext() as context:
        context.prec = 60
        want = Decimal(t) - (1 + Decimal(t)).ln()
        decay = (-3 * want).exp()
    np.testing.assert_allclose(float(kit.deviance(t, 1.0 + t)), float(want), rtol=4e-15)
    np.testing.assert_allclose(float(kit.damping(3.0, t, 1.0 + t)), float(decay), rtol=3e-14)


def test_a_sum_has_the_terms_that_each_element_needs():
    x = np.array([0.0, 0.5, -3.0, 20.0])

    def step(n, values):
        term, total = values
        term = term * x / n
        return term, total + term

    one = np.ones_like(x)
    np.testing.assert_allclose(kit.summed(step, (one, one))[-1], np.exp(x), rtol=1e-14)


def test_a_method_that_no_element_needs_is_left_out():
    method = lambda x: (x + 1.0, x * 2.0)
    x = np.array([1.0, 2.0])
    for mask, want in ((np.array([False, True]), [[2.0, 3.0], [2.0, 4.0]]), (np.zeros(2, bool), np.zeros((2, 2)))):
        np.testing.assert_array_equal(kit.where_any(mask, method, 2, x), want)


@pytest.mark.parametrize("x", [1.0, 2.5, 7.9, 8.0, 30.0, 170.0])
def test_the_factors_of_gamma_are_finite_and_their_product_is_gamma(x):
    factors = kit.gamma_factors(np.float64(x))
    assert np.isfinite(factors).all()
    with localcontext() as context:
        context.prec = 40
        logarithm = sum((Decimal(factor).ln() for factor in map(float, factors)), Decimal(0))
    np.testing.assert_allclose(float(logarithm), float(lax.lgamma(x)), rtol=1e-14, atol=1e-14)
    assert kit.gamma_of(np.float64(x)) == factors[0] * factors[1]


@pytest.mark.parametrize("x", [0.0, 0.7, 3.75, 20.0, 1e8])
def test_the_slope_of_the_scaled_complementary_error_function_is_that_of_differences(x):
    step = 1e-5 * (1.0 + x)
    difference = (scaled_erfc(x + step) - scaled_erfc(np.abs(x - step))) / (x + step - np.abs(x - step) or 1.0)
    if x:
        np.testing.assert_allclose(kit.scaled_erfc_slope(x), difference, rtol=1e-7)
    else:
        np.testing.assert_allclose(kit.scaled_erfc_slope(0.0), -2.0 / np.sqrt(np.pi), rtol=1e-14)


def test_regions_give_the_functions_on_arrays():
    x = np.array([0.5, 3.0, 7.5, 0.25] * 5)
    pairs = [(kit.I0_REGIONS, lax.bessel_i0e), (kit.I1_REGIONS, lax.bessel_i1e)]
    for regions, scaled in pairs:
        (out,) = regions._replace(elsewhere=[np.positive]).of_array(x, x.dtype)
        np.testing.assert_allclose(out, scaled(x) * np.exp(x), rtol=1e-14)
    (out,) = kit.GAMMA_REGIONS._replace(elsewhere=[np.positive]).of_array(x, x.dtype)
    np.testing.assert_allclose(out, np.exp(lax.lgamma(x)), rtol=1e-13)
    (out,) = kit.SCALED_ERFC_REGIONS._replace(elsewhere=[np.positive]).of_array(x, x.dtype)
    np.testing.assert_allclose(out, scaled_erfc(x), rtol=1e-14)
