"""Dtypes: their names and kinds, and the two regimes of 64 and 32 bits.

With `enable_x64` off, operands of 64 bits are converted to 32 bits before the operation.  `float0` is the tangent dtype
of integers: its elements have no bytes.

`SHORT_DTYPES` is the table of short dtypes: dtypes of 4 to 16 bits that the package `ml_dtypes` defines beside NumPy's.
All that code asks about one of them is in its row, or is in `finfo` and `iinfo`; no other module names a short dtype.
NumPy says "V" for the kind of each of them, so code asks `kind_of`, or the attribute `kind` of a type.  `ml_dtypes` is
optional, and is imported when a program names one of its dtypes.

Read next: `promotion.py`, the dtype of an operation on operands of several dtypes; `limits.py`, the greatest numbers;
`hierarchy.py`, the kinds of dtypes by name and by class.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any

import numpy as np

from calque_core.context import Settings, here
from calque_core.frames.source import where
from calque_core.record import Record
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
_STEMS = {"float": "f", "uint": "u", "int": "i", "complex": "c"}
REGISTERED = 2  # the `isbuiltin` of a dtype that another package registered with NumPy
_NO_NUMBER = "Use a bool, integer, float or complex dtype"
_CONVERT = "Convert to a dtype of NumPy's first, such as int8 or float32"

ML_DTYPES = "ml_dtypes"  # the package of the short dtypes


class ShortDtype(Record):
    """A row of `SHORT_DTYPES`; `docs/adding_a_dtype.md` says who asks for each column."""

    kind: str  # "f", "i" or "u"
    bits: int  # of an element; arrays keep one of fewer than 8 in a byte
    printed: str  # the name in jaxprs
    ir_type: str  # the name in StableHLO
    wide: str  # NumPy's dtype that holds all its numbers, in which many elements are combined
    dlpack_code: int | None  # None: DLPack packs elements of fewer than 8 bits, and calque does not
    promotes: bool  # whether a float has a common dtype with other floats
    is_random: bool  # whether random numbers may have it


SHORT_DTYPES: Mapping[str, ShortDtype] = {
    #                                 kind  bits printed           ir_type          wide       dlpack promotes is_random
    "bfloat16":           ShortDtype("f", 16, "bf16",           "bf16",          "float32", 4,    True,  True),
    "float8_e3m4":        ShortDtype("f", 8,  "f8_e3m4",        "f8E3M4",        "float32", 7,    False, False),
    "float8_e4m3":        ShortDtype("f", 8,  "f8_e4m3",        "f8E4M3",        "float32", 8,    False, False),
    "float8_e4m3b11fnuz": ShortDtype("f", 8,  "f8_e4m3b11fnuz", "f8E4M3B11FNUZ", "float32", 9,    False, False),
    "float8_e4m3fn":      ShortDtype("f", 8,  "f8_e4m3fn",      "f8E4M3FN",      "float32", 10,   False, False),
    "float8_e4m3fnuz":    ShortDtype("f", 8,  "f8_e4m3fnuz",    "f8E4M3FNUZ",    "float32", 11,   False, False),
    "float8_e5m2":        ShortDtype("f", 8,  "f8_e5m2",        "f8E5M2",        "float32", 12,   False, False),
    "float8_e5m2fnuz":    ShortDtype("f", 8,  "f8_e5m2fnuz",    "f8E5M2FNUZ",    "float32", 13,   False, False),
    "float4_e2m1fn":      ShortDtype("f", 4,  "f4_e2m1fn",      "f4E2M1FN",      "float32", None, False, False),
    "int4":               ShortDtype("i", 4,  "i4",             "i4",            "int8",    None, False, False),
    "uint4":              ShortDtype("u", 4,  "u4",             "ui4",           "int8",    None, False, False),
}  # fmt: skip

# The remaining dtypes of ml_dtypes are refused.  XLA has no operations on them, or wrong ones: where it compiles for
# integers of 2 bits it may end the process; float8_e8m0fnu has neither zero nor sign, and XLA makes NaN of 2**-127.
REFUSED_DTYPES = {"float8_e8m0fnu": (14, 8)}  # that other libraries export: the code and the bits of DLPack


@static_key.register(np.generic)
def _key_of_scalar(value: np.generic) -> Hashable:
    return type(value), value.dtype, value.tobytes()


def has_short_dtype(x: Any) -> bool:
    """Tell whether `x` is an array of a short dtype, which NumPy's own functions do not take as theirs.

    >>> import numpy as np
    >>> from calque_core.engine import has_short_dtype
    >>> has_short_dtype(np.ones(2)), has_short_dtype(2.0)
    (False, False)
    """
    dtype = getattr(x, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.isbuiltin == REGISTERED


def short_dtype(name: str, module: str) -> type[np.generic]:
    """Return the scalar type of one of `SHORT_DTYPES`, an attribute of the module `module`, which asks for it.

    Raises: AttributeError if no `ml_dtypes` that defines it is installed.
    """
    try:
        scalar_type: type[np.generic] = getattr(importlib.import_module(ML_DTYPES), name)
    except (ModuleNotFoundError, AttributeError):
        raise AttributeError(
            f"{module}.{name} is a dtype of a package that is not installed, or is too old. Install it: "
            f"pip install --upgrade {ML_DTYPES}.",
            name=name,
        ) from None
    return scalar_type


def attributes_of(module: str) -> Callable[[str], type[np.generic] | None]:
    """Return the function that gives `SHORT_DTYPES` as attributes of a module, and None for another name.

    >>> attributes_of("my_package")("float65") is None
    True
    """

    def attribute(name: str) -> type[np.generic] | None:
        return short_dtype(name, module) if name in SHORT_DTYPES else None

    return attribute


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Return `numpy.dtype(dtype)`; the names in `SHORT_DTYPES` are known before `ml_dtypes` is imported.

    Raises: TypeError for a dtype that is unknown to NumPy.

    >>> as_dtype("float32")
    dtype('float32')
    """
    if isinstance(dtype, str) and dtype in SHORT_DTYPES:
        try:
            dtype = short_dtype(dtype, "calque_core")
        except AttributeError as error:
            raise TypeError(str(error)) from None
    if not isinstance(dtype, (str, type, np.dtype)) and hasattr(dtype, "aval"):  # NumPy would take a tracer's own dtype
        raise _unknown("Cannot construct a dtype from an array")
    try:
        out: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise _unknown(error) from error
    return out


def _unknown(problem: Any) -> TypeError:
    return TypeError(f"the dtype{where()} is unknown: {problem}. Use numpy.float32, 'float32' or a similar name.")


def canonicalize_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that `dtype` becomes under the current settings.

    Raises: TypeError for a dtype that is unknown to NumPy, is no number or bool, or has no operations here (`int1`).

    >>> from calque_core import canonicalize_dtype
    >>> canonicalize_dtype("float64")
    dtype('float64')
    """
    return _canonical(as_dtype(dtype), here().settings.enable_x64)


@cache
def _canonical(dtype: np.dtype[Any], enable_x64: bool) -> np.dtype[Any]:
    if not is_supported(dtype):
        advice = _NO_NUMBER if dtype.isbuiltin != REGISTERED else _CONVERT
        raise TypeError(f"{dtype}{where()} is not a dtype that calque computes with. {advice}.")
    dtype = native_dtype(dtype)
    return dtype if enable_x64 else _NARROW.get(dtype, dtype)


def native_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return NumPy's own object for a dtype: one in the machine's byte order and without metadata.

    `dtype.newbyteorder("=")` and a dtype with metadata equal that object, but have no `isbuiltin`, which tells NumPy's
    dtypes from those of other packages.
    """
    return np.dtype(dtype.type) if dtype.kind in "biufc" else dtype


def native_array(x: Any) -> np.ndarray[Any, Any]:
    """Return an array in the machine's byte order, whose bits another dtype can show."""
    array: np.ndarray[Any, Any] = np.asarray(x)
    return array if array.dtype.isnative else array.astype(native_dtype(array.dtype))


@cache
def kind_of(dtype: np.dtype[Any]) -> str:
    """Return "b", "i", "u", "f" or "c" for bools, signed and unsigned integers, floats and complex numbers, else "V".

    It differs from `dtype.kind` for the dtypes of `ml_dtypes`.

    >>> import numpy as np
    >>> from calque_core import float0
    >>> from calque_core.engine import kind_of
    >>> kind_of(np.dtype("uint8")), kind_of(float0)
    ('u', 'V')
    """
    row = SHORT_DTYPES.get(dtype.name)
    if row is not None:
        return row.kind
    return dtype.kind if dtype.kind in "biufc" and dtype.isbuiltin != REGISTERED else "V"


def is_supported(dtype: np.dtype[Any]) -> bool:
    """Tell whether arrays of `dtype` are operands: bools, NumPy's numbers, `SHORT_DTYPES`, and `float0`.

    >>> is_supported(np.dtype("int8")), is_supported(np.dtype("datetime64"))
    (True, False)
    """
    return kind_of(dtype) != "V" or dtype == float0


@cache
def _scalar_dtype(kind: type, settings: Settings) -> np.dtype[Any]:
    bits = settings.default_dtype_bits
    names = {bool: "bool", int: f"int{bits}", float: f"float{bits}", complex: f"complex{2 * bits}"}
    return np.dtype(names[kind])


def scalar_dtype(kind: type) -> np.dtype[Any]:
    """Return the dtype of a Python scalar of type `kind` without other operands.

    >>> from calque_core.engine import scalar_dtype
    >>> scalar_dtype(float)
    dtype('float64')
    """
    return _scalar_dtype(kind, here().settings)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name that messages print: `float32`, `int64`, `bool`, `float0`.

    >>> import numpy as np
    >>> from calque_core import float0
    >>> from calque_core.engine import dtype_name
    >>> dtype_name(np.dtype("float32")), dtype_name(float0)
    ('float32', 'float0')
    """
    return "float0" if dtype == float0 else dtype.name


def short_name(dtype: np.dtype[Any]) -> str:
    """Return the name that jaxprs print: `f32`, `i64`, `bool`, `c128`, `bf16`, `f8_e4m3fn`.

    >>> short_name(np.dtype("float32")), short_name(np.dtype("bool"))
    ('f32', 'bool')
    """
    if dtype == float0:
        return "float0"
    name = dtype.name  # which takes NumPy 5 us
    row = SHORT_DTYPES.get(name)
    if row is not None:
        return row.printed
    stem = next((stem for stem in _STEMS if name.startswith(stem)), "")
    return _STEMS.get(stem, "") + name[len(stem) :]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether `dtype` is a real or complex floating dtype, so that values have derivatives.

    >>> import numpy as np
    >>> from calque_core.extend import is_float
    >>> is_float(np.dtype("float32")), is_float(np.dtype("int32"))
    (True, False)
    """
    return kind_of(dtype) in "fc"
