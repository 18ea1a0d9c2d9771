"""Diagonals of matrices, and vectors as factors of their columns: the words of the rules of eigenvalues.

Read next: `eigen.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import typeof
from calque_core.lax import broadcast_in_dim, convert_element_type, div, eq, mul, reduce_sum, select
from calque_linalg.ops.matrices import conjugated, on_matrices

Value = Any


def diagonal_of(x: Value) -> Value:
    """Return the diagonals of square matrices.

    >>> import numpy as np
    >>> from calque_linalg.kit import diagonal_of
    >>> diagonal_of(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    return reduce_sum(on_diagonal(x, 0), typeof(x).ndim - 1)


def on_diagonal(x: Value, elsewhere: Value) -> Value:
    """Return the matrices with `elsewhere` off their diagonals.

    >>> import numpy as np
    >>> from calque_linalg.kit import on_diagonal
    >>> on_diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
    array([[1., 0.],
           [0., 4.]])
    """
    return select(on_matrices(eq, x), x, elsewhere)


def as_rows(vector: Value, count: int) -> Value:
    """Return matrices of `count` equal rows.

    >>> import numpy as np
    >>> from calque_linalg.kit import as_rows
    >>> as_rows(np.array([1.0, 2.0]), 2)
    array([[1., 2.],
           [1., 2.]])
    """
    shape = typeof(vector).shape
    ndim = len(shape) + 1
    return broadcast_in_dim(vector, (*shape[:-1], count, shape[-1]), [d for d in range(ndim) if d != ndim - 2])


def scale_columns(x: Value, factors: Value) -> Value:
    """Return the matrices with column j multiplied by factor j, in the dtype of the matrices.

    >>> import numpy as np
    >>> from calque_linalg.kit import scale_columns
    >>> scale_columns(np.ones((2, 2)), np.array([1.0, 2.0]))
    array([[1., 2.],
           [1., 2.]])
    """
    aval = typeof(x)
    return mul(x, as_rows(convert_element_type(factors, aval.dtype), aval.shape[-2]))


def column_products(x: Value, y: Value) -> Value:
    """Return the inner product of each column of `x` with the same column of `y`.

    >>> import numpy as np
    >>> from calque_linalg.ops.diagonals import column_products
    >>> column_products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([3., 8.])
    """
    return reduce_sum(mul(conjugated(x), y), typeof(x).ndim - 2)


def inverse(x: Value) -> Value:
    """Return 1 / x, and NaN for 0: no number, but no warning either.

    >>> import numpy as np
    >>> from calque_linalg.ops.diagonals import inverse
    >>> inverse(np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    is_zero = eq(x, 0)
    return select(is_zero, np.nan, div(1, select(is_zero, 1, x)))


def inverse_gaps(gaps: Value) -> Value:
    """Return 1 / gaps of matrices, and NaN for 0; on the diagonal, where a value meets itself, 0 for 0.

    >>> import numpy as np
    >>> from calque_linalg.ops.diagonals import inverse_gaps
    >>> inverse_gaps(np.array([[0.0, 2.0], [0.0, 4.0]]))
    array([[0.  , 0.5 ],
           [ nan, 0.25]])
    """
    off = select(on_matrices(eq, gaps), select(eq(gaps, 0), np.inf, gaps), gaps)
    return div(1, select(eq(off, 0), np.nan, off))
