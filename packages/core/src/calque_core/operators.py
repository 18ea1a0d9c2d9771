"""Python's operators on arrays that are not NumPy's: tracers of every trace, device arrays.

One idea: an operator is one call of the function with NumPy's semantics, if the other operand is an array or a scalar.
A class unknown here gets its chance to handle the operation (`NotImplemented`); what can never be an operand (a list,
None, a string) is refused by name, because Python would repeat a list, or compare identities, in silence.

Read next: `numpy_py` for the functions, `indexing.py` for `x[i]`, `methods.py` for `x.sum()`.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.array_methods import array_method
from calque_core.avals import _aval_functions as operand_types
from calque_core.avals import typeof
from calque_core.numpy_arithmetic import (
    absolute,
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
from calque_core.numpy_products import matmul
from calque_core.numpy_protocol import unusable
from calque_core.operands import result_type
from calque_core.source import where

Value = Any

_NO_OPERANDS = frozenset((list, tuple, dict, set, frozenset, range, str, bytes))


def _rest(function: Callable[..., Value], x: Value, y: Value, other: Value) -> Value:
    """Apply `function` where the class of `other` is not registered as an operand's."""
    if isinstance(other, (np.ndarray, np.generic)):
        return function(x, y)  # a subclass of NumPy's arrays
    if type(other) in _NO_OPERANDS:
        raise unusable(other)
    return NotImplemented


# Arithmetic


@array_method
def __add__(self: Value, other: Value) -> Value:
    return lax.add(self, other) if type(other) in operand_types else _rest(lax.add, self, other, other)


@array_method
def __radd__(self: Value, other: Value) -> Value:
    return lax.add(other, self) if type(other) in operand_types else _rest(lax.add, other, self, other)


@array_method
def __sub__(self: Value, other: Value) -> Value:
    return lax.sub(self, other) if type(other) in operand_types else _rest(lax.sub, self, other, other)


@array_method
def __rsub__(self: Value, other: Value) -> Value:
    return lax.sub(other, self) if type(other) in operand_types else _rest(lax.sub, other, self, other)


@array_method
def __mul__(self: Value, other: Value) -> Value:
    return lax.mul(self, other) if type(other) in operand_types else _rest(lax.mul, self, other, other)


@array_method
def __rmul__(self: Value, other: Value) -> Value:
    return lax.mul(other, self) if type(other) in operand_types else _rest(lax.mul, other, self, other)


@array_method
def __truediv__(self: Value, other: Value) -> Value:
    return true_divide(self, other) if type(other) in operand_types else _rest(true_divide, self, other, other)


@array_method
def __rtruediv__(self: Value, other: Value) -> Value:
    return true_divide(other, self) if type(other) in operand_types else _rest(true_divide, other, self, other)


@array_method
def __floordiv__(self: Value, other: Value) -> Value:
    return floor_divide(self, other) if type(other) in operand_types else _rest(floor_divide, self, other, other)


@array_method
def __rfloordiv__(self: Value, other: Value) -> Value:
    return floor_divide(other, self) if type(other) in operand_types else _rest(floor_divide, other, self, other)


@array_method
def __mod__(self: Value, other: Value) -> Value:
    return remainder(self, other) if type(other) in operand_types else _rest(remainder, self, other, other)


@array_method
def __rmod__(self: Value, other: Value) -> Value:
    return remainder(other, self) if type(other) in operand_types else _rest(remainder, other, self, other)


@array_method
def __divmod__(self: Value, other: Value) -> Value:
    return divmod(self, other) if type(other) in operand_types else _rest(divmod, self, other, other)


@array_method
def __rdivmod__(self: Value, other: Value) -> Value:
    return divmod(other, self) if type(other) in operand_types else _rest(divmod, other, self, other)


@array_method
def __pow__(self: Value, other: Value) -> Value:
    return _power(self, other) if type(other) in operand_types else _rest(_power, self, other, other)


@array_method
def __rpow__(self: Value, other: Value) -> Value:
    return _power(other, self) if type(other) in operand_types else _rest(_power, other, self, other)


def _power(x: Value, y: Value) -> Value:
    """Return x ** y; NumPy's operator, unlike its ufunc, takes 2.0 and 0.5 for square and square root."""
    if type(y) is float and y in (0.5, 2.0):
        x = as_dtype(x, result_type(x, y))
        return lax.sqrt(x) if y == 0.5 else lax.integer_pow(x, 2)
    return power(x, y)


@array_method
def __matmul__(self: Value, other: Value) -> Value:
    return matmul(self, other) if type(other) in operand_types else _rest(matmul, self, other, other)


@array_method
def __rmatmul__(self: Value, other: Value) -> Value:
    return matmul(other, self) if type(other) in operand_types else _rest(matmul, other, self, other)


@array_method
def __neg__(self: Value) -> Value:
    return lax.neg(self)


@array_method
def __pos__(self: Value) -> Value:
    return positive(self)


@array_method
def __abs__(self: Value) -> Value:
    return absolute(self)


# Comparisons


@array_method
def __eq__(self: Value, other: Value) -> Value:
    return lax.eq(self, other) if type(other) in operand_types else _rest(lax.eq, self, other, other)


@array_method
def __ne__(self: Value, other: Value) -> Value:
    return lax.ne(self, other) if type(other) in operand_types else _rest(lax.ne, self, other, other)


@array_method
def __lt__(self: Value, other: Value) -> Value:
    return lax.lt(self, other) if type(other) in operand_types else _rest(lax.lt, self, other, other)


@array_method
def __le__(self: Value, other: Value) -> Value:
    return lax.le(self, other) if type(other) in operand_types else _rest(lax.le, self, other, other)


@array_method
def __gt__(self: Value, other: Value) -> Value:
    return lax.gt(self, other) if type(other) in operand_types else _rest(lax.gt, self, other, other)


@array_method
def __ge__(self: Value, other: Value) -> Value:
    return lax.ge(self, other) if type(other) in operand_types else _rest(lax.ge, self, other, other)


@array_method
def __hash__(self: Value) -> int:
    raise TypeError(
        f"unhashable type: {type(self).__name__!r}: an array of type {typeof(self)} was used as a dict "
        f"key, a set member or a static argument{where()}, but == is elementwise. Use a Python value."
    )


# Bits


@array_method
def __and__(self: Value, other: Value) -> Value:
    return lax.bitwise_and(self, other) if type(other) in operand_types else _rest(lax.bitwise_and, self, other, other)


@array_method
def __rand__(self: Value, other: Value) -> Value:
    return lax.bitwise_and(other, self) if type(other) in operand_types else _rest(lax.bitwise_and, other, self, other)


@array_method
def __or__(self: Value, other: Value) -> Value:
    return lax.bitwise_or(self, other) if type(other) in operand_types else _rest(lax.bitwise_or, self, other, other)


@array_method
def __ror__(self: Value, other: Value) -> Value:
    return lax.bitwise_or(other, self) if type(other) in operand_types else _rest(lax.bitwise_or, other, self, other)


@array_method
def __xor__(self: Value, other: Value) -> Value:
    return lax.bitwise_xor(self, other) if type(other) in operand_types else _rest(lax.bitwise_xor, self, other, other)


@array_method
def __rxor__(self: Value, other: Value) -> Value:
    return lax.bitwise_xor(other, self) if type(other) in operand_types else _rest(lax.bitwise_xor, other, self, other)


@array_method
def __lshift__(self: Value, other: Value) -> Value:
    return left_shift(self, other) if type(other) in operand_types else _rest(left_shift, self, other, other)


@array_method
def __rlshift__(self: Value, other: Value) -> Value:
    return left_shift(other, self) if type(other) in operand_types else _rest(left_shift, other, self, other)


@array_method
def __rshift__(self: Value, other: Value) -> Value:
    return right_shift(self, other) if type(other) in operand_types else _rest(right_shift, self, other, other)


@array_method
def __rrshift__(self: Value, other: Value) -> Value:
    return right_shift(other, self) if type(other) in operand_types else _rest(right_shift, other, self, other)


@array_method
def __invert__(self: Value) -> Value:
    return lax.bitwise_not(self)
