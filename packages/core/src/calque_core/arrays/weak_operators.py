"""Operators whose results of weak operands differ from those of the function of the same name.

One idea: weak operands are Python scalars, and Python's operators on them return Python scalars: `7 / 2` and `2**-1`
are floats.  With a strong operand, an operator is NumPy's function, but for the exponents 2.0 and 0.5.

Read next: `operators.py`, the operators of all arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core import lax
from calque_core.arrays import numpy_arithmetic
from calque_core.errors import NumpyRuleError
from calque_core.frames.source import mark_wrapper, where
from calque_core.lax import div_p, integer_pow_p, pow_p
from calque_core.ops.elementwise.operands import promoted_pair, result_type, weak_by_kind
from calque_core.ops.elementwise.weakness import number, strong, weak
from calque_core.types.avals import typeof
from calque_core.types.promotion import is_by_kind

Value = Any


def _of_weak(function: Callable[[Value, Value], Any]) -> Callable[[Value, Value], Any]:
    """Return the operator for a function of strong operands; on weak operands its results are weak, too."""

    @mark_wrapper
    def operator(x: Value, y: Value) -> Any:
        if is_by_kind():
            x, y = weak_by_kind(x, y)
        if not (typeof(x).weak_type and typeof(y).weak_type):
            return function(x, y)
        out = function(number(x), number(y))
        return tuple(map(weak, out)) if type(out) is tuple else weak(out)

    return operator


floor_divide, remainder = _of_weak(numpy_arithmetic.floor_divide), _of_weak(numpy_arithmetic.remainder)
divmod = _of_weak(numpy_arithmetic.divmod)
left_shift, right_shift = _of_weak(numpy_arithmetic.left_shift), _of_weak(numpy_arithmetic.right_shift)


@mark_wrapper
def true_divide(x: Value, y: Value) -> Value:
    """Return x / y: a float, for integers, too."""
    x_aval, y_aval = typeof(x), typeof(y)
    if x_aval.kind in "biu" and y_aval.kind in "biu":
        if not (x_aval.weak_type and y_aval.weak_type):
            return numpy_arithmetic.true_divide(x, y)
        x, y = weak(x, float), weak(y, float)
    return div_p.bind(*promoted_pair("div", x, y))


@mark_wrapper
def power(x: Value, y: Value) -> Value:
    """Return x ** y; the exponents 2.0 and 0.5 are square and square root, as in NumPy's operator, not its ufunc."""
    if type(y) is int:  # nearly always; 3 us sooner
        aval = typeof(x)
        if aval.kind in "fc" and not aval.weak_type:
            return integer_pow_p.bind(x, y=y)
    if is_by_kind():
        x, y = weak_by_kind(x, y)
    if typeof(x).weak_type and typeof(y).weak_type:
        return _weak_power(number(x), y)
    if type(y) is float and y in (0.5, 2.0):
        x = numpy_arithmetic.as_dtype(x, result_type(x, y))
        return lax.sqrt(x) if y == 0.5 else lax.integer_pow(x, 2)
    return numpy_arithmetic.power(x, y)


def _weak_power(x: Value, y: Value) -> Value:
    """Return x ** y of weak operands; an integer to a known power is an integer if the power is not negative."""
    if isinstance(y, int) or (type(y) is float and y == 2.0):
        is_float = type(y) is float or y < 0
        return integer_pow_p.bind(weak(x, float) if is_float and typeof(x).kind == "i" else x, y=int(y))
    if typeof(x).kind == typeof(y).kind == "i":
        if is_by_kind():  # the kinds decide, not the sign of the exponent
            return weak(numpy_arithmetic.power(strong(x), y))
        raise NumpyRuleError(
            f"power of {typeof(x)} and {typeof(y)}{where()}: the power of two Python integers is an int or a float by "
            "the sign of the exponent, which is not known here. Make one of them a NumPy integer, numpy.int64(2) ** x, "
            "which gives an integer, or a float; or make the exponent static."
        )
    x, y = promoted_pair("power", x, y)
    return pow_p.bind(x, y)
