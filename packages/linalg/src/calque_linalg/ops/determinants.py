"""Determinants, and their signs and logarithms.

One idea: a determinant is a polynomial, so its derivative exists for singular matrices, too.  The adjugate gives it
without a division: adj(x) x is det(x) times the identity, for every x.

Read next: `adjugates.py`; `factorizations.py`, for the elimination that computes determinants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, typeof
from calque_core.extend import bind_checked, real_dtype, shaped_array
from calque_core.lax import (
    abs,
    broadcasted_iota,
    convert_element_type,
    full_like,
    log,
    mul,
    ne,
    reduce_prod,
    reduce_sum,
    rem,
    sub,
)
from calque_core.lax import sign as sign_of
from calque_linalg.ops.diagonals import diagonal_of
from calque_linalg.ops.factorizations import lu
from calque_linalg.ops.matrices import check_square, field_operands

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
    >>> from calque_linalg.ops.determinants import eliminated
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
    First and second derivatives are right for singular matrices, too, and all derivatives if n is at most 3; for larger
    n, third derivatives at singular matrices are refused in evaluation, and NaN when compiled.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square.

    >>> import numpy as np
    >>> from calque_linalg import det
    >>> det(np.array([[2.0, 0.0], [1.0, 3.0]]))
    np.float64(6.0)
    """
    (x,) = field_operands("det", x)
    det_p.abstract(typeof(x))
    return det_p.bind(x)


slogdet_p = Primitive("slogdet", multiple_results=True)


@slogdet_p.def_abstract_eval(cached=True)
def slogdet_abstract_eval(x_aval: ShapedArray) -> list[ShapedArray]:
    check_square("slogdet", x_aval)
    return [shaped_array(x_aval.shape[:-2], dtype) for dtype in (x_aval.dtype, real_dtype(x_aval.dtype))]


def slogdet_impl(x: Value) -> list[Value]:
    return list(np.linalg.slogdet(x))


slogdet_p.def_impl(slogdet_impl, leaf=True)


@slogdet_p.def_rule("decomposition")
def slogdet_decomposition(x: Value) -> list[Value]:
    """Add the logarithms of the pivots of elimination."""
    factors, sign = eliminated(x)
    pivots, axis = diagonal_of(factors), typeof(sign).ndim
    return [mul(sign, reduce_prod(sign_of(pivots), axis)), reduce_sum(log(abs(pivots)), axis)]


def slogdet(x: Value) -> tuple[Value, Value]:
    """Return the signs of the determinants, numbers of modulus 1, and the logarithms of their absolute values.

    A singular matrix has the sign 0 and the logarithm -inf, and no derivative: it is refused in evaluation, and
    infinite or NaN when compiled.
    Shapes: x [*s, n, n] -> [*s], [*s].  Dtypes: x's, one of the four dtypes of LAPACK, and that of its real part;
    integers become floats.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square.

    >>> import numpy as np
    >>> from calque_linalg import slogdet
    >>> slogdet(np.array([[0.0, 1.0], [1.0, 0.0]]))
    (np.float64(-1.0), np.float64(0.0))
    """
    sign, logarithm = bind_checked(slogdet_p, *field_operands("slogdet", x))
    return sign, logarithm
