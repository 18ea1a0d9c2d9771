"""NumPy's matrix products: `matmul` and the operator `@`, which broadcast leading axes, and `dot`, which does not.

One idea: each is one `dot_general`.  An operand with two axes or fewer is never broadcast: one contraction covers
all leading axes of the other operand.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import as_dtype, kind
from calque_core.arrays.numpy_protocol import implements, refuse
from calque_core.arrays.operators import fallback
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.operands import check_dtypes
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.reductions.precision import PrecisionLike
from calque_core.ops.shapes.broadcast import broadcast_shapes, broadcast_to
from calque_core.types.array_methods import array_method, array_operation, in_every_size, types_decide
from calque_core.types.avals import _aval_functions as operand_types
from calque_core.types.avals import typeof

Value = Any
Options = tuple[PrecisionLike, Any]  # the precision and the dtype of sums of products

_INT32 = np.dtype("int32")


@types_decide
@in_every_size("code")
def matmul(x1: Value, x2: Value, *, precision: PrecisionLike = None, preferred_element_type: Any = None) -> Value:
    """Return the matrix product; leading axes are broadcast, a vector is a row on the left and a column on the right.

    Shapes: x1 [*b, n, k], x2 [*b, k, m] -> [*b, n, m].  Dtype: promoted, or `preferred_element_type`; `precision` is
    that of `lax.dot_general`.
    Raises: ShapeError if the contracted sizes differ, the leading axes do not broadcast, or an operand has rank 0.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.matmul(x, np.array([1.0, 1.0])))(x))(x)
    [array([3., 7.])]
    """
    check_dtypes("matmul", (typeof(x1), typeof(x2)))
    x1_shape, x2_shape = typeof(x1).shape, typeof(x2).shape
    if not x1_shape or not x2_shape:
        raise _misfit("matmul", x1, x2, "an operand has rank 0", "Use * for a product with a scalar")
    contracted = max(len(x2_shape) - 2, 0)
    if x1_shape[-1] != x2_shape[contracted]:
        raise _misfit(
            "matmul", x1, x2, f"the sizes {x1_shape[-1]} and {x2_shape[contracted]} differ", "Make them equal"
        )
    options = precision, preferred_element_type
    if len(x2_shape) <= 2:
        return _contract(x1, x2, (len(x1_shape) - 1, 0), options)
    if len(x1_shape) <= 2:
        return _small_times_batched(x1, x2, options)
    return _matmul_batches(x1, x2, options)


@array_operation
@types_decide
@in_every_size("code")
def __matmul__(self: Value, other: Value) -> Value:
    return matmul(self, other) if type(other) in operand_types else fallback(matmul, self, other, other)


@array_operation
@types_decide
@in_every_size("code")
def __rmatmul__(self: Value, other: Value) -> Value:
    return matmul(other, self) if type(other) in operand_types else fallback(matmul, other, self, other)


def _misfit(name: str, x: Value, y: Value, problem: str, advice: str) -> ShapeError:
    return ShapeError(f"{name} of {typeof(x)} and {typeof(y)}{where()}: {problem}. {advice}.")


def _contract(x: Value, y: Value, axes: tuple[int, int], options: Options, batch: int = 0) -> Value:
    """Return the sum of products over one axis of each operand, elementwise over the first `batch` axes."""
    leading = tuple(range(batch))
    numbers = (((axes[0],), (axes[1],)), (leading, leading))
    if kind(x) == "b" and kind(y) == "b":
        return lax.ne(lax.dot_general(as_dtype(x, _INT32), as_dtype(y, _INT32), numbers), 0)
    return lax.dot_general(x, y, numbers, *options)


def _small_times_batched(x1: Value, x2: Value, options: Options) -> Value:
    """Return x1 [n, k] or [k] times x2 [*b, k, m], as the product of x2 and x1 with its last axes swapped."""
    ndim, x1_ndim = len(typeof(x2).shape), len(typeof(x1).shape)
    out = _contract(x2, x1, (ndim - 2, x1_ndim - 1), options)
    return out if x1_ndim == 1 else lax.transpose(out, (*range(ndim - 2), ndim - 1, ndim - 2))


def _matmul_batches(x1: Value, x2: Value, options: Options) -> Value:
    x1_shape, x2_shape = typeof(x1).shape, typeof(x2).shape
    try:
        leading = broadcast_shapes(x1_shape[:-2], x2_shape[:-2])
    except ValueError:
        raise _misfit("matmul", x1, x2, "the leading axes do not broadcast", "Make their sizes equal, or 1") from None
    x1, x2 = broadcast_to(x1, leading + x1_shape[-2:]), broadcast_to(x2, leading + x2_shape[-2:])
    return _contract(x1, x2, (len(leading) + 1, len(leading)), options, batch=len(leading))


@implements(np.dot)
@array_method
@types_decide
@in_every_size("code")
def dot(
    a: Value,
    b: Value,
    out: None = None,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the sum of products over the last axis of `a` and the last but one of `b` (the only one of a vector).

    Shapes: a [*s, k], b [*t, k, m] -> [*s, *t, m]; with a scalar, the elementwise product.  Dtype: promoted, or
    `preferred_element_type` for sums of products; `precision` is that of `lax.dot_general`.
    Raises: ShapeError if the contracted sizes differ; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([1.0, 2.0])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.dot(x, np.array([3.0, 4.0])))(x))(x)
    [np.float64(11.0)]
    """
    refuse("dot", out=out)
    check_dtypes("dot", (typeof(a), typeof(b)))
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    if not a_shape or not b_shape:
        return lax.mul(strong(a), strong(b))  # NumPy's `dot` gives a Python scalar a dtype of its own
    axes = len(a_shape) - 1, max(len(b_shape) - 2, 0)
    if a_shape[-1] != b_shape[axes[1]]:
        raise _misfit("dot", a, b, f"the sizes {a_shape[-1]} and {b_shape[axes[1]]} differ", "Make them equal")
    return _contract(a, b, axes, (precision, preferred_element_type))
