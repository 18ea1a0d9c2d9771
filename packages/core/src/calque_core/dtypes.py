"""Dtypes: their short names, the two regimes, and promotion.

Promotion is NumPy 2's: Python scalars are weak and take the dtype of what they meet.  With `enable_x64` off, 64-bit
dtypes become 32-bit ones before the operation.  `float0` is the tangent dtype of integers: it holds nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any

import numpy as np

from calque_core.context import Settings, context
from calque_pytree import static_key

float0 = np.dtype([("float0", np.void, 0)])

_NARROW = {
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("complex128"): np.dtype("complex64"),
    np.dtype("longdouble"): np.dtype("float32"),  # where it is no other name of float64
    np.dtype("clongdouble"): np.dtype("complex64"),
}
_SHORT = {"float": "f", "uint": "u", "int": "i", "complex": "c", "bfloat": "bf"}
_KIND_ORDER = {bool: 0, int: 1, float: 2, complex: 3}
_BOOL = np.dtype(bool)


@static_key.register(np.generic)
def _key_of_scalar(value: np.generic) -> Hashable:
    return type(value), value.dtype, value.tobytes()


def canonicalize_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that `dtype` becomes under the current settings.

    Raises: TypeError if NumPy knows no such dtype, or it is not a number or a bool.

    >>> canonicalize_dtype("float64")
    dtype('float64')
    """
    return _canonical(np.dtype(dtype), context.settings.enable_x64)


@cache
def _canonical(dtype: np.dtype[Any], enable_x64: bool) -> np.dtype[Any]:
    if dtype.kind not in "biufcV" or (dtype.type is np.void and dtype != float0):
        raise TypeError(
            f"{dtype} is not a dtype that calque computes with. Use a bool, integer, float or complex dtype."
        )
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    return dtype if enable_x64 else _NARROW.get(dtype, dtype)


@cache
def _scalar_dtype(kind: type, settings: Settings) -> np.dtype[Any]:
    bits = settings.default_dtype_bits
    names = {bool: "bool", int: f"int{bits}", float: f"float{bits}", complex: f"complex{2 * bits}"}
    return np.dtype(names[kind])


def scalar_dtype(kind: type) -> np.dtype[Any]:
    """Return the dtype that a Python scalar of type `kind` has where nothing else decides.

    >>> scalar_dtype(float)
    dtype('float64')
    """
    return _scalar_dtype(kind, context.settings)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name that messages print: `float32`, `int64`, `bool`, `float0`.

    >>> dtype_name(np.dtype("float32")), dtype_name(float0)
    ('float32', 'float0')
    """
    return "float0" if dtype == float0 else dtype.name


def short_name(dtype: np.dtype[Any]) -> str:
    """Return the name that jaxprs print: `f32`, `i64`, `bool`, `c128`.

    >>> short_name(np.dtype("float32")), short_name(np.dtype("bool"))
    ('f32', 'bool')
    """
    if dtype == float0:
        return "float0"
    stem = dtype.name.rstrip("0123456789")
    return _SHORT[stem] + dtype.name[len(stem) :] if stem in _SHORT and stem != dtype.name else dtype.name


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether `dtype` is a real or complex floating dtype: what a derivative can be taken of.

    >>> is_float(np.dtype("float32")), is_float(np.dtype("int32"))
    (True, False)
    """
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype != float0)


def issubdtype(dtype: Any, parent: Any) -> bool:
    """Tell whether `dtype` lies below `parent` in NumPy's type hierarchy.

    >>> issubdtype(np.float32, np.floating)
    True
    """
    dtype = np.dtype(dtype)
    return False if dtype == float0 else bool(np.issubdtype(dtype, parent))


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """Return the dtype of a result computed from strongly typed operands of dtypes `a` and `b`.

    >>> promote_types(np.int32, np.float32)
    dtype('float64')
    """
    return canonicalize_dtype(np.promote_types(canonicalize_dtype(a), canonicalize_dtype(b)))


def weak_promotion(dtypes: tuple[np.dtype[Any], ...], kinds: tuple[type, ...]) -> np.dtype[Any]:
    """Return the dtype of strongly typed operands (`dtypes`) met by Python scalars (`kinds`).

    A scalar of a higher kind lifts the result to that kind's default dtype, as NEP 50 says; otherwise it changes
    nothing.

    >>> weak_promotion((np.dtype("float32"),), (float,)), weak_promotion((np.dtype("int8"),), (float,))
    (dtype('float32'), dtype('float64'))
    """
    return _weak_promotion(dtypes, kinds, context.settings)


@cache
def _weak_promotion(dtypes: tuple[np.dtype[Any], ...], kinds: tuple[type, ...], settings: Settings) -> np.dtype[Any]:
    highest = max(kinds, key=_KIND_ORDER.__getitem__) if kinds else bool
    if not dtypes:
        return _scalar_dtype(highest, settings)
    strong = _canonical(np.result_type(*dtypes), settings.enable_x64)
    if not kinds or _KIND_ORDER[highest] <= "biufc".replace("u", "").find(
        strong.kind.replace("u", "i").replace("V", "f")
    ):
        return strong
    if highest is complex and strong.kind in "fV":
        return np.result_type(strong, np.complex64) if strong.itemsize <= 4 else _canonical(np.dtype("c16"), True)
    return _canonical(_scalar_dtype(highest, settings), settings.enable_x64)
