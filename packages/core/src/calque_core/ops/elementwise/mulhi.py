"""The upper half of the product of two integers, from products of halves of their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops.elementwise.arithmetic import add, mul
from calque_core.ops.elementwise.compare import bitwise_and, shift_right_arithmetic, shift_right_logical
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import INTEGER, insist
from calque_core.ops.elementwise.operands import binary
from calque_core.types.avals import typeof
from calque_core.types.dtypes import kind_of

Value = Any


def mulhi(x: Value, y: Value, /) -> Value:
    """Return the upper half of the bits of x * y, elementwise: the product without overflow over 2**bits, rounded down.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError unless the operands are integers.

    >>> import numpy as np
    >>> from calque_core.lax import mulhi
    >>> mulhi(np.uint8(200), np.uint8(200)), 200 * 200 // 2**8
    (np.uint8(156), 156)
    """
    x, y = insist("mulhi", INTEGER, *binary("mulhi", x, y))
    dtype = typeof(x).dtype
    half, mask = dtype.type(4 * dtype.itemsize), dtype.type(2 ** (4 * dtype.itemsize) - 1)
    shift = shift_right_logical if kind_of(dtype) == "u" else shift_right_arithmetic
    x_low, y_low, x_high, y_high = bitwise_and(x, mask), bitwise_and(y, mask), shift(x, half), shift(y, half)
    # No step overflows: a product of halves leaves room for two halves more (Warren, Hacker's Delight, section 8-2).
    middle = add(mul(x_high, y_low), _upper_half_of_product(x_low, y_low))
    lower = add(mul(x_low, y_high), bitwise_and(middle, mask))
    return add(add(mul(x_high, y_high), shift(middle, half)), shift(lower, half))


def _upper_half_of_product(x: Value, y: Value) -> Value:
    """Return the upper half of the product of numbers of half the bits, which may use the bit of the sign."""
    dtype = typeof(x).dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    product = mul(convert_element_type(x, unsigned), convert_element_type(y, unsigned))
    return convert_element_type(shift_right_logical(product, unsigned.type(4 * dtype.itemsize)), dtype)
