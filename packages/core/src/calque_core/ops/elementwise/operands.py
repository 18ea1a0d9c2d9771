"""Promotion: bringing the operands of an operation to one dtype, and to equal shapes or rank 0.

One idea: it happens once, in the public functions and the operators, so that primitives get operands that fit.  Most
operands fit already, and the fast paths return them at once.

A function returns a strong result, as a NumPy function does: if all operands are weak, it makes one strong first
(`binary`, `strong`).  An operator returns a weak result for weak operands, as a Python operator does (`promoted_pair`,
`numbers`, `number`).

Read next: `weakness.py`, which makes values weak or strong.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, here
from calque_core.errors import ShapeError
from calque_core.frames.source import is_called_by_user, where
from calque_core.ops.elementwise.convert import convert_element_type, from_python
from calque_core.ops.elementwise.weakness import (
    PYTHON_SCALARS,
    SCALAR_KINDS,
    is_weak_integer,
    number,
    reaches,
    scalar_kind,
    strong,
    weak,
)
from calque_core.ops.shapes.broadcast import broadcast_shapes, broadcast_to
from calque_core.types.avals import Shape, ShapedArray, typeof
from calque_core.types.avals import _aval_functions as aval_functions
from calque_core.types.dtypes import canonicalize_dtype, kind_of, scalar_dtype
from calque_core.types.limits import iinfo
from calque_core.types.numbers import is_number, plain_number
from calque_core.types.promotion import is_by_kind, weak_promotion, wide_float

Value = Any

_SAME_TYPE_FITS = frozenset((np.float64, np.float32, np.int64, np.int32, np.complex128, np.bool_))
_NUMBERS = frozenset((int, float))
_FLOAT_SCALARS = frozenset((np.float64, np.float32, np.complex128))
_BOOL = np.dtype(bool)
_FLOAT_OF_INTEGER = {1: np.dtype("float16"), 2: np.dtype("float32"), 4: np.dtype("float64"), 8: np.dtype("float64")}


def binary(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return the two operands of the function `name`, promoted; at least one is strong.

    Raises: TypeError if one is not an array; ShapeError, naming both types, if the shapes do not broadcast.
    """
    kind = type(x)
    if kind is type(y) and kind in _SAME_TYPE_FITS:
        return x, y
    x_aval, y_aval = aval_functions.get(kind, typeof)(x), aval_functions.get(type(y), typeof)(y)
    if x_aval is y_aval:
        return (strong(x) if x_aval.weak_type else x), y
    if x_aval.dtype is y_aval.dtype and (x_aval.shape == y_aval.shape or not x_aval.shape or not y_aval.shape):
        return (strong(x) if x_aval.weak_type and y_aval.weak_type else x), y
    return _number_in_dtype(x, y, x_aval, y_aval) or _promoted(name, x, y)


def promoted_pair(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return the two operands of the operator `name`, promoted; two weak operands stay weak.

    Raises: as `binary`.
    """
    x_aval, y_aval = aval_functions.get(type(x), typeof)(x), aval_functions.get(type(y), typeof)(y)
    if x_aval is y_aval or (
        x_aval.dtype is y_aval.dtype and (x_aval.shape == y_aval.shape or not x_aval.shape or not y_aval.shape)
    ):
        return x, y
    if x_aval.weak_type and y_aval.weak_type:
        kind = max(scalar_kind(x_aval), scalar_kind(y_aval), key=PYTHON_SCALARS.index)
        return weak(x, kind), weak(y, kind)
    pair = _number_in_dtype(x, y, x_aval, y_aval)
    if pair is None and x_aval.weak_type != y_aval.weak_type and is_by_kind():
        x, y = weak_by_kind(x, y)
    return pair or _promoted(name, x, y)


def weak_by_kind(x: Value, y: Value) -> tuple[Value, Value]:
    """Return operands without axes, if a weak one has the higher kind, as weak ones of this kind; others unchanged."""
    x_aval, y_aval = typeof(x), typeof(y)
    number_aval, other = (x_aval, y_aval) if x_aval.weak_type else (y_aval, x_aval)
    is_weaker = number_aval.weak_type and not other.weak_type and not reaches(number_aval.dtype, other.dtype)
    if x_aval.shape or y_aval.shape or not is_weaker:
        return x, y
    kind = scalar_kind(number_aval)
    return weak(x, kind), weak(y, kind)


def _number_in_dtype(x: Value, y: Value, x_aval: ShapedArray, y_aval: ShapedArray) -> tuple[Value, Value] | None:
    """Return a Python number beside floats in their dtype, 2.5 us sooner than `promote`; None for other operands."""
    if type(y) in _NUMBERS and x_aval.kind in "fc" and not x_aval.weak_type:
        return x, from_python(y, x_aval.dtype)
    if type(x) in _NUMBERS and y_aval.kind in "fc" and not y_aval.weak_type:
        return from_python(x, y_aval.dtype), y
    return None


def _promoted(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    x, y = promote(name, (x, y))
    return x, y


def numbers(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return the two operands of the arithmetic operator `name`, promoted; two weak bools count as integers."""
    x_aval, y_aval = aval_functions.get(type(x), typeof)(x), aval_functions.get(type(y), typeof)(y)
    if x_aval is y_aval:
        return (number(x), number(y)) if x_aval.weak_type and x_aval.dtype is _BOOL else (x, y)
    if x_aval.dtype is y_aval.dtype and not (
        x_aval.shape and y_aval.shape
    ):  # a constant beside an array; 0.4 us sooner
        return x, y
    return promoted_pair(name, x, y)


def promote(name: str, args: Sequence[Value]) -> list[Value]:
    """Return any number of operands of `name`, promoted to one dtype and to equal shapes or rank 0."""
    avals = [typeof(x) for x in args]
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype is not first:
            check_dtypes(name, avals)
            dtype = promoted_type(avals)
            if name in _COMPARISONS and kind_of(dtype) in "iu":
                dtype = _comparable(args, dtype)
            args = [_convert(x, aval, dtype) for x, aval in zip(args, avals)]
            break
    return _broadcast(name, args, [aval.shape for aval in avals])


_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def _comparable(args: Sequence[Value], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a wider dtype if a Python integer may not fit: comparisons with it are exact, as in NumPy."""
    limits = iinfo(dtype)
    fits = all(limits.min <= x <= limits.max if type(x) is int else not is_weak_integer(x) for x in args)
    return dtype if fits or dtype.itemsize == 8 else canonicalize_dtype(np.int64)


def broadcast_operands(name: str, args: Sequence[Value]) -> list[Value]:
    """Return the operands of `name` broadcast to one shape; operands of rank 0 stay as they are.

    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.extend import broadcast_operands
    >>> [np.shape(x) for x in broadcast_operands("power", [np.ones((2, 1)), np.ones(3), 2.0])]
    [(2, 3), (2, 3), ()]
    """
    return _broadcast(name, args, [typeof(x).shape for x in args])


def _broadcast(name: str, args: Sequence[Value], shapes: Sequence[Shape]) -> list[Value]:
    if len({shape for shape in shapes if shape}) <= 1:
        return list(args)
    try:
        shape = broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"{name} of {_types(map(typeof, args))}{where()}: the shapes do not broadcast. "
            "Make the sizes of each axis equal, or 1."
        ) from None
    check_ranks(name, *args)
    return [broadcast_to(x, shape) if x_shape and x_shape != shape else x for x, x_shape in zip(args, shapes)]


def check_dtypes(name: str, avals: Sequence[ShapedArray]) -> None:
    """Check that the settings allow to promote the operands of `name` to one dtype, if the user's program calls it.

    Raises: TypeError if `numpy_dtype_promotion` is "strict" and two strong dtypes differ.
    """
    is_strict = here().settings.numpy_dtype_promotion == "strict"
    if is_strict and len({a.dtype for a in avals if not a.weak_type}) > 1 and is_called_by_user():
        raise TypeError(
            f"{name} of {_types(avals)}{where()}: the dtypes differ, and numpy_dtype_promotion is 'strict'. "
            "Convert the operands to one dtype: x.astype(dtype)."
        )


def check_ranks(name: str, *args: Value) -> None:
    """Check that the settings allow to broadcast the operands of `name`, if the user's program calls it.

    Raises: ShapeError if `numpy_rank_promotion` is "raise" and two operands with axes differ in their number.
    """
    setting = here().settings.numpy_rank_promotion
    if setting == "allow" or len({typeof(x).ndim for x in args} - {0}) <= 1 or not is_called_by_user():
        return
    message = (
        f"{name} of {_types(map(typeof, args))}{where()}: the operands have different numbers of axes, and "
        f"numpy_rank_promotion is {setting!r}. Give them one number of axes: x.reshape(shape), or x[None]."
    )
    if setting == "raise":
        raise ShapeError(message)
    warnings.warn(message, stacklevel=2)


def check_operands(name: str, *args: Value) -> None:
    """Check that the settings allow to promote and broadcast the operands of `name`, a function made of others.

    Raises: as `check_dtypes` and `check_ranks`.
    """
    if here().settings is not DEFAULT_SETTINGS:
        check_dtypes(name, list(map(typeof, args)))
        check_ranks(name, *args)


def _types(avals: Iterable[ShapedArray]) -> str:
    return " and ".join(map(str, avals))


def promoted_dtype(name: str, *args: Value) -> np.dtype[Any]:
    """Return the dtype that the operands of `name` are promoted to.  Raises: as `check_dtypes`."""
    avals = [typeof(x) for x in args]
    check_dtypes(name, avals)
    return promoted_type(avals)


def floating(x: Value) -> Value:
    """Return the operand of a function of real or complex numbers: integers and bools become floats, as in NumPy."""
    if type(x) in _FLOAT_SCALARS:
        return x
    if type(x) is float:
        return strong(x)
    aval = aval_functions.get(type(x), typeof)(x)
    if aval.kind in "fc":
        return x
    return _convert(x, aval, float_dtype(aval))


def floating_pair(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return the two operands of a function of real or complex numbers, promoted, as floats of one dtype.

    Raises: TypeError if one is not an array; ShapeError, naming both types, if the shapes do not broadcast.
    """
    x, y = promoted_pair(name, x, y)
    x_aval, y_aval = typeof(x), typeof(y)
    if x_aval.kind in "fc":
        return (strong(x) if y_aval.weak_type else x), y
    dtype = float_dtype(y_aval if x_aval.weak_type else x_aval)
    return _convert(x, x_aval, dtype), _convert(y, y_aval, dtype)


def float_dtype(aval: ShapedArray) -> np.dtype[Any]:
    """Return the dtype in which a float function computes an array of this type."""
    if aval.kind in "fc":
        return aval.dtype
    if aval.weak_type:
        return scalar_dtype(float)
    return wide_float(aval.dtype) if is_by_kind() else canonicalize_dtype(_FLOAT_OF_INTEGER[aval.dtype.itemsize])


def result_type(*args: Value) -> np.dtype[Any]:
    """Return the dtype of an operation on these arrays, scalars or dtypes.

    >>> import numpy as np
    >>> from calque_core import result_type
    >>> result_type(np.float32(1), 2.0), result_type(np.int32, np.float32)
    (dtype('float32'), dtype('float64'))
    """
    return promoted_type([_as_aval(x) for x in args])


def _as_aval(x: Value) -> ShapedArray:
    if isinstance(x, type) and x in PYTHON_SCALARS:
        return ShapedArray((), scalar_dtype(x))
    if isinstance(x, (type, np.dtype, str)):
        return ShapedArray((), x)
    return typeof(x)  # type: ignore[no-any-return]


def promoted_type(avals: Sequence[ShapedArray]) -> np.dtype[Any]:
    """Return the dtype to which operands of these types are promoted."""
    strong = tuple(aval.dtype for aval in avals if not aval.weak_type)
    return weak_promotion(strong, tuple(SCALAR_KINDS[aval.kind] for aval in avals if aval.weak_type))


def _convert(x: Value, aval: ShapedArray, dtype: np.dtype[Any]) -> Value:
    if aval.dtype == dtype:
        return x
    if type(x) in PYTHON_SCALARS:
        return from_python(x, dtype)
    return from_python(plain_number(x), dtype) if is_number(x) else convert_element_type(x, dtype)
