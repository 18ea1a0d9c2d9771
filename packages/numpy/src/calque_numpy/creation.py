"""Arrays made of lists, of numbers, or of a shape alone.

One idea: a value without a dtype gets the default dtype of its kind, of 64 or 32 bits by the settings; NumPy arrays
keep theirs.  A list is an array of its items, tracers included; of other objects NumPy makes the array.

Read next: `ranges.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, ShapeDtypeStruct, iinfo, implements, is_tracer, lax, typeof
from calque_core.engine import describe_value, is_array_like, kind_of
from calque_core.engine.numpy_functions import (
    SCALARS,
    array_of,
    as_dtype,
    as_result,
    broadcast_to,
    dtype_argument,
    on_device,
    one_or_several,
    placed_like,
    refuse,
    wide_integer,
)
from calque_core.extend import integer, types_decide, where

Value = Any
DType = Any
Shape = int | Sequence[int]
Order = str | None
MAX_AXES = 64  # NumPy's bound

# Arrays of values


def asarray(
    a: Value, dtype: DType = None, order: Order = None, *, device: Any = None, copy: bool | None = None
) -> Value:
    """Return an array of a scalar, of an array, of an object with a buffer or `__array__`, or of nested sequences.

    Shapes: n items of shape [*s] -> [n, *s].  Dtype: `dtype`, or the dtype of the elements; the default of their kind
    for Python scalars.  An array that has the dtype already and is on `device` is returned unchanged, unless `copy` is
    true; if `copy` is False, nothing else is accepted.  The order "F" of elements in
    memory is one of NumPy's arrays alone, here and in the functions below.
    Raises: ShapeError if the items of a list differ in shape; TypeError for a value that is no number; OverflowError
    for an integer of a list that does not fit `dtype`; ValueError for an unknown device, or a copy that `copy` forbids.

    >>> from calque_numpy import asarray
    >>> asarray([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    _check_order("asarray", order)
    out = on_device("asarray", _converted(a, dtype), device)
    if copy is False and (out is not a or isinstance(a, np.generic)):
        raise ValueError(
            f"asarray{where()} got copy=False, but an array of type {typeof(out)} is a copy here. Use copy=None."
        )
    return out.copy() if copy and _may_share_memory(a, out, device) else out


def _may_share_memory(a: Value, out: Value, device: Any) -> bool:
    if isinstance(out, np.ndarray):
        return out is a or out.base is not None
    return out is a or is_tracer(out) or device is not None  # an array on all its devices already shares its memory


def _check_order(name: str, order: Order) -> None:
    if order not in (None, "C", "K", "A"):
        raise NumpyRuleError(
            f"{name}{where()}: the order is {order!r}, but only arrays of NumPy's have another order in memory "
            "than 'C'. Remove this option."
        )


def _converted(a: Value, dtype: DType) -> Value:
    if isinstance(a, ShapeDtypeStruct):
        raise TypeError(f"asarray{where()}: {a!r} is a type and has no elements. Pass an array.")
    if not (isinstance(a, (list, tuple, np.ndarray)) or is_array_like(a)):
        a = _of_object(a)
    if isinstance(a, (list, tuple)):
        a = array_of(a, is_converted=dtype is not None)
        if dtype is not None and isinstance(a, np.ndarray):
            _check_range(a, dtype_argument(dtype))
            a = a.astype(dtype_argument(dtype)) if kind_of(a.dtype) in "iu" else a  # it may be a wide integer's
    elif dtype is not None and type(a) is int:
        a = wide_integer(a, dtype_argument(dtype))
    out_dtype = typeof(a).dtype if dtype is None else dtype_argument(dtype)
    if type(a) in SCALARS:
        return out_dtype.type(as_dtype(a, out_dtype))
    return as_result(as_dtype(a, out_dtype))


_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__")  # NumPy asks these before it reads items


def _of_object(a: Any) -> Any:
    """Return the array that NumPy reads from an object, a sequence as a list, or any other value unchanged."""
    if _has_buffer(a) or any(hasattr(type(a), name) for name in _PROTOCOLS):
        return np.asarray(a).view()  # a view, whose base tells that others may share the memory
    return _nested_list(a)


def _has_buffer(a: Any) -> bool:
    try:
        memoryview(a)
    except TypeError:
        return False
    return True


def _nested_list(a: Any) -> Any:
    """Return nested sequences, such as ranges, as nested lists; any other value unchanged."""
    if isinstance(a, (str, bytes, Mapping)) or is_array_like(a):
        return a
    is_sequence = hasattr(type(a), "__len__") and hasattr(type(a), "__getitem__")
    return [_nested_list(item) for item in a] if is_sequence else a


def _check_range(a: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    if a.size and kind_of(a.dtype) in "iu" and kind_of(dtype) in "iu":
        least, most = a.min(), a.max()
        if least < iinfo(dtype).min or most > iinfo(dtype).max:
            number = least if least < iinfo(dtype).min else most
            raise OverflowError(
                f"asarray of a list{where()}: the integer {number} does not fit {dtype}. Use a wider dtype, or convert "
                "the array, which wraps around: numpy.asarray(items).astype(dtype)."
            )


@types_decide
def array(
    object: Value, dtype: DType = None, *, copy: bool | None = True, order: Order = None, ndmin: int = 0
) -> Value:
    """Return a new array, which later changes of `object` do not affect; with another `copy`, as `asarray`.

    `ndmin` is the least number of axes; missing axes are added in front.

    >>> import numpy as np
    >>> from calque_numpy import array
    >>> array([1.0, 2.0], np.float32, ndmin=2)
    array([[1., 2.]], dtype=float32)
    """
    out = asarray(object, dtype, order, copy=copy)
    count = integer("array", "ndmin", ndmin)
    if count > MAX_AXES:
        raise ValueError(f"array{where()} got ndmin={count}, but an array has {MAX_AXES} axes at most. Give fewer.")
    missing = count - typeof(out).ndim
    return lax.expand_dims(out, range(missing)) if missing > 0 else out


_HOST = 1  # DLPack's number of the host's memory
_READABLE = (_HOST, 3, 11, 13)  # with the kinds of such memory that GPUs can read, too


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Value:
    """Return an array of another library, which has `__dlpack__`, as an array of NumPy's; a device array as it is.

    The memory is shared unless `copy` is true.  The result is put on `device`: "cpu" means an array of NumPy's.
    Raises: TypeError for a traced array, which has no memory, or for a value without `__dlpack__`; BufferError for
    memory that NumPy cannot read, such as that of a GPU; ValueError for an unknown device.

    >>> import numpy as np
    >>> from calque_numpy import from_dlpack
    >>> from_dlpack(np.arange(3))
    array([0, 1, 2])
    """
    if is_tracer(x):
        raise TypeError(f"from_dlpack of {typeof(x)}{where()}: a traced array has no memory to share. Use it as it is.")
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"from_dlpack{where()}: {describe_value(x)} has no method __dlpack__. Use asarray, which takes numbers, "
            "lists and arrays."
        )
    if is_array_like(x) and not isinstance(x, np.ndarray):
        return asarray(x, device=device, copy=copy)
    kind = int(x.__dlpack_device__()[0]) if hasattr(x, "__dlpack_device__") else _HOST
    if kind not in _READABLE:
        raise BufferError(
            f"from_dlpack{where()}: the array is in the memory of a device of DLPack's type {kind}, which NumPy cannot "
            "read. Use calque.dlpack.from_dlpack, which gives a device array, or move it to the host first."
        )
    array = np.from_dlpack(x, copy=False) if copy is False else np.from_dlpack(x)  # NumPy 2.0 takes no options
    return on_device("from_dlpack", array.copy() if copy else array, device)


# Arrays of one value


def full(shape: Shape, fill_value: Value, dtype: DType = None, order: Order = "C", *, device: Any = None) -> Value:
    """Return an array of one value, or of values that broadcast to `shape`.

    Dtype: `dtype`, or the dtype of `fill_value`.
    Raises: ShapeError if `fill_value` does not broadcast to `shape`; TypeError if `shape` holds no integers; ValueError
    for an unknown device.

    >>> from calque_numpy import full
    >>> full((2, 2), 1.5)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    _check_order("full", order)
    return on_device("full", _fill("full", shape, fill_value, dtype), device)


def _fill(name: str, shape: Shape, fill_value: Value, dtype: DType) -> Value:
    sizes, value = one_or_several(name, "shape", shape), asarray(fill_value, dtype)
    return broadcast_to(value, sizes) if typeof(value).shape else lax.full(sizes, value)


def zeros(shape: Shape, dtype: DType = float, order: Order = "C", *, device: Any = None) -> Value:
    """Return an array of zeros, of the default float dtype unless `dtype` is passed.

    Raises: ValueError for a negative size or an unknown device; TypeError if `shape` holds no integers.

    >>> from calque_numpy import zeros
    >>> zeros(2)
    array([0., 0.])
    """
    _check_order("zeros", order)
    return on_device("zeros", _fill("zeros", shape, 0, float if dtype is None else dtype), device)


def ones(shape: Shape, dtype: DType = float, order: Order = "C", *, device: Any = None) -> Value:
    """Return an array of ones, of the default float dtype unless `dtype` is passed.

    Raises: ValueError for a negative size or an unknown device; TypeError if `shape` holds no integers.

    >>> from calque_numpy import ones
    >>> ones((1, 2), int)
    array([[1, 1]])
    """
    _check_order("ones", order)
    return on_device("ones", _fill("ones", shape, 1, float if dtype is None else dtype), device)


@implements(np.full_like)
def full_like(
    a: Value,
    fill_value: Value,
    dtype: DType = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Value:
    """Return an array of one value, by default with the shape and dtype of `a`, and on its device.

    Where `a` is divided over several devices, an array of the same shape is divided alike.
    Raises: ShapeError if `fill_value` does not broadcast to the shape; ValueError for an unknown device.

    >>> import numpy as np
    >>> from calque_numpy import full_like
    >>> full_like(np.zeros(2, np.float32), 7)
    array([7., 7.], dtype=float32)
    """
    _check_order("full_like", order)
    refuse("full_like", subok=subok)
    aval = typeof(a)
    sizes = aval.shape if shape is None else shape
    out = _fill("full_like", sizes, fill_value, aval.dtype if dtype is None else dtype)
    return placed_like("full_like", out, a) if device is None else on_device("full_like", out, device)


@implements(np.zeros_like)
def zeros_like(
    a: Value,
    dtype: DType = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Value:
    """Return zeros, by default with the shape and dtype of `a`.

    >>> import numpy as np
    >>> from calque_numpy import zeros_like
    >>> zeros_like(np.array([1, 2]))
    array([0, 0])
    """
    return full_like(a, 0, dtype, order, subok, shape, device=device)


@implements(np.ones_like)
def ones_like(
    a: Value,
    dtype: DType = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Value:
    """Return ones, by default with the shape and dtype of `a`.

    >>> import numpy as np
    >>> from calque_numpy import ones_like
    >>> ones_like(np.array([1.5, 2.5]))
    array([1., 1.])
    """
    return full_like(a, 1, dtype, order, subok, shape, device=device)


def empty(shape: Shape, dtype: DType = float, order: Order = "C", *, device: Any = None) -> Value:
    """Return an array of zeros, where elements of NumPy's may have any value.

    Raises: as `zeros`.

    >>> from calque_numpy import empty
    >>> empty(2).shape
    (2,)
    """
    _check_order("empty", order)
    return on_device("empty", _fill("empty", shape, 0, float if dtype is None else dtype), device)


@implements(np.empty_like)
def empty_like(
    prototype: Value,
    dtype: DType = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Value:
    """Return zeros, by default with the shape and dtype of `prototype`.

    >>> import numpy as np
    >>> from calque_numpy import empty_like
    >>> empty_like(np.array([1, 2])).dtype
    dtype('int64')
    """
    return full_like(prototype, 0, dtype, order, subok, shape, device=device)
