"""Elements repeated, padded, reversed and rolled are NumPy's."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import calque_numpy as cnp
from calque_core import TracerIntegerConversionError, jaxpr_as_fun, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = {
    "repeat": lambda m, x: m.repeat(x, 3),
    "repeat along an axis": lambda m, x: m.repeat(x, 2, axis=-1),
    "repeat never": lambda m, x: m.repeat(x, 0, axis=0),
    "repeat each": lambda m, x: m.repeat(x, list(range(x.shape[0])), axis=0),
    "repeat by one count": lambda m, x: m.repeat(x, [2], axis=0),
    "tile": lambda m, x: m.tile(x, 2),
    "tile along axes": lambda m, x: m.tile(x, (2, 1, 3)),
    "tile never": lambda m, x: m.tile(x, 0),
    "tile by fewer": lambda m, x: m.tile(x[None, None], (2,)),
    "pad": lambda m, x: m.pad(x, 1),
    "pad with a constant": lambda m, x: m.pad(x, (2, 0), constant_values=7),
    "pad by pairs": lambda m, x: m.pad(x, [(i, 1) for i in range(x.ndim)], mode="constant"),
    "flip": lambda m, x: m.flip(x),
    "flip an axis": lambda m, x: m.flip(x, -1),
    "flip several": lambda m, x: m.flip(x[None], (0, 1)),
    "flipud": lambda m, x: m.flipud(x),
    "fliplr": lambda m, x: m.fliplr(x[None]),
    "rot90": lambda m, x: [m.rot90(x[None], k) for k in (-1, 0, 1, 2, 3, 4)],
    "rot90 in a plane": lambda m, x: m.rot90(x[None, None], 1, (2, 0)),
    "roll": lambda m, x: [m.roll(x, k) for k in (-1, 0, 1, 5)],
    "roll an axis": lambda m, x: m.roll(x, 1, axis=-1),
    "roll several": lambda m, x: m.roll(x[None], (1, 2), axis=(0, 1)),
    "roll one by several": lambda m, x: m.roll(x, (1, 1), axis=0),
    "roll all": lambda m, x: m.roll(x, (1, 2)),
}


def traced(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    return jaxpr_as_fun(jaxpr)(*args)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 4), (1,), (0, 2)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_rearranged_elements_are_numpys(name, shape, agree, numbers):
    agree(CASES[name], numbers(shape, "float32"))


X = np.array([10.0, 20.0, 30.0])
REPEATED = {
    "as many": ([1, 2, 3], 6, [10, 20, 20, 30, 30, 30]),
    "too many": ([1, 2, 3], 4, [10, 20, 20, 30]),
    "too few": ([1, 0, 1], 5, [10, 30, 30, 30, 30]),
    "none of the last": ([1, 0, 0], 3, [10, 30, 30]),
    "none": ([0, 0, 0], 2, [30, 30]),
    "nothing": ([1, 1, 1], 0, []),
    "one number": (2, 3, [10, 10, 20]),
    "one number in a list": ([2], 7, [10, 10, 20, 20, 30, 30, 30]),
    "bools": ([True, False, True], 2, [10, 30]),
}


@pytest.mark.parametrize("name", REPEATED)
def test_elements_are_repeated_to_a_length_by_traced_numbers(name):
    repeats, length, want = REPEATED[name]
    numbers = np.array(repeats)
    fun = lambda x, n: (cnp.repeat(x, n, total_repeat_length=length), x.repeat(n, total_repeat_length=length))
    for got in (cnp.repeat(X, repeats, total_repeat_length=length), *traced(fun, X, numbers)):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == X.dtype


def test_rows_are_repeated_to_a_length_by_traced_numbers():
    x = np.arange(6).reshape(2, 3)
    rows = lambda n: cnp.repeat(x, n, axis=-2, total_repeat_length=4)
    np.testing.assert_array_equal(*traced(rows, np.array([1, 2])), x[[0, 1, 1, 1]])
    np.testing.assert_array_equal(rows(np.array([1, 2])), x[[0, 1, 1, 1]])
    columns = lambda n: cnp.repeat(x, n, axis=1, total_repeat_length=2)
    np.testing.assert_array_equal(*traced(columns, np.uint8(2)), x[:, [0, 0]])
    assert cnp.repeat(x[:0], 3, axis=0, total_repeat_length=0).shape == (0, 3)


@pytest.mark.parametrize("shift", [-5, -1, 0, 1, 2, 14])
def test_elements_are_rolled_by_a_traced_shift(shift):
    x = np.arange(12).reshape(3, 4)
    for axis in (None, 0, -1, (0, 1)):
        roll = lambda x, k, d=axis: cnp.roll(x, k, d)
        for dtype in ("int8", "int64", "uint8"):
            k = np.array(abs(shift)).astype(dtype) if dtype == "uint8" else np.array(shift, dtype)
            np.testing.assert_array_equal(*traced(roll, x, k), np.roll(x, int(k), axis))


def test_elements_are_rolled_by_traced_shifts_one_per_axis():
    x = np.arange(12).reshape(3, 4)
    want = np.roll(x, (1, -2), (0, 1))
    np.testing.assert_array_equal(*traced(lambda x, k: np.roll(x, k, (0, 1)), x, np.array([1, -2])), want)
    np.testing.assert_array_equal(*traced(lambda x, k: cnp.roll(x, (1, k), (0, 1)), x, np.int64(-2)), want)
    np.testing.assert_array_equal(*traced(lambda x, k: cnp.roll(x, k), x, np.array([1, -2])), np.roll(x, -1))
    np.testing.assert_array_equal(*traced(lambda x, k: cnp.roll(x, k, 0), x, np.array([1, 1])), np.roll(x, 2, 0))
    assert traced(lambda x, k: cnp.roll(x, k, 0), x[:0], np.int64(1))[0].shape == (0, 4)


def test_a_roll_by_a_known_shift_is_two_slices():
    eqns = make_jaxpr(lambda x: cnp.roll(x, 1))(X).eqns
    assert [eqn.primitive.name for eqn in eqns] == ["slice", "slice", "concatenate"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x, n: cnp.repeat(x, n, total_repeat_length=3.0),
            TypeError,
            "total_repeat_length is 3.0. Give an integer.",
        ),
        (
            lambda x, n: cnp.repeat(x, n, total_repeat_length=-1),
            ValueError,
            "total_repeat_length is -1. Give zero or more.",
        ),
        (
            lambda x, n: cnp.repeat(x, [1, 2], total_repeat_length=3),
            ValueError,
            "repeats has 2 numbers for axis 0 of size 3. Give one number, or one for each element.",
        ),
        (
            lambda x, n: cnp.repeat(x, -1, total_repeat_length=3),
            ValueError,
            "repeats is -1. Give numbers of zero or more.",
        ),
        (lambda x, n: cnp.repeat(x, x, total_repeat_length=3), TypeError, "has type float64[3]. Give integers."),
        (
            lambda x, n: cnp.repeat(x[:0], n, total_repeat_length=3),
            ValueError,
            "axis 0 has no element to repeat. Give one element or more.",
        ),
        (
            lambda x, n: cnp.roll(x, x),
            TypeError,
            "shift has type float64[3]. Give an integer, or a vector of integers.",
        ),
        (lambda x, n: cnp.roll(x, x[0]), TypeError, "shift has type float64[]. Give an integer"),
        (lambda x, n: cnp.roll(x, [n, n, n], (0, -1)), ValueError, "3 shifts for 2 axes."),
    ],
)
def test_wrong_numbers_beside_traced_ones_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(X, np.int64(1))
    assert words in str(caught.value)
    assert "test_rearranging.py" in str(caught.value)


def test_traced_numbers_of_repetitions_need_a_length():
    with pytest.raises(TracerIntegerConversionError) as caught:
        make_jaxpr(lambda n: cnp.repeat(X, n))(np.array([1, 2, 3]))
    words = "Or give the length of the result: calque.numpy.repeat(x, repeats, total_repeat_length=n)."
    assert words in str(caught.value)


def test_windows_are_numpys(agree, numbers):
    for shape, sizes, axis in (((4,), 2, None), ((3, 4), (2, 3), None), ((3, 4), (2, 2), (-1, -1)), ((2, 0), 1, 0)):
        agree(lambda m, x, s=sizes, d=axis: sliding_window_view(x, s, d), numbers(shape, "float32"))
    agree(lambda m, x: sliding_window_view(x, 0), numbers((2,), "int8"))


def test_a_scalar_is_repeated_and_tiled(agree):
    agree(lambda m, x: [m.repeat(x, 2), m.tile(x, (2, 2))], np.float32(3))


def test_padding_takes_the_dtype_of_the_array(agree, numbers):
    agree(lambda m, x: m.pad(x, 1, constant_values=2.7), numbers((2,), "int8"))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.repeat(x, -1), ValueError, "repeats is -1. Give numbers of zero or more."),
        (lambda x: np.repeat(x, [1, 2, 3], axis=0), ValueError, "repeats has 3 numbers for axis 0 of size 2."),
        (lambda x: cnp.repeat(x, 1.5), TypeError, "repeats is 1.5. Give a sequence of integers."),
        (lambda x: cnp.tile(x, -2), ValueError, "reps is -2. Give numbers of zero or more."),
        (
            lambda x: sliding_window_view(x, 3, 0),
            ValueError,
            "a window of size 3 does not fit into axis 0. Give 0 to 2.",
        ),
        (lambda x: sliding_window_view(x, (1, 1, 1)), ValueError, "3 sizes for 2 axes. Give as many."),
        (lambda x: sliding_window_view(x, 1, writeable=True), TypeError, "writeable= is not supported"),
        (lambda x: np.flip(x, 2), ValueError, "axis 2 is out of range for ndim 2"),
        (lambda x: np.flip(x, (0, -2)), ValueError, "name one axis twice"),
        (lambda x: np.rot90(x, 1, (0,)), ValueError, "axes is (0,). Give two axes."),
        (lambda x: np.rot90(x, 0.5), TypeError, "k is 0.5. Give an integer."),
        (
            lambda x: np.roll(x, (1, 2, 3), axis=(0, 1)),
            ValueError,
            "3 shifts for 2 axes. Give equal numbers of both, or one shift, or one axis.",
        ),
    ],
)
def test_wrong_arguments_of_a_rearrangement_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.roll(x, 0),
        lambda x: np.roll(x, 2, axis=0),
        lambda x: np.tile(x, 1),
        lambda x: np.concatenate([x]),
        lambda x: np.concatenate([x], axis=None),
        np.hstack,
        cnp.array,
        lambda x: cnp.asarray(x, copy=True),
    ],
    ids=["roll", "roll an axis", "tile", "concatenate", "flat concatenate", "hstack", "array", "asarray"],
)
def test_the_same_elements_are_an_array_of_their_own(make):
    def fun(x):
        y = make([x] if make is np.hstack else x)
        y += 1.0
        return x * y

    x = np.array([1.0, 3.0])
    np.testing.assert_array_equal(jaxpr_as_fun(make_jaxpr(fun)(x))(x)[0], fun(x.copy()))
