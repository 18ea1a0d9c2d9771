"""Changing the dtype of an array, the meaning of its bits, or whether derivatives flow through it.

It stands below the other families because promotion (`operands.py`) converts operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.primitives.conversion import convert_element_type_p as convert_element_type_p  # noqa: PLC0414  for `lax`
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray, is_array_like, own_types, shaped_array, typeof
from calque_core.types.dtypes import REGISTERED, canonicalize_dtype, dtype_name, kind_of, native_array
from calque_core.types.limits import bit_width, iinfo, wide_dtype
from calque_core.types.stand_in import ShapeDtypeStruct
from calque_pytree import tree_map

Value = Any


def from_python(x: Value, dtype: np.dtype[Any]) -> Value:
    """Return a Python scalar in a dtype.  Raises: OverflowError for an integer that does not fit."""
    if type(x) is int and kind_of(dtype) in "iu" and not iinfo(dtype).min <= x <= iinfo(dtype).max:
        raise OverflowError(
            f"the Python integer {x} does not fit {dtype}{where()}. Convert the array first, or pass numpy.int64({x})."
        )
    return dtype.type(x)


def wide_integer(x: Value, dtype: np.dtype[Any]) -> Value:
    """Return a Python integer of more than 32 bits in the dtype that the user asks for; any other value unchanged.

    The default integer, which has no say in the result, may not hold it.
    Raises: OverflowError if it does not fit.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import wide_integer
    >>> wide_integer(2**64 - 1, np.dtype("uint64")), wide_integer(1, np.dtype("uint64"))
    (np.uint64(18446744073709551615), 1)
    """
    return x if type(x) is not int or -(1 << 31) <= x < 1 << 31 else from_python(x, dtype)


def convert_element_type_impl(x: Value, *, new_dtype: np.dtype[Any], weak_type: bool) -> Value:
    if type(x) is int and kind_of(new_dtype) in "iu":
        out = from_python(x, new_dtype)
        return x if weak_type else out
    x = np.asarray(x)
    if x.dtype.kind == "c" and new_dtype.kind != "c":
        x = x.real  # as in XLA; NumPy would warn
    if x.dtype.isbuiltin == new_dtype.isbuiltin == REGISTERED:
        x = x.astype(wide_dtype(x.dtype))  # short integers are converted to NumPy's dtypes only
    out = x.astype(new_dtype)[()]
    return out.item() if weak_type and not x.ndim else out


def convert_element_type_impl_for_types(
    x_aval: ShapedArray, *, new_dtype: np.dtype[Any], weak_type: bool
) -> Callable[[Value], Value] | None:
    is_plain = x_aval.kind != "c" and REGISTERED not in (x_aval.dtype.isbuiltin, new_dtype.isbuiltin)
    return methodcaller("astype", new_dtype) if x_aval.shape and is_plain else None


convert_element_type_p.def_impl(
    convert_element_type_impl, leaf=True, for_types=convert_element_type_impl_for_types, makes_arrays=True
)


def convert_element_type(x: Value, new_dtype: Any) -> Value:
    """Return `x` in another dtype: floats are truncated towards zero, complex numbers lose their imaginary part.

    Shapes: x [*s] -> [*s].  Dtype: `new_dtype`, in 32 bits while `enable_x64` is off.
    Raises: TypeError if `new_dtype` is not a number or bool dtype; OverflowError if a Python integer does not fit.

    >>> import numpy as np
    >>> from calque_core.lax import convert_element_type
    >>> convert_element_type(np.array([1.7, -1.7]), np.int32)
    array([ 1, -1], dtype=int32)
    """
    dtype = canonicalize_dtype(new_dtype)
    x = wide_integer(x, dtype)
    aval = typeof(x)
    if not aval.weak_type and aval.dtype == dtype == x.dtype:  # with enable_x64 off, a wider array has a narrow aval
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def narrow(values: Sequence[Value]) -> Sequence[Value]:
    """Return arguments of a transformation in the machine's byte order, and in 32 bits while `enable_x64` is off.

    An operation converts its operands itself; a function that returns its arguments would convert nothing.
    """
    for x in values:
        if type(x) is np.ndarray and not x.dtype.isnative:
            return narrow([native_array(x) if isinstance(x, np.ndarray) else x for x in values])
    return values if here().settings.enable_x64 else [narrow_leaf(x) for x in values]


def narrow_leaf(x: Value) -> Value:
    """Return an array in 32 bits; return any other value unchanged."""
    dtype = getattr(x, "dtype", None)  # of the array itself: its aval is narrow already
    if not isinstance(dtype, np.dtype) or kind_of(dtype) not in "iufc" or isinstance(x, ShapeDtypeStruct):
        return x
    new_dtype = canonicalize_dtype(dtype)
    if isinstance(x, np.generic):  # a number is no operation, which the first trace of a program would record
        return x.astype(new_dtype)
    return (
        x if new_dtype == dtype else convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=typeof(x).weak_type)
    )


bitcast_convert_type_p = Primitive("bitcast_convert_type", linearity="constant")


@bitcast_convert_type_p.def_abstract_eval
def bitcast_convert_type_abstract_eval(x_aval: ShapedArray, *, new_dtype: np.dtype[Any]) -> ShapedArray:
    old_width, new_width = bit_width(x_aval.dtype), bit_width(new_dtype)
    if old_width == new_width:
        return shaped_array(x_aval.shape, new_dtype)
    if old_width > new_width:
        return shaped_array((*x_aval.shape, old_width // new_width), new_dtype)
    if not x_aval.shape or x_aval.shape[-1] * old_width != new_width:
        raise TypeError(
            f"bitcast_convert_type of {x_aval} to {dtype_name(new_dtype)}{where()}: the last axis must "
            f"hold {new_width // old_width} elements. Reshape the operand first."
        )
    return shaped_array(x_aval.shape[:-1], new_dtype)


def bitcast_convert_type_impl(x: Value, *, new_dtype: np.dtype[Any]) -> Value:
    x = np.ascontiguousarray(native_array(x)).reshape(np.shape(x))
    old_width, new_width = bit_width(x.dtype), bit_width(new_dtype)
    if old_width == new_width:
        return x.view(new_dtype)[()]
    shape = (*x.shape, old_width // new_width, new_width) if old_width > new_width else (*x.shape[:-1], new_width)
    bits = np.unpackbits(x[..., None].view(np.uint8), axis=-1, count=old_width, bitorder="little").reshape(shape)
    return np.packbits(bits, axis=-1, bitorder="little").view(new_dtype)[..., 0]


bitcast_convert_type_p.def_impl(bitcast_convert_type_impl, leaf=True)


def bitcast_convert_type(x: Value, new_dtype: Any) -> Value:
    """Return the bits of `x` read as another dtype.

    Shapes: x [*s] -> [*s] at equal width; [*s, n] when n narrow elements make one; the reverse for wider dtypes.
    Raises: TypeError if the last axis does not hold exactly one wider element, or if only one of the dtypes is bool
    or complex, or both are and differ.

    >>> import numpy as np
    >>> from calque_core.lax import bitcast_convert_type
    >>> bitcast_convert_type(np.float32(1.0), np.int32)
    np.int32(1065353216)
    """
    aval, dtype = typeof(x), canonicalize_dtype(new_dtype)
    if aval.dtype != dtype and not {aval.kind, kind_of(dtype)}.isdisjoint("bc"):
        raise TypeError(
            f"bitcast_convert_type{where()} takes integers and real floats. Convert bools and complex first."
        )
    return bind_checked(bitcast_convert_type_p, x, new_dtype=dtype)


stop_gradient_p = Primitive("stop_gradient", linearity="constant")
stop_gradient_p.is_elementwise = True


@stop_gradient_p.def_abstract_eval
def stop_gradient_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    return x_aval.strip_weak_type()


stop_gradient_p.def_impl(lambda x: x if type(x) in own_types else np.asarray(x)[()], leaf=True)


stop_gradient_p.def_rule("lower_values", lambda count: None)


def stop_gradient(x: Value) -> Value:
    """Return an array, or a pytree of arrays, as a constant of every derivative: its tangent is zero.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError if a leaf is not an array.

    >>> from calque_core.lax import stop_gradient
    >>> stop_gradient(2.0)
    np.float64(2.0)
    >>> stop_gradient({"w": 2.0})
    {'w': np.float64(2.0)}
    """
    return stop_gradient_p.bind(x) if is_array_like(x) else tree_map(_constant, x)


def _constant(x: Value) -> Value:
    typeof(x)
    return stop_gradient_p.bind(x)


discard_p = Primitive("discard", linearity="constant")
discard_p.is_elementwise = True
discard_p.def_abstract_eval(stop_gradient_abstract_eval)
discard_p.def_impl(lambda x: np.asarray(x)[()], leaf=True)


def discard(x: Value) -> Value:
    """Return `x` for a place where its elements are not used: it has no derivative, in forward or reverse mode.

    `stop_gradient` makes a value a constant, and cannot be transposed; `discard` may stand in a linear function:
    `select(used, x, discard(x))` equals `x`, and no cotangent flows to the elements where `used` is false.
    Shapes: x [*s] -> [*s].  Dtype: kept.

    >>> from calque_core.lax import discard
    >>> discard(2.0)
    np.float64(2.0)
    """
    typeof(x)
    return discard_p.bind(x)
