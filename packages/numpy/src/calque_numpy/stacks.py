"""Products and diagonals of stacks of matrices and vectors, as in `numpy.linalg`: its names of the array API.

One idea: matrices are the last two axes, vectors the last axis, where NumPy's older functions take the first axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, implements, lax, typeof
from calque_core.engine.numpy_functions import canonical_axis, check_operands, conjugate
from calque_core.engine.numpy_functions import matmul as core_matmul
from calque_core.extend import where
from calque_numpy import matrices, products, shapes
from calque_numpy.creation import asarray

Value = Any


@implements(np.linalg.diagonal)
def diagonal(x: Value, /, *, offset: int = 0) -> Value:
    """Return a diagonal of each matrix; `offset` > 0 is above the main diagonal.

    Shapes: x [*b, n, m] -> [*b, length].
    Raises: ValueError for fewer than two axes.

    >>> import numpy as np
    >>> from calque_numpy.linalg import diagonal
    >>> diagonal(np.array([[[1, 2], [3, 4]]]))
    array([[1, 4]])
    """
    return matrices.diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def trace(x: Value, /, *, offset: int = 0, dtype: Any = None) -> Value:
    """Return the sum of a diagonal of each matrix.

    Shapes: x [*b, n, m] -> [*b].  Dtype: as `sum`.
    Raises: ValueError for fewer than two axes.

    >>> import numpy as np
    >>> from calque_numpy.linalg import trace
    >>> trace(np.array([[[1, 2], [3, 4]]]))
    array([5])
    """
    return matrices.trace(x, offset, -2, -1, dtype)


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Value, /) -> Value:
    """Return the array with its last two axes exchanged.

    Raises: ValueError if there are fewer axes.

    >>> import numpy as np
    >>> from calque_numpy.linalg import matrix_transpose
    >>> matrix_transpose(np.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    return shapes.matrix_transpose(x)


@implements(np.linalg.outer)
def outer(x1: Value, x2: Value, /) -> Value:
    """Return the products of each element of one vector with each element of another.

    Shapes: x1 [n], x2 [m] -> [n, m].  Dtype: promoted.
    Raises: ShapeError unless both are vectors.

    >>> import numpy as np
    >>> from calque_numpy.linalg import outer
    >>> outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    if (typeof(x1).ndim, typeof(x2).ndim) != (1, 1):
        raise ShapeError(
            f"outer of {typeof(x1)} and {typeof(x2)}{where()}: an operand is no vector. Use calque_numpy.outer, which "
            "flattens its operands."
        )
    return products.outer(x1, x2)


@implements(np.linalg.vecdot, np.vecdot)
def vecdot(x1: Value, x2: Value, /, *, axis: int = -1) -> Value:
    """Return the inner products of the vectors along an axis, those of `x1` conjugated.

    Shapes: x1 [*b, n], x2 [*b, n] -> [*b], also along another axis; the axes b broadcast.  Dtype: promoted.
    Raises: ShapeError if the vectors differ in length, or the other axes do not broadcast; ValueError if the axis is
    out of range.

    >>> import numpy as np
    >>> from calque_numpy.linalg import vecdot
    >>> vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    check_operands("vecdot", x1, x2)
    x1, x2 = _vectors_last("vecdot", x1, x2, axis)
    x1 = conjugate(x1) if typeof(x1).kind == "c" else x1
    if typeof(x1).kind == "b" and typeof(x2).kind == "b":
        both = lax.bitwise_and(x1, x2)
        return lax.reduce_or(both, typeof(both).ndim - 1)
    product = lax.mul(x1, x2)
    return lax.reduce_sum(product, typeof(product).ndim - 1)


def _vectors_last(name: str, x1: Value, x2: Value, axis: Any) -> tuple[Value, Value]:
    """Return the operands with the vectors, of one length, along their last axes."""
    x1, x2 = (shapes.moveaxis(x, canonical_axis(name, axis, typeof(x).ndim), -1) for x in (asarray(x1), asarray(x2)))
    lengths = [typeof(x).shape[-1] for x in (x1, x2)]
    if lengths[0] != lengths[1]:
        raise ShapeError(
            f"{name}{where()}: the vectors have the lengths {lengths[0]} and {lengths[1]}. Give vectors of one length."
        )
    return x1, x2


@implements(np.linalg.cross)
def cross(x1: Value, x2: Value, /, *, axis: int = -1) -> Value:
    """Return the vector products of the vectors of length 3 along an axis.

    Shapes: x1 [*b, 3], x2 [*b, 3] -> [*b, 3], also along another axis; the axes b broadcast.  Dtype: promoted.
    Raises: ShapeError unless the vectors have length 3, or if the other axes do not broadcast; ValueError if the axis
    is out of range.

    >>> import numpy as np
    >>> from calque_numpy.linalg import cross
    >>> cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
    array([0, 0, 1])
    """
    left, right = _vectors_last("cross", x1, x2, axis)
    if typeof(left).shape[-1] != 3:
        raise ShapeError(
            f"cross{where()}: the vectors have the length {typeof(left).shape[-1]}. Give vectors of length 3."
        )
    return shapes.moveaxis(products.cross(left, right), -1, axis)


matmul = implements(np.linalg.matmul)(core_matmul)
tensordot = implements(np.linalg.tensordot)(products.tensordot)
