"""Factorisations of matrices into triangles and orthogonal matrices.

One idea: a factorisation has one primitive, which gives all its factors; evaluation is NumPy's where NumPy has it.

Read next: `triangular.py`, for what triangles are good for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops.matrices import check_square, failure, field_operands, symmetrized
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, typeof

Value = Any

# Cholesky

cholesky_p = Primitive("cholesky")


@cholesky_p.def_abstract_eval(cached=True)
def cholesky_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("cholesky", x_aval)
    return x_aval.strip_weak_type()


def cholesky_impl(x: Value) -> Value:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise failure("cholesky", x, "the matrix is not positive definite") from None


cholesky_p.def_impl(cholesky_impl, leaf=True)


def cholesky(x: Value, *, symmetrize_input: bool = True) -> Value:
    """Return the lower triangular matrix L with a positive diagonal for which L L^H is the positive definite matrix x.

    With `symmetrize_input`, x is first replaced by the mean of x and x^H; otherwise only its lower triangle is read.
    Shapes: x [*s, n, n] -> [*s, n, n].  Dtype: one of the four dtypes of LAPACK; integers become floats.
    A matrix that is not positive definite is a `numpy.linalg.LinAlgError` in evaluation, and gives NaN when compiled.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square.

    >>> import numpy as np
    >>> from calque_core.lax.linalg import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    (x,) = field_operands("cholesky", x)
    cholesky_p.abstract(typeof(x))
    return cholesky_p.bind(symmetrized(x) if symmetrize_input else x)
