"""Python's operators on arrays that are not NumPy's: tracers of every trace, device arrays.

One idea: an operator is one primitive with NumPy's semantics, if the other operand is an array or a scalar.  From weak
operands alone, an operator makes a weak result, since eagerly they are Python scalars; the function makes a strong one.
A list becomes the array that NumPy makes from it.  A class unknown here may handle the operation itself
(`NotImplemented`); a dict, a string or another value that can never be an operand is refused by name, but it is equal
to no array, as in Python.

Read next: `numpy_arithmetic.py` for the functions, `indexing.py` for `x[i]`, `methods.py` for `x.sum()`.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import (
    as_dtype,
    divmod,
    floor_divide,
    left_shift,
    positive,
    power,
    remainder,
    right_shift,
    true_divide,
)
from calque_core.arrays.numpy_protocol import unusable
from calque_core.arrays.numpy_sequences import array_of
from calque_core.errors import NumpyRuleError
from calque_core.frames.source import mark_wrapper, where
from calque_core.lax import (
    abs_p,
    add_p,
    and_p,
    div_p,
    eq_p,
    ge_p,
    gt_p,
    integer_pow_p,
    le_p,
    lt_p,
    mul_p,
    ne_p,
    neg_p,
    not_p,
    or_p,
    pow_p,
    sub_p,
    xor_p,
)
from calque_core.ops.elementwise.declare import BITS, insist, undefined_message
from calque_core.ops.elementwise.operands import numbers, promoted_pair, result_type, weak_by_kind
from calque_core.ops.elementwise.ordering import greater, greater_equal, less, less_equal
from calque_core.ops.elementwise.weakness import is_weak_bool, number, strong, weak
from calque_core.primitives.primitive import Primitive
from calque_core.types.array_methods import array_method, array_operator
from calque_core.types.avals import _aval_functions as operand_types
from calque_core.types.avals import is_array_like, own_types, typeof
from calque_core.types.promotion import is_by_kind

Value = Any

_NO_OPERANDS = frozenset((dict, set, frozenset, str, bytes, np.str_, np.bytes_))


@mark_wrapper
def fallback(function: Callable[..., Value], x: Value, y: Value, other: Value) -> Value:
    """Apply `function` to `x` and `y`; the class of `other`, one of them, is not registered as an operand."""
    if type(other) in own_types:
        return NotImplemented
    if is_array_like(other):
        return function(x, y)  # a subclass of NumPy's arrays
    if isinstance(other, (list, tuple, range, deque)):
        array = y if other is x else x
        _refuse_sequence(function, typeof(array), other)
        sequence = array_of(list(other))
        return function(sequence, y) if other is x else function(x, sequence)
    if isinstance(other, (np.ndarray, np.generic)) or type(other) in _NO_OPERANDS:
        raise unusable(other)
    return NotImplemented


def _refuse_sequence(function: Callable[..., Value], aval: Any, other: Value) -> None:
    """Refuse a list beside a scalar: Python would repeat it, or has no such operation: `[0.0] * n`, `[1.0] + 2.0`."""
    if aval.weak_type or (function is lax.mul and not aval.shape and aval.kind in "biu"):
        raise TypeError(
            f"a traced scalar of type {aval} cannot be combined with a {type(other).__name__}{where()}: Python would "
            "repeat it, or has no such operation. Convert it to an array with numpy.asarray; to repeat it, make the "
            "number static."
        )


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


_floor_divide, _remainder, _divmod = _of_weak(floor_divide), _of_weak(remainder), _of_weak(divmod)
_left_shift, _right_shift = _of_weak(left_shift), _of_weak(right_shift)


@mark_wrapper
def _quotient(x: Value, y: Value) -> Value:
    """Return x / y: a float, for integers, too."""
    x_aval, y_aval = typeof(x), typeof(y)
    if x_aval.kind in "biu" and y_aval.kind in "biu":
        if not (x_aval.weak_type and y_aval.weak_type):
            return true_divide(x, y)
        x, y = weak(x, float), weak(y, float)
    return div_p.bind(*promoted_pair("div", x, y))


# Arithmetic


@array_operator
def __add__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return add_p.bind(*numbers("add", self, other))
    return fallback(lax.add, self, other, other)


@array_operator
def __radd__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return add_p.bind(*numbers("add", other, self))
    return fallback(lax.add, other, self, other)


@array_operator
def __sub__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return sub_p.bind(*numbers("sub", self, other))
    return fallback(lax.sub, self, other, other)


@array_operator
def __rsub__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return sub_p.bind(*numbers("sub", other, self))
    return fallback(lax.sub, other, self, other)


@array_operator
def __mul__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return mul_p.bind(*numbers("mul", self, other))
    return fallback(lax.mul, self, other, other)


@array_operator
def __rmul__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return mul_p.bind(*numbers("mul", other, self))
    return fallback(lax.mul, other, self, other)


@array_operator
def __truediv__(self: Value, other: Value) -> Value:
    return _quotient(self, other) if type(other) in operand_types else fallback(true_divide, self, other, other)


@array_operator
def __rtruediv__(self: Value, other: Value) -> Value:
    return _quotient(other, self) if type(other) in operand_types else fallback(true_divide, other, self, other)


@array_operator
def __floordiv__(self: Value, other: Value) -> Value:
    return _floor_divide(self, other) if type(other) in operand_types else fallback(floor_divide, self, other, other)


@array_operator
def __rfloordiv__(self: Value, other: Value) -> Value:
    return _floor_divide(other, self) if type(other) in operand_types else fallback(floor_divide, other, self, other)


@array_operator
def __mod__(self: Value, other: Value) -> Value:
    return _remainder(self, other) if type(other) in operand_types else fallback(remainder, self, other, other)


@array_operator
def __rmod__(self: Value, other: Value) -> Value:
    return _remainder(other, self) if type(other) in operand_types else fallback(remainder, other, self, other)


@array_operator
def __divmod__(self: Value, other: Value) -> Value:
    return _divmod(self, other) if type(other) in operand_types else fallback(divmod, self, other, other)


@array_operator
def __rdivmod__(self: Value, other: Value) -> Value:
    return _divmod(other, self) if type(other) in operand_types else fallback(divmod, other, self, other)


@array_operator
def __pow__(self: Value, other: Value) -> Value:
    return _power(self, other) if type(other) in operand_types else fallback(_power, self, other, other)


@array_operator
def __rpow__(self: Value, other: Value) -> Value:
    return _power(other, self) if type(other) in operand_types else fallback(_power, other, self, other)


@mark_wrapper
def _power(x: Value, y: Value) -> Value:
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
        x = as_dtype(x, result_type(x, y))
        return lax.sqrt(x) if y == 0.5 else lax.integer_pow(x, 2)
    return power(x, y)


def _weak_power(x: Value, y: Value) -> Value:
    """Return x ** y of weak operands; an integer to a known power is an integer if the power is not negative."""
    if isinstance(y, int) or (type(y) is float and y == 2.0):
        is_float = type(y) is float or y < 0
        return integer_pow_p.bind(weak(x, float) if is_float and typeof(x).kind == "i" else x, y=int(y))
    if typeof(x).kind == typeof(y).kind == "i":
        if is_by_kind():  # the kinds decide, not the sign of the exponent
            return weak(power(strong(x), y))
        raise NumpyRuleError(
            f"power of {typeof(x)} and {typeof(y)}{where()}: the power of two Python integers is an int or a float by "
            "the sign of the exponent, which is not known here. Make one of them a NumPy integer, numpy.int64(2) ** x, "
            "which gives an integer, or a float; or make the exponent static."
        )
    x, y = promoted_pair("power", x, y)
    return pow_p.bind(x, y)


@array_operator
def __neg__(self: Value) -> Value:
    return neg_p.bind(number(self))


@array_operator
def __pos__(self: Value) -> Value:
    x = number(self)
    return x if typeof(x).weak_type else positive(x)


@array_operator
def __abs__(self: Value) -> Value:
    x = number(self)
    return x if typeof(x).kind in "bu" else abs_p.bind(x)


# Comparisons


@array_operator
def __eq__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return eq_p.bind(*promoted_pair("eq", self, other))
    return NotImplemented if type(other) in _NO_OPERANDS else fallback(lax.eq, self, other, other)


@array_operator
def __ne__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return ne_p.bind(*promoted_pair("ne", self, other))
    return NotImplemented if type(other) in _NO_OPERANDS else fallback(lax.ne, self, other, other)


@mark_wrapper
def _comparison(primitive: Primitive, function: Callable[[Value, Value], Value], x: Value, y: Value) -> Value:
    """Return a comparison by order: complex numbers have NumPy's order, but Python's complex numbers have none."""
    aval = typeof(x)
    if aval.kind != "c":
        return primitive.bind(x, y)
    if aval.weak_type and typeof(y).weak_type:
        raise TypeError(undefined_message(primitive.name, aval))
    return function(x, y)


@array_operator
def __lt__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return _comparison(lt_p, less, *promoted_pair("lt", self, other))
    return fallback(less, self, other, other)


@array_operator
def __le__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return _comparison(le_p, less_equal, *promoted_pair("le", self, other))
    return fallback(less_equal, self, other, other)


@array_operator
def __gt__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return _comparison(gt_p, greater, *promoted_pair("gt", self, other))
    return fallback(greater, self, other, other)


@array_operator
def __ge__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return _comparison(ge_p, greater_equal, *promoted_pair("ge", self, other))
    return fallback(greater_equal, self, other, other)


@array_method
def __hash__(self: Value) -> int:
    raise TypeError(
        f"unhashable type: {type(self).__name__!r}: an array of type {typeof(self)} was used as a dict "
        f"key, a set member or a static argument{where()}, but == is elementwise. Use a Python value."
    )


# Bits


@array_operator
def __and__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return and_p.bind(*insist("and", BITS, *promoted_pair("and", self, other)))
    return fallback(lax.bitwise_and, self, other, other)


@array_operator
def __rand__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return and_p.bind(*insist("and", BITS, *promoted_pair("and", other, self)))
    return fallback(lax.bitwise_and, other, self, other)


@array_operator
def __or__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return or_p.bind(*insist("or", BITS, *promoted_pair("or", self, other)))
    return fallback(lax.bitwise_or, self, other, other)


@array_operator
def __ror__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return or_p.bind(*insist("or", BITS, *promoted_pair("or", other, self)))
    return fallback(lax.bitwise_or, other, self, other)


@array_operator
def __xor__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return xor_p.bind(*insist("xor", BITS, *promoted_pair("xor", self, other)))
    return fallback(lax.bitwise_xor, self, other, other)


@array_operator
def __rxor__(self: Value, other: Value) -> Value:
    if type(other) in operand_types:
        return xor_p.bind(*insist("xor", BITS, *promoted_pair("xor", other, self)))
    return fallback(lax.bitwise_xor, other, self, other)


@array_operator
def __lshift__(self: Value, other: Value) -> Value:
    return _left_shift(self, other) if type(other) in operand_types else fallback(left_shift, self, other, other)


@array_operator
def __rlshift__(self: Value, other: Value) -> Value:
    return _left_shift(other, self) if type(other) in operand_types else fallback(left_shift, other, self, other)


@array_operator
def __rshift__(self: Value, other: Value) -> Value:
    return _right_shift(self, other) if type(other) in operand_types else fallback(right_shift, self, other, other)


@array_operator
def __rrshift__(self: Value, other: Value) -> Value:
    return _right_shift(other, self) if type(other) in operand_types else fallback(right_shift, other, self, other)


@array_operator
def __invert__(self: Value) -> Value:
    if is_weak_bool(self):
        warnings.warn(
            "~ of a Python bool inverts it as an integer: ~True is -2. Use numpy.logical_not.", DeprecationWarning, 2
        )
    return not_p.bind(*insist("not", BITS, number(self)))
