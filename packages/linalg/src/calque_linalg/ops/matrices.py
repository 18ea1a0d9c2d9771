"""Batches of matrices: the checks of operations on them, and the functions that their rules are written in.

One idea: the last two axes are the rows and the columns of a matrix; all axes before them count the matrices.
Linear algebra knows four dtypes, those of LAPACK.

Read next: `triangular.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import ShapedArray, ShapeError, typeof
from calque_core.extend import of_one_dtype, undefined_message, where
from calque_core.lax import (
    GatherDimensionNumbers,
    Precision,
    add,
    broadcast_in_dim,
    broadcasted_iota,
    conj,
    convert_element_type,
    dot_general,
    eq,
    expand_dims,
    full_like,
    gather,
    ge,
    gt,
    mul,
    select,
    transpose,
    zeros_like,
)

Value = Any

FLOAT64 = np.dtype("float64")
FIELDS = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


# Checks


def field_operands(name: str, *operands: Value) -> list[Value]:
    """Return the operands of `name`, promoted to one dtype; integers and bools become float64, as in `numpy.linalg`."""
    operands = tuple(of_one_dtype(name, *operands))
    is_exact = typeof(operands[0]).kind in "biu"
    return [convert_element_type(x, FLOAT64) for x in operands] if is_exact else list(operands)


def check_matrices(name: str, *avals: ShapedArray) -> None:
    """Check that the operands are batches of matrices, equally many, of one of the dtypes of LAPACK.

    Raises: TypeError for another dtype; ShapeError for fewer than two axes, or if the leading axes differ.
    """
    for aval in avals:
        if aval.dtype not in FIELDS:
            raise TypeError(undefined_message(name, aval))
        if aval.ndim < 2:
            raise ShapeError(
                f"{name} of {aval}{where()}: the operand must have at least two axes. Give a matrix, or a batch."
            )
    types = " and ".join(map(str, avals))
    if len({aval.dtype for aval in avals}) > 1:
        raise TypeError(f"{name} of {types}{where()}: the dtypes differ. Convert one of the operands first.")
    if len({aval.shape[:-2] for aval in avals}) > 1:
        raise ShapeError(f"{name} of {types}{where()}: the leading axes differ. Broadcast the operands to equal ones.")


def check_square(name: str, aval: ShapedArray) -> None:
    """Check that an operand is a batch of square matrices.  Raises: as `check_matrices`; ShapeError."""
    check_matrices(name, aval)
    if aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(f"{name} of {aval}{where()}: the last two sizes differ. Give a square matrix, or a batch.")


def failure(name: str, x: Value, problem: str) -> np.linalg.LinAlgError:
    """Return the error for a matrix that an evaluation cannot treat."""
    return np.linalg.LinAlgError(f"{name} of {typeof(x)}{where()}: {problem}.")


# Products and transposes


def matrix_product(x: Value, y: Value) -> Value:
    """Return the matrix products of two batches of equally many matrices, in the highest precision.

    The setting `default_matmul_precision` is for products of the user's: errors would grow in factors and solutions.

    >>> import numpy as np
    >>> from calque_linalg.kit import matrix_product
    >>> matrix_product(np.ones((3, 2, 4)), np.ones((3, 4, 1))).shape
    (3, 2, 1)
    """
    leading = tuple(range(typeof(x).ndim - 2))
    n_leading = len(leading)
    axes = ((n_leading + 1,), (n_leading,)), (leading, leading)
    return dot_general(x, y, axes, precision=Precision.HIGHEST)


def transposed(x: Value) -> Value:
    """Return the transposes of a batch of matrices."""
    ndim = typeof(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def adjoint(x: Value) -> Value:
    """Return the conjugate transposes of a batch of matrices."""
    return transposed(conjugated(x))


def conjugated(x: Value) -> Value:
    """Return the complex conjugates; real numbers are unchanged."""
    return conj(x) if typeof(x).kind == "c" else x


def permuted_rows(x: Value, permutation: Value) -> Value:
    """Return the rows of each matrix in the order of its permutation.  Shapes: x [*s, m, n], permutation [*s, m].

    >>> import numpy as np
    >>> from calque_linalg.ops.matrices import permuted_rows
    >>> permuted_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]))
    array([[3., 4.],
           [1., 2.]])
    """
    ndim, leading = typeof(x).ndim, tuple(range(typeof(x).ndim - 2))
    if not typeof(x).size:
        return x
    numbers = GatherDimensionNumbers((ndim - 1,), (ndim - 2,), (ndim - 2,), leading, leading)
    sizes = (*[1] * (ndim - 1), typeof(x).shape[-1])
    return gather(x, expand_dims(permutation, (-1,)), numbers, sizes, mode="clip")


def permuted_columns(x: Value, permutation: Value) -> Value:
    """Return the columns of each matrix in the order of its permutation.  Shapes: x [*s, m, n], permutation [*s, n]."""
    return transposed(permuted_rows(transposed(x), permutation))


# Triangles


def lower_triangle(x: Value, k: int = 0) -> Value:
    """Return the matrices with zeros above their k-th diagonal.

    >>> import numpy as np
    >>> from calque_linalg.kit import lower_triangle
    >>> lower_triangle(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    return select(_is_below(x, k, ge), x, zeros_like(x))


def upper_triangle(x: Value, k: int = 0) -> Value:
    """Return the matrices with zeros below their k-th diagonal.

    >>> import numpy as np
    >>> from calque_linalg.kit import upper_triangle
    >>> upper_triangle(np.ones((2, 2)), 1)
    array([[0., 1.],
           [0., 0.]])
    """
    return select(_is_below(x, k, gt), zeros_like(x), x)


def _is_below(x: Value, k: int, compare: Any) -> Value:
    """Return, for each element, whether `row + k` compares with `column`."""
    return on_matrices(lambda rows, columns: compare(add(rows, k), columns) if k else compare(rows, columns), x)


def on_matrices(predicate: Any, x: Value) -> Value:
    """Return `predicate(rows, columns)`, of the positions in a matrix, for each matrix of `x`."""
    shape = typeof(x).shape
    sizes = shape[-2:]
    mask = predicate(broadcasted_iota(np.int32, sizes, 0), broadcasted_iota(np.int32, sizes, 1))
    return mask if len(shape) == 2 else broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))


def half_lower(x: Value) -> Value:
    """Return the lower triangles with half of the diagonals: the sum with its adjoint is x, if x is Hermitian.

    >>> import numpy as np
    >>> half_lower(np.ones((2, 2)))
    array([[0.5, 0. ],
           [1. , 0.5]])
    """
    weights = select(on_matrices(eq, x), 0.5, convert_element_type(_is_below(x, 0, ge), typeof(x).dtype))
    return mul(weights, x)


def hermitian_of(x: Value) -> Value:
    """Return the Hermitian matrices with the lower triangles of `x`, and the real parts of its diagonals.

    >>> import numpy as np
    >>> from calque_linalg.kit import hermitian_of
    >>> hermitian_of(np.array([[1.0, 7.0], [2.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])
    """
    whole = select(_is_below(x, 0, ge), x, adjoint(x))
    return whole if typeof(x).kind != "c" else symmetrized(whole)


def is_hermitian(x: np.ndarray[Any, Any]) -> bool:
    """Tell whether all matrices of an array of NumPy's are exactly Hermitian.

    >>> is_hermitian(np.array([[1.0, 2.0], [2.0, 3.0]]))
    True
    """
    return bool((x == x.conj().mT).all())


def symmetrized(x: Value) -> Value:
    """Return the means of the matrices and their adjoints."""
    return mul(full_like(x, 0.5, shape=()), add(x, adjoint(x)))


def identity_like(x: Value, sizes: Sequence[int] | None = None) -> Value:
    """Return one identity matrix for each matrix of `x`; of `sizes`, with ones on the diagonal, if they are given.

    >>> import numpy as np
    >>> from calque_linalg.kit import identity_like
    >>> identity_like(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    shape = typeof(x).shape
    zeros = zeros_like(x, shape=(*shape[:-2], *(shape[-2:] if sizes is None else sizes)))
    return select(on_matrices(eq, zeros), full_like(zeros, 1), zeros)
