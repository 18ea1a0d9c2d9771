"""Weak values: Python scalars, and the traced values that stand for them.

One idea: weakness is part of a type, so one operation, `convert_element_type`, makes a value weak or strong; a Python
scalar changes its class without an operation.  Promotion (`operands.py`), branches and loops decide which values have
to change, and call these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, here
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.types.avals import ShapedArray, typeof
from calque_core.types.dtypes import kind_of, scalar_dtype
from calque_core.types.numbers import is_number

Value = Any

PYTHON_SCALARS = (bool, int, float, complex)
SCALAR_KINDS: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}

# Questions


def is_weak_bool(x: Value) -> bool:
    """Tell whether `x` is a Python bool when the same program runs eagerly."""
    aval = typeof(x)
    return aval.weak_type and aval.kind == "b"  # type: ignore[no-any-return]


def is_weak_integer(x: Value) -> bool:
    """Tell whether `x` is a Python integer when the same program runs eagerly."""
    aval = typeof(x)
    return aval.weak_type and aval.kind == "i"  # type: ignore[no-any-return]


def scalar_kind(aval: ShapedArray) -> type:
    """Return the class of Python scalar that a weak type stands for."""
    return SCALAR_KINDS[aval.kind]


def reaches(weak: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Tell whether a Python scalar of dtype `weak` can take the dtype `target` without losing its kind."""
    return "biufc".index(kind_of(weak)) <= "biufc".index(kind_of(target))


def may_take(weak: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Tell whether a Python scalar in a loop can take the dtype `target`; a bool is no number: `~True` is not `~1`."""
    return reaches(weak, target) and (kind_of(weak) == "b") == (kind_of(target) == "b")


# Conversions


def weak(x: Value, kind: type | None = None) -> Value:
    """Return a scalar as a Python scalar of class `kind`, by default the class for its dtype."""
    if type(x) in PYTHON_SCALARS:
        return x if kind is None else kind(x)
    aval = typeof(x)
    dtype = aval.dtype if kind is None else scalar_dtype(kind)
    if aval.weak_type and aval.dtype == dtype:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True)


def strong(x: Value) -> Value:
    """Return `x` made strong: a Python scalar becomes a NumPy scalar, without an operation; a tracer is converted."""
    if type(x) is float and here().settings is DEFAULT_SETTINGS:
        return np.float64(x)
    aval = typeof(x)
    if not getattr(aval, "weak_type", False):
        return x
    if type(x) in PYTHON_SCALARS or is_number(x):
        return aval.dtype.type(x)
    return convert_element_type_p.bind(x, new_dtype=aval.dtype, weak_type=False)


def number(x: Value) -> Value:
    """Return the operand of an arithmetic operator: a weak bool counts as an integer."""
    return weak(x, int) if is_weak_bool(x) else x


# Conversion to a declared type


def as_declared(x: Value, aval: Any) -> Value:
    """Return a result as weak or as strong as its type says."""
    if type(aval) is not ShapedArray or typeof(x).weak_type == aval.weak_type:
        return x
    return weak(x) if aval.weak_type else strong(x)


def convert_to(x: Value, aval: ShapedArray) -> Value:
    """Return a value with the dtype and the weakness of `aval`; a Python scalar is converted without an operation."""
    if aval.weak_type:
        return weak(x, scalar_kind(aval))
    if type(aval) is not ShapedArray:
        return x
    return aval.dtype.type(x) if type(x) in PYTHON_SCALARS else convert_element_type(x, aval.dtype)
