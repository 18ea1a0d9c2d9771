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


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [-713.0, -1e-20, 1e-300, 1e-9, 0.4, 3.0, 713.0])
@pytest.mark.parametrize("function", [special.i0, calque_numpy.i0])
def test_the_derivatives_of_i0_have_all_digits_near_zero_and_near_the_overflow(function, x):
    agree(nth(function, 0), [x], mpmath.besseli(0, x))
    agree(nth(function, 1), [x], mpmath.besseli(1, x))
    agree(nth(function, 2), [x], (mpmath.besseli(0, x) + mpmath.besseli(2, x)) / 2)


@pytest.mark.sampled(keep=0.05)
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


@pytest.mark.sampled(keep=0.05)
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


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [0.5, 1 - 1e-12, 1e-300, 0.0, -0.3, -1.0, -1.0001, -2.5, -7.1, -100.7, -171.2, -255.5])
def test_riemanns_zeta_function_has_values_below_1_with_their_derivatives(x):
    agree(special.zeta, [x], mpmath.zeta(x), 2e-13 if x < -10 else 1e-14)
    if abs(x) > 1e-9:
        agree(grad(lambda q: special.zeta(x, q)), [1.0], -mpmath.mpf(x) * mpmath.zeta(mpmath.mpf(x) + 1), 2e-13)


def test_riemanns_zeta_function_is_zero_at_even_negative_numbers():
    for x in (-2.0, -4.0, -1e3, -1e300):
        assert both(special.zeta, x) == [0.0, 0.0]
    assert np.isnan(both(lambda x: special.zeta(x, 2.0), 0.5)).all()  # as SciPy's


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 20, 150])
@pytest.mark.parametrize("x", [-0.3, -0.5, -1e-3, -3.7, -20.25])
def test_polygamma_has_values_of_every_order_for_negative_arguments(n, x):
    with mpmath.workdps(400):
        floor = int(mpmath.floor(x))
        below = mpmath.fsum((mpmath.mpf(x) + k) ** -(n + 1) for k in range(-floor))
        want = (-1) ** (n + 1) * mpmath.factorial(n) * (below + mpmath.zeta(n + 1, mpmath.mpf(x) - floor))
    if abs(want) < 1e300:
        agree(lambda x: special.polygamma(float(n), x), [x], want, 1e-12)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("exponent", [20, 50, 100, 150, 250, 300])
def test_polygamma_of_large_arguments_is_its_leading_term(n, exponent):
    if n * exponent < 308:
        want = (-1) ** (n + 1) * mpmath.factorial(n - 1) * mpmath.mpf(10) ** (-n * exponent)
        agree(lambda x: special.polygamma(float(n), x), [10.0**exponent], want, 1e-13)
        agree(nth(special.gammaln, n + 1), [10.0**exponent], want, 1e-13)


def test_a_factorial_and_a_power_of_polygamma_do_not_overflow_apart():
    want = -mpmath.factorial(200) * mpmath.fsum(mpmath.mpf(k) ** -201 for k in range(100, 400))
    agree(lambda x: special.polygamma(200.0, x), [100.0], want, 1e-12)
    assert both(special.gammaln, -1.7e308) == [np.inf, np.inf]


def difference(f, x):
    """Return the derivative of a function of mpmath by a difference."""
    step = mpmath.mpf(10) ** -30
    return (f(mpmath.mpf(x) + step) - f(mpmath.mpf(x) - step)) / (2 * step)


PARAMETERS = [(1.5, 2.5), (0.3, 4.0), (-0.7, 1.2), (-2.0, 1.5), (0.0, 3.0), (3.5, 3.5), (5.0, 2.0)]


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize(("a", "b"), PARAMETERS)
@pytest.mark.parametrize("x", [-2e3, -300.0, -40.0, -3.0, -1e-9, 0.0, 0.5, 12.0, 90.0, 400.0])
def test_hyp1f1_has_derivatives_in_its_parameters(a, b, x):
    with mpmath.workdps(80):
        if (a, x) != (-2.0, -2e3):
            by_a = difference(lambda a: mpmath.hyp1f1(a, b, x), a)
            agree(grad(special.hyp1f1), [a, b, x], by_a, 1e-11)
            by_b = difference(lambda b: mpmath.hyp1f1(a, b, x), b)
            agree(grad(special.hyp1f1, argnums=1), [a, b, x], by_b, 1e-11)
    if x in (-3.0, 12.0):
        by_x = lambda a: difference(lambda x: mpmath.hyp1f1(a, b, x), x)
        with mpmath.workdps(120):
            agree(grad(grad(special.hyp1f1), argnums=2), [a, b, x], difference(by_x, a), 1e-11)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize(("n", "x"), [(2000, 0.5), (2000, 1.0), (171, 1e-8), (1e6, 0.3), (2000, 3.0), (1e5, 600.0)])
def test_expn_of_large_orders_has_a_value_and_a_derivative(n, x):
    f = lambda x: special.expn(float(n), x)
    agree(f, [x], mpmath.expint(n, x))
    agree(grad(f), [x], -mpmath.expint(n - 1, x))


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("p", [3e-308, 1e-200, 1e-20, 0.01, 0.3, 0.7, 1 - 1e-10])
def test_the_derivatives_of_ndtri_have_all_digits_in_the_tail(p):
    y = special.ndtri(p)
    for _ in range(6):
        low, sign = (mpmath.mpf(p), 1) if p < 0.5 else (1 - mpmath.mpf(p), -1)
        tail = mpmath.erfc(abs(y) / mpmath.sqrt(2)) / 2
        y = abs(y) + tail * mpmath.log(tail / low) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(mpmath.mpf(y) ** 2 / 2)
        y = -sign * y
    slope = mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(y * y / 2)
    agree(grad(special.ndtri), [p], slope, 4e-15)
    if abs(y * slope**2) < 1e308:
        agree(nth(special.ndtri, 2), [p], y * slope**2, 1e-14)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [5e-324, 1e-310, 1e-200, 1e-9, 0.4, 3.0, 1e200, 1.7e308])
def test_the_derivatives_of_entr_neither_overflow_nor_underflow_between(x):
    compiled = [special.entr] if x > 1e-307 else []
    for f in (special.entr, *map(jit, compiled)):
        with np.errstate(over="ignore"):
            slope, second = grad(f)(x), grad(grad(f))(x)
        np.testing.assert_allclose(slope, float(-mpmath.log(x) - 1), rtol=1e-15)
        np.testing.assert_allclose(second, float(-1 / mpmath.mpf(x)), rtol=1e-15, atol=1e-308)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [-720.0, 1e-9, 1.0, 705.0, 711.0, 715.0])
def test_the_derivatives_of_expi_are_finite_where_exp_is_not(x):
    size = mpmath.exp(x) / x
    if abs(size) > 1e-308:
        agree(grad(special.expi), [x], size, 1e-14)
        agree(nth(special.expi, 2), [x], size * (1 - 1 / mpmath.mpf(x)), 1e-14)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [-1e10, -200.0, -17.37, -5.0, -1.0, 0.0, 3.0])
def test_the_second_derivative_of_log_ndtr_does_not_cancel(x):
    with mpmath.workdps(400):
        ratio = mpmath.npdf(x) / mpmath.ncdf(x) if x > -1e3 else -mpmath.mpf(x) - 1 / mpmath.mpf(x)
        second = -ratio * (x + ratio) if x > -1e3 else -1 + 1 / mpmath.mpf(x) ** 2
    agree(grad(special.log_ndtr), [x], ratio, 1e-14)
    agree(nth(special.log_ndtr, 2), [x], second, 1e-13)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [0.8, 1.6, 3.3, 5.04, 6.9, 7.1])
def test_the_second_derivatives_of_erfcx_and_dawsn_do_not_cancel(x):
    scaled = mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x)
    slope = 2 * x * scaled - 2 / mpmath.sqrt(mpmath.pi)
    agree(grad(special.erfcx), [x], slope, 4e-15)
    agree(nth(special.erfcx, 2), [x], 2 * scaled + 2 * x * slope, 3e-14)
    value = mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-(mpmath.mpf(x) ** 2)) * mpmath.erfi(x)
    slope = 1 - 2 * x * value
    agree(grad(special.dawsn), [x], slope, 1e-14)
    agree(nth(special.dawsn, 2), [x], -2 * value - 2 * x * slope, 3e-14)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize(("x", "y"), [(1.0, 1.0 + 1e-8), (3.0, 2.9), (1e-300, 2e-300), (1e300, 5e-324), (2.0, 9.0)])
def test_kl_div_of_similar_numbers_does_not_cancel(x, y):
    p, q = mpmath.mpf(x), mpmath.mpf(y)
    for f in (special.kl_div, jit(special.kl_div) if y > 1e-307 else special.kl_div):
        np.testing.assert_allclose(float(f(x, y)), float(p * mpmath.log(p / q) - p + q), rtol=1e-14)
        np.testing.assert_allclose(grad(f)(x, y), float(mpmath.log(p / q)), rtol=1e-7)
        np.testing.assert_allclose(grad(f, argnums=1)(x, y), float(1 - p / q), rtol=1e-7)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("x", [-171.00000000000003, -175.99999999999997, -170.5, -0.1, 1e-9, 171.6])
def test_gamma_beside_its_poles_is_normal_where_gamma_of_the_mirrored_number_overflows(x):
    agree(special.gamma, [x], mpmath.gamma(x), 1e-13)
    assert both(lambda x: special.gamma(x), np.float32(210.0)) == [np.inf, np.inf]


@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (lambda x: special.comb(x, 3.0), 1e26, 0.5e52),
        (lambda k: special.comb(1e20, k), 1.0, 1e20 * (np.log(1e20) + np.euler_gamma - 1)),
        (lambda z: special.poch(z, 3.0), 1e-300, 2.0),
        (lambda z: special.poch(z, 0.5), 1e253, 0.5 / np.sqrt(1e253)),
        (lambda a: special.betaln(a, 0.125), 1e-100, -1e100),
    ],
)
def test_derivatives_of_quotients_of_gamma_functions_survive_large_and_small_numbers(function, x, slope):
    np.testing.assert_allclose(grad(function)(x), slope, rtol=1e-12)


def test_the_second_derivative_of_betaln_of_a_tiny_number_is_finite():
    np.testing.assert_allclose(grad(grad(lambda a: special.betaln(a, 0.125)))(1e-100), 1e200, rtol=1e-12)


@pytest.mark.parametrize("a", [-0.3, -5.4, -20.3, -3e6 - 0.5])
def test_betaln_of_negative_numbers_does_not_cancel(a):
    b = np.array([0.125, 2.75, 30.25, 1000.125, -0.3, -50.3])
    with mpmath.workdps(50):
        right = lambda b: mpmath.log(abs(mpmath.gamma(a) * mpmath.gamma(b) * mpmath.rgamma(mpmath.mpf(a) + b)))
        slope = lambda b: mpmath.digamma(b) - mpmath.digamma(mpmath.mpf(a) + b)
        values, slopes = (np.array([float(f(mpmath.mpf(x))) for x in b]) for f in (right, slope))
    for betaln in (special.betaln, lambda a, b: special.betaln(b, a)):
        np.testing.assert_allclose(betaln(a, b), values, rtol=1e-14, atol=2e-15)
        np.testing.assert_allclose(grad(lambda b: betaln(a, b).sum())(b), slopes, rtol=1e-10)  # noqa: B023
    assert np.isinf(special.betaln(-5.0, 2.5))
    assert np.isnan(special.betaln(-5.0, 2.0))
