"""Gradients through indices by arrays and lists: each call gives what NumPy's own index gives, as at the first call.

Known code takes over between the third and the fifth call, so each claim is tested with eight calls.
"""

import gc

import numpy as np
import pytest

from calque_autodiff import grad, jvp, value_and_grad
from calque_autodiff.known.tables import linearizations
from calque_core import config

CALLS = 8
CUBE = np.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
ROWS, COLUMNS = np.array([1, 0, 1, 1]), np.array([2, -1, 0, 2])
MASK = CUBE > 0.1
INDICES = {
    "a list": [1, 0, 1], "a nested list": [[0, 1], [-1, -2]], "an empty list": [], "a list of bools": [True, False],
    "positions": ROWS, "negative positions": np.array([-1, -2, 1]), "of two axes": np.array([[0, 1], [1, 1]]),
    "int8": ROWS.astype(np.int8), "uint64": ROWS.astype(np.uint64), "byte-swapped": ROWS.astype(">i4"),
    "with gaps": np.array([0, 9, 1, 9])[::2], "of stride 0": np.broadcast_to(np.int64(-1), (3,)),
    "a mask": MASK, "a mask of rows": np.array([False, True]), "an empty mask": MASK & False,
    "a mask without axes": (np.array(True), 0), "False": (False, slice(1)), "pairs": (ROWS, COLUMNS),
    "triples": (ROWS, COLUMNS, np.array([3, 3, 0, -4])), "an axis in the middle": (slice(None), COLUMNS),
    "apart": (ROWS, slice(None), COLUMNS), "beside an integer": (1, COLUMNS), "the last axis": (..., [0, -1]),
    "a grid": np.ix_(np.arange(2), [2, 0]), "of slices": (slice(None, None, -1), COLUMNS, slice(1, 3)),
    "a new axis": (None, ROWS, slice(2, 0, -1)), "0-d": (np.array(1), COLUMNS), "a scalar": (np.int32(-1), COLUMNS),
}  # fmt: skip


def weights(index):
    shape = CUBE[index].shape
    return np.linspace(0.5, 2.0, np.prod(shape, dtype=int)).reshape(shape)


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_each_call_reads_and_adds_up_what_numpy_reads(index):
    w = weights(index)
    want = np.zeros(CUBE.shape)
    np.add.at(want, index, 2.0 * CUBE[index] * w)
    for _ in range(CALLS):
        value, slope = value_and_grad(lambda x: np.sum(np.square(x[index]) * w))(CUBE)
        np.testing.assert_allclose(value, np.sum(CUBE[index] ** 2 * w), rtol=1e-14)
        np.testing.assert_allclose(slope, want, rtol=1e-14, atol=0)
        out, out_dot = jvp(lambda x: x[index], (CUBE,), (3.0 * CUBE,))
        np.testing.assert_array_equal(out, CUBE[index])
        np.testing.assert_array_equal(out_dot, 3.0 * CUBE[index])


def test_positions_are_one_operand_of_one_step():
    f = lambda x, index: np.sum(x[index] ** 2)
    every = [np.array(p) for p in ([0, 1, 1], [1, 1, 1], [-1, 0, -2], [0, 0, 0])]
    for positions in every:
        grad(f)(CUBE, positions)
    before = len(linearizations.known)
    for positions in every:
        want = np.zeros(CUBE.shape)
        np.add.at(want, positions, 2 * CUBE[positions])
        np.testing.assert_array_equal(grad(f)(CUBE, positions), want)
    assert len(linearizations.known) == before


def test_positions_and_masks_that_are_written_between_calls_are_read_anew():
    positions, mask, items = np.zeros(2, int), np.zeros(3, bool), [0, 0]
    x = np.array([1.0, 2.0, 3.0])
    for call in range(CALLS):
        positions[:] = items[:] = [call % 3, 2]
        mask[:] = [True, call % 2 == 0, False]
        want = np.zeros(3)
        np.add.at(want, positions, 1.0)
        np.testing.assert_array_equal(grad(lambda x: np.sum(x[positions]))(x), want)
        np.testing.assert_array_equal(grad(lambda x: np.sum(x[items]))(x), want)
        np.testing.assert_array_equal(grad(lambda x: np.sum(x[mask]))(x), mask.astype(float))


def test_positions_that_the_function_writes_to_keep_their_values_for_the_derivative():
    def f(x):
        positions = np.array([0, 2])
        y = x[positions] * x[positions]
        positions[:] = 1
        return np.sum(y)

    for _ in range(CALLS):
        np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0, 3.0])), [2.0, 0.0, 6.0])


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (np.array([0, 2]), "index 2 is out of bounds at {}: axis 0 of float64[2,3,4] has size 2. Use an index from"),
        ([0, -3], "index -3 is out of bounds at {}: axis 0 of float64[2,3,4] has size 2. Use an index from -2 to 1."),
        (np.array([2**63], np.uint64), "index 9223372036854775808 is out of bounds at {}: axis 0 of float64[2,3,4]"),
        (np.array([2**64 - 1], np.uint64), "index 18446744073709551615 is out of bounds at {}: axis 0"),
        (np.array([0.5]), "an index of float64[2,3,4] at {} has type float64[1]. Use integers, slices"),
        ([2**70], "an index of float64[2,3,4] at {} is an array of dtype object. Use integers, slices"),
        ([2**40], "index 1099511627776 is out of bounds at {}: axis 0 of float64[2,3,4] has size 2."),
        (["a"], "an index of float64[2,3,4] at {} is an array of dtype <U1. Use integers, slices"),
        ([[1], [0, 1]], "an index at {}: [[1], [0, 1]] is no array, since its items have different shapes."),
        ((ROWS, ROWS[:3]), "the arrays of an index at {} have shapes (4,) and (3,), which do not broadcast."),
        (np.ones(3, bool), "an index of float64[2,3,4] at {} is a mask of shape (3,), but the axes from axis 0"),
        ((ROWS,) * 4, "too many indices for an array of type float64[2,3,4] at {}: it has 3 axes, but 4"),
    ],
    ids=str,
)
def test_an_index_is_refused_in_the_same_words_at_each_call(index, words):
    good = np.array([0, 1])
    said = set()
    for call in range(CALLS):
        f = lambda x: np.sum(x[good if call % 2 else index])  # noqa: B023  (called at once)
        if call % 2:
            assert grad(f)(CUBE).sum() == CUBE.size
        else:
            with pytest.raises((IndexError, TypeError)) as caught:
                grad(f)(CUBE)
            said.add(str(caught.value))
    assert len(said) == 1
    (text,) = said
    start, _, end = words.partition("{}")
    assert text.startswith(start + "test_known_indices.py:")
    assert end in text


def test_an_axis_longer_than_the_table_of_positions():
    x = np.linspace(0.0, 1.0, 20_000)
    positions = np.array([-1, 0, 19_999, 5])
    for _ in range(CALLS):
        slope = grad(lambda x: np.sum(x[positions] ** 2))(x)
        assert slope[-1] == 4.0
        assert np.flatnonzero(slope).tolist() == [5, 19_999]
        with pytest.raises(IndexError, match="index 20000 is out of bounds"):
            grad(lambda x: np.sum(x[np.array([20_000])]))(x)


def test_a_result_shares_no_memory_with_array_or_positions():
    x, positions = np.array([1.0, 2.0]), np.array([0, 1])
    for _ in range(CALLS):
        out, slope = value_and_grad(lambda x: (np.sum(x[positions]), x[positions]), has_aux=True)(x)
        out[1][0] = 7.0
        slope[0] = 5.0
        assert (x.tolist(), positions.tolist()) == ([1.0, 2.0], [0, 1])


def test_settings_change_between_calls():
    f = lambda x: np.sum(x[[0, 2]] ** 2)
    x = np.array([1.0, 2.0, 3.0])
    for call in range(2 * CALLS):
        with config.enable_x64(call % 2 == 0), config.enable_checks(call % 3 == 0):
            slope = grad(f)(x)
        assert slope.dtype == (np.float64 if call % 2 == 0 else np.float32)
        np.testing.assert_array_equal(slope, [2.0, 0.0, 6.0])


def test_a_second_derivative_goes_through_positions():
    f = lambda x: np.sum(x[[0, 2, 0]] ** 3)
    hess = lambda x, v: grad(lambda x: np.sum(grad(f)(x) * v))(x)
    x, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0])
    for _ in range(CALLS):
        np.testing.assert_allclose(hess(x, v), [12.0, 0.0, 36.0], rtol=1e-14)


def test_positions_are_freed_with_the_derivative():
    before = None
    for call in range(CALLS + 4):
        grad(lambda x: np.sum(x[np.array([0, 1])] ** 2))(CUBE)
        gc.collect()
        count = sum(type(x) is np.ndarray for x in gc.get_objects())
        before = count if call == CALLS else before
    assert count == before
