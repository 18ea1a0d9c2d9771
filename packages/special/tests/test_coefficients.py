"""The coefficients are those that their derivation gives; the functions have the accuracy that they state."""

from __future__ import annotations

import runpy
from decimal import Decimal, localcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import calque_special as special

coefficient_tables = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("coefficient_tables.py"))))


def test_the_tables_are_what_their_derivation_writes():
    assert coefficient_tables.TARGET.read_text(encoding="utf-8") == coefficient_tables.module()


def exact(function, points):
    with localcontext() as context:
        context.prec = coefficient_tables.DIGITS + 70
        return [function(Decimal(x)) for x in points]


def ulps_apart(got, want, dtype):
    """Return distances in ulp; `want` is decimal, so that no rounding of the reference counts."""
    ulps = np.spacing(np.abs(np.array([float(w) for w in want])).astype(dtype)).astype(float)
    return np.array([float(Decimal(float(g)) - w) for g, w in zip(got, want)]) / ulps


def scaled_bessel(order):
    function = coefficient_tables.scaled_bessel(order)
    return lambda x: function(x) if x < 200 else coefficient_tables.large(order)(16 / x - 1) / x.sqrt()


CASES = {
    "lgamma": (
        coefficient_tables.log_gamma,
        [1e-30, 0.1, 0.5, 0.9999, 1.0001, 1.4616, 1.9999, 2.0001, 2.7, 3.0, 4.4, 7.99, 8.0, 33.3, 1e6],
        8,
    ),
    "digamma": (
        coefficient_tables.digamma,
        [1e-30, 0.1, 0.5, 0.9999, 1.2, 1.4615, 1.4617, 1.9999, 2.0001, 2.7, 3.0, 4.4, 7.99, 8.0, 33.3, 1e6],
        8,
    ),
    "trigamma": (
        coefficient_tables.trigamma,
        [1e-15, 0.1, 0.5, 0.9999, 1.0001, 1.007, 1.9999, 2.0001, 2.7, 3.0, 4.4, 7.99, 8.0, 33.3, 1e6],
        8,
    ),
    "bessel_i0e": (scaled_bessel(0), [1e-8, 0.01, 0.9, 3.3, 7.99, 8.01, 20.0, 123.0, 1e5], 8),
    "bessel_i1e": (scaled_bessel(1), [1e-8, 0.01, 0.9, 3.3, 7.99, 8.01, 20.0, 123.0, 1e5], 8),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_functions_are_as_accurate_as_they_say(name, dtype):
    reference, points, bound = CASES[name]
    x = np.array(points, dtype)
    function = (lambda x: special.polygamma(1.0, x)) if name == "trigamma" else getattr(special, name)
    distances = ulps_apart(function(x), exact(reference, x.tolist()), dtype)
    assert np.abs(distances).max() <= bound, dict(zip(points, distances))


@pytest.mark.parametrize(
    ("name", "points", "values"),
    [
        ("lgamma", [0.0, -0.0, -3.0, np.inf, -np.inf, np.nan, 1.0, 2.0], [np.inf] * 5 + [np.nan, 0.0, 0.0]),
        ("digamma", [0.0, -0.0, -3.0, np.inf, np.nan], [-np.inf, np.inf, np.nan, np.inf, np.nan]),
        ("bessel_i0e", [0.0, np.inf, -np.inf, np.nan], [1.0, 0.0, 0.0, np.nan]),
        ("bessel_i1e", [0.0, np.inf, -np.inf, np.nan], [0.0, 0.0, -0.0, np.nan]),
    ],
)
def test_limits_and_poles(name, points, values):
    out = getattr(special, name)(np.array(points))
    np.testing.assert_array_equal(out, values)
    is_number = ~np.isnan(values)
    np.testing.assert_array_equal(np.signbit(out)[is_number], np.signbit(values)[is_number])


def test_poles_and_domain_of_zeta_and_polygamma():
    x, q = np.array([1.0, 0.5, 2.0, 2.0, 2.0]), np.array([3.0, 3.0, 0.0, -1.5, np.inf])
    np.testing.assert_array_equal(special.zeta(x, q), [np.inf, np.nan, np.inf, np.nan, 0.0])
    np.testing.assert_array_equal(special.polygamma(np.array([-1.0, 0.5, 2.0]), np.array([1.0, 1.0, np.nan])), np.nan)
    np.testing.assert_allclose(special.zeta(2.0, 1.0), np.pi**2 / 6, rtol=1e-15)
    np.testing.assert_allclose(
        special.polygamma(1.0, np.array([1.0, 0.5, -0.5])), np.pi**2 * np.array([1 / 6, 0.5, 0.5]) + [0, 0, 4]
    )
    np.testing.assert_allclose(special.polygamma(np.array([2.0, 3.0]), -0.5), [-0.8287966442, 193.409091034], rtol=1e-9)
    np.testing.assert_allclose(special.polygamma(3.0, 0.5), np.pi**4, rtol=1e-14)


def lower_gamma(a, x):
    """Return P(a, x) by its power series in decimal numbers (DLMF 8.7.1)."""
    term = total = Decimal(1)
    n = 0
    while term > total * Decimal(10) ** -60:
        n += 1
        term *= x / (a + n)
        total += term
    return (a * x.ln() - x - coefficient_tables.log_gamma(a + 1)).exp() * total


POINTS = [(1e-6, 0.2), (0.3, 0.01), (0.9, 1.2), (1.5, 1.4), (7.9, 12.0), (8.1, 5.0), (60.0, 66.0), (199.0, 220.0)]
POINTS += [(201.0, 190.0), (201.0, 201.0), (350.0, 420.0), (3000.0, 3100.0), (1e5, 99000.0)]


def test_incomplete_gamma_functions_are_as_accurate_as_they_say():
    with localcontext() as context:
        context.prec = 80
        for a, x in POINTS:
            p, h = lower_gamma(Decimal(a), Decimal(x)), Decimal("1e-20")
            slope = (lower_gamma(Decimal(a) + h, Decimal(x)) - lower_gamma(Decimal(a) - h, Decimal(x))) / (2 * h)
            for function, want in ((special.igamma, p), (special.igammac, 1 - p), (special.igamma_grad_a, slope)):
                exponent = 1 - float(min(p, 1 - p).ln())
                (distance,) = ulps_apart([function(a, x)], [want], "float64")
                assert abs(distance) <= 32 * exponent, (function, a, x)


def test_limits_and_domain_of_incomplete_functions():
    a, x = np.array([1.0, 1.0, 0.0, -1.0, 1.0, np.inf, np.nan]), np.array([0.0, np.inf, 1.0, 1.0, -1.0, 5.0, 1.0])
    np.testing.assert_array_equal(special.igamma(a, x), [0, 1, 1, np.nan, np.nan, 0, np.nan])
    np.testing.assert_array_equal(special.igammac(a, x), [1, 0, 0, np.nan, np.nan, 1, np.nan])
    np.testing.assert_array_equal(
        special.betainc(2.0, 3.0, np.array([0.0, 1.0, -0.1, 1.1, np.nan])), [0, 1] + [np.nan] * 3
    )
    np.testing.assert_array_equal(special.betainc(np.array([-1.0, 1.0]), np.array([1.0, -1.0]), 0.5), np.nan)
    np.testing.assert_allclose(special.betainc(0.5, 0.5, 0.5), 0.5, rtol=1e-14)
    np.testing.assert_allclose(special.betainc(3.0, 1.0, 0.2), 0.008, rtol=1e-14)


@pytest.mark.parametrize("size", [1.0, 2.5])
def test_a_beta_distribution_without_spread_is_a_step(size):
    x = np.array([0.0, 0.3, 1.0, 1.5])
    for a, b in ((0.0, size), (size, np.inf), (0.0, np.inf)):
        np.testing.assert_array_equal(special.betainc(a, b, x), [0, 1, 1, np.nan])
        np.testing.assert_array_equal(special.betainc(b, a, x), [0, 0, 1, np.nan])
    for both in (0.0, np.inf):
        np.testing.assert_array_equal(special.betainc(both, both, x), np.nan)


def test_an_infinite_order_of_zeta_leaves_the_first_term():
    q = np.array([0.5, 1.0, 2.0, np.inf, -1.0])
    for order in (np.inf, 1e300):
        np.testing.assert_array_equal(special.zeta(order, q), [np.inf, 1, 0, 0, np.nan])
    np.testing.assert_array_equal(special.zeta(np.nan, q), np.nan)
