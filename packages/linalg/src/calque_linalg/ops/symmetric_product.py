"""The product of a matrix with its transpose, added to a symmetric matrix: a formula, so it needs no rules."""

from __future__ import annotations

from typing import Any

from calque_core import ShapeError, typeof
from calque_core.extend import where
from calque_core.lax import add, mul
from calque_linalg.ops.matrices import check_matrices, field_operands, lower_triangle, matrix_product, transposed

Value = Any


def symmetric_product(
    a_matrix: Value, c_matrix: Value, *, alpha: Value = 1.0, beta: Value = 0.0, symmetrize_output: bool = False
) -> Value:
    """Return alpha * a @ a^T + beta * c, of which an accelerator need compute the lower triangle only.

    With `symmetrize_output`, the upper triangle of the result is the transpose of the lower one.
    Shapes: a [*b, m, n], c [*b, m, m] -> [*b, m, m].  Dtype: promoted; float64 for integers.
    Raises: ShapeError if the shapes do not fit; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_linalg import symmetric_product
    >>> symmetric_product(np.array([[1.0], [2.0]]), np.eye(2), beta=1.0)
    array([[2., 2.],
           [2., 5.]])
    """
    a, c = field_operands("symmetric_product", a_matrix, c_matrix)
    a_aval, c_aval = typeof(a), typeof(c)
    check_matrices("symmetric_product", a_aval, c_aval)
    if c_aval.shape[-2:] != (a_aval.shape[-2],) * 2:
        raise ShapeError(
            f"symmetric_product of {a_aval} and {c_aval}{where()}: the shapes do not fit. The second matrix must be "
            f"square, of the size {a_aval.shape[-2]}, the number of rows of the first."
        )
    out = add(mul(alpha, matrix_product(a, transposed(a))), mul(beta, c))
    return add(lower_triangle(out), transposed(lower_triangle(out, -1))) if symmetrize_output else out
