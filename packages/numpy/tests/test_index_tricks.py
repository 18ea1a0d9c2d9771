"""Arrays of known indices are NumPy's; flat positions, and indices for each axis, may be traced."""

from collections import deque

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, ShapeError, make_jaxpr
from calque_core.config import default_dtype_bits, disable_jit

X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_triangles_and_diagonals_are_numpys(k):
    def parts(x):
        return *cnp.tril_indices_from(x, k), *cnp.triu_indices_from(x, k), *cnp.diag_indices_from(x[:, :3])

    want = (*np.tril_indices_from(X, k), *np.triu_indices_from(X, k), *np.diag_indices_from(X[:, :3]))
    with disable_jit():
        np.testing.assert_array_equal(np.concatenate(parts(X)), np.concatenate(want))
    jaxpr = make_jaxpr(lambda x: np.sum(x[cnp.tril_indices_from(x)]))(X)
    assert str(jaxpr.out_avals[0]) == "float64[]"


@pytest.mark.parametrize(("shape", "wrap"), [((3, 4), False), ((7, 3), False), ((7, 3), True), ((3, 3, 3), False)])
def test_diagonals_are_filled_as_numpy_fills_them(shape, wrap):
    for value in (5, np.array([1.0, 2.0])):
        want = np.zeros(shape)
        np.fill_diagonal(want, value, wrap)
        np.testing.assert_array_equal(cnp.fill_diagonal(np.zeros(shape), value, wrap), want)


@pytest.mark.parametrize("order", ["C", "F"])
def test_flat_positions_are_numpys(order, agree):
    flat = np.array([[0, 5], [11, 7]])
    rows, columns = np.unravel_index(flat, (3, 4))
    agree(lambda m, i: m.unravel_index(i, (3, 4), order), flat)
    agree(lambda m, i: m.unravel_index(i, (3, 4), order), flat > 3)
    agree(lambda m, i, j: m.ravel_multi_index((i, j), (3, 4), "wrap", order), rows * 5 - 4, columns + 9, plain=False)
    agree(lambda m, i, j: m.ravel_multi_index((i, j), (3, 4), "clip", order), rows * 5 - 4, columns + 9, plain=False)


def test_wrong_arguments_are_refused():
    with disable_jit():
        with pytest.raises(TypeError, match=r"fill_diagonal.*an array is not changed in place. Use the result"):
            cnp.fill_diagonal(X, 1, inplace=True)
        with pytest.raises(ValueError, match=r"tril_indices_from of float64\[4\].*Give a matrix"):
            cnp.tril_indices_from(X[0])
        with pytest.raises(ValueError, match=r"diag_indices_from of float64\[3,4\].*Give two or more axes of one size"):
            cnp.diag_indices_from(X)
    for f in (lambda i: cnp.unravel_index(i, (2, 2)), lambda i: cnp.ravel_multi_index((i, i), (2, 2), "wrap")):
        with pytest.raises(
            TypeError, match=r"ravel_.*of float64\[\] at test_index_tricks\.py.*only integers are indices"
        ):
            make_jaxpr(f)(1.5)
    with pytest.raises(ValueError, match=r"unravel_index.*the order is 'K'. Use 'C' or 'F'"):
        make_jaxpr(lambda i: cnp.unravel_index(i, (2, 2), "K"))(1)


def test_indices_of_a_part_of_a_matrix_are_numpys(agree):
    rows, columns = np.array([2, 0]), np.array([1, 3, 1])
    agree(
        lambda m, x, i, j: [x[m.ix_(i, j)], x[m.ix_(i, [0, 1])], x[m.ix_([True, False, True], j)], *m.ix_(i, [])],
        X,
        rows,
        columns,
    )
    with pytest.raises(ShapeError, match=r"ix_ of float64\[3,4\] at .*test_index_tricks.py:.*Give vectors"):
        make_jaxpr(np.ix_)(X)
    with pytest.raises(
        NumpyRuleError, match=r"nonzero of bool\[2\] at .*test_index_tricks.py:.*the shape of the result"
    ):
        make_jaxpr(lambda i: np.ix_(i > 0))(rows)


def test_indices_of_a_part_may_be_any_sequence():
    with disable_jit():
        for want, got in zip(np.ix_(range(2), deque([1, 3])), cnp.ix_(range(2), deque([1, 3])), strict=True):
            np.testing.assert_array_equal(got, want)
    jaxpr = make_jaxpr(lambda i: np.ix_(i, range(3)))(np.arange(2))
    assert [aval.shape for aval in jaxpr.out_avals] == [(2, 1), (1, 3)]
    with pytest.raises(TypeError, match=r"^ix_ at test_index_tricks\.py:.* is not an array or a scalar"):
        cnp.ix_({1, 2})


def test_grids_of_positions_are_numpys_in_the_default_integer():
    np.testing.assert_array_equal(cnp.indices((2, 3)), np.indices((2, 3)))
    np.testing.assert_array_equal(cnp.indices((2, 3), sparse=True)[1], [[0, 1, 2]])
    assert cnp.indices((2,), None).dtype == np.int64
    assert cnp.indices((2,), np.float32).dtype == np.float32
    with default_dtype_bits(32):
        assert cnp.indices((2,)).dtype == cnp.indices((2,), dtype=None).dtype == np.int32
    with pytest.raises(
        ValueError, match=r"indices at test_index_tricks.*dimensions is \(2, -1\). Give sizes of zero or"
    ):
        cnp.indices((2, -1))


def test_indices_of_a_mask_have_the_size_that_is_said():
    np.testing.assert_array_equal(cnp.mask_indices(3, np.triu, 1), np.mask_indices(3, np.triu, 1))
    np.testing.assert_array_equal(cnp.mask_indices(2, cnp.triu, size=5), [[0, 0, 1, 0, 0], [0, 1, 1, 0, 0]])
    scaled = lambda x, **options: cnp.mask_indices(2, lambda m, k: m * x, **options)
    assert [str(aval) for aval in make_jaxpr(lambda x: scaled(x, size=3))(1).out_avals] == ["int64[3]"] * 2
    with pytest.raises(
        NumpyRuleError, match=r"mask_indices of int64\[2,2\] at .*Use calque_numpy.mask_indices\(.., size"
    ):
        make_jaxpr(scaled)(1)
    with pytest.raises(TypeError, match=r"mask_indices got 4 of type int at test_index_tricks.*Give a function"):
        cnp.mask_indices(3, 4)
