import math

import numpy as np
import pytest

from calque_bounds import TaylorTrace, bounds, taylor_bounds
from calque_core import MissingRuleError, Primitive, evaluation, lax

FUNCTIONS = {
    "exp": (np.exp, 0.3),
    "exp2": (lax.exp2, 0.3),
    "expm1": (lax.expm1, 0.3),
    "log": (np.log, 0.8),
    "log1p": (lax.log1p, 0.3),
    "sqrt": (np.sqrt, 0.8),
    "rsqrt": (lax.rsqrt, 0.8),
    "cbrt": (lax.cbrt, 0.8),
    "power": (lambda x: lax.pow(x, 1.7), 0.8),
    "power of": (lambda x: lax.pow(0.7, x), 0.8),
    "power of itself": (lambda x: lax.pow(x, x), 0.8),
    "whole power": (lambda x: lax.pow(x, 3.0), -0.8),
    "cube": (lambda x: x**3, -0.4),
    "inverse square": (lambda x: lax.integer_pow(x, -2), 1.8),
    "zeroth power": (lambda x: lax.integer_pow(x, 0) * x, 0.8),
    "sin": (np.sin, 0.3),
    "cos": (np.cos, 0.3),
    "tan": (np.tan, 0.3),
    "asin": (np.arcsin, 0.3),
    "acos": (np.arccos, 0.3),
    "atan": (np.arctan, 0.3),
    "sinh": (np.sinh, 0.3),
    "cosh": (np.cosh, 0.3),
    "tanh": (np.tanh, 0.3),
    "asinh": (np.arcsinh, 0.3),
    "acosh": (np.arccosh, 1.8),
    "atanh": (np.arctanh, 0.3),
    "logistic": (lax.logistic, 0.3),
    "erf": (lax.erf, 0.3),
    "erfc": (lax.erfc, 0.3),
    "tanh_slope": (lax.tanh_slope, 0.3),
    "logistic_slope": (lax.logistic_slope, 0.3),
    "atan2": (lambda x: lax.atan2(x * x, x + 1.0), 0.3),
    "quotient": (lambda x: (x + 1.0) / (x * x + 1.0), 0.3),
    "difference": (lambda x: 1.0 - x * (2.0 - x), 0.3),
    "abs": (lambda x: abs(x) * x, 0.3),
    "max": (lambda x: lax.max(x * x, x), 0.3),
    "min": (lambda x: lax.min(x * x, x), 0.3),
    "clamp": (lambda x: lax.clamp(-1.0, x * x, 1.0), 0.3),
    "where": (lambda x: lax.select(x > 0.0, x * x, x), 0.3),
    "cond": (lambda x: lax.cond(x > 0.0, lambda: x * x, lambda: x), 0.3),
    "sum": (lambda x: lax.reduce_sum(x * np.array([1.0, 2.0]) * x), 0.3),
    "largest": (lambda x: lax.reduce_max(x * x * np.array([[1.0, 3.0]]), (0, 1)), 0.3),
    "smallest": (lambda x: lax.reduce_min(x * x * np.array([1.0, 3.0]), (0,), keepdims=True)[0], 0.3),
    "dot": (lambda x: lax.dot(x * np.array([1.0, 2.0]), lax.exp(x * np.array([1.0, -0.5]))), 0.3),
    "joined": (lambda x: lax.reduce_prod(lax.concatenate([x[None], np.ones(1), x[None] + 1.0], 0), (0,)), 0.3),
    "gathered": (lambda x: lax.index_take(x * np.arange(3.0), (np.array([2]),), (0,))[0] * x, 0.3),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: y * x, x), 0.8),
    "stopped": (lambda x: lax.stop_gradient(x) * x, 0.8),
    "dtype": (lambda x: lax.convert_element_type(lax.convert_element_type(x, np.float64), x.dtype) * x, 0.8),
}


def differences(f, x, order, h=0.02):
    """Return the coefficient of this order at x, by differences of Chebyshev interpolation."""
    nodes = np.cos(np.pi * (np.arange(24) + 0.5) / 24) * h * 8
    values = [float(f(np.float64(x + d))) for d in nodes]
    return np.polynomial.Chebyshev.fit(nodes, values, 12).convert(kind=np.polynomial.Polynomial).coef[order]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_coefficients_enclose_those_of_the_function(name):
    f, x = FUNCTIONS[name]
    series = taylor_bounds(f, 3)(x - 1e-3, x + 1e-3)
    assert series.lower.shape == series.upper.shape == (4,)
    for k in range(4):
        right, slack = differences(f, x, k), 10.0 ** (-12 + 2 * k)
        assert series.lower[k] - slack <= right <= series.upper[k] + slack
        width = series.upper[k] - series.lower[k]
        assert width < (1e-10 if k < 3 else 1.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_series_encloses_the_function_in_the_whole_box(name):
    f, x = FUNCTIONS[name]
    series = taylor_bounds(f, 2)(x - 0.05, x + 0.05)
    for point in np.linspace(x - 0.05, x + 0.05, 11):
        distance = point - series.centre
        terms = [np.sort([end[k] * distance**k for end in (series.lower, series.upper)]) for k in range(3)]
        low, high = np.sum(terms, axis=0)
        assert low - 1e-12 <= float(f(np.float64(point))) <= high + 1e-12


def test_the_last_coefficient_holds_for_the_whole_box():
    series = taylor_bounds(np.exp, 1)(-1.0, 1.0)
    assert series.lower[1] <= np.exp(-1.0)
    assert series.upper[1] >= np.exp(1.0)


def test_irrational_constants_are_enclosed():
    series = taylor_bounds(lax.exp2, 1)(0.0, 0.0)
    assert series.lower[1] < math.log(2.0) < series.upper[1]


# Kinks and jumps


def test_at_a_kink_the_first_coefficient_has_both_slopes():
    for f in (abs, lambda x: lax.max(x, -x), lambda x: -lax.min(x, -x)):
        series = taylor_bounds(f, 1)(-1.0, 2.0)
        assert series.lower[1] == pytest.approx(-1.0)
        assert series.upper[1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.select(x > 0.0, x + 1.0, x - 1.0),
        lambda x: lax.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0),
        lambda x: lax.convert_element_type(x > 0.0, x.dtype) + x,
        lambda x: x - lax.floor(x),
        lambda x: x * lax.sign(x),
        lambda x: lax.atan2(x, -1.0),
        lambda x: lax.select(x > 0.0, np.ones(2), np.zeros(2))[0],
    ],
)
def test_a_jump_has_no_bounded_slope(f):
    series = taylor_bounds(f, 1)(-0.5, 0.75)
    assert (series.lower[1], series.upper[1]) == (-np.inf, np.inf)
    beside = taylor_bounds(f, 1)(0.25, 0.75)
    assert np.isfinite(beside.upper[1])


def test_a_second_coefficient_at_a_kink_is_unbounded():
    series = taylor_bounds(abs, 2)(-1.0, 2.0)
    assert (series.lower[2], series.upper[2]) == (-np.inf, np.inf)
    assert np.all(np.isfinite(bounds(abs, 2)(-1.0, 2.0)))


def test_a_slope_at_the_end_of_the_domain_is_unbounded():
    assert taylor_bounds(np.sqrt, 1)(0.0, 1.0).upper[1] == np.inf
    series = taylor_bounds(np.log, 1)(-1.0, 1.0)
    assert (series.lower[1], series.upper[1]) == (-np.inf, np.inf)


# Refusals


def test_several_numbers_are_refused():
    with pytest.raises(ValueError, match=r"taylor_bounds of sin got bounds of type .*Give two floats; vmap"):
        taylor_bounds(np.sin, 1)(np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match=r"taylor_bounds got the degree 0\. Give 1 or more\."):
        taylor_bounds(np.sin, 0)


def test_the_solution_of_an_equation_is_refused():
    f = lambda x: lax.custom_linear_solve(lambda y: 2.0 * y, x, lambda matvec, b: b / 2.0, symmetric=True)
    with pytest.raises(TypeError, match=r"bounds do not exist for 'custom_linear_solve'.*Bound the residual"):
        taylor_bounds(f, 1)(1.0, 2.0)
    with pytest.raises(TypeError, match="bounds do not exist for 'custom_linear_solve'"):
        bounds(f)(1.0, 2.0)


def test_a_stranger_defines_a_taylor_rule():
    twice_p = Primitive("twice", linearity="linear")
    twice_p.def_impl(lambda x: 2.0 * x)
    twice_p.def_abstract_eval(lambda x: x)
    twice_p.def_rule("bounds", lambda x: type(x)(2.0 * x.lower, 2.0 * x.upper))
    series = taylor_bounds(lambda x: twice_p.bind(x * x), 2)(1.0, 2.0)
    assert series.lower[2] <= 2.0 <= series.upper[2]

    bump_p = Primitive("bump")
    bump_p.is_elementwise = True
    bump_p.def_impl(np.cos)
    bump_p.def_abstract_eval(lambda x: x)
    with pytest.raises(MissingRuleError, match="'bounds' for 'bump'"):
        bounds(bump_p.bind, 1)(0.0, 1.0)
    bump_p.def_rule("bounds", lambda x: type(x)(-1.0, 1.0))
    with pytest.raises(MissingRuleError, match="'taylor' for 'bump'"):
        bounds(bump_p.bind, 1)(0.0, 1.0)
    bump_p.def_rule("taylor", lambda xs: [lax.cos(x) for x in xs[:1]] + xs[1:])
    assert taylor_bounds(bump_p.bind, 1)(0.0, 1.0).upper[1] == 1.0


def test_traces_of_one_degree_have_equal_programs():
    assert TaylorTrace(evaluation, 2).key == TaylorTrace(evaluation, 2).key != TaylorTrace(evaluation, 3).key
