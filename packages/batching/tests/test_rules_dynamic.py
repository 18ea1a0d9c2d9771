from __future__ import annotations

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

X = np.arange(24.0).reshape(2, 3, 4)
UPDATE = -1.0 - np.arange(8.0).reshape(2, 4)
INDEX = np.array([2, -2])


def read(x, i):
    return lax.dynamic_index_in_dim(x, i, keepdims=False)


def written(x, y, i):
    return lax.dynamic_update_index_in_dim(x, y, i, 0)


def check(fun, args, dims):
    size = next(np.shape(x)[d] for x, d in zip(args, dims) if d is not None)
    rows = [[x if d is None else np.take(x, k, d) for x, d in zip(args, dims)] for k in range(size)]
    np.testing.assert_array_equal(vmap(fun, in_axes=dims)(*args), np.stack([fun(*row) for row in rows]))


@pytest.mark.parametrize("i_dim", [None, 0])
@pytest.mark.parametrize("x_dim", [None, 0, 1, 2])
def test_reading_is_batched_in_each_operand(x_dim, i_dim):
    if (x_dim, i_dim) != (None, None):
        x = X[0] if x_dim is None else np.moveaxis(X, 0, x_dim)
        check(read, (x, 1 if i_dim is None else INDEX), (x_dim, i_dim))


@pytest.mark.parametrize("i_dim", [None, 0])
@pytest.mark.parametrize("y_dim", [None, 0, 1])
@pytest.mark.parametrize("x_dim", [None, 0, 1, 2])
def test_replacing_is_batched_in_each_operand(x_dim, y_dim, i_dim):
    if (x_dim, y_dim, i_dim) != (None, None, None):
        x = X[0] if x_dim is None else np.moveaxis(X, 0, x_dim)
        y = UPDATE[0] if y_dim is None else np.moveaxis(UPDATE, 0, y_dim)
        check(written, (x, y, 1 if i_dim is None else INDEX), (x_dim, y_dim, i_dim))


def test_batches_of_batches_are_one_operation():
    xs = np.stack([X, X + 100.0])
    indices = np.array([[0, 1], [2, -1]])
    nested = vmap(vmap(read))
    want = np.stack([np.stack([read(x, i) for x, i in zip(*row)]) for row in zip(xs, indices)])
    np.testing.assert_array_equal(nested(xs, indices), want)
    names = [eqn.primitive.name for eqn in make_jaxpr(nested)(xs, indices).eqns]
    assert names.count("gather") == 1
    assert not {"scan", "while", "iota"} & set(names)
