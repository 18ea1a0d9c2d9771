"""Rounding to whole numbers, neighbours among the floats, and telling which numbers are finite.

Integers and bools are whole and finite already: the public functions handle them, the primitives take floats only.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from calque_core.ops import formulas
from calque_core.ops.declare import BITS, FLOAT, as_result, declare, insist, undefined_message
from calque_core.ops.operands import floating, floating_pair
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, typeof

Value = Any


class RoundingMethod(IntEnum):
    """The direction in which `round` rounds halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


floor_p = declare("floor", FLOAT, np.floor, linearity="constant")
ceil_p = declare("ceil", FLOAT, np.ceil, linearity="constant")
round_p = Primitive("round", linearity="constant")
nextafter_p = declare("nextafter", FLOAT, np.nextafter)
is_finite_p = declare("is_finite", FLOAT, np.isfinite, np.dtype(bool))


@round_p.def_abstract_eval(cached=True)
def round_abstract_eval(x_aval: ShapedArray, *, rounding_method: RoundingMethod) -> ShapedArray:
    if x_aval.dtype.kind not in FLOAT:
        raise TypeError(undefined_message("round", x_aval))
    return x_aval.strip_weak_type()


def round_impl(x: Value, *, rounding_method: RoundingMethod) -> Value:
    return np.rint(x) if rounding_method == RoundingMethod.TO_NEAREST_EVEN else formulas.round_half_away(x)


round_p.def_impl(round_impl, leaf=True)


def _round(primitive: Primitive, x: Value, **params: Any) -> Value:
    """Bind a rounding of floats; integers and bools are whole already."""
    aval = typeof(x)
    if aval.dtype.kind in BITS:
        return as_result(x)
    if aval.dtype.kind not in FLOAT:
        raise TypeError(undefined_message(primitive.name, aval))
    return primitive.bind(x, **params)


def floor(x: Value) -> Value:
    """Return the largest whole number that is at most x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for complex numbers.

    >>> from calque_core.lax import floor
    >>> floor(-1.5)
    np.float64(-2.0)
    """
    return _round(floor_p, x)


def ceil(x: Value) -> Value:
    """Return the smallest whole number that is at least x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for complex numbers.

    >>> from calque_core.lax import ceil
    >>> ceil(-1.5)
    np.float64(-1.0)
    """
    return _round(ceil_p, x)


def round(x: Value, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Value:
    """Return the whole number nearest to x, elementwise; `rounding_method` says which of the two for halves.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for complex numbers; ValueError for an unknown rounding method.

    >>> from calque_core.lax import RoundingMethod, round
    >>> round(2.5), round(2.5, RoundingMethod.TO_NEAREST_EVEN)
    (np.float64(3.0), np.float64(2.0))
    """
    return _round(round_p, x, rounding_method=RoundingMethod(rounding_method))


def nextafter(x: Value, y: Value) -> Value:
    """Return the float next to x on the side of y, elementwise; y itself where they are equal.

    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import nextafter
    >>> nextafter(np.array([1.0, 2.0]), 2.0)
    array([1., 2.])
    >>> nextafter(1.0, 2.0) - 1.0
    np.float64(2.220446049250313e-16)
    """
    return nextafter_p.bind(*insist("nextafter", FLOAT, *floating_pair("nextafter", x, y)))


def is_finite(x: Value) -> Value:
    """Tell which elements of x are neither infinite nor NaN.

    Shapes: x [*s] -> [*s].  Dtype: bool.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import is_finite
    >>> is_finite(np.array([1.0, np.inf, np.nan]))
    array([ True, False, False])
    """
    return is_finite_p.bind(*insist("is_finite", FLOAT, floating(x)))
