"""Slices along one axis, against NumPy's indexing."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax
from calque_core.staging.make_jaxpr import make_jaxpr

X = np.arange(60).reshape(3, 4, 5)


@pytest.mark.parametrize("axis", [0, 2, -2])
@pytest.mark.parametrize("bounds", [(None, None), (1, None), (None, -1), (-3, -1), (0, 0), (2, 3)])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_slice_is_that_of_numpy(axis, bounds, stride):
    out = lax.slice_in_dim(X, *bounds, stride, axis)
    np.testing.assert_array_equal(np.moveaxis(out, axis, 0), np.moveaxis(X, axis, 0)[slice(*bounds, stride)])


@pytest.mark.parametrize("axis", [0, 2, -2])
@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_an_index_is_that_of_numpy(axis, index):
    out = lax.index_in_dim(X, index, axis)
    np.testing.assert_array_equal(out, np.take(X, [index], axis))
    np.testing.assert_array_equal(lax.index_in_dim(X, index, axis, keepdims=False), np.take(X, index, axis))


def test_they_are_slices():
    names = [eqn.primitive for eqn in make_jaxpr(lambda x: lax.index_in_dim(x, -1, 1, keepdims=False))(X).eqns]
    assert names == [lax.slice_p, lax.squeeze_p]


def test_bounds_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"slice of int64\[3,4,5\] at .*: axis 1 of size 4 is cut from 0 to 7"):
        lax.slice_in_dim(X, 0, 7, axis=1)
    with pytest.raises(ValueError, match=r"axis 0 of size 3 is cut from -2 to 3"):
        lax.slice_in_dim(X, -5, None)


@pytest.mark.parametrize("index", [4, -5])
def test_an_index_out_of_range_is_refused(index):
    message = rf"index_in_dim of int64\[3,4,5\] at .*: the index {index} is out of range for axis 1 of size 4\."
    with pytest.raises(ValueError, match=message):
        lax.index_in_dim(X, index, 1)
