"""Arrays made from a shape: constants and counters.

A constant is a broadcast scalar, so only `iota` needs a primitive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.convert import convert_element_type, convert_element_type_impl, wide_integer
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.shapes.axes import canonical_axis, integers
from calque_core.ops.shapes.broadcast import broadcast_in_dim
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import canonicalize_dtype, dtype_name, kind_of, scalar_dtype

Value = Any

_PYTHON_SCALARS = (bool, int, float, complex)


def dtype_argument(dtype: Any) -> np.dtype[Any]:
    """Return the dtype for an argument; `bool`, `int`, `float`, `complex` mean the default dtype of their kind.

    >>> from calque_core.engine.numpy_functions import dtype_argument
    >>> dtype_argument(int), dtype_argument("float32")
    (dtype('int64'), dtype('float32'))
    """
    is_kind = isinstance(dtype, type) and dtype in (bool, int, float, complex)
    return scalar_dtype(dtype) if is_kind else canonicalize_dtype(dtype)


iota_p = Primitive("iota")


@iota_p.def_abstract_eval(cached=True)
def iota_abstract_eval(*, dtype: np.dtype[Any], shape: Shape, dimension: int) -> ShapedArray:
    if kind_of(dtype) not in "iufc":
        raise TypeError(f"iota{where()} got the dtype {dtype_name(dtype)}. Use an integer or float dtype.")
    return shaped_array(shape, dtype)


def iota_impl(*, dtype: np.dtype[Any], shape: Shape, dimension: int) -> Value:
    column = np.arange(shape[dimension]).astype(dtype).reshape(-1, *[1] * (len(shape) - dimension - 1))
    out = np.empty(shape, dtype)
    out[...] = column
    return out


iota_p.def_impl(iota_impl, leaf=True)


def iota(dtype: Any, size: int) -> Value:
    """Return the numbers 0, 1, ..., size - 1.

    Shapes: -> [size].  Dtype: `dtype`; `int` and `float` mean the default of their kind.
    Raises: ValueError if `size` is negative; TypeError for bool, or if `size` is not an integer.

    >>> import numpy as np
    >>> from calque_core.lax import iota
    >>> iota(np.int32, 3)
    array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Value:
    """Return an array of shape `shape` whose elements are their own positions along the axis `dimension`.

    Shapes: -> shape.  Dtype: `dtype`; `int` and `float` mean the default of their kind.
    Raises: ValueError if a size is negative or the axis is out of range; TypeError for bool.

    >>> from calque_core.lax import broadcasted_iota
    >>> broadcasted_iota(int, (2, 3), 1)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    shape = _sizes("iota", shape)
    dimension = canonical_axis("iota", dimension, len(shape))
    params = {"dtype": dtype_argument(dtype), "shape": shape, "dimension": dimension}
    iota_p.abstract(**params)
    return iota_p.bind(**params)


def full(shape: Sequence[int], fill_value: Value, dtype: Any = None) -> Value:
    """Return an array of shape `shape` with `fill_value` everywhere.

    Shapes: -> shape.  Dtype: `dtype`, by default the dtype of `fill_value`.
    Raises: ShapeError if `fill_value` is not a scalar; ValueError if a size is negative.

    >>> from calque_core.lax import full
    >>> full((2,), 1.5)
    array([1.5, 1.5])
    """
    if dtype is not None:
        fill_value = wide_integer(fill_value, dtype_argument(dtype))
    shape, aval = _sizes("full", shape), typeof(fill_value)
    if aval.shape:
        raise ShapeError(f"full{where()}: the fill value has type {aval}. Give a scalar, or broadcast the array.")
    dtype = aval.dtype if dtype is None else dtype_argument(dtype)
    # A Python scalar is known under every trace, so it is converted now and becomes a literal.
    params = {"new_dtype": dtype, "weak_type": False}
    is_scalar = type(fill_value) in _PYTHON_SCALARS
    value = convert_element_type_impl(fill_value, **params) if is_scalar else convert_element_type(fill_value, dtype)
    return broadcast_in_dim(value, shape, ()) if shape else as_result(value)


def empty(shape: Sequence[int] | int, dtype: Any) -> Value:
    """Return an array of shape `shape` whose elements mean nothing; here they are zeros.

    Shapes: -> shape; an integer is the size of one axis.  Dtype: `dtype`.
    Raises: ValueError if a size is negative.

    >>> from calque_core.lax import empty
    >>> empty(2, float).shape
    (2,)
    """
    return full(shape if isinstance(shape, Iterable) else (shape,), 0, dtype)


def full_like(x: Value, fill_value: Value, dtype: Any = None, shape: Sequence[int] | None = None) -> Value:
    """Return an array with `fill_value` everywhere, by default of the shape and dtype of `x`.

    Shapes: x [*s] -> [*s], or `shape`.  Dtype: `dtype`, by default the dtype of `x`.
    Raises: ShapeError if `fill_value` is not a scalar.

    >>> import numpy as np
    >>> from calque_core.lax import full_like
    >>> full_like(np.zeros(2, np.float32), 7)
    array([7., 7.], dtype=float32)
    """
    aval = typeof(x)
    return full(aval.shape if shape is None else shape, fill_value, aval.dtype if dtype is None else dtype)


def zeros_like(x: Value, dtype: Any = None, shape: Sequence[int] | None = None) -> Value:
    """Return zeros, by default of the shape and dtype of `x`.

    Shapes: x [*s] -> [*s], or `shape`.  Dtype: `dtype`, by default the dtype of `x`.

    >>> import numpy as np
    >>> from calque_core.lax import zeros_like
    >>> zeros_like(np.array([1, 2]))
    array([0, 0])
    """
    return full_like(x, 0, dtype, shape)


def ones_like(x: Value, dtype: Any = None, shape: Sequence[int] | None = None) -> Value:
    """Return ones, by default of the shape and dtype of `x`.

    Shapes: x [*s] -> [*s], or `shape`.  Dtype: `dtype`, by default the dtype of `x`.

    >>> import numpy as np
    >>> from calque_core.lax import ones_like
    >>> ones_like(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    return full_like(x, 1, dtype, shape)


def _sizes(name: str, shape: Sequence[int]) -> Shape:
    sizes = integers(name, "shape", shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"{name}{where()}: the shape {sizes} has a negative size. Give sizes of zero or more.")
    return sizes
