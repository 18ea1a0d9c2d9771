import numpy as np
import pytest

from calque_bounds import BoundsTrace, Interval, bounds, taylor_bounds
from calque_core import lax, make_jaxpr, typeof
from calque_core.testing import check_trace


def test_an_argument_is_a_pytree_and_so_is_the_result():
    f = lambda p: {"sum": p["x"] + p["y"][0], "first": p["x"]}
    low, high = bounds(f)({"x": 1.0, "y": [np.zeros(2)]}, {"x": 2.0, "y": [np.ones(2)]})
    assert low["first"] == 1.0
    assert high["sum"].shape == (2,)
    assert np.all(high["sum"] >= 3.0)


def test_bounds_are_broadcast_and_pythons_integers_are_floats():
    low, high = bounds(lambda x: x)(0, np.ones(3))
    assert low.tolist() == [0.0, 0.0, 0.0]
    assert high.tolist() == [1.0, 1.0, 1.0]


def test_a_constant_result_has_equal_bounds():
    assert bounds(lambda x: 2.5)(0.0, 1.0) == (2.5, 2.5)


def test_results_share_no_memory_with_arguments():
    lower, upper = np.zeros(2), np.ones(2)
    low, high = bounds(lambda x: x)(lower, upper)
    low[0] = high[0] = 7.0
    assert lower[0] == 0.0
    assert upper[0] == 1.0


@pytest.mark.parametrize(
    ("lower", "upper", "error", "words"),
    [
        (1.0, 0.0, ValueError, r"bounds got the lower bound 1\.0 above the upper bound 0\.0.*Give lower <= upper"),
        (np.nan, 0.0, ValueError, "or NaN"),
        ((0.0,), [1.0], ValueError, "bounds got lower bounds.*Give equal structures"),
        (1j, 2j, TypeError, r"bounds got an argument of type complex128\[\].*the real and the imaginary parts"),
        (np.float16(0), np.float16(1), TypeError, "float16"),
    ],
)
def test_arguments_that_are_no_intervals_are_refused(lower, upper, error, words):
    with pytest.raises(error, match=words):
        bounds(lambda x: x)(lower, upper)


def test_a_degree_is_a_number_that_is_not_negative():
    with pytest.raises(ValueError, match=r"bounds got the degree -1\. Give 0 or more\."):
        bounds(np.sin, -1)
    with pytest.raises(TypeError, match="degree"):
        bounds(np.sin, 1.5)
    with pytest.raises(TypeError, match="bounds"):
        bounds(3.0)


def test_a_program_of_bounds_is_a_program_of_ordinary_operations():
    jaxpr = make_jaxpr(bounds(lambda x: lax.exp(x) * x))(0.0, 1.0)
    assert "exp" in {eqn.primitive.name for eqn in jaxpr.eqns}
    low, high = make_jaxpr(bounds(lambda x: x * 2.0))(0.0, 1.0).out_avals
    assert low == high == typeof(np.float64(1.0))


def test_it_keeps_the_rules_of_traces():
    check_trace(BoundsTrace, operations={"products": lambda x: x * x, "sines": np.sin})


def test_values_are_intervals():
    assert Interval(1.0, 2.0).upper == 2.0
    assert not Interval(1.0, 2.0).is_exact


# Enclosures of a degree


def test_a_higher_degree_is_narrower():
    f = lambda x: lax.exp(lax.sin(x)) / x
    widths = [np.subtract(*bounds(f, degree)(1.0, 1.05)[::-1]) for degree in range(4)]
    right = f(np.linspace(1.0, 1.05, 1001))
    assert np.ptp(right) < widths[3] < widths[2] < widths[1] < widths[0]
    assert widths[3] < 1.01 * np.ptp(right)


def test_variables_that_occur_twice_cancel_in_a_degree():
    f = lambda p: (p[0] - p[1]) * (p[0] + p[1]) - p[0] * p[0] + p[1] * p[1]
    lower, upper = np.array([1.0, 2.0]), np.array([1.01, 2.01])
    plain, first, second = ([float(end) for end in bounds(f, degree)(lower, upper)] for degree in (0, 1, 2))
    assert plain[1] - plain[0] > 0.1
    assert first[1] - first[0] < 0.01
    assert second[1] - second[0] < 0.01
    for low, high in (plain, first, second):
        assert low <= 0.0 <= high


def test_a_degree_keeps_what_is_no_float():
    low, high = bounds(lambda p: (p[0] * p[0], p[1]), 2)((0.0, np.int32(3)), (1.0, np.int32(3)))
    assert (low[1], high[1]) == (3, 3)


@pytest.mark.parametrize("name", ["exp", "sqrt", "cbrt", "exp2", "erf", "atanh"])
def test_a_degree_keeps_the_dtype(name):
    low, high = bounds(getattr(lax, name), 2)(np.float32(0.25), np.float32(0.5))
    assert low.dtype == high.dtype == np.float32
    series = taylor_bounds(getattr(lax, name), 2)(np.float32(0.25), np.float32(0.5))
    assert {x.dtype for x in series} == {np.dtype(np.float32)}


def test_a_degree_encloses_all_integers_of_a_box():
    f = lambda p: p[0] * lax.convert_element_type(p[1], float)
    low, high = bounds(f, 1)((1.0, np.int32(0)), (2.0, np.int32(3)))
    assert low <= 0.0
    assert high >= 6.0


def test_an_unbounded_box_has_the_bounds_of_degree_zero():
    assert bounds(lax.tanh, 3)(-np.inf, np.inf) == bounds(lax.tanh)(-np.inf, np.inf)
