"""Dtypes: their short names, the two regimes, and promotion.

Promotion is NumPy 2's: Python scalars are weak and take the dtype of the other operand.  With `enable_x64` off,
operands of 64 bits are converted to 32 bits before the operation.  `float0` is the tangent dtype of integers: its
elements have no bytes.

`SHORT_FLOATS` are floats of 8 and 16 bits, which `ml_dtypes` defines beside NumPy's.  They keep their dtype beside
bools and integers of any width, as in jax.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any

import numpy as np

from calque_core.context import Settings, here
from calque_pytree import static_key

float0 = np.dtype([("float0", np.void, 0)])

_NARROW = {
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("complex128"): np.dtype("complex64"),
    np.dtype("longdouble"): np.dtype("float32"),  # where it differs from float64
    np.dtype("clongdouble"): np.dtype("complex64"),
}
_SHORT = {"float": "f", "uint": "u", "int": "i", "complex": "c", "bfloat": "bf"}
REGISTERED = 2  # the `isbuiltin` of a dtype that another package registered with NumPy
_CONVERT = "Convert to a dtype of NumPy's first, such as int8 or float32"
_KIND_ORDER = {bool: 0, int: 1, float: 2, complex: 3}
_BOOL = np.dtype(bool)

# The floats of ml_dtypes with a sign, a fraction and a NaN.  Its remaining dtypes are refused: some count in int8, some
# have no zero, and none has a rule here.
SHORT_FLOATS = frozenset(
    ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
     "float8_e5m2fnuz")
)  # fmt: skip


@static_key.register(np.generic)
def _key_of_scalar(value: np.generic) -> Hashable:
    return type(value), value.dtype, value.tobytes()


def canonicalize_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that `dtype` becomes under the current settings.

    Raises: TypeError for a dtype that is unknown to NumPy, is no number or bool, or has no operations here (`int4`).

    >>> from calque_core import canonicalize_dtype
    >>> canonicalize_dtype("float64")
    dtype('float64')
    """
    return _canonical(np.dtype(dtype), here().settings.enable_x64)


@cache
def _canonical(dtype: np.dtype[Any], enable_x64: bool) -> np.dtype[Any]:
    if not is_supported(dtype):
        advice = "Use a bool, integer, float or complex dtype" if dtype.isbuiltin != REGISTERED else _CONVERT
        raise TypeError(f"{dtype} is not a dtype that calque computes with. {advice}.")
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    return dtype if enable_x64 else _NARROW.get(dtype, dtype)


@cache
def is_supported(dtype: np.dtype[Any]) -> bool:
    """Tell whether arrays of `dtype` are operands: bools, NumPy's numbers, `SHORT_FLOATS`, and `float0`.

    >>> is_supported(np.dtype("int8")), is_supported(np.dtype("datetime64"))
    (True, False)
    """
    return (dtype.kind in "biufc" and dtype.isbuiltin != REGISTERED) or dtype.name in SHORT_FLOATS or dtype == float0


@cache
def _scalar_dtype(kind: type, settings: Settings) -> np.dtype[Any]:
    bits = settings.default_dtype_bits
    names = {bool: "bool", int: f"int{bits}", float: f"float{bits}", complex: f"complex{2 * bits}"}
    return np.dtype(names[kind])


def scalar_dtype(kind: type) -> np.dtype[Any]:
    """Return the dtype of a Python scalar of type `kind` without other operands.

    >>> from calque_core.extend import scalar_dtype
    >>> scalar_dtype(float)
    dtype('float64')
    """
    return _scalar_dtype(kind, here().settings)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name that messages print: `float32`, `int64`, `bool`, `float0`.

    >>> import numpy as np
    >>> from calque_core import float0
    >>> from calque_core.extend import dtype_name
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
    """Tell whether `dtype` is a real or complex floating dtype, so that values have derivatives.

    >>> import numpy as np
    >>> from calque_core.extend import is_float
    >>> is_float(np.dtype("float32")), is_float(np.dtype("int32"))
    (True, False)
    """
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype != float0)


def issubdtype(dtype: Any, parent: Any) -> bool:
    """Tell whether `dtype` lies below `parent` in NumPy's type hierarchy.

    >>> import numpy as np
    >>> from calque_core import issubdtype
    >>> issubdtype(np.float32, np.floating)
    True
    """
    dtype = np.dtype(dtype)
    return False if dtype == float0 else bool(np.issubdtype(dtype, parent))


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """Return the dtype of a result computed from strongly typed operands of dtypes `a` and `b`.

    Raises: TypeError for a float of 8 bits beside another float or a complex dtype.

    >>> import numpy as np
    >>> from calque_core import promote_types
    >>> promote_types(np.int32, np.float32)
    dtype('float64')
    """
    return canonicalize_dtype(_promote((canonicalize_dtype(a), canonicalize_dtype(b))))


def _promote(dtypes: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    """Return the common dtype of strong operands: NumPy's answer; with one of `SHORT_FLOATS` among them, jax's."""
    short = [dtype for dtype in dtypes if dtype.name in SHORT_FLOATS]
    if not short:
        return np.result_type(*dtypes)
    inexact = [dtype for dtype in dtypes if is_float(dtype) and dtype != short[0]]
    if not inexact:
        return short[0]
    for dtype in (short[0], *inexact):
        if dtype.itemsize == 1:
            raise TypeError(_no_common_dtype(dtype, next(d for d in (short[0], *inexact) if d != dtype).name))
    return np.result_type(np.float32, *inexact)  # bfloat16 and float16: neither contains all values of the other dtype


def _no_common_dtype(short: np.dtype[Any], other: str) -> str:
    return (
        f"{short} and {other} have no common dtype: calque does not widen a float of 8 bits without a conversion. "
        "Convert one of the operands first, for example with x.astype('float32')."
    )


def at_least_single(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in: float32 for floats of 8 and 16 bits, `dtype` itself otherwise.

    >>> import numpy as np
    >>> from calque_core.extend import at_least_single
    >>> at_least_single(np.dtype("float16")), at_least_single(np.dtype("int8"))
    (dtype('float32'), dtype('int8'))
    """
    return np.dtype("float32") if dtype.name == "float16" or dtype.name in SHORT_FLOATS else dtype


def greatest(dtype: np.dtype[Any]) -> Any:
    """Return the greatest finite number of a real float dtype.

    >>> import numpy as np
    >>> from calque_core.extend import greatest
    >>> greatest(np.dtype("float32"))
    np.float32(3.4028235e+38)
    """
    return np.finfo(dtype).max if dtype.name not in SHORT_FLOATS else _greatest_short(dtype)


@cache
def _greatest_short(dtype: np.dtype[Any]) -> Any:
    """Return the greatest finite number of `dtype` by a search: NumPy knows the limits of its own dtypes only."""
    size = dtype.itemsize
    numbers = np.arange(1 << (8 * size)).astype(f"u{size}").view(dtype).astype(np.float32)
    return dtype.type(np.max(numbers, where=np.isfinite(numbers), initial=0))


def weak_promotion(dtypes: tuple[np.dtype[Any], ...], kinds: tuple[type, ...]) -> np.dtype[Any]:
    """Return the common dtype of strongly typed operands (`dtypes`) and Python scalars (`kinds`).

    A scalar of a higher kind lifts the result to that kind's default dtype, as NEP 50 says; any other scalar
    changes nothing.

    >>> weak_promotion((np.dtype("float32"),), (float,)), weak_promotion((np.dtype("int8"),), (float,))
    (dtype('float32'), dtype('float64'))
    """
    return _weak_promotion(dtypes, kinds, here().settings)


@cache
def _weak_promotion(dtypes: tuple[np.dtype[Any], ...], kinds: tuple[type, ...], settings: Settings) -> np.dtype[Any]:
    highest = max(kinds, key=_KIND_ORDER.__getitem__) if kinds else bool
    if not dtypes:
        return _scalar_dtype(highest, settings)
    strong = _canonical(_promote(dtypes), settings.enable_x64)
    if not kinds or _KIND_ORDER[highest] <= "biufc".replace("u", "").find(
        strong.kind.replace("u", "i").replace("V", "f")
    ):
        return strong
    if highest is complex and strong.kind in "fV":
        if strong.itemsize == 1:
            raise TypeError(_no_common_dtype(strong, "complex"))
        return np.result_type(strong, np.complex64) if strong.itemsize <= 4 else _canonical(np.dtype("c16"), True)
    return _canonical(_scalar_dtype(highest, settings), settings.enable_x64)
