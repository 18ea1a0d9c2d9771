"""The methods of ufuncs on tracers: values and dtypes of NumPy's over ufuncs, dtypes and axes, and refusals."""

import warnings

import numpy as np
import pytest

from calque_core import NumpyRuleError, TracerIntegerConversionError, eval_jaxpr, stage, typeof

pytestmark = pytest.mark.sampled(keep=0.2)

UFUNCS = [
    np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.float_power, np.hypot, np.logaddexp,
    np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift,
]  # fmt: skip
CASES = [pytest.param(ufunc, char, id=f"{ufunc.__name__}-{char}") for ufunc in UFUNCS for char in "?bBifdD"]
RNG = np.random.default_rng(0)


def staged(fun, *args):
    return stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])


def traced(fun, *args):
    jaxpr = staged(fun, *args)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def refused(fun, *args, error):
    with pytest.raises(error) as caught:
        staged(fun, *args)
    return str(caught.value)


def sample(shape, char):
    values = RNG.integers(1, 5, shape)
    return (values / 4 * (-1) ** values if char in "fd" else values * (1 + 1j) if char == "D" else values).astype(char)


def check(fun, x):
    """Check that `fun` of a tracer is `fun` of the array, or that both refuse."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            want = fun(x)
        except (ValueError, TypeError, IndexError):
            refused(fun, x, error=(ValueError, TypeError, IndexError))
            return
        got = traced(fun, x)
    assert (np.asarray(got).dtype, np.shape(got)) == (want.dtype, want.shape)
    tolerance = 64 * np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("ufunc", "char"), CASES)
def test_reduce_is_numpys(ufunc, char):
    for options in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"initial": 1}, {"axis": (0, 2)}, {"axis": None}):
        check(lambda x, o=options: ufunc.reduce(x, **o), sample((2, 3, 2), char))
    for shape in ((1,), (0,), (2, 0)):
        check(ufunc.reduce, sample(shape, char))
    mask = np.array([True, False, True])
    for options in ({"initial": 1, "where": mask}, {"where": mask}):
        check(lambda x, o=options: ufunc.reduce(x, **o), sample((3,), char))


@pytest.mark.parametrize(("ufunc", "char"), CASES)
def test_accumulate_is_numpys(ufunc, char):
    for axis in (0, 1, -1):
        check(lambda x, axis=axis: ufunc.accumulate(x, axis), sample((2, 3), char))
    for shape in ((1,), (0,), (2, 0)):
        check(ufunc.accumulate, sample(shape, char))


@pytest.mark.parametrize(("ufunc", "char"), CASES)
def test_reduceat_is_numpys(ufunc, char):
    for indices in ([0, 2, 3], [2, 0, 0], [3], np.array([1, 3]), []):
        check(lambda x, i=indices: ufunc.reduceat(x, np.array(i, int)), sample((4,), char))
    check(lambda x: ufunc.reduceat(x, [0, 1], axis=1), sample((2, 3), char))


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_outer_is_numpys(ufunc):
    for shape, other in (((2,), (3,)), ((2, 2), (3,)), ((), (2,)), ((2,), ()), ((0,), (2,))):
        y = sample(other, "d")
        check(lambda x, y=y: ufunc.outer(x, y), sample(shape, "d"))
        check(lambda x, y=y: ufunc.outer(y, x), sample(shape, "d"))


def test_a_dtype_says_in_which_dtype_a_method_computes():
    x = np.array([[1, 200], [100, 3]], np.uint8)
    for dtype in (np.uint8, np.float32, bool):
        check(lambda x, d=dtype: np.add.accumulate(x, dtype=d), x)
        check(lambda x, d=dtype: np.multiply.reduceat(x, [0, 1], dtype=d), x)
        check(lambda x, d=dtype: np.maximum.reduce(x, dtype=d), x)
    check(lambda x: np.subtract.outer(x, x, dtype=np.int32), x)
    check(lambda x: np.arctan2.outer(x, x), np.arange(3))
    check(lambda x: np.divmod.outer(x, [1, 2])[1], np.arange(3))


def test_a_list_and_a_scalar_are_arrays_of_outer():
    check(lambda x: np.multiply.outer([1.0, 2.0], x), np.ones(3))
    check(lambda x: np.add.outer(x, 1), np.ones(3))


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_one_equation_computes_what_has_an_operation_of_its_own(method):
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum):
        assert len(staged(getattr(ufunc, method), np.ones(1000)).eqns) == 1


def test_another_ufunc_takes_one_scan_for_any_length():
    jaxpr = staged(np.hypot.accumulate, np.ones(1000))
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("scan") == 1
    assert len(jaxpr.eqns) < 10


def test_a_number_is_its_own_reduction():
    for ufunc in (np.add, np.subtract, np.hypot, np.maximum, np.logical_or):
        check(ufunc.reduce, np.float64(3))
    refused(np.add.accumulate, 3.0, error=ValueError)


def test_an_order_that_matters_allows_one_axis():
    words = refused(lambda x: np.subtract.reduce(x, axis=(0, 1)), np.ones((2, 3)), error=ValueError)
    assert words.startswith("numpy.subtract.reduce of float64[2,3] at test_ufunc_methods.py:")
    assert words.endswith("over the axes (0, 1): the order matters. Give one axis.")


def test_nothing_has_no_first_element():
    words = refused(np.subtract.reduce, np.ones(0), error=ValueError)
    assert words.endswith("over the axes (0,): there may be no element. Give initial=.")


def test_a_comparison_cannot_be_continued():
    words = refused(np.less.accumulate, np.ones(3), error=NumpyRuleError)
    assert words.startswith("numpy.less.accumulate of float64[3] at test_ufunc_methods.py:")
    assert "a result of less is a bool" in words


def test_an_index_of_reduceat_is_in_range_and_known():
    words = refused(lambda x: np.add.reduceat(x, [0, 3]), np.ones(3), error=IndexError)
    assert words.endswith("index 3 is out of range. Give 0 to 2.")
    refused(lambda x, i: np.add.reduceat(x, [0, i]), np.ones(3), 1, error=TracerIntegerConversionError)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer"])
def test_out_of_a_method_is_refused(method):
    call = lambda x: getattr(np.hypot, method)(x, *([[0]] if method == "reduceat" else []), out=np.ones(1))
    other = lambda x: np.hypot.outer(x, x, out=np.ones((1, 1)))
    words = refused(other if method == "outer" else call, np.ones(1), error=NumpyRuleError)
    assert "out= is not supported for a traced array." in words
