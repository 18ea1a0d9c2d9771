"""Determinants and adjugates, the matrices of their derivatives.

One idea: a determinant is a polynomial, so its derivative exists for singular matrices, too.  The adjugate gives it
without a division: adj(x) x is det(x) times the identity, for every x.

Read next: `factorizations.py`, for the elimination that computes determinants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops.arithmetic import mul, neg, rem, sub
from calque_core.ops.broadcast import broadcast_in_dim
from calque_core.ops.compare import ne
from calque_core.ops.convert import convert_element_type
from calque_core.ops.create import broadcasted_iota, full_like, ones_like
from calque_core.ops.cumulative import cumprod
from calque_core.ops.diagonals import diagonal_of, scale_columns
from calque_core.ops.eigen import svd
from calque_core.ops.factorizations import lu
from calque_core.ops.joining import concatenate, stack, unstack
from calque_core.ops.matrices import adjoint, check_square, field_operands, matrix_product
from calque_core.ops.reduce import reduce_prod, reduce_sum
from calque_core.ops.slices import slice_in_dim
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof

Value = Any

det_p = Primitive("det")


@det_p.def_abstract_eval(cached=True)
def det_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("det", x_aval)
    return shaped_array(x_aval.shape[:-2], x_aval.dtype)


def det_impl(x: Value) -> Value:
    return np.linalg.det(x)


det_p.def_impl(det_impl, leaf=True)


@det_p.def_rule("decomposition")
def det_decomposition(x: Value) -> Value:
    """Multiply the pivots of elimination; each exchange of rows changes the sign."""
    factors, sign = eliminated(x)
    return mul(sign, reduce_prod(diagonal_of(factors), typeof(sign).ndim))


def eliminated(x: Value) -> tuple[Value, Value]:
    """Return the factors of `lu`, and 1 or -1: the sign of the permutation, in the matrices' dtype.

    >>> import numpy as np
    >>> from calque_core.extend import eliminated
    >>> factors, sign = eliminated(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sign
    np.float64(-1.0)
    """
    factors, pivots, _ = lu(x)
    shape = typeof(pivots).shape
    axis = len(shape) - 1
    is_exchange = convert_element_type(ne(pivots, broadcasted_iota(np.int32, shape, axis)), np.int32)
    odd = convert_element_type(rem(reduce_sum(is_exchange, axis), 2), typeof(factors).dtype)
    return factors, sub(full_like(odd, 1), mul(full_like(odd, 2), odd))


def det(x: Value) -> Value:
    """Return the determinants of square matrices.

    Shapes: x [*s, n, n] -> [*s]; of no rows, 1.  Dtype: one of the four dtypes of LAPACK; integers become floats.
    First derivatives are right for singular matrices, too, and all derivatives if n is at most 3; for larger n, second
    derivatives at singular matrices are refused in evaluation, and NaN when compiled.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square.

    >>> import numpy as np
    >>> from calque_core.lax.linalg import det
    >>> det(np.array([[2.0, 0.0], [1.0, 3.0]]))
    np.float64(6.0)
    """
    (x,) = field_operands("det", x)
    det_p.abstract(typeof(x))
    return det_p.bind(x)


adjugate_p = Primitive("adjugate")


@adjugate_p.def_abstract_eval(cached=True)
def adjugate_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("adjugate", x_aval)
    return x_aval.strip_weak_type()


@adjugate_p.def_impl
@adjugate_p.def_rule("decomposition")
def adjugate_decomposition(x: Value) -> Value:
    """Reverse the product u s vh: the adjugate of an orthogonal matrix is its adjoint times its determinant.

    That of the diagonal matrix s has the products of the other elements of s, which needs no division.
    """
    u, s, vh = svd(x)
    axis = typeof(s).ndim - 1
    one = ones_like(slice_in_dim(s, 0, 1, axis=axis))
    before = cumprod(concatenate([one, slice_in_dim(s, 0, -1, axis=axis)], axis), axis)
    after = cumprod(concatenate([slice_in_dim(s, 1, None, axis=axis), one], axis), axis, reverse=True)
    turned = scale_columns(adjoint(vh), mul(before, after))
    return mul(_over_matrices(det(matrix_product(u, vh)), x), matrix_product(turned, adjoint(u)))


def _over_matrices(numbers: Value, x: Value) -> Value:
    shape = typeof(x).shape
    return broadcast_in_dim(numbers, shape, range(len(shape) - 2))


def adjugate(x: Value) -> Value:
    """Return the adjugates of square matrices: the transposes of the matrices of their cofactors.

    Shapes: x [*s, n, n] -> [*s, n, n].  Dtype: one of the four dtypes of LAPACK; integers become floats.
    Derivatives: of every order if n is at most 3; for larger n, of matrices that are not singular.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square; LinAlgError if the iteration for the
    singular values does not converge.  Compiled, the result is then NaN.

    >>> import numpy as np
    >>> from calque_core.lax.linalg import adjugate
    >>> adjugate(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4., -2.],
           [-3.,  1.]])
    """
    (x,) = field_operands("adjugate", x)
    adjugate_p.abstract(typeof(x))
    n = typeof(x).shape[-1]
    return _SMALL[n](x) if n in _SMALL else adjugate_p.bind(x)


def _adjugate_of_two(x: Value) -> Value:
    (a, b), (c, d) = (unstack(row, -1) for row in unstack(x, -2))
    return stack([stack([d, neg(b)], -1), stack([neg(c), a], -1)], -2)


def _adjugate_of_three(x: Value) -> Value:
    """Return the columns y z, z x and x y, as vector products of rows."""
    rows = unstack(x, -2)
    return stack([_vector_product(rows[i - 2], rows[i - 1]) for i in range(3)], -1)


def _vector_product(x: Value, y: Value) -> Value:
    a, b = unstack(x, -1), unstack(y, -1)
    return stack([sub(mul(a[i - 2], b[i - 1]), mul(a[i - 1], b[i - 2])) for i in range(3)], -1)


_SMALL = {0: lambda x: x, 1: ones_like, 2: _adjugate_of_two, 3: _adjugate_of_three}
