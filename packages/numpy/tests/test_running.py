"""Products, running sums, differences, integrals and slopes are NumPy's, for every dtype."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import config, make_jaxpr
from calque_core.config import disable_jit

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["bool", "int8", "uint8", "int64", "float32", "float64", "complex64"]
RUNNING = {
    "prod": lambda m, x: [m.prod(x), m.prod(x, 1), m.prod(x, (0, 1), keepdims=True), m.prod(x, 0, initial=3)],
    "prod of a mask": lambda m, x: m.prod(x, 1, where=np.array([True, False, True])),
    "prod in another dtype": lambda m, x: m.prod(x, dtype=np.complex128),
    "cumsum": lambda m, x: [m.cumsum(x), m.cumsum(x, 1), m.cumsum(x, -2)],
    "cumprod": lambda m, x: [m.cumprod(x), m.cumprod(x, 0)],
    "cumsum in another dtype": lambda m, x: m.cumsum(x, 0, np.complex128),
    "cumulative_sum": lambda m, x: [m.cumulative_sum(x, axis=1), m.cumulative_sum(x[0], include_initial=True)],
    "cumulative_prod": lambda m, x: [m.cumulative_prod(x, axis=0, include_initial=True), m.cumulative_prod(x[0])],
    "diff": lambda m, x: [m.diff(x), m.diff(x, 2, 0), m.diff(x, axis=0, prepend=x[:1])],
    "methods": lambda m, x: [x.prod(0), x.cumsum(1), x.cumprod(0)],
}
SLOPES = {
    "ediff1d": lambda m, x: [m.ediff1d(x), m.ediff1d(x, x[0], x[:2, 0]), m.ediff1d(x, to_begin=x[1])],
    "trapezoid": lambda m, x: [m.trapezoid(x), m.trapezoid(x, dx=0.5, axis=0), m.trapezoid(x, np.arange(4.0) ** 2)],
    "trapezoid over points": lambda m, x: m.trapezoid(x, x * 2, axis=0),
    "gradient": lambda m, x: [m.gradient(x), m.gradient(x, axis=1), m.gradient(x, 2.0, axis=(0, 1))],
    "gradient of second order": lambda m, x: m.gradient(x, 0.5, 2.0, edge_order=2),
    "gradient over points": lambda m, x: m.gradient(x, np.array([0, 1, 3.0]), np.array([0, 0.5, 2, 3]), edge_order=2),
    "gradient of two points": lambda m, x: m.gradient(x[:2, :2]),
}
ANGLES = {
    "unwrap": lambda m, x: [m.unwrap(x), m.unwrap(x, axis=0)],
    "unwrap by a period": lambda m, x: m.unwrap(x, period=5),
    "unwrap by an even period": lambda m, x: m.unwrap(x, period=4),
    "unwrap from a jump": lambda m, x: m.unwrap(x, discont=4),
}


OF_2_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 has no cumulative_sum and cumulative_prod"
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=OF_2_1 if name.startswith("cumulative") else ()) for name in RUNNING]
)
def test_running_sums_and_products_are_numpys(name, dtype, agree, numbers):
    x = numbers((4, 3), dtype)
    agree(RUNNING[name], x % 5 if np.dtype(dtype).kind in "iu" else x, ulps=8)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 1)])
@pytest.mark.parametrize("name", ["prod", "cumsum", "cumprod", "diff"])
def test_short_axes_are_numpys(name, shape, agree, numbers):
    agree(RUNNING[name], numbers(shape))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", SLOPES)
def test_integrals_and_slopes_are_numpys(name, dtype, agree, numbers):
    agree(SLOPES[name], numbers((3, 4), dtype), ulps=16)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
def test_no_angles_are_unwrapped_to_none(shape, agree):
    agree(lambda m, x: [m.unwrap(x), m.unwrap(x, axis=0), m.unwrap(x > 0)], np.zeros(shape, np.float32))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("name", ANGLES)
def test_angles_are_unwrapped_as_numpys(name, dtype, agree, numbers):
    agree(ANGLES[name], numbers((4, 3), dtype) * np.dtype(dtype).type(3), ulps=64)


def test_sums_are_computed_in_32_bits_where_64_are_off():
    with config.enable_x64(False):
        assert cnp.cumsum(np.ones(2, np.int8)).dtype == np.int32
        assert cnp.prod(np.ones(2)).dtype == np.float32
        assert cnp.gradient(np.arange(3)).dtype == np.float32


def test_wrong_arguments_are_refused():
    x = np.ones((2, 3))
    with disable_jit():
        with pytest.raises(
            ValueError, match=r"cumulative_sum of float64\[2,3\].*there are 2 axes. Choose one by axis="
        ):
            cnp.cumulative_sum(x)
        with pytest.raises(ValueError, match=r"gradient of float64\[2,3\].*axis 0 has 2 points. Give 3 or more"):
            cnp.gradient(x, edge_order=2)
        with pytest.raises(
            ValueError, match=r"gradient of float64\[2,3\].*axis 1 has points float64\[2\]. Give 3 points"
        ):
            cnp.gradient(x, np.ones(2), axis=1)
        with pytest.raises(TypeError, match=r"gradient.*3 steps for 2 axes. Give one, or one for each axis"):
            cnp.gradient(x, 1, 2, 3)
        with pytest.raises(ValueError, match=r"gradient.*edge_order is 3. Use 1 or 2"):
            cnp.gradient(x, edge_order=3)
        with pytest.raises(TypeError, match=r"ediff1d of int64\[2\].*to_end is float64\[1\]. Convert one to the other"):
            cnp.ediff1d(np.arange(2), 1.5)


def test_a_running_sum_is_one_equation():
    jaxpr = make_jaxpr(lambda x: np.cumsum(x, 0))(np.ones((2, 3)))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["cumsum"]


def test_an_integral_over_points_with_more_axes_is_numpys(agree):
    x = np.array([[0.0, 1.0, 3.0], [1.0, 1.5, 2.0]])
    agree(lambda m, x: [m.trapezoid(x[0], x), m.trapezoid(x, x), m.trapezoid(x, x, axis=0), m.trapezoid(x, x[0])], x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cumulative_functions_are_the_older_ones_with_a_start(dtype, numbers):
    x = numbers((4, 3), dtype)
    np.testing.assert_array_equal(cnp.cumulative_sum(x, axis=1), np.cumsum(x, 1))
    np.testing.assert_array_equal(cnp.cumulative_prod(x[0], include_initial=True), [1, *np.cumprod(x[0])])


@OF_2_1
def test_cumulative_functions_of_a_number_have_one_element(agree):
    agree(lambda m, x: [m.cumulative_sum(x), m.cumulative_prod(x, include_initial=True)], np.float32(3), plain=False)


def test_no_differences_are_the_array_without_its_edges(agree):
    x = np.array([[1, 4, 9]], np.int32)
    agree(lambda m, x: m.diff(x, 0, prepend=1.5, append=[[2]]), x)
    agree(lambda m, x: m.diff(x, 1, prepend=1.5, append=[[2]]), x)


def test_a_central_difference_does_not_read_the_element_itself(agree):
    x = np.array([1.0, 2.0, np.nan, 5.0, 1.0])
    agree(lambda m, x: [m.gradient(x), m.gradient(x, 0.5), m.gradient(np.stack([x, x + 1]), axis=1)], x, plain=False)
