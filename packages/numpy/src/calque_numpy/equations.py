"""Systems of linear equations with one solution, inverses and determinants, as in `numpy.linalg`.

Read next: `factors.py`; `least_squares.py`, for equations that need not have one solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, canonicalize_dtype, implements, lax, typeof
from calque_core.engine import kind_of
from calque_core.engine.numpy_functions import as_dtype, broadcast_to, promoted_dtype
from calque_core.extend import integer, types_decide, where
from calque_core.lax import broadcast_shapes
from calque_numpy.creation import asarray
from calque_numpy.shapes import moveaxis

Value = Any

_FIELDS = ("float32", "float64", "complex64", "complex128")

SlogdetResult: Any = type(np.linalg.slogdet(np.ones((1, 1))))  # NumPy's own class, for which it has no public name


def as_field(name: str, *operands: Value) -> list[Value]:
    """Return the operands of `name`, promoted to one of LAPACK's dtypes; integers and bools become float64.

    Raises: TypeError for another dtype, such as those of half precision.

    >>> [x.dtype.name for x in as_field("solve", np.eye(1, dtype=np.float32), 2)]
    ['float32', 'float32']
    """
    operands = tuple(asarray(x) if isinstance(x, (list, tuple)) else x for x in operands)
    values = [asarray(x) for x in operands]
    dtype = promoted_dtype(name, *operands)
    dtype = canonicalize_dtype(np.float64) if kind_of(dtype) in "biu" else dtype
    if dtype.name not in _FIELDS:
        types = " and ".join(str(typeof(x)) for x in values)
        raise TypeError(f"{name} of {types}{where()}: not defined for {dtype.name}. Convert the operand first.")
    return [as_dtype(x, dtype) for x in values]


def check_system(name: str, a: Value, b: Value) -> None:
    """Check that `a` is square and has as many rows as `b`, a vector or matrices.  Raises: ShapeError."""
    a_aval, b_aval = typeof(a), typeof(b)
    if a_aval.ndim < 2 or a_aval.shape[-2] != a_aval.shape[-1]:
        raise ShapeError(
            f"{name} of {a_aval} and {b_aval}{where()}: the first is no square matrix. Give one, or a stack."
        )
    if not b_aval.ndim or b_aval.shape[max(b_aval.ndim - 2, 0)] != a_aval.shape[-1]:
        raise ShapeError(
            f"{name} of {a_aval} and {b_aval}{where()}: the second must have {a_aval.shape[-1]} rows. Give a vector or "
            "matrices with one row per equation."
        )


@implements(np.linalg.solve)
@types_decide
def solve(a: Value, b: Value) -> Value:
    """Return the solution x of a @ x = b.

    Shapes: a [*s, n, n], b [n] or [*s, n, m] -> [*s, n] or [*s, n, m]; the axes s broadcast.
    Dtype: promoted, single or double precision; float64 for integers.
    A singular matrix is a `numpy.linalg.LinAlgError`; compiled, the solution is infinite or NaN.
    Raises: ShapeError unless `a` is square and has as many rows as `b`; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.linalg import solve
    >>> solve(np.array([[0.0, 2.0], [4.0, 0.0]]), np.array([2.0, 4.0]))
    array([1., 1.])
    """
    a, b = as_field("solve", a, b)
    return broadcast_solution("solve", a, b, linalg.solve)


def broadcast_solution(name: str, a: Value, b: Value, solve_for: Callable[[Value, Value], Value]) -> Value:
    """Return the solution for a vector or matrices b, from the one for matrices with the leading axes of a.

    >>> broadcast_solution("solve", np.eye(2), np.ones((5, 2, 3)), linalg.solve).shape
    (5, 2, 3)
    """
    check_system(name, a, b)
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    if len(b_shape) == 1:
        column = solve_for(a, broadcast_to(lax.expand_dims(b, (1,)), (*a_shape[:-1], 1)))
        return lax.squeeze(column, (len(a_shape) - 1,))
    if len(a_shape) == 2:  # one matrix for all: the columns of all right-hand sides side by side
        rows = moveaxis(b, -2, 0)
        columns = solve_for(a, lax.reshape(rows, (a_shape[0], prod(typeof(rows).shape[1:]))))
        return moveaxis(lax.reshape(columns, typeof(rows).shape), 0, -2)
    leading = leading_axes(name, a, b)
    return solve_for(broadcast_to(a, leading + a_shape[-2:]), broadcast_to(b, leading + b_shape[-2:]))


def leading_axes(name: str, *operands: Value) -> tuple[int, ...]:
    """Return the broadcast sizes of the axes before the last two of each operand.  Raises: ShapeError.

    >>> leading_axes("solve", np.ones((5, 1, 2, 2)), np.ones((3, 2, 2)))
    (5, 3)
    """
    try:
        return broadcast_shapes(*(typeof(x).shape[:-2] for x in operands))
    except ValueError:
        types = " and ".join(str(typeof(x)) for x in operands)
        raise ShapeError(
            f"{name} of {types}{where()}: the leading axes do not broadcast. Make their sizes equal, or 1."
        ) from None


@implements(np.linalg.inv)
def inv(a: Value) -> Value:
    """Return the inverse matrix.

    Shapes: a [*s, n, n] -> [*s, n, n].  Dtypes and singular matrices: as for `solve`.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.linalg import inv
    >>> inv(np.array([[0.0, 2.0], [4.0, 0.0]]))
    array([[0.  , 0.25],
           [0.5 , 0.  ]])
    """
    (a,) = as_field("inv", a)
    if typeof(a).ndim < 2 or typeof(a).shape[-2] != typeof(a).shape[-1]:
        raise ShapeError(f"inv of {typeof(a)}{where()}: it is no square matrix. Use pinv for other matrices.")
    return linalg.inv(a)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Value, b: Value, axes: Sequence[int] | None = None) -> Value:
    """Return the x for which the sums of products over the last axes of `a` and all axes of x are `b`.

    `axes` of `a` are moved to the end first.
    Shapes: a [*t, *s], b [*t] -> [*s], where t and s have equal products.  Dtypes: as for `solve`.
    Raises: ShapeError if the products differ; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy.linalg import tensorsolve
    >>> tensorsolve(2.0 * np.eye(4).reshape(4, 2, 2), np.arange(4.0))
    array([[0. , 0.5],
           [1. , 1.5]])
    """
    a, b = asarray(a), asarray(b)
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(-len(axes), 0)))
    count = typeof(b).ndim
    shape, size = typeof(a).shape[count:], typeof(b).size
    if typeof(a).shape[:count] != typeof(b).shape or prod(shape) != size:
        raise ShapeError(
            f"tensorsolve of {typeof(a)} and {typeof(b)}{where()}: the first axes of `a` must be those of `b`, and its "
            f"other axes must have {size} positions, too. Use `axes` for axes in another order."
        )
    return lax.reshape(solve(lax.reshape(a, (size, size)), lax.reshape(b, (size,))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Value, ind: int = 2) -> Value:
    """Return the inverse of the linear map that sums products over the axes of `a` from `ind` on.

    Shapes: a [*t, *s] with `ind` axes t -> [*s, *t], where t and s have equal products.  Dtypes: as for `solve`.
    Raises: ShapeError if the products differ; ValueError unless `ind` is positive.

    >>> import numpy as np
    >>> from calque_numpy.linalg import tensorinv
    >>> tensorinv(2.0 * np.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    count, a = integer("tensorinv", "ind", ind), asarray(a)
    shape = typeof(a).shape
    if count <= 0:
        raise ValueError(f"tensorinv{where()}: ind is {count}. Give a positive number of axes.")
    if not shape:
        raise ShapeError(f"tensorinv of {typeof(a)}{where()}: a scalar has no axes. Give an array.")
    rows, columns = prod(shape[:count]), prod(shape[count:])
    if rows != columns:
        raise ShapeError(
            f"tensorinv of {typeof(a)}{where()} with ind={count}: the axes before have {rows} positions, the axes "
            f"after {columns}. Choose ind so that they are equal."
        )
    return lax.reshape(inv(lax.reshape(a, (rows, rows))), (*shape[count:], *shape[:count]))


@implements(np.linalg.det)
def det(a: Value) -> Value:
    """Return the determinant of a matrix.

    Shapes: a [*s, n, n] -> [*s].  Dtype: a's, single or double precision; float64 for integers.
    Derivatives: the first and second are right for singular matrices, too; all are, if n is at most 3.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.linalg import det
    >>> det(np.array([[2.0, 0.0], [1.0, 3.0]]))
    np.float64(6.0)
    """
    return linalg.det(*as_field("det", a))


@implements(np.linalg.slogdet)
def slogdet(a: Value) -> Any:
    """Return the sign of the determinant, a number of modulus 1, and the logarithm of its absolute value.

    A singular matrix has the sign 0 and the logarithm -inf, and no derivative: it is a LinAlgError, and compiled not
    finite.
    Shapes: a [*s, n, n] -> sign [*s], logabsdet [*s].  Dtypes: a's, and that of its real part; float64 for integers.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.linalg import slogdet
    >>> slogdet(np.array([[0.0, 1.0], [1.0, 0.0]]))
    SlogdetResult(sign=np.float64(-1.0), logabsdet=np.float64(0.0))
    """
    (a,) = as_field("slogdet", a)
    aval = typeof(a)
    if aval.ndim < 2 or aval.shape[-2] != aval.shape[-1]:
        raise ShapeError(f"slogdet of {aval}{where()}: it is no square matrix. Give one, or a stack.")
    return SlogdetResult(*linalg.slogdet(a))
