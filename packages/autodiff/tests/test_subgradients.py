"""Where a function has no derivative, or an infinite one, the conventions of the field hold, in both modes."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp
from calque_core import lax
from calque_core.arrays import numpy_ufuncs

pytestmark = pytest.mark.sampled(keep=0.1)

INF, NAN, HALF = np.inf, np.nan, 0.5
TINY = 1e-320  # its reciprocal is infinite


def relu(x):
    return lax.max(x, 0.0)


def steep_relu(x):
    """Give `relu` the derivative 0 at 0, as networks have it: a choice between two smooth branches."""
    return lax.select(lax.gt(x, 0.0), x, lax.zeros_like(x))


def norm(*xs):
    return lax.sqrt(sum(lax.square(x) for x in xs))


def safe_norm(*xs):
    """Choose the operand before the root and the result after it: no branch has an infinite derivative."""
    squares = sum(lax.square(x) for x in xs)
    is_zero = lax.eq(squares, 0.0)
    return lax.select(is_zero, 0.0, lax.sqrt(lax.select(is_zero, 1.0, squares)))


def half_safe_root(x):
    return lax.select(lax.gt(x, 0.0), lax.sqrt(x), 0.0)


# name: function, arguments, the derivative in each of them
SCALARS = {
    "abs at 0": (lax.abs, (0.0,), (1.0,)),
    "abs at -0": (lax.abs, (-0.0,), (1.0,)),
    "sign at 0": (lax.sign, (0.0,), (0.0,)),
    "floor at 1": (lax.floor, (1.0,), (0.0,)),
    "ceil at 1": (lax.ceil, (1.0,), (0.0,)),
    "round at 1/2": (lax.round, (0.5,), (0.0,)),
    "max at a tie": (lax.max, (2.0, 2.0), (HALF, HALF)),
    "min at a tie": (lax.min, (2.0, 2.0), (HALF, HALF)),
    "max at zeros of both signs": (lax.max, (0.0, -0.0), (HALF, HALF)),
    "max beside a tie": (lax.max, (2.0, 1.0), (1.0, 0.0)),
    "relu as a maximum at 0": (relu, (0.0,), (HALF,)),
    "relu as a choice at 0": (steep_relu, (0.0,), (0.0,)),
    "sqrt at 0": (lax.sqrt, (0.0,), (INF,)),
    "rsqrt at 0": (lax.rsqrt, (0.0,), (-INF,)),
    "log at 0": (lax.log, (0.0,), (INF,)),
    "1 / x at 0": (lambda x: lax.div(1.0, x), (0.0,), (-INF,)),
    "square at 0": (lax.square, (0.0,), (0.0,)),
    "x**0 at 0": (lambda x: lax.integer_pow(x, 0), (0.0,), (0.0,)),
    "x**1 at 0": (lambda x: lax.integer_pow(x, 1), (0.0,), (1.0,)),
    "x**2 at 0": (lambda x: lax.integer_pow(x, 2), (0.0,), (0.0,)),
    "x**0.0 at 0": (lax.pow, (0.0, 0.0), (0.0, 0.0)),
    "x**1.0 at 0": (lax.pow, (0.0, 1.0), (1.0, 0.0)),
    "x**2.0 at 0": (lax.pow, (0.0, 2.0), (0.0, 0.0)),
    "x**0.5 at 0": (lax.pow, (0.0, 0.5), (INF, 0.0)),
    "2**y at 0": (lax.pow, (2.0, 0.0), (0.0, np.log(2.0))),
    "clamp at its low bound": (lax.clamp, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    "clamp at its high bound": (lax.clamp, (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    "clamp inside": (lax.clamp, (0.0, 0.5, 1.0), (0.0, 1.0, 0.0)),
    "clamp below": (lax.clamp, (0.0, -0.5, 1.0), (1.0, 0.0, 0.0)),
    "clamp above": (lax.clamp, (0.0, 1.5, 1.0), (0.0, 0.0, 1.0)),
    "norm at 0": (norm, (0.0, 0.0), (NAN, NAN)),
    "norm beside 0": (norm, (3.0, 4.0), (0.6, 0.8)),
    "norm at 0, chosen twice": (safe_norm, (0.0, 0.0), (0.0, 0.0)),
    "norm beside 0, chosen twice": (safe_norm, (3.0, 4.0), (0.6, 0.8)),
    # NaN for NaN where the function is smooth, 0 where it chooses, and finite derivatives at tiny numbers
    "abs of NaN": (lax.abs, (NAN,), (NAN,)),
    "abs of infinity": (lax.abs, (-INF,), (-1.0,)),
    "max of NaN": (lax.max, (NAN, 0.0), (0.0, 0.0)),
    "min beside NaN": (lax.min, (0.0, NAN), (0.0, 0.0)),
    "max of NaN, chosen after it": (lambda x: lax.select(lax.eq(x, x), lax.max(x, 0.0), 0.0), (NAN,), (0.0,)),
    "max at equal infinities": (lax.max, (-INF, -INF), (HALF, HALF)),
    "fmax of NaN": (numpy_ufuncs.fmax, (NAN, 2.0), (0.0, 1.0)),
    "fmin beside NaN": (numpy_ufuncs.fmin, (2.0, NAN), (1.0, 0.0)),
    "x**0.0 at a tiny number": (lax.pow, (TINY, 0.0), (0.0, np.log(TINY))),
    "hypot of NaN": (numpy_ufuncs.hypot, (NAN, NAN), (NAN, NAN)),
    "hypot of NaN and 0": (numpy_ufuncs.hypot, (NAN, 0.0), (NAN, NAN)),
    "hypot of NaN and infinity": (numpy_ufuncs.hypot, (NAN, -INF), (0.0, -1.0)),
    "hypot at 0": (numpy_ufuncs.hypot, (0.0, 0.0), (1.0, 0.0)),
    "hypot of tiny numbers": (numpy_ufuncs.hypot, (TINY, TINY), (np.sqrt(HALF), np.sqrt(HALF))),
    "hypot of huge numbers": (numpy_ufuncs.hypot, (-1e308, 1e308), (-np.sqrt(HALF), np.sqrt(HALF))),
    "hypot of a tiny and a huge number": (numpy_ufuncs.hypot, (TINY, 1e308), (0.0, 1.0)),
}

# name: function of an array to a scalar or to an array that is summed with weights, the array, the gradient
WEIGHTS = np.array([1.0, 10.0, 100.0, 1000.0])
TIED = np.array([3.0, 1.0, 3.0, 1.0])
ARRAYS = {
    "max over a tie": (lax.reduce_max, TIED, [HALF, 0.0, HALF, 0.0]),
    "min over a tie": (lax.reduce_min, TIED, [0.0, HALF, 0.0, HALF]),
    "max over all equal": (lax.reduce_max, np.zeros(4), [0.25] * 4),
    "max over zeros of both signs": (lax.reduce_max, np.array([0.0, -0.0]), [HALF, HALF]),
    "max along an axis": (
        lambda x: lax.reduce_sum(lax.reduce_max(x, (1,))),
        np.array([[1.0, 1.0], [0.0, 2.0]]),
        [[HALF, HALF], [0.0, 1.0]],
    ),
    "sort of ties is stable": (lambda x: lax.dot(lax.sort(x), WEIGHTS), TIED, [100.0, 1.0, 1000.0, 10.0]),
}


def ids(table):
    return pytest.mark.parametrize("name", table)


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


@ids(SCALARS)
def test_reverse_mode(name):
    fun, args, want = SCALARS[name]
    np.testing.assert_allclose(grad(fun, argnums=tuple(range(len(args))))(*args), want, rtol=1e-15)


@ids(SCALARS)
def test_forward_mode(name):
    fun, args, want = SCALARS[name]
    for i, slope in enumerate(want):
        rest = [*args]

        def along(x, i=i, rest=rest):
            return fun(*rest[:i], x, *rest[i + 1 :])

        np.testing.assert_allclose(jvp(along, (args[i],), (1.0,))[1], slope, rtol=1e-15)


@ids(ARRAYS)
def test_reverse_mode_of_arrays(name):
    fun, x, want = ARRAYS[name]
    np.testing.assert_array_equal(grad(fun)(x), want)


@ids(ARRAYS)
def test_forward_mode_of_arrays(name):
    fun, x, want = ARRAYS[name]
    for i, slope in enumerate(np.ravel(want)):
        unit = np.zeros(x.size)
        unit[i] = 1.0
        assert jvp(fun, (x,), (unit.reshape(x.shape),))[1] == slope


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["abs at 0", "max at a tie", "relu as a maximum at 0", "x**0.0 at 0"])
def test_the_convention_is_that_of_every_dtype(name, dtype):
    fun, args, want = SCALARS[name]
    slopes = grad(fun, argnums=tuple(range(len(args))))(*map(dtype, args))
    assert slopes == want
    assert {x.dtype for x in slopes} == {np.dtype(dtype)}


def test_a_choice_after_the_root_alone_saves_the_value_and_forward_mode_but_not_reverse_mode():
    """Reverse mode multiplies the zero of the branch not taken with the infinite slope of the root."""
    assert half_safe_root(0.0) == 0.0
    assert jvp(half_safe_root, (0.0,), (1.0,))[1] == 0.0
    assert np.isnan(grad(half_safe_root)(0.0))


def test_the_second_derivative_of_the_safe_norm_is_finite():
    assert grad(grad(lambda x: safe_norm(x, 3.0)))(4.0) == pytest.approx(9 / 125)
    assert np.isfinite(grad(grad(lambda x: safe_norm(x, 0.0)))(0.0))


# of `hypot`: the least and the greatest exponent of a size, those between which second derivatives are right
SIZES = {"float16": (-24, 13, -12, 9), "float32": (-149, 125, -80, 76), "float64": (-1074, 1021, -660, 660)}


def triangle(size, dtype):
    """Return the sides 3 and 4, times a power of two: the hypotenuse is 5, and the slopes are 0.6 and 0.8."""
    return tuple(np.ldexp(np.array(side), size).astype(dtype)[()] for side in (3.0, 4.0))


@pytest.mark.parametrize("dtype", SIZES)
def test_the_slopes_of_hypot_are_right_at_all_sizes(dtype):
    least, greatest, _, _ = SIZES[dtype]
    tolerance = {"rtol": 4 * np.finfo(dtype).eps}
    for size in range(least, greatest + 1):
        x, y = triangle(size, dtype)
        np.testing.assert_allclose(grad(numpy_ufuncs.hypot, (0, 1))(x, y), (0.6, 0.8), **tolerance)
        for tangents, slope in (((1.0, 0.0), 0.6), ((0.0, 1.0), 0.8)):
            out = jvp(numpy_ufuncs.hypot, (x, y), tuple(np.array(tangents, dtype)))
            np.testing.assert_allclose(out, (np.ldexp(5.0, size), slope), **tolerance)


@pytest.mark.parametrize("dtype", SIZES)
def test_the_second_derivatives_of_hypot_are_right_at_moderate_sizes(dtype):
    _, _, least, greatest = SIZES[dtype]
    one, zero = np.array((1.0, 0.0), dtype)

    def along(x, y):
        return jvp(numpy_ufuncs.hypot, (x, y), (one, zero))[1]

    for size in range(least, greatest + 1):
        x, y = triangle(size, dtype)
        want = np.ldexp(0.128, -size)
        forward = jvp(along, (x, y), (one, zero))[1]
        second = (forward, grad(along)(x, y), grad(grad(numpy_ufuncs.hypot))(x, y))
        np.testing.assert_allclose(second, [want] * 3, rtol=16 * np.finfo(dtype).eps)
