"""Indexing of tracers is NumPy's: every combination of parts, in few equations, and clear words for the rest."""

import itertools

import numpy as np
import pytest

from calque_core import config, eval_jaxpr, stage, typeof
from calque_core.engine import clipped_lines, combine_lines
from calque_core.errors import NonConcreteBooleanIndexError, TracerIntegerConversionError

pytestmark = pytest.mark.sampled(keep=0.1)

X = np.arange(24.0).reshape(2, 3, 4)
PARTS = [
    0, -1, np.int64(1), slice(None), slice(1, None), slice(None, None, -1), slice(-1, None, -2), slice(3, 1),
    slice(0, 2, 5), slice(5, -10, -3), slice(np.int8(-2), None), None, ...,
]  # fmt: skip


def traced(fun, *args):
    jaxpr = stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def primitives(fun, *args):
    return [eqn.primitive.name for eqn in stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args]).eqns]


def refused(fun, *args, error=IndexError):
    with pytest.raises(error) as caught:
        traced(fun, *args)
    return str(caught.value)


@pytest.mark.parametrize("n_parts", range(4))
def test_every_index_takes_what_numpy_takes(n_parts):
    for index in itertools.product(PARTS, repeat=n_parts):
        try:
            want = X[index]
        except IndexError:
            refused(lambda x, i=index: x[i], X)
            continue
        got = traced(lambda x, i=index: x[i], X)
        assert np.shape(got) == np.shape(want), index
        np.testing.assert_array_equal(got, want, err_msg=str(index))


@pytest.mark.parametrize("step", [None, -3, -1, 2, 9])
def test_every_slice_takes_what_numpy_takes(step):
    for start, stop, size in itertools.product([None, -9, -3, -1, 0, 2, 9], [None, -9, -2, 0, 3, 9], [0, 1, 5]):
        x, index = np.arange(size), slice(start, stop, step)
        np.testing.assert_array_equal(traced(lambda a, i=index: a[i], x), x[index], err_msg=str(index))


@pytest.mark.parametrize(
    ("index", "names"),
    [
        ((), []),
        (..., []),
        (slice(None), []),
        ((slice(0, 2), slice(None, None, 1)), []),
        (0, ["slice", "squeeze"]),
        ((0, ..., -1), ["slice", "squeeze"]),
        (slice(1, None), ["slice"]),
        (slice(None, None, -1), ["rev"]),
        ((..., slice(2, 0, -1)), ["slice", "rev"]),
        (None, ["broadcast_in_dim"]),
        ((0, None), ["slice", "reshape"]),
    ],
    ids=str,
)
def test_an_index_takes_as_few_equations_as_it_can(index, names):
    assert primitives(lambda x: x[index], X) == names


def test_an_axis_of_size_one_is_removed_without_a_slice():
    assert primitives(lambda x: x[0], np.ones((1, 3))) == ["squeeze"]


def test_a_plan_belongs_to_a_type_and_an_index():
    def fun(x, y):
        return x[0] + y[0] + x[1] + y[1]

    np.testing.assert_array_equal(traced(fun, np.arange(6).reshape(2, 3), np.array([10.0, 20.0])), [33.0, 35.0, 37.0])


def test_an_index_works_in_32_bits():
    with config.enable_x64(False):
        assert traced(lambda x: x[1], X).dtype == np.float32


# What is refused


def test_too_many_indices_are_counted():
    words = refused(lambda x: x[0, 0, 0, 0], X)
    assert words.startswith("too many indices for an array of type float64[2,3,4] at test_indexing.py:")
    assert words.endswith("it has 3 axes, but 4 were indexed. Leave out 1.")


def test_an_index_out_of_bounds_names_index_axis_and_size():
    words = refused(lambda x: x[:, :, -5], X)
    assert words.startswith("index -5 is out of bounds at test_indexing.py:")
    assert words.endswith("axis 2 of float64[2,3,4] has size 4. Use an index from -4 to 3.")
    assert refused(lambda x: x[:0][0], X).endswith("axis 0 of float64[0,3,4] has size 0. Take a slice.")


def test_an_error_is_not_remembered_with_its_old_line():
    first = refused(lambda x: x[7], X)
    second = refused(
        lambda x: x[7],
        X,
    )
    assert first != second


def test_two_ellipses_are_refused():
    assert refused(lambda x: x[..., 0, ...], X).endswith("has 2 ellipses ('...'). Use one at most.")


def test_a_step_of_zero_is_refused():
    assert "slice step cannot be zero at test_indexing.py:" in refused(lambda x: x[::0], X, error=ValueError)


def test_a_traced_mask_is_refused_with_a_way_to_keep_the_shape():
    words = refused(lambda x: x[x > 0], X, error=NonConcreteBooleanIndexError)
    assert words.startswith("an index of float64[2,3,4] at test_indexing.py:")
    assert "is a boolean mask of type bool[2,3,4]: how many elements it takes is not known while tracing." in words
    assert words.endswith("Use numpy.where(mask, x, other), which keeps the shape.")


@pytest.mark.parametrize("mask", [np.array([True, False]), [False, True], True, np.False_, X > 5.0], ids=repr)
def test_a_known_mask_takes_what_numpy_takes(mask):
    np.testing.assert_array_equal(traced(lambda x: x[mask], X), X[mask])


def test_a_mask_of_other_sizes_is_refused():
    words = refused(lambda x: x[:, np.array([True, False])], X)
    assert words.endswith(
        "is a mask of shape (2,), but the axes from axis 1 on have sizes (3,). Give a mask of these sizes."
    )


@pytest.mark.parametrize("index", [1, -1, np.int8(2), np.array([[0, 1], [-1, -2]])], ids=repr)
def test_traced_integers_take_what_known_ones_take(index):
    np.testing.assert_array_equal(traced(lambda x, i: x[:, i], X, index), X[:, index])
    np.testing.assert_array_equal(traced(lambda x, i: x[0, ..., i], X, index), X[0, ..., index])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "int64", "uint64"])
def test_known_positions_of_every_dtype_reach_the_end_of_a_long_axis(dtype):
    x, index = np.arange(300.0), np.array([0, 127, 100 if dtype[0] == "u" else -100], dtype)
    np.testing.assert_array_equal(traced(lambda x: x[index], x), x[index])
    np.testing.assert_array_equal(traced(lambda x: x.at[index].set(7.0)[index], x), np.full(3, 7.0))


def test_a_list_may_hold_traced_integers():
    np.testing.assert_array_equal(traced(lambda x, i: x[1, [i, 0]], X, 2), X[1, [2, 0]])


def test_traced_integers_out_of_bounds_take_the_nearest_element():
    np.testing.assert_array_equal(traced(lambda x, i: x[0, 0, i], X, np.array([9, -9, -4])), X[0, 0, [3, 0, 0]])
    with config.enable_checks(), pytest.raises(IndexError, match="the index 9 along axis 0 is out of bounds for"):
        traced(lambda x, i: x[0, 0, i], X, np.array([0, 9]))


def test_one_traced_index_is_one_gather():
    names = primitives(lambda x, i: x[:, i], X, np.array([0, 1]))
    assert names == ["lt", "add", "select_n", "broadcast_in_dim", "gather"]
    assert primitives(lambda x: x[:, [0, 1]], X) == ["gather"]


def test_known_positions_out_of_bounds_are_refused():
    words = refused(lambda x: x[:, [0, 3]], X)
    assert words.startswith("index 3 is out of bounds at test_indexing.py:")
    assert words.endswith("axis 1 of float64[2,3,4] has size 3. Use an index from -3 to 2.")


def test_positions_along_an_empty_axis_are_refused():
    words = refused(lambda x, i: x[:0][i], X, np.array([0]))
    assert words.endswith("points along axis 0 of float64[0,3,4], which has no elements. Take a slice.")
    assert traced(lambda x, i: x[:0][i], X, np.zeros(0, int)).shape == (0, 3, 4)


def test_positions_that_do_not_broadcast_are_refused_with_the_way_to_take_a_block():
    words = refused(lambda x: x[[0, 1], [0, 1, 2]], X)
    assert "have shapes (2,) and (3,), which do not broadcast." in words
    assert words.endswith("to take rows and columns, use x[rows[:, None], columns].")


@pytest.mark.parametrize("index", [1.5, "a", np.float32(1), 1j, object], ids=repr)
def test_an_index_of_another_kind_is_refused(index):
    assert refused(lambda x: x[index], X).endswith("Use integers, slices, None, '...', or arrays of integers or bools.")


def test_a_traced_float_is_no_index():
    assert "has type ~float64[]. Use integers" in refused(lambda x, i: x[i], X, 1.0)


def test_a_traced_bound_of_a_slice_is_refused_with_two_ways_out():
    words = refused(lambda x, n: x[:n], X, 1)
    assert words.startswith("a slice bound at test_indexing.py:")
    assert "is a traced value of type ~int64[], but how much a slice takes must be known while tracing." in words
    assert words.endswith("Use lax.dynamic_slice_in_dim(x, start, size), which takes a known number of elements.")


def test_a_slice_bound_of_another_kind_is_refused():
    assert refused(lambda x: x[1.5:], X).endswith("is 1.5. Use an integer or None.")


def test_a_list_indexed_by_a_tracer_asks_for_an_integer():
    refused(lambda i: [1.0, 2.0][i], 1, error=TracerIntegerConversionError)


def test_item_assignment_is_refused_with_what_to_write():
    def fun(x):
        x[0] = 1.0
        return x

    words = refused(fun, X, error=TypeError)
    assert words.startswith("x[...] = value at test_indexing.py:")
    assert "an array of type float64[2,3,4] that is traced or on a device cannot be changed in place." in words
    assert words.endswith("Make a new one: x.at[index].set(value).")


# Iteration


def test_iteration_runs_over_the_first_axis():
    np.testing.assert_array_equal(traced(lambda x: sum(row * i for i, row in enumerate(x)), X), X[1])
    np.testing.assert_array_equal(traced(lambda x: np.subtract(*x), X), X[0] - X[1])


def test_iteration_takes_only_the_rows_that_are_asked_for():
    assert primitives(lambda x: next(iter(x)), X) == ["slice", "squeeze"]


def test_the_length_is_the_size_of_the_first_axis():
    assert traced(lambda x: x * len(x), np.ones((3, 2)))[0, 0] == 3.0


def test_a_0d_array_has_no_length_and_no_elements():
    assert refused(lambda x: len(x), 1.0, error=TypeError).startswith("len() of a 0-d array at test_indexing.py:")
    words = refused(lambda x: iter(x), 1.0, error=TypeError)
    assert words.startswith("iteration over a 0-d array at test_indexing.py:")
    assert words.endswith("Iterate over an array with at least one axis.")


class Recorder:
    """Stands in for a ufunc: keeps the positions."""

    def at(self, array, positions, updates):
        self.positions = positions


def test_positions_of_elements_have_enough_bits_where_those_of_lines_have_32():
    rows, recorder = np.full((2000, 1), (1 << 20) - 1, np.int32), Recorder()
    assert clipped_lines(rows, (1 << 20,)).dtype == clipped_lines(rows[:3], (1 << 20,)).dtype == np.intp
    combine_lines(recorder, np.zeros((2, 1 << 12), np.int8), rows[:2, 0], np.ones((2, 1 << 12), np.int8))
    assert recorder.positions.max() == (1 << 32) - 1
