"""Evaluation that keeps Python scalars: for them the primitives compute with Python's operators.

One idea: a Python operator returns a Python scalar for Python scalars, but a ufunc of NumPy returns a NumPy scalar,
which is strong and so decides the dtype of later results.  On float scalars of NumPy the operator equals the ufunc and
is 0.4 us faster; on its integers it is not used, since it warns when they wrap around.

Where Python raises and NumPy does not (a zero divisor, a result that is too large), the result is NumPy's, so that a
derivative can continue.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core.ops.elementwise import formulas
from calque_core.ops.elementwise.numpy_calls import on_arrays

Value = Any

FLOATS: frozenset[type] = frozenset((float, complex, np.float64, np.float32))
NUMBERS: frozenset[type] = FLOATS | {int}
ANY: frozenset[type] = NUMBERS | {bool}
BITS: frozenset[type] = frozenset((int, bool))


def binary(
    python: Callable[[Value, Value], Value], numpy: Callable[..., Value], kinds: frozenset[type] = NUMBERS
) -> Callable[[Value, Value], Value]:
    """Return the evaluation of a primitive of two operands: Python's operator on scalars of `kinds`, else NumPy's."""

    def impl(x: Value, y: Value) -> Value:
        if type(x) in kinds and type(y) in kinds:
            try:
                return python(x, y)
            except (ZeroDivisionError, OverflowError):
                return numpy(x, y).item()
        return numpy(x, y)

    on_arrays[impl] = numpy
    return impl


def unary(
    python: Callable[[Value], Value], numpy: Callable[..., Value], kinds: frozenset[type] = NUMBERS
) -> Callable[[Value], Value]:
    """Return the evaluation of a primitive of one operand: Python's operator on scalars of `kinds`, else NumPy's."""

    def impl(x: Value) -> Value:
        if type(x) in kinds:
            try:
                return python(x)
            except OverflowError:
                return numpy(x).item()
        return numpy(x)

    on_arrays[impl] = numpy
    return impl


divide = binary(operator.truediv, formulas.divide, FLOATS)


def power(x: Value, y: Value) -> Value:
    """Return x**y: real for real operands, though Python's operator returns a complex number for (-8.0) ** 0.5."""
    out = np.power(x, y)
    return out.item() if type(x) in (float, complex) and type(y) in (float, complex) else out


def integer_power(x: Value, y: int) -> Value:
    """Return x**y by repeated squaring, the order in which compiled programs multiply too."""
    if type(x) not in NUMBERS or (y < 0 and type(x) is int):
        return formulas.integer_power(x, y)
    if y < 0 and isinstance(x, complex):
        return type(x)(formulas.reciprocal(integer_power(x, -y)))
    if y < 0:
        out = divide(type(x)(1), integer_power(x, -y))
        return out if out or y == -1 else integer_power(x, y // 2) * integer_power(x, y - y // 2)
    out, square = type(x)(1), x
    while y:
        out, y, square = out * square if y & 1 else out, y >> 1, square * square if y > 1 else square
    return out
