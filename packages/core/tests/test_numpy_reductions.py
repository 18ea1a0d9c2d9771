"""NumPy's reductions of tracers: values, dtypes and shapes over dtypes x shapes x axes, as functions and as methods."""

import warnings

import numpy as np
import pytest

from calque_core import config, eval_jaxpr, make_jaxpr, stage, typeof
from calque_core.engine import numpy_functions

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = "?bhilBHILefdD"
SHAPES = [(), (3,), (1,), (0,), (2, 3), (2, 0, 3), (2, 1, 3)]
AXES = [None, 0, -1, 1, (0, 1), (1, -1), ()]
NAMES = ["sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "var", "std"]
RNG = np.random.default_rng(0)


def traced(fun, *args):
    jaxpr = stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def refused(fun, *args, error=TypeError):
    with pytest.raises(error) as caught:
        traced(fun, *args)
    return str(caught.value)


def sample(shape, char):
    values = RNG.integers(0 if char in "?BHIL" else -5, 6, shape)
    values = values + 1j * RNG.integers(-5, 6, shape) if char in "FD" else values
    return np.asarray(values / 4 if char in "efd" else values).astype(char)


def assert_same(got, want, what=""):
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    tolerance = 16 * np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=str(what))


def check(fun, x, what=""):
    """Check that `fun` of a tracer is `fun` of the array, or that both refuse."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # 'Mean of empty slice'
            want = fun(x)
    except (ValueError, TypeError, IndexError):
        refused(fun, x, error=(ValueError, TypeError))
        return
    with np.errstate(all="ignore"):
        assert_same(traced(fun, x), want, what)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("char", DTYPES)
def test_a_reduction_is_numpys_over_every_axis(name, char):
    for shape in SHAPES:
        x = sample(shape, char)
        for axis in AXES:
            if shape == () and axis in (0, -1):
                refused(lambda a, k=axis: getattr(np, name)(a, axis=k), x, error=(ValueError, TypeError))
                continue
            check(lambda a, k=axis: getattr(np, name)(a, axis=k), x, (name, char, shape, axis))
            check(lambda a, k=axis: getattr(np, name)(a, k, keepdims=True), x, (name, char, shape, axis))


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_the_function_of_the_same_name(name):
    x = sample((2, 3), "d")
    for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}):
        assert_same(traced(lambda a, o=options: getattr(a, name)(**o), x), getattr(x, name)(**options))
        assert_same(getattr(numpy_functions, name)(x, **options), getattr(x, name)(**options))


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.sum(x, dtype=np.float32),
        lambda x: np.sum(x, dtype=bool),
        lambda x: np.sum(x, initial=3),
        lambda x: np.sum(x, where=x > 0),
        lambda x: np.sum(x, axis=0, where=np.array([True, False, True])),
        lambda x: np.sum(x, 0, None, None, True),
        lambda x: np.mean(x, dtype=np.float32),
        lambda x: np.max(x, initial=1),
        lambda x: np.min(x, axis=0, initial=1, where=x > 0),
        lambda x: np.amax(x) - np.amin(x),
        lambda x: np.all(x, where=x > 0),
        lambda x: np.any(x, axis=0, where=x > 0),
        lambda x: np.var(x, ddof=1),
        lambda x: np.std(x, axis=0, correction=1),
    ],
    ids=range(14),
)
@pytest.mark.parametrize("char", "bilfd")
def test_the_other_arguments_are_numpys(fun, char):
    check(fun, sample((2, 3), char) + 1)


def test_a_nan_wins():
    x = np.array([1.0, np.nan, 3.0])
    for name in ("max", "min", "argmax", "argmin", "sum"):
        assert_same(traced(getattr(np, name), x), getattr(np, name)(x))


def test_half_precision_means_are_computed_in_single_precision():
    x = np.full(4096, 2.0, np.float16)
    assert_same(traced(np.mean, x), np.mean(x))
    assert_same(traced(np.var, x), np.var(x))


def test_the_mean_of_nothing_is_nan():
    assert np.isnan(traced(np.mean, np.zeros(0)))
    assert np.isnan(traced(np.var, np.zeros((2, 0))))


def test_a_variance_without_degrees_of_freedom_is_nan():
    assert np.isnan(traced(lambda x: np.var(x, ddof=1), np.ones(1)))


def test_a_sum_is_one_equation_and_a_mean_is_two():
    def primitives(fun):
        return [eqn.primitive.name for eqn in stage(lambda x: [fun(x)], [typeof(np.ones((2, 3)))]).eqns]

    assert primitives(np.sum) == ["reduce_sum"]
    assert primitives(lambda x: x.mean(0)) == ["reduce_sum", "div"]
    assert primitives(lambda x: x.max(0)) == ["reduce_max"]


@pytest.mark.parametrize(("bits", "x64"), [(32, False), (32, True)])
def test_the_default_dtypes_follow_the_settings(bits, x64):
    small, flag = np.array([1, 2], np.int8), np.array([True])
    with config.enable_x64(x64), config.default_dtype_bits(bits):
        assert traced(np.sum, small).dtype == np.int32
        assert traced(np.sum, small.astype(np.uint8)).dtype == np.uint32
        assert traced(np.sum, flag).dtype == np.int32
        assert traced(np.mean, small).dtype == (np.float64 if x64 else np.float32)
        assert traced(np.argmax, small).dtype == (np.int64 if x64 else np.int32)


# What is refused


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_extreme_of_nothing_needs_an_initial_value(name):
    words = refused(lambda x: getattr(np, name)(x, axis=1), np.zeros((2, 0)), error=ValueError)
    assert words.startswith(f"{name} of float64[2,0] at test_numpy_reductions.py:")
    assert words.endswith("over the axes (1,): there is no element. Give initial=.")
    words = refused(lambda x: getattr(np, name)(x, where=x > 0), np.ones(2), error=ValueError)
    assert words.endswith("where= may leave no element. Give initial=.")


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_there_is_no_position_in_nothing(name):
    words = refused(getattr(np, name), np.zeros((2, 0)), error=ValueError)
    assert words.startswith(f"{name} of float64[2,0] at test_numpy_reductions.py:")
    assert words.endswith("there is nothing to compare. Give at least one element.")


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_that_is_not_there_is_named(name):
    words = refused(lambda x: getattr(np, name)(x, axis=2), np.ones((2, 3)), error=ValueError)
    assert words.startswith(f"{'var' if name == 'std' else name} at test_numpy_reductions.py:")
    assert "axis 2 is out of range for ndim 2" in words


@pytest.mark.parametrize("name", NAMES)
def test_out_is_refused(name):
    words = refused(lambda x: getattr(np, name)(x, out=np.zeros(())), np.ones(2))
    assert words.startswith(f"{'var' if name == 'std' else name} at test_numpy_reductions.py:")
    assert "out= is not supported" in words


MASKS = {
    "one axis": (1, [[True, False, True], [True, True, False]]),
    "an axis that is broadcast": (0, [True, False, True]),
    "all": (None, [[True], [False]]),
}


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "complex64"])
@pytest.mark.parametrize(("axis", "mask"), MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_mask_leaves_elements_out_of_a_mean(name, dtype, axis, mask, keepdims):
    x, fun = np.array([[1, 5, 2], [4, 4, 3]]).astype(dtype), getattr(np, name)
    calls = [lambda x, m: fun(x, axis, where=m, keepdims=keepdims)]
    calls += [lambda x, m: fun(x, axis, where=m, ddof=0.5)] if name != "mean" else []
    for call in calls:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # 'Degrees of freedom <= 0'
            got, want = traced(call, x, np.array(mask)), call(x, np.array(mask))
        assert np.asarray(got).dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_a_mean_of_no_elements_is_nan():
    mask = np.array([[False, False], [True, True]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(traced(lambda x: np.mean(x, 1, where=mask), np.eye(2)), [np.nan, 0.5])
        np.testing.assert_array_equal(traced(lambda x: np.var(x, 1, where=mask), np.eye(2)), [np.nan, 0.25])


def test_a_variance_has_one_divisor():
    words = refused(lambda x: np.var(x, ddof=[1.0, 2.0]), np.ones(3))
    assert words.endswith("ddof is [1.0, 2.0]. Give a number.")
    words = refused(lambda x: np.var(x, ddof=1, correction=2), np.ones(3), error=ValueError)
    assert words.endswith("got ddof=1 and correction=2, which are one option. Give one.")


def test_a_variance_takes_the_mean_and_the_correction():
    x = np.array([[1.0, 4.0], [2.0, 8.0]])
    for fun in (np.var, np.std):
        call = lambda x, fun=fun: fun(x, 0, mean=np.mean(x, 0, keepdims=True), correction=1)
        assert_same(traced(call, x), call(x))


@pytest.mark.parametrize("char", "FD")
def test_the_variance_of_complex_numbers_is_that_of_their_moduli(char):
    x = sample((2, 3), char)
    assert_same(traced(lambda a: np.var(a, 0, ddof=1), x), np.var(x, 0, ddof=1))
    assert traced(np.std, x).dtype == x.real.dtype


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize(
    ("dtype", "wanted"), [("float64", "int64"), ("float32", "bool"), ("complex64", "float32"), ("float32", "complex64")]
)
def test_deviations_are_not_computed_in_a_dtype_that_drops_a_part_of_them(name, dtype, wanted):
    fun = lambda x: getattr(numpy_functions, name)(x, dtype=wanted)
    with pytest.raises(TypeError, match=rf"var of {dtype}\[2\].* cannot be computed with dtype={wanted}"):
        fun(np.ones(2, dtype))


@pytest.mark.parametrize("name", ["sum", "mean", "var", "max", "min", "any", "all"])
def test_an_axis_is_an_integer_or_a_tuple_of_them(name):
    fun = getattr(numpy_functions, name)
    with pytest.raises(TypeError, match=rf"{name}.*the axis is \[0, 1\]\. Give an integer or a tuple of integers"):
        fun(np.ones((2, 2)), axis=[0, 1])
    with pytest.raises(TypeError, match=rf"{name}.*the axis is True\. Give an integer"):
        fun(np.ones((2, 2)), axis=True)


def test_an_axis_may_be_an_array_of_rank_0():
    x, one = np.arange(6.0).reshape(2, 3), np.array(1)
    for name in ("sum", "max", "mean", "any"):
        jaxpr = stage(lambda x, name=name: [getattr(np, name)(x, axis=one)], [typeof(x)])
        np.testing.assert_array_equal(eval_jaxpr(jaxpr, [], x)[0], getattr(np, name)(x, axis=1))
    with pytest.raises(TypeError, match=r"sum.*test_numpy_reductions.py"):
        stage(lambda x: [np.sum(x, axis=np.array(1.5))], [typeof(x)])


@pytest.mark.parametrize("name", ["var", "std"])
def test_the_divisor_of_a_variance_may_be_traced(name):
    x = np.array([1.0, 2.0, 4.0])
    for ddof in (0, 1, 3):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = getattr(np, name)(x, ddof=ddof)
            got = traced(lambda x, d: getattr(np, name)(x, ddof=d), x, ddof)
        np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "any", "all"])
def test_a_mask_of_none_is_refused(name):
    words = r"where=None at test_numpy_reductions.py:\d+ .*: NumPy takes None for False, so that no element counts"
    with pytest.raises(TypeError, match=words):
        make_jaxpr(lambda x: getattr(np, name)(x, where=None))(np.ones(2))


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("char", DTYPES)
def test_integers_keep_their_dtype_unless_they_are_promoted(name, char):
    x = np.array([1, 1, 1]).astype(char)
    total = getattr(numpy_functions, name)
    kept = np.dtype(int if char == "?" else char)
    for fun in (lambda x: total(x, promote_integers=False), lambda x: getattr(x, name)(promote_integers=False)):
        got = traced(fun, x)
        assert got.dtype == kept
        assert got == (3 if name == "sum" else 1)
    assert traced(lambda x: total(x, dtype="float32", promote_integers=False), x).dtype == np.float32
    assert traced(lambda x: total(x, promote_integers=True), x).dtype == getattr(np, name)(x).dtype
