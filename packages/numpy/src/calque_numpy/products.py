"""Sums of products over chosen axes.  Core has `matmul` and `dot`, which operators and methods need.

One idea: each is one `dot_general`, or one product of broadcast arrays if there is no sum.

Read next: `contractions.py`, which generalises all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, implements, lax, typeof
from calque_core.engine.numpy_functions import (
    canonical_axis,
    check_dtypes,
    conjugate,
    integers,
    matmul,
    one_or_several,
    ravel,
    refuse,
)
from calque_core.extend import in_every_size, types_decide, where
from calque_core.lax import PrecisionLike
from calque_numpy.creation import asarray
from calque_numpy.releases import of_numpy
from calque_numpy.shapes import moveaxis

Value = Any
Axes = Sequence[int]
Options = tuple[PrecisionLike, Any]  # the precision and the dtype of sums of products

_INT32 = np.dtype("int32")


def contract(
    x: Value,
    y: Value,
    contracted: tuple[Axes, Axes],
    options: Options = (None, None),
    batch: tuple[Axes, Axes] = ((), ()),
) -> Value:
    """Return the sums of products over pairs of axes; for bools, `or` of `and`, as in NumPy.

    >>> contract(np.array([1.0, 2.0]), np.array([3.0, 4.0]), ((0,), (0,)))
    np.float64(11.0)
    """
    (x_contracted, y_contracted), (x_batch, y_batch) = contracted, batch
    numbers = ((tuple(x_contracted), tuple(y_contracted)), (tuple(x_batch), tuple(y_batch)))
    if typeof(x).kind == "b" and typeof(y).kind == "b":
        x, y = lax.convert_element_type(x, _INT32), lax.convert_element_type(y, _INT32)
        return lax.ne(lax.dot_general(x, y, numbers), 0)
    return lax.dot_general(x, y, numbers, *options)


def _product(x: Value, y: Value) -> Value:
    return lax.bitwise_and(x, y) if typeof(x).kind == "b" and typeof(y).kind == "b" else lax.mul(x, y)


@implements(np.outer)
@types_decide
def outer(a: Value, b: Value, out: None = None) -> Value:
    """Return the products of each element of `a` with each element of `b`.

    Shapes: a [n], b [m] -> [n, m]; arrays of other ranks are flattened.  Dtype: promoted.
    Raises: TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import outer
    >>> outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    refuse("outer", out=out)
    check_dtypes("outer", (typeof(a), typeof(b)))
    return _product(lax.expand_dims(ravel(asarray(a)), (1,)), lax.expand_dims(ravel(asarray(b)), (0,)))


@implements(np.inner)
@types_decide
@in_every_size("code")
def inner(a: Value, b: Value, *, precision: PrecisionLike = None, preferred_element_type: Any = None) -> Value:
    """Return the sums of products over the last axes.

    Shapes: a [*s, k], b [*t, k] -> [*s, *t]; with a scalar, the elementwise product.  Dtype: promoted, or
    `preferred_element_type` for sums of products; `precision` is that of `lax.dot_general`.
    Raises: ShapeError if the last axes differ in size.

    >>> import numpy as np
    >>> from calque_numpy import inner
    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.float64(11.0)
    """
    check_dtypes("inner", (typeof(a), typeof(b)))
    a, b = asarray(a), asarray(b)
    a_ndim, b_ndim = typeof(a).ndim, typeof(b).ndim
    if not a_ndim or not b_ndim:
        return _product(a, b)
    return _check_sizes("inner", a, b, [a_ndim - 1], [b_ndim - 1], (precision, preferred_element_type))


def _check_sizes(name: str, a: Value, b: Value, a_axes: Axes, b_axes: Axes, options: Options) -> Value:
    a_aval, b_aval = typeof(a), typeof(b)
    sizes = [a_aval.shape[d] for d in a_axes], [b_aval.shape[d] for d in b_axes]
    if sizes[0] != sizes[1]:
        raise ShapeError(
            f"{name} of {a_aval} and {b_aval}{where()}: the axes {tuple(a_axes)} and "
            f"{tuple(b_axes)} have the sizes {tuple(sizes[0])} and {tuple(sizes[1])}. Pair axes of equal size."
        )
    return contract(a, b, (a_axes, b_axes), options)


@implements(np.tensordot)
@types_decide
@in_every_size("code")
def tensordot(
    a: Value, b: Value, axes: Any = 2, *, precision: PrecisionLike = None, preferred_element_type: Any = None
) -> Value:
    """Return the sums of products over several axes: the last n of `a` and the first n of `b`, or two lists of axes.

    Shapes: a [*s, *k], b [*k, *t] -> [*s, *t].  Dtype: promoted, or `preferred_element_type`; `precision` is that of
    `lax.dot_general`.
    Raises: ShapeError if paired axes differ in size or number; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy import tensordot
    >>> tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    a, b = asarray(a), asarray(b)
    a_ndim, b_ndim = typeof(a).ndim, typeof(b).ndim
    if not isinstance(axes, (tuple, list)):
        (count,) = integers("tensordot", "axes", (axes,))
        a_axes, b_axes = tuple(range(-count, 0)), tuple(range(count))
    else:
        a_axes, b_axes = (one_or_several("tensordot", "axes", side) for side in axes)
    a_axes = tuple(canonical_axis("tensordot", axis, a_ndim) for axis in a_axes)
    b_axes = tuple(canonical_axis("tensordot", axis, b_ndim) for axis in b_axes)
    return _check_sizes("tensordot", a, b, a_axes, b_axes, (precision, preferred_element_type))


@implements(np.vdot)
@types_decide
@in_every_size("code")
def vdot(a: Value, b: Value, *, precision: PrecisionLike = None, preferred_element_type: Any = None) -> Value:
    """Return the sum of the products of all elements, with `a` conjugated.

    Shapes: a, b with equally many elements -> [].  Dtype: promoted, or `preferred_element_type`; `precision` is that of
    `lax.dot_general`.
    Raises: ShapeError if the numbers of elements differ.

    >>> import numpy as np
    >>> from calque_numpy import vdot
    >>> vdot(np.array([[1, 2]]), np.array([[3], [4]]))
    np.int64(11)
    """
    check_dtypes("vdot", (typeof(a), typeof(b)))
    a, b = asarray(a), asarray(b)
    if typeof(a).kind == "c":
        a = conjugate(a)
    return _check_sizes("vdot", ravel(a), ravel(b), [0], [0], (precision, preferred_element_type))


@implements(np.kron)
@types_decide
def kron(a: Value, b: Value) -> Value:
    """Return the matrix of blocks a[i, j] * b.

    Shapes: a [n, m], b [r, s] -> [n * r, m * s]; an array of lower rank gets new leading axes.  Dtype: promoted.

    >>> import numpy as np
    >>> from calque_numpy import kron
    >>> kron(np.array([1, 10]), np.array([1, 2]))
    array([ 1,  2, 10, 20])
    """
    check_dtypes("kron", (typeof(a), typeof(b)))
    a, b = asarray(a), asarray(b)
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    ndim = max(len(a_shape), len(b_shape))
    a_shape = (1,) * (ndim - len(a_shape)) + a_shape
    b_shape = (1,) * (ndim - len(b_shape)) + b_shape
    wide_a = lax.reshape(a, [size for n in a_shape for size in (n, 1)])
    wide_b = lax.reshape(b, [size for n in b_shape for size in (1, n)])
    return lax.reshape(_product(wide_a, wide_b), [n * r for n, r in zip(a_shape, b_shape)])


@implements(*of_numpy("matvec"))
def matvec(x1: Value, x2: Value, /) -> Value:
    """Return the products of matrices and vectors; leading axes are broadcast.

    Shapes: x1 [*b, n, k], x2 [*b, k] -> [*b, n].
    Raises: ShapeError for shapes that do not fit.

    >>> import numpy as np
    >>> from calque_numpy import matvec
    >>> matvec(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
    array([3, 7])
    """
    check_dtypes("matvec", (typeof(x1), typeof(x2)))
    _require_matrix("matvec", x1, x2, x1)
    column = lax.expand_dims(x2, (typeof(x2).ndim,))
    out = matmul(x1, column)
    return lax.squeeze(out, (typeof(out).ndim - 1,))


@implements(*of_numpy("vecmat"))
def vecmat(x1: Value, x2: Value, /) -> Value:
    """Return the products of conjugated vectors and matrices; leading axes are broadcast.

    Shapes: x1 [*b, n], x2 [*b, n, k] -> [*b, k].
    Raises: ShapeError for shapes that do not fit.

    >>> import numpy as np
    >>> from calque_numpy import vecmat
    >>> vecmat(np.array([1, 1]), np.array([[1, 2], [3, 4]]))
    array([4, 6])
    """
    check_dtypes("vecmat", (typeof(x1), typeof(x2)))
    _require_matrix("vecmat", x1, x2, x2)
    x1 = conjugate(x1) if typeof(x1).kind == "c" else x1
    out = matmul(lax.expand_dims(x1, (typeof(x1).ndim - 1,)), x2)
    return lax.squeeze(out, (typeof(out).ndim - 2,))


def _require_matrix(name: str, x1: Value, x2: Value, matrix: Value) -> None:
    if typeof(matrix).ndim < 2 or not (typeof(x1).ndim and typeof(x2).ndim):
        raise ShapeError(
            f"{name} of {typeof(x1)} and {typeof(x2)}{where()}: it takes a vector and a matrix, or stacks of them. Use "
            "vecdot for two vectors."
        )


@implements(np.cross)
@types_decide
def cross(a: Value, b: Value, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Value:
    """Return the vector products of vectors of length 3, or 2: a missing third component counts as 0.

    Shapes: a [*s, 3], b [*s, 3] -> [*s, 3], also along other axes: those of the operands and of the result, or `axis`
    for all three.  The axes s broadcast.  Two vectors of length 2 give the third component alone, [*s].
    Dtype: promoted.
    Raises: ShapeError for another length, or if the other axes do not broadcast; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy import cross
    >>> cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
    array([0, 0, 1])
    """
    check_dtypes("cross", (typeof(a), typeof(b)))
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    x, y = _components(a, axisa), _components(b, axisb)
    if len(x) == len(y) == 2:
        return _minor(x, y, 0, 1)
    out = lax.stack([_minor(x, y, (k + 1) % 3, (k + 2) % 3) for k in range(3)], -1)
    return moveaxis(out, -1, axisc)


def _components(x: Value, axis: int) -> Sequence[Value]:
    x = asarray(x)
    axis = canonical_axis("cross", axis, typeof(x).ndim)
    if typeof(x).shape[axis] not in (2, 3):
        raise ShapeError(
            f"cross{where()}: the vectors along axis {axis} of {typeof(x)} have the length {typeof(x).shape[axis]}. "
            "Give vectors of length 3."
        )
    return lax.unstack(x, axis)


def _minor(x: Sequence[Value], y: Sequence[Value], i: int, j: int) -> Value:
    """Return x[i] y[j] - x[j] y[i], without the product of a component that is missing."""
    first, second = (lax.mul(x[k], y[n]) if k < len(x) and n < len(y) else None for k, n in ((i, j), (j, i)))
    if first is None:
        return lax.neg(second)
    return first if second is None else lax.sub(first, second)
