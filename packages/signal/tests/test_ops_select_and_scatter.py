import numpy as np
import pytest

from calque_core import ShapeError, lax

X = np.array([[3.0, 1.0, 3.0], [0.0, 5.0, 5.0], [7.0, 2.0, 5.0]])
T = np.arange(9.0).reshape(3, 3) + 1


def test_the_first_of_equal_elements_wins():
    np.testing.assert_array_equal(lax.select_and_gather_add(T, X, lax.ge_p, (2, 2)), [[5, 5], [7, 5]])
    np.testing.assert_array_equal(lax.select_and_gather_add(T, X, lax.le_p, (1, 3)), [[2], [4], [8]])
    np.testing.assert_array_equal(
        lax.select_and_scatter_add(np.array([[1.0, 2.0], [4.0, 8.0]]), X, lax.ge_p, (2, 2)),
        [[0, 0, 0], [0, 11, 0], [4, 0, 0]],
    )


def test_padding_never_receives_and_gives_zero():
    x, window = np.array([1.0, 2.0]), ((1,), (1,), [(1, 2)])
    np.testing.assert_array_equal(lax.select_and_gather_add(x, x, lax.ge_p, *window), [0, 1, 2, 0, 0])
    np.testing.assert_array_equal(lax.select_and_scatter_add(np.ones(5), x, lax.ge_p, *window), [1, 1])


def test_the_first_nan_wins():
    x = np.array([1.0, np.nan, 9.0, np.nan])
    np.testing.assert_array_equal(lax.select_and_gather_add(np.arange(4.0), x, lax.ge_p, (4,)), [1])
    np.testing.assert_array_equal(lax.select_and_scatter_add(np.ones(1), x, lax.le_p, (4,)), [0, 1, 0, 0])


@pytest.mark.parametrize("select_prim", [lax.ge_p, lax.le_p])
def test_adding_to_winners_is_the_transpose_of_reading_them(select_prim):
    rng = np.random.default_rng(0)
    for _ in range(100):
        rank = int(rng.integers(1, 4))
        draw = lambda low, high: tuple(int(n) for n in rng.integers(low, high, rank))  # noqa: B023  called at once
        x, t = rng.integers(0, 3, (2, *draw(0, 6))).astype(float)
        window = (draw(1, 4), draw(1, 4), list(zip(draw(0, 3), draw(0, 3))), draw(1, 3), draw(1, 3))
        read = lax.select_and_gather_add(t, x, select_prim, *window)
        ct = rng.integers(-3, 4, read.shape).astype(float)
        assert np.vdot(ct, read) == np.vdot(lax.select_and_scatter_add(ct, x, select_prim, *window), t)


def test_sums_of_half_precision_are_in_single():
    source = np.ones(3000, np.float16)
    x = np.zeros(3000, np.float16)
    x[1500] = 1
    out = lax.select_and_scatter_add(source, x, lax.ge_p, (3000,), None, [(1500, 1499)])
    assert out[1500] == 3000


def test_any_functions_may_select_and_combine():
    rng = np.random.default_rng(1)
    for _ in range(30):
        shape, sizes, strides = ((4, 5), *(tuple(int(n) for n in rng.integers(1, 4, 2)) for _ in range(2)))
        pads = [tuple(int(n) for n in rng.integers(0, 2, 2)) for _ in shape]
        x = rng.integers(0, 4, shape).astype(float)
        counts = lax.reduce_window(x, 0.0, lax.add, sizes, strides, pads).shape
        source = rng.normal(size=counts)
        window = sizes, strides, pads
        out = lax.select_and_scatter(x, lax.ge, *window, source, 0.0, lax.add)
        np.testing.assert_allclose(out, lax.select_and_scatter_add(source, x, lax.ge_p, *window), atol=1e-12)


def test_updates_of_one_element_come_in_the_order_of_windows():
    x = np.array([0.0, 9.0, 0.0])
    last = lax.select_and_scatter(x, lax.ge, (2,), (1,), "VALID", np.array([1.0, 2.0]), 0.5, lambda old, new: new)
    np.testing.assert_array_equal(last, [0.5, 2.0, 0.5])
    line = lax.select_and_scatter(x, lax.ge, (2,), (1,), "VALID", np.array([1.0, 2.0]), 0.5, lambda a, b: 2 * a + b)
    np.testing.assert_array_equal(line, [0.5, 6.0, 0.5])


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: lax.select_and_gather_add(T, X[0], lax.ge_p, (1,)), ShapeError, "the shapes differ"),
        (lambda: lax.select_and_gather_add(T, X, lax.gt_p, (1, 1)), ValueError, r"select_prim is gt\. Give lax\.ge_p"),
        (lambda: lax.select_and_scatter_add(T, X, lax.ge_p, (2, 2)), ShapeError, r"the windows are \(2, 2\)"),
        (lambda: lax.select_and_scatter_add(T, X + 0j, lax.ge_p, (1, 1)), TypeError, "not defined for complex128"),
        (lambda: lax.select_and_scatter_add(T > 0, X, lax.ge_p, (1, 1)), TypeError, "not defined for bool"),
        (
            lambda: lax.select_and_scatter(X, lambda a, b: a, (1, 1), None, "VALID", T, 0.0, lax.add),
            TypeError,
            r"returned float64\[\]\. Return a scalar bool\[\]",
        ),
        (
            lambda: lax.select_and_scatter(X, lax.ge, (1, 1), None, "VALID", T.astype(np.float32), 0.0, lax.add),
            TypeError,
            "the dtypes differ",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
