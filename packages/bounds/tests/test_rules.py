"""Each rule on boxes with random points; values in long doubles, which have 11 bits more."""

import numpy as np
import pytest

from calque_bounds import bounds, def_growing
from calque_core import MissingRuleError, Primitive, lax

MATRIX = np.arange(-6.0, 6.0).reshape(4, 3) / 8.0
ROWS, ADDED = np.array([[1], [2], [3]]), lax.ScatterDimensionNumbers((1,), (0,), (0,))
FUNCTIONS = {
    "neg": (lax.neg, np.negative),
    "abs": (lax.abs, np.abs),
    "square": (lax.square, np.square),
    "cube": (lambda x: lax.integer_pow(x, 3), lambda x: x**3),
    "fourth": (lambda x: lax.integer_pow(x, 4), lambda x: x**4),
    "inverse cube": (lambda x: lax.integer_pow(x, -3), lambda x: 1 / x**3),
    "inverse square": (lambda x: lax.integer_pow(x, -2), lambda x: 1 / x**2),
    "reciprocal": (lambda x: 1.0 / x, lambda x: 1 / x),
    "quotient": (lambda x: x / (x + 1.0), lambda x: x / (x + 1)),
    "rem": (lambda x: lax.rem(x, 0.75), lambda x: np.fmod(x, np.longdouble(0.75))),
    "sqrt": (lax.sqrt, np.sqrt),
    "rsqrt": (lax.rsqrt, lambda x: 1 / np.sqrt(x)),
    "cbrt": (lax.cbrt, np.cbrt),
    "pow": (lambda x: lax.pow(x, 1.5), lambda x: x ** np.longdouble(1.5)),
    "whole pow": (lambda x: lax.pow(x, -3.0), lambda x: x ** np.longdouble(-3.0)),
    "pow of": (lambda x: lax.pow(0.5, x), lambda x: np.longdouble(0.5) ** x),
    "exp": (lax.exp, np.exp),
    "exp2": (lax.exp2, np.exp2),
    "expm1": (lax.expm1, np.expm1),
    "log": (lax.log, np.log),
    "log1p": (lax.log1p, np.log1p),
    "sin": (lax.sin, np.sin),
    "cos": (lax.cos, np.cos),
    "tan": (lax.tan, np.tan),
    "asin": (lax.asin, np.arcsin),
    "acos": (lax.acos, np.arccos),
    "atan": (lax.atan, np.arctan),
    "sinh": (lax.sinh, np.sinh),
    "cosh": (lax.cosh, np.cosh),
    "tanh": (lax.tanh, np.tanh),
    "asinh": (lax.asinh, np.arcsinh),
    "acosh": (lax.acosh, np.arccosh),
    "atanh": (lax.atanh, np.arctanh),
    "logistic": (lax.logistic, lambda x: 1 / (1 + np.exp(-x))),
    "atan2": (lambda x: lax.atan2(x, 1.0 - x), lambda x: np.arctan2(x, 1 - x)),
    "max": (lambda x: lax.max(x, 0.25), lambda x: np.maximum(x, 0.25)),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    "floor": (lax.floor, np.floor),
    "sign": (lax.sign, np.sign),
    "where": (lambda x: lax.select(x > 0.25, x, -x), lambda x: np.where(x > 0.25, x, -x)),
    "not": (lambda x: lax.select(lax.bitwise_not(x > 0.25), x, -x), lambda x: np.where(x > 0.25, -x, x)),
    "step": (lambda x: lax.convert_element_type(x >= 0.5, x.dtype), lambda x: (x >= 0.5).astype(np.longdouble)),
    "whole": (lambda x: lax.convert_element_type(lax.convert_element_type(x, np.int32), x.dtype), np.trunc),
    "to float32": (lambda x: lax.convert_element_type(lax.convert_element_type(x, np.float32), x.dtype), lambda x: x),
    "sum": (lambda x: lax.reduce_sum(x, (1,)), lambda x: x.sum(1)),
    "running sum": (lambda x: lax.cumsum(x, 1), lambda x: np.cumsum(x, 1)),
    "product": (lambda x: lax.reduce_prod(x, (1,)), lambda x: x.prod(1)),
    "largest": (lambda x: lax.reduce_max(x, (1,)), lambda x: x.max(1)),
    "sort": (lambda x: lax.sort(x, 1), lambda x: np.sort(x, 1)),
    "matrix": (lambda x: x @ MATRIX.astype(x.dtype), lambda x: x @ MATRIX),
    "square of a matrix": (lambda x: x @ lax.transpose(x, (1, 0)), lambda x: x @ x.T),
    "gather": (lambda x: x[np.array([2, 0, 1])], lambda x: x[np.array([2, 0, 1])]),
    "slice": (lambda x: lax.dynamic_slice(x, (1, 0), (2, 4)), lambda x: x[1:3]),
    "update": (
        lambda x: lax.dynamic_update_slice(x, x[:1], (2, 0)),
        lambda x: np.concatenate([x[:2], x[:1], x[3:]]),
    ),
    "added rows": (
        lambda x: lax.scatter_add(x, ROWS, x[:3], ADDED),
        lambda x: x + np.pad(x[:3], ((1, len(x) - 4), (0, 0))),
    ),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: y * x + 1.0, x), lambda x: ((x * x + 1) * x + 1) * x + 1),
}


def boxes(dtype, rng, count=200):
    """Return lower and upper bounds, and points between them."""
    centre = rng.uniform(-3.0, 3.0, (count, 4)).astype(dtype)
    width = (10.0 ** rng.uniform(-17.0, 0.5, (count, 4))).astype(dtype)
    lower, upper = centre - width, centre + width
    return lower, upper, [np.clip(lower + s * (upper - lower), lower, upper) for s in rng.uniform(size=(3, count, 4))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_lies_outside(name, dtype):
    ours, right = FUNCTIONS[name]
    dtype = np.dtype(dtype)
    lower, upper, points = boxes(dtype, np.random.default_rng(len(name)))
    low, high = bounds(ours)(lower, upper)
    for x in points:
        with np.errstate(all="ignore"):
            value = np.asarray(right(x.astype(np.longdouble)), np.longdouble)
        slack = np.abs(value) * 2.0**-57  # the error of a long double
        is_right = ~np.isfinite(value) | ((low <= value + slack) & (value - slack <= high))
        assert np.all(is_right), (x[~is_right], value[~is_right])
    assert low.dtype == high.dtype == dtype
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()


@pytest.mark.parametrize("name", ["exp", "sin", "tanh", "atan", "log1p", "sqrt", "reciprocal"])
def test_the_bounds_of_a_number_are_few_ulps_apart(name):
    x = np.random.default_rng(1).uniform(0.5, 1.5, 100)
    low, high = bounds(FUNCTIONS[name][0])(x, x)
    assert np.all((high - low) / np.spacing(high) < 64)


def test_arithmetic_of_numbers_is_two_or_three_ulps_wide_on_each_side():
    x = np.random.default_rng(1).uniform(0.5, 1.5, 100)
    for f in (lambda x: x + 1.0, lambda x: x * 3.0, lambda x: x / 3.0):
        low, high = bounds(f)(x, x)
        assert np.all((high - low) / np.spacing(high) <= 8)


def test_a_value_minus_itself_is_zero_and_a_square_is_not_negative():
    assert bounds(lambda x: x - x)(-1.0, 2.0) == (0.0, 0.0)
    low, high = bounds(lambda x: x * x)(-1.0, 2.0)
    assert low == 0.0
    assert 4.0 <= high < 4.0001


# Where values do not exist


def test_a_divisor_with_zero_inside_gives_all_numbers():
    assert bounds(lambda x: 1.0 / x)(-1.0, 2.0) == (-np.inf, np.inf)
    low, high = bounds(lambda x: 1.0 / x)(0.0, 2.0)
    assert (0.49999 < low <= 0.5, high) == (True, np.inf)
    low, high = bounds(lambda x: 1.0 / x)(-2.0, -0.0)
    assert (low, -0.5 <= high < -0.49999) == (-np.inf, True)


def test_numbers_outside_of_the_domain_do_not_count():
    low, high = bounds(lax.log)(-1.0, 1.0)
    assert low == -np.inf
    assert 0.0 <= high < 1e-14
    low, high = bounds(lax.sqrt)(-1.0, 4.0)
    assert low == 0.0
    assert 2.0 <= high < 2.0001


@pytest.mark.parametrize(("f", "lower", "upper"), [(lax.log, -2.0, -1.0), (lax.asin, 1.5, 2.0), (lax.sqrt, -2.0, -1.0)])
def test_where_nothing_is_defined_the_bounds_are_infinite(f, lower, upper):
    assert bounds(f)(lower, upper) == (-np.inf, np.inf)


def test_infinite_bounds_are_unbounded_numbers():
    assert bounds(lax.sin)(-np.inf, np.inf) == (-1.0, 1.0)
    assert bounds(lax.exp)(-np.inf, np.inf) == (0.0, np.inf)
    assert bounds(lambda x: x * 0.0)(-np.inf, np.inf)[1] < 1e-280
    assert bounds(lax.tan)(-np.inf, np.inf) == (-np.inf, np.inf)
    assert bounds(lambda x: x @ np.ones(2))(np.array([-np.inf, 0.0]), np.ones(2))[0] == -np.inf


def test_a_sum_whose_parts_overflow_is_unbounded():
    x = np.array([1.5e308, 1.5e308, -1.5e308])
    assert bounds(lax.reduce_sum)(x, x) == (-np.inf, np.inf)


# Choices


def test_a_comparison_of_a_value_with_itself_is_known():
    assert bounds(lambda x: lax.select(lax.ne(x, x), 0.0, x))(1.0, 2.0) == (1.0, 2.0)


def test_a_branch_that_some_numbers_take_is_enclosed():
    f = lambda x: lax.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0)
    low, high = bounds(f)(-0.5, 0.5)
    assert -1.50001 < low <= -1.5
    assert 1.5 <= high < 1.50001
    assert bounds(f)(0.25, 0.5)[0] > 1.2


def test_a_branch_that_no_number_takes_does_not_run():
    ran = []
    low, _ = bounds(lambda x: lax.cond(x > 0.0, lambda: x, lambda: ran.append(1) or -x))(1.0, 2.0)
    assert low == 1.0
    f = lambda x: lax.switch(lax.convert_element_type(x, np.int32), [lambda: x, lambda: 10.0 * x, lambda: 100.0 * x])
    low, high = bounds(f)(1.25, 2.75)
    assert 12.0 < low <= 12.5
    assert 275.0 <= high < 276.0


def test_pythons_if_needs_one_answer():
    f = lambda x: x if x > 0.0 else -x
    assert bounds(f)(1.0, 2.0) == (1.0, 2.0)
    with pytest.raises(TypeError, match=r"bounds met a condition.*depends on the interval.*Use lax\.cond or np\.where"):
        bounds(f)(-1.0, 2.0)


def test_a_loop_ends_where_all_numbers_agree():
    f = lambda x: lax.while_loop(lambda y: y < 5.0, lambda y: y * x, x)
    low, high = bounds(f)(2.0, 2.1)
    assert 7.99 < low <= 8.0
    assert high >= 2.1**3
    with pytest.raises(TypeError, match="a loop of a known number of steps"):
        bounds(f)(2.0, 3.0)


# Integers and bools


def test_integers_are_exact_where_both_ends_are_equal():
    x = np.array([3, 4], np.int32)
    assert [end.tolist() for end in bounds(lambda n: n * n + 1)(x, x)] == [[10, 17], [10, 17]]
    assert [int(end) for end in bounds(lambda n: n << 1)(np.int32(3), np.int32(3))] == [6, 6]


def test_other_integers_are_bounded_by_the_dtype_since_sums_wrap_around():
    low, high = bounds(lambda n: n + np.int8(100))(np.int8(0), np.int8(100))
    assert (low, high) == (-128, 127)
    assert bounds(lambda n: lax.max(n, np.int8(5)))(np.int8(0), np.int8(100)) == (5, 100)
    with pytest.raises(TypeError, match=r"an operand of 'gather'.*depends on the interval"):
        bounds(lambda n: lax.index_take(np.arange(4.0), (n,), (0,)))(np.array([0, 1]), np.array([0, 2]))


def test_a_large_integer_is_enclosed_by_floats():
    n = np.int64(2**62 + 1)
    low, high = bounds(lambda n: lax.convert_element_type(n, np.float64))(n, n)
    assert int(low) < n < int(high)
    assert bounds(lambda n: lax.convert_element_type(n, np.float64))(np.int64(7), np.int64(7)) == (7.0, 7.0)


def test_floats_beyond_an_integer_dtype_give_any_integer():
    assert bounds(lambda x: lax.convert_element_type(x, np.int8))(-1.5, 2.5) == (-1, 2)
    assert bounds(lambda x: lax.convert_element_type(x, np.int8))(-1.5, 200.0) == (-128, 127)


def test_a_comparison_is_an_interval_of_bools():
    low, high = bounds(lambda x: x > 0.0)(np.array([-1.0, -1.0, 1.0]), np.array([-0.5, 1.0, 2.0]))
    assert low.tolist() == [False, False, True]
    assert high.tolist() == [False, True, True]


# Constants


def test_an_operation_on_constants_rounds_too():
    low, high = bounds(lambda x: lax.div(1.0, 3.0) + 0.0 * x)(0.0, 1.0)
    assert low < high
    assert low * 3.0 <= 1.0 <= high * 3.0


# Refusals


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: lax.complex(x, x), "bounds do not exist for 'complex'.*complex numbers have no order"),
        (lambda x: lax.nextafter(x, 1.0), "bounds do not exist for 'nextafter'.*bits of a number"),
        (lambda x: lax.argmax(x[None], 0, np.int32), "bounds do not exist for 'argmax'.*the position of an extreme"),
        (lambda x: lax.convert_element_type(x, np.float16), "bounds got a conversion to numbers of type float16"),
    ],
)
def test_what_has_no_bounds_is_refused_by_name(f, words):
    with pytest.raises(TypeError, match=words):
        bounds(f)(0.0, 1.0)


def test_a_stranger_defines_a_rule():
    half_p = Primitive("half")
    half_p.def_impl(lambda x: 0.5 * x)
    half_p.def_abstract_eval(lambda x: x)
    with pytest.raises(MissingRuleError, match="Rule 'bounds' for 'half' not implemented"):
        bounds(half_p.bind)(1.0, 2.0)
    def_growing(half_p)
    assert bounds(half_p.bind)(1.0, 2.0) == (0.5, 1.0)


def test_the_decomposition_of_an_elementwise_function_may_be_an_approximation():
    nearly_p = Primitive("nearly")
    nearly_p.is_elementwise = True
    nearly_p.def_impl(np.sin)
    nearly_p.def_abstract_eval(lambda x: x)
    nearly_p.def_rule("decomposition", lambda x: x - x * x * x / 6.0)
    with pytest.raises(MissingRuleError, match="'nearly'"):
        bounds(nearly_p.bind)(0.0, 0.1)
