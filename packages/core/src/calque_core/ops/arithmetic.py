"""Arithmetic, whole powers, sizes and signs: functions of one element of each operand.

The public functions promote, the primitives check.  Evaluation is a function of NumPy where one exists, otherwise a
function of `formulas.py`.

Read next: `exponential.py`, `trigonometric.py`, `hyperbolic.py`, `special.py`, `rounding.py`, `compare.py`: more
elementwise primitives, declared in the same way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core.ops import formulas, scalars
from calque_core.ops.axes import integer
from calque_core.ops.convert import convert_element_type
from calque_core.ops.declare import (
    ANY,
    INTEGER,
    NUMBER,
    REAL,
    SIGNED,
    as_result,
    declare,
    insist,
    undefined_message,
)
from calque_core.ops.formulas import keeping_dtype
from calque_core.ops.numpy_calls import numpy_function
from calque_core.ops.operands import binary, floating
from calque_core.ops.weakness import strong
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray, shaped_array, typeof

Value = Any

# Arithmetic

_negative = keeping_dtype(np.negative)
neg_p = declare("neg", NUMBER, scalars.unary(operator.neg, _negative), weak_kinds="ifc", linearity="linear")
add_p = declare("add", ANY, scalars.binary(operator.add, np.add), weak_kinds="ifc")
add_any_p = declare("add_any", ANY, np.add)
sub_p = declare("sub", NUMBER, scalars.binary(operator.sub, np.subtract), weak_kinds="ifc")
mul_p = declare("mul", ANY, scalars.binary(operator.mul, np.multiply), weak_kinds="ifc", linearity="bilinear")
div_p = declare("div", NUMBER, scalars.divide, weak_kinds="fc")
rem_p = declare("rem", REAL, formulas.remainder)
max_p = declare("max", ANY, keeping_dtype(np.maximum))
min_p = declare("min", ANY, keeping_dtype(np.minimum))


def neg(x: Value) -> Value:
    """Return -x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for bools.

    >>> from calque_core.lax import neg
    >>> neg(2.0)
    np.float64(-2.0)
    """
    # `typeof` also refuses Python integers of any size and arrays of objects, which np.negative takes.
    if type(x) is not np.float64 and typeof(x).kind == "b":
        raise TypeError(undefined_message("neg", typeof(x)))
    return neg_p.bind(strong(x))


def add(x: Value, y: Value) -> Value:
    """Return x + y, elementwise.

    Shapes: broadcast.  Dtype: promoted; the sum of bools is their or.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import add
    >>> add(np.array([1.0, 2.0]), 3.0)
    array([4., 5.])
    """
    return add_p.bind(*binary("add", x, y))


def add_any(x: Value, y: Value) -> Value:
    """Return x + y for two tangents or cotangents of one type; rules of differentiation use it.

    Shapes: x [*s], y [*s] -> [*s].  Dtype: kept.
    Raises: ShapeError or TypeError if the types differ.

    >>> from calque_core.lax import add_any
    >>> add_any(1.0, 2.0)
    np.float64(3.0)
    """
    return bind_checked(add_any_p, x, y)


def sub(x: Value, y: Value) -> Value:
    """Return x - y, elementwise.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import sub
    >>> sub(np.array([1.0, 2.0]), 3.0)
    array([-2., -1.])
    """
    x, y = binary("sub", x, y)
    try:
        return sub_p.bind(x, y)
    except TypeError:  # NumPy's message for bools is replaced; a check beforehand would take 0.4 us
        insist("sub", NUMBER, x)
        raise


def mul(x: Value, y: Value, *, out_dtype: Any = None) -> Value:
    """Return x * y, elementwise; with `out_dtype`, the product of the operands in this dtype.

    Shapes: broadcast.  Dtype: promoted, or `out_dtype`; the product of bools is their and.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import mul
    >>> mul(np.array([1.0, 2.0]), 3.0), mul(np.int8(100), np.int8(4), out_dtype=np.int32)
    (array([3., 6.]), np.int32(400))
    """
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return mul_p.bind(*binary("mul", x, y))


def div(x: Value, y: Value) -> Value:
    """Return x / y, elementwise.

    Shapes: broadcast.  Dtype: promoted; integers stay integers, truncated towards zero.
    Raises: ShapeError if the shapes do not broadcast; TypeError for bools;
    ZeroDivisionError where a known integer divisor is zero, unless NumPy is told to ignore it (`np.errstate`).

    >>> import numpy as np
    >>> from calque_core.lax import div
    >>> div(np.array([7, -7]), 2)
    array([ 3, -3])
    """
    return div_p.bind(*binary("div", x, y))


def rem(x: Value, y: Value) -> Value:
    """Return the remainder of truncating division: it has the sign of x, elementwise.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for bools and complex numbers;
    ZeroDivisionError where a known integer divisor is zero, unless NumPy is told to ignore it (`np.errstate`).

    >>> import numpy as np
    >>> from calque_core.lax import rem
    >>> rem(np.array([7, -7]), 3)
    array([ 1, -1])
    """
    return rem_p.bind(*insist("rem", REAL, *binary("rem", x, y)))


def max(x: Value, y: Value) -> Value:
    """Return the larger of x and y, elementwise; complex numbers are compared by the real part first.

    Shapes: broadcast.  Dtype: promoted; NaN wins.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import max
    >>> max(np.array([1.0, np.nan]), 2.0)
    array([ 2., nan])
    """
    return max_p.bind(*binary("max", x, y))


def min(x: Value, y: Value) -> Value:
    """Return the smaller of x and y, elementwise; complex numbers are compared by the real part first.

    Shapes: broadcast.  Dtype: promoted; NaN wins.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import min
    >>> min(np.array([1.0, np.nan]), 2.0)
    array([ 1., nan])
    """
    return min_p.bind(*binary("min", x, y))


# Whole powers

square_p = declare("square", NUMBER, keeping_dtype(np.square))
integer_pow_p = Primitive("integer_pow")
integer_pow_p.weak_kinds = "ifc"
integer_pow_p.is_elementwise = True


@integer_pow_p.def_abstract_eval(cached=True)
def integer_pow_abstract_eval(x_aval: ShapedArray, *, y: int) -> ShapedArray:
    if x_aval.kind not in NUMBER:
        raise TypeError(undefined_message("integer_pow", x_aval))
    if y < 0 and x_aval.kind in INTEGER:
        raise TypeError(formulas.integer_power_refusal(y))
    return x_aval


def integer_pow_impl_for_types(x_aval: ShapedArray, *, y: int) -> Callable[[Value], Value] | None:
    return np.square if y == 2 and x_aval.shape and x_aval.kind == "f" else None


integer_pow_p.def_impl(scalars.integer_power, leaf=True, for_types=integer_pow_impl_for_types, makes_arrays=True)


def square(x: Value) -> Value:
    """Return x * x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for bools.

    >>> from calque_core.lax import square
    >>> square(3.0)
    np.float64(9.0)
    """
    return square_p.bind(*insist("square", NUMBER, x))


def integer_pow(x: Value, y: int) -> Value:
    """Return x to the power of a Python integer, elementwise, by repeated squaring.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError if `y` is not an integer, for bools, and for integers where `y` is negative.

    >>> import numpy as np
    >>> from calque_core.lax import integer_pow
    >>> integer_pow(np.array([1, 2, 3]), 3), integer_pow(2.0, -1)
    (array([ 1,  8, 27]), np.float64(0.5))
    """
    return integer_pow_p.bind(*insist("integer_pow", NUMBER, strong(x)), y=integer("integer_pow", "the exponent", y))


def reciprocal(x: Value) -> Value:
    """Return 1 / x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import reciprocal
    >>> reciprocal(4)
    np.float64(0.25)
    """
    return integer_pow(floating(x), -1)


# Size and sign

abs_p = Primitive("abs")
abs_p.weak_kinds = "ifc"
abs_p.is_elementwise = True


@abs_p.def_abstract_eval(cached=True)
def abs_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    if x_aval.kind not in SIGNED:
        raise TypeError(undefined_message("abs", x_aval))
    dtype = np.finfo(x_aval.dtype).dtype if x_aval.kind == "c" else x_aval.dtype
    return shaped_array(x_aval.shape, dtype, x_aval.weak_type)


_absolute = scalars.unary(operator.abs, keeping_dtype(np.absolute))
abs_p.def_impl(_absolute, leaf=True, for_types=numpy_function(_absolute))
sign_p = declare("sign", SIGNED, keeping_dtype(np.sign))


def abs(x: Value) -> Value:
    """Return the absolute value of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; real for complex numbers.  Bools and unsigned integers are returned unchanged.

    >>> from calque_core.lax import abs
    >>> abs(-2.0), abs(3 + 4j)
    (np.float64(2.0), np.float64(5.0))
    """
    return abs_p.bind(strong(x)) if typeof(x).kind not in "ub" else as_result(x)


def sign(x: Value) -> Value:
    """Return -1, 0 or 1 by the sign of x, elementwise; x / abs(x) for complex numbers.  NaN stays NaN.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import sign
    >>> sign(np.array([-3, 0, 5]))
    array([-1,  0,  1])
    """
    aval = typeof(x)
    if aval.kind == "b":
        raise TypeError(undefined_message("sign", aval))
    return sign_p.bind(x) if aval.kind != "u" else min(x, 1)
