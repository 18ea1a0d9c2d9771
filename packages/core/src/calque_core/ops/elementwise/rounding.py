"""Rounding to whole numbers, neighbours among the floats, and telling which numbers are finite.

Integers and bools are whole and finite already: the public functions handle them, the primitives take floats only.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.ops.elementwise import formulas
from calque_core.ops.elementwise.declare import BITS, FLOAT, as_result, declare, insist, undefined_message
from calque_core.ops.elementwise.operands import floating, floating_pair
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.shapes.axes import integer
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray, typeof
from calque_core.types.dtypes import float0

Value = Any


class RoundingMethod(IntEnum):
    """The direction in which `round` rounds halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


floor_p = declare("floor", FLOAT, np.floor, linearity="constant")
ceil_p = declare("ceil", FLOAT, np.ceil, linearity="constant")
round_p = Primitive("round", linearity="constant")
round_p.is_elementwise = True
nextafter_p = declare("nextafter", FLOAT, np.nextafter)
is_finite_p = declare("is_finite", FLOAT, np.isfinite, np.dtype(bool))


@round_p.def_abstract_eval(cached=True)
def round_abstract_eval(x_aval: ShapedArray, *, rounding_method: RoundingMethod) -> ShapedArray:
    if x_aval.kind not in FLOAT:
        raise TypeError(undefined_message("round", x_aval))
    return x_aval.strip_weak_type()


def round_impl(x: Value, *, rounding_method: RoundingMethod) -> Value:
    return np.rint(x) if rounding_method == RoundingMethod.TO_NEAREST_EVEN else formulas.round_half_away(x)


round_p.def_impl(round_impl, leaf=True)


reduce_precision_p = Primitive("reduce_precision", linearity="linear")
reduce_precision_p.is_elementwise = True


@reduce_precision_p.def_abstract_eval(cached=True)
def reduce_precision_abstract_eval(x_aval: ShapedArray, *, exponent_bits: int, mantissa_bits: int) -> ShapedArray:
    if x_aval.kind not in FLOAT or x_aval.dtype == float0:
        raise TypeError(undefined_message("reduce_precision", x_aval))
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision of {x_aval}{where()} to {exponent_bits} exponent bits and {mantissa_bits} mantissa "
            "bits. Give at least one exponent bit, and no negative number."
        )
    return x_aval.strip_weak_type()


reduce_precision_p.def_impl(formulas.reduce_precision, leaf=True)


def _round(primitive: Primitive, x: Value, **params: Any) -> Value:
    """Bind a rounding of floats; integers and bools are whole already."""
    aval = typeof(x)
    if aval.kind in BITS:
        return as_result(x)
    if aval.kind not in FLOAT:
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


def reduce_precision(operand: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Return x, elementwise, rounded to the nearest float of fewer bits, kept in its dtype; halves go to even.

    Larger numbers than such a float can hold become infinite, smaller ones, subnormal numbers included, zero.  A number
    of bits that the dtype does not exceed changes nothing.  The derivative rounds the tangent in the same way.
    Shapes: operand [*s] -> [*s].  Dtype: kept.
    Raises: TypeError unless `operand` is a real float; ValueError for less than one exponent bit or negative mantissa
    bits.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_precision
    >>> reduce_precision(np.array([1.1, 70000.0]), exponent_bits=5, mantissa_bits=10)
    array([1.09960938,        inf])
    """
    bits = integer("reduce_precision", "exponent_bits", exponent_bits)
    digits = integer("reduce_precision", "mantissa_bits", mantissa_bits)
    return bind_checked(reduce_precision_p, strong(operand), exponent_bits=bits, mantissa_bits=digits)


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
