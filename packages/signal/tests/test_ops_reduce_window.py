import numpy as np
import pytest

from calque_core import ShapeError, lax, make_jaxpr

X = np.random.default_rng(0).normal(size=(6, 7))


def bound(fun, *args):
    (eqn,) = make_jaxpr(fun)(*args).eqns
    return eqn.primitive.name


def test_sums_maxima_and_minima_have_primitives_of_their_own():
    assert bound(lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2)), X) == "reduce_window_sum"
    assert bound(lambda x: lax.reduce_window(x, -np.inf, lambda a, b: lax.max(b, a), (2, 2)), X) == "reduce_window_max"
    assert bound(lambda x: lax.reduce_window(x, np.inf, lax.min, (2, 2)), X) == "reduce_window_min"
    assert bound(lambda x: lax.reduce_window(x, 1.0, lax.mul, (2, 2)), X) == "reduce_window"


def test_pooling_of_images():
    images = np.random.default_rng(1).normal(size=(2, 6, 8, 3))
    blocks = images.reshape(2, 3, 2, 4, 2, 3)
    window = (1, 2, 2, 1)
    np.testing.assert_array_equal(lax.reduce_window(images, -np.inf, lax.max, window, window), blocks.max((2, 4)))
    means = lax.reduce_window(images, 0.0, lax.add, window, window) / 4
    np.testing.assert_allclose(means, blocks.mean((2, 4)))


def test_windows_slide_over_the_view_of_numpy():
    views = np.lib.stride_tricks.sliding_window_view(X, (3, 2))
    np.testing.assert_array_equal(lax.reduce_window(X, np.inf, lax.min, (3, 2)), views.min((2, 3)))
    np.testing.assert_allclose(lax.reduce_window(X, 1.0, lax.mul, (3, 2)), views.prod((2, 3)))
    np.testing.assert_allclose(lax.reduce_window(X, 0.0, lax.add, (3, 2), (2, 3)), views.sum((2, 3))[::2, ::3])


def test_the_initial_value_takes_part_once_in_each_window_and_padding_takes_no_part():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(lax.reduce_window(x, 10.0, lax.add, (2,), None, [(2, 1)]), [10, 11, 13, 12])
    line = lambda a, b: 2 * a + b
    np.testing.assert_array_equal(lax.reduce_window(x, 10.0, line, (1,), None, [(1, 0)]), [10, 21, 22])


def test_several_operands_are_combined_together():
    better = lambda a, b: tuple(lax.select(a[0] >= b[0], x, y) for x, y in zip(a, b))
    keys, places = np.array([3.0, 1.0, 2.0, 5.0]), np.arange(4)
    best, at = lax.reduce_window((keys, places), (-np.inf, -1), better, (2,))
    np.testing.assert_array_equal(best, [3, 2, 5])
    np.testing.assert_array_equal(at, [0, 2, 3])


@pytest.mark.parametrize("function", [lax.add, lax.max, lax.min, lax.mul])
def test_empty_axes_and_windows_that_do_not_fit(function):
    init = {lax.add: 0.0, lax.mul: 1.0, lax.max: -np.inf, lax.min: np.inf}[function]
    assert lax.reduce_window(np.ones((0, 3)), init, function, (2, 2)).shape == (0, 2)
    assert lax.reduce_window(np.ones((1, 3)), init, function, (2, 2)).shape == (0, 2)
    out = lax.reduce_window(np.ones(0), init, function, (2,), None, [(2, 1)])
    np.testing.assert_array_equal(out, [init, init])
    assert lax.reduce_window(3.0, init, function, ()) == 3.0


def test_nan_wins_and_half_precision_is_summed_in_single():
    x = np.array([1.0, np.nan, 0.0])
    np.testing.assert_array_equal(lax.reduce_window(x, -np.inf, lax.max, (2,)), [np.nan, np.nan])
    assert lax.reduce_window(np.ones(3000, np.float16), np.float16(0), lax.add, (3000,)) == 3000


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (((2,),), ValueError, r"reduce_window at .*: window_dimensions is \(2,\), but there are 2 axes"),
        (((2, 0),), ValueError, r"window_dimensions is \(2, 0\)\. Give numbers of 1 or more"),
        (((2, 2), (1, 0)), ValueError, r"window_strides is \(1, 0\)"),
        (((2, 2), None, "SAM"), ValueError, r"the padding .* is 'SAM'\. Did you mean 'SAME'"),
        (((2, 2), None, [(-9, 0), (0, 0)]), ValueError, r"reduce_window_max of float64\[6,7\].* cuts off more"),
        (((2, 2), None, "SAME", (0, 1)), ValueError, r"base_dilation is \(0, 1\)"),
        (((2, 2), None, "SAME", None, (1,)), ValueError, r"window_dilation is \(1,\), but there are 2 axes"),
    ],
)
def test_wrong_windows_are_refused(arguments, kind, words):
    with pytest.raises(kind, match=words):
        lax.reduce_window(X, -np.inf, lax.max, *arguments)
    with pytest.raises(kind, match=words.replace("reduce_window_max", "reduce_window")):
        lax.reduce_window(X, 0.0, lambda a, b: a * b + a, *arguments)


def test_operands_of_different_shapes_are_refused():
    with pytest.raises(ShapeError, match=r"reduce_window of float64\[6,7\] and float64\[7\].*the shapes differ"):
        lax.reduce_window((X, X[0]), (0.0, 0.0), lambda a, b: a, (2, 2))
