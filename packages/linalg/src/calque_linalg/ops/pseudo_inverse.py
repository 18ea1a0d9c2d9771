"""The pseudo-inverse of a matrix, which solves equations in the sense of least squares.

One idea: it is a function of the matrix that singular values help to compute, but whose derivative does not depend on
the gaps between them; so it is a primitive, with a derivative of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, finfo, typeof
from calque_core.engine.numpy_functions import broadcast_to
from calque_core.extend import real_dtype, shaped_array, where
from calque_core.lax import broadcast_in_dim, convert_element_type, div, gt, mul, reduce_max, select
from calque_linalg.ops.diagonals import scale_columns
from calque_linalg.ops.eigen import by_lapack, svd
from calque_linalg.ops.matrices import adjoint, check_matrices, field_operands, matrix_product

Value = Any

pinv_p = Primitive("pinv")


@pinv_p.def_abstract_eval(cached=True)
def pinv_abstract_eval(x_aval: ShapedArray, rtol_aval: ShapedArray) -> ShapedArray:
    check_matrices("pinv", x_aval)
    *batch, m, n = x_aval.shape
    if rtol_aval.shape != tuple(batch) or rtol_aval.dtype != real_dtype(x_aval.dtype):
        raise ShapeError(f"pinv of {x_aval}{where()}: rtol is {rtol_aval}. Give a real number for each matrix.")
    return shaped_array((*batch, n, m), x_aval.dtype)


def pinv_impl(x: Value, rtol: Value) -> Value:
    u, values, vh = by_lapack("pinv", np.linalg.svd, x, False)
    limits = rtol * values.max(-1, initial=0)
    is_large = values > np.asarray(limits)[..., None]
    inverses = np.divide(1, values, out=np.zeros_like(values), where=is_large)
    return (vh.conj().mT * inverses[..., None, :]) @ u.conj().mT


pinv_p.def_impl(pinv_impl, leaf=True)


@pinv_p.def_rule("decomposition")
def pinv_decomposition(x: Value, rtol: Value) -> Value:
    """Invert the singular values above the limit."""
    u, values, vh = svd(x, full_matrices=False)
    shape = typeof(values).shape
    limit = mul(rtol, reduce_max(values, len(shape) - 1)) if shape[-1] else rtol
    is_large = gt(values, broadcast_in_dim(limit, shape, range(len(shape) - 1)))
    inverses = select(is_large, div(1, select(is_large, values, 1)), 0)
    return matrix_product(scale_columns(adjoint(vh), inverses), adjoint(u))


def pinv(x: Value, rtol: Value = None) -> Value:
    """Return the pseudo-inverse of a matrix: the inverse on the space where it has one, 0 on the orthogonal space.

    Singular values up to `rtol` times the greatest count as 0; the default is max(m, n) times the machine epsilon.
    Shapes: x [*b, m, n], rtol [] or [*b] -> [*b, n, m].  Dtype: x's; float64 for integers.
    Derivative: for changes that keep the rank; where the rank changes, there is none.
    Raises: ShapeError unless `x` is a matrix, or if `rtol` does not broadcast; TypeError for half precision;
    LinAlgError if the iteration for the singular values does not converge.  Compiled, the result is then NaN.

    >>> import numpy as np
    >>> from calque_linalg import pinv
    >>> pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    (x,) = field_operands("pinv", x)
    aval = typeof(x)
    check_matrices("pinv", aval)
    dtype = real_dtype(aval.dtype)
    rtol = float(finfo(dtype).eps) * max(aval.shape[-2:]) if rtol is None else rtol
    return pinv_p.bind(x, broadcast_to(convert_element_type(rtol, dtype), aval.shape[:-2]))
