"""The order of numbers, complex numbers included: NumPy's comparisons, for its functions and for rules of derivatives.

One idea: complex numbers are compared by their real parts, and where these are equal by their imaginary parts; a
comparison with a NaN in either part is False.  The comparisons of `lax` refuse complex numbers, as JAX's do; `max`,
`min`, `clamp`, their reductions and `sort` have this order.

Read next: `compare.py`; `ties.py` for weights of equal operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core.ops.elementwise.compare import bitwise_and, bitwise_or, eq, ge, gt, le, lt
from calque_core.ops.elementwise.complex import imag, real
from calque_core.ops.elementwise.operands import binary, check_operands
from calque_core.types.avals import typeof

Value = Any
Comparison = Callable[[Value, Value], Value]


def less(x: Value, y: Value) -> Value:
    """Tell where x < y, elementwise; complex numbers are compared by the real part first.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import less
    >>> less(np.array([1 + 2j, 1 + 3j, 2]), 1 + 3j)
    array([ True, False, False])
    """
    return _in_order("lt", lt, lt, x, y)


def less_equal(x: Value, y: Value) -> Value:
    """Tell where x <= y, elementwise; complex numbers are compared by the real part first.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import less_equal
    >>> less_equal(np.array([1 + 2j, 1 + 3j, 2]), 1 + 3j)
    array([ True,  True, False])
    """
    return _in_order("le", lt, le, x, y)


def greater(x: Value, y: Value) -> Value:
    """Tell where x > y, elementwise; complex numbers are compared by the real part first.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import greater
    >>> greater(np.array([1 + 2j, 1 + 3j, 2]), 1 + 3j)
    array([False, False,  True])
    """
    return _in_order("gt", gt, gt, x, y)


def greater_equal(x: Value, y: Value) -> Value:
    """Tell where x >= y, elementwise; complex numbers are compared by the real part first.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import greater_equal
    >>> greater_equal(np.array([1 + 2j, 1 + 3j, 2]), 1 + 3j)
    array([False,  True,  True])
    """
    return _in_order("ge", gt, ge, x, y)


def _in_order(name: str, of_real_parts: Comparison, of_last: Comparison, x: Value, y: Value) -> Value:
    """Return `of_last` of real numbers, or of the imaginary parts where the real parts of complex numbers are equal."""
    check_operands(name, x, y)
    if "c" not in (typeof(x).kind, typeof(y).kind):
        return of_last(x, y)
    x, y = binary(name, x, y)
    x_imag, y_imag = imag(x), imag(y)
    is_comparable = bitwise_and(eq(x_imag, x_imag), eq(y_imag, y_imag))  # a NaN differs from itself
    is_decided = bitwise_and(of_real_parts(real(x), real(y)), is_comparable)
    return bitwise_or(is_decided, bitwise_and(eq(real(x), real(y)), of_last(x_imag, y_imag)))
