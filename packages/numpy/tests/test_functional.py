"""Functions of slices, of axes and of pieces are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core.config import disable_jit


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_functions_of_slices_are_numpys(dtype, agree, numbers):
    x = numbers((3, 4, 2), dtype)
    for axis in (0, 1, -1):
        agree(lambda m, x, d=axis: m.apply_along_axis(np.sum, d, x), x, plain=False)
        agree(lambda m, x, d=axis: m.apply_along_axis(lambda row: row[:1] * row[:2], d, x), x, plain=False)
        agree(lambda m, x, d=axis: m.apply_along_axis(lambda row: m.outer(row, row), d, x), x, plain=False)
    agree(lambda m, x: [m.apply_over_axes(np.sum, x, [0, 2]), m.apply_over_axes(np.max, x, 1)], x, plain=False)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_pieces_are_numpys(dtype, agree, numbers):
    x = numbers((3, 4), dtype)
    agree(lambda m, x: m.piecewise(x, [x < 0, x > 2], [lambda v: -v, 7, lambda v: v * v]), x, plain=False)
    agree(lambda m, x: m.piecewise(x, [x > 1], [lambda v, n: v * n], 3), x, plain=False)


def test_functions_of_indices_are_numpys():
    with disable_jit():
        got = cnp.fromfunction(lambda i, j: i * 2 + j, (2, 3), dtype=int)
    np.testing.assert_array_equal(got, np.fromfunction(lambda i, j: i * 2 + j, (2, 3), dtype=int))


def test_wrong_arguments_are_refused():
    x = np.ones((2, 3))
    with disable_jit():
        with pytest.raises(ValueError, match=r"piecewise.*there are 1 conditions and 3 functions. Give 1"):
            cnp.piecewise(x, [x > 0], [1, 2, 3])
        with pytest.raises(ValueError, match=r"apply_over_axes.*the function makes float64\[\] of float64\[2,3\]"):
            cnp.apply_over_axes(lambda x, axis: np.sum(x), x, 0)
