"""Elements chosen by a condition, and comparisons of whole arrays.

One idea: both alternatives are computed, and a mask chooses; so the shape of the result is known while tracing.
Beware of derivatives: where the rejected alternative has an infinite derivative, the derivative of the result is NaN.

Read next: `matrices.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import finfo, implements, lax, typeof
from calque_core.engine.numpy_functions import (
    absolute,
    all,
    as_dtype,
    check_dtypes,
    check_operands,
    check_ranks,
    floating,
    isfinite,
    isnan,
    less_equal,
    promoted_dtype,
    truth,
)
from calque_core.extend import elementwise_function, late_function, types_decide
from calque_core.extend import where as place

Value = Any

nonzero_places: Callable[..., tuple[Value, ...]] = late_function("calque_numpy.places", "nonzero_places")


@implements(np.where)
@elementwise_function
def where(
    condition: Value, x: Value = None, y: Value = None, /, *, size: int | None = None, fill_value: Value = None
) -> Value:
    """Return the elements of `x` where the condition holds, and of `y` elsewhere.

    Shapes: broadcast.  Dtype: promoted from `x` and `y`.  A condition that is no bool holds where it is not 0.
    Without `x` and `y`, the places where it holds, with `size` and `fill_value` as for `nonzero`.
    Raises: NumpyRuleError for a traced condition without `x`, `y` and `size`; TypeError for one alternative; ValueError
    for a size beside alternatives.

    >>> import numpy as np
    >>> from calque_numpy import where
    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    >>> where(np.array([False, True]), size=3, fill_value=-1)
    (array([ 1, -1, -1]),)
    """
    if x is None and y is None:
        return nonzero_places("where", condition, size, fill_value)
    if x is None or y is None:
        raise TypeError(
            f"where{place()} got one alternative. Give both alternatives, where(condition, x, y), or none for the "
            "places where the condition holds."
        )
    if size is not None or fill_value is not None:
        raise ValueError(
            f"where(condition, x, y){place()} has the shape of its arguments. Remove size and fill_value, which "
            "are for where(condition)."
        )
    condition = truth(condition)
    check_dtypes("where", (typeof(x), typeof(y)))
    check_ranks("where", condition, x, y)
    return lax.select(condition, x, y)


@implements(np.select)
@types_decide
def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Value:
    """Return, for each element, the choice of the first condition that holds, or `default`.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ValueError unless there is one choice for each condition, and at least one condition; TypeError for a
    condition that is not bool.

    >>> import numpy as np
    >>> from calque_numpy import select
    >>> x = np.array([1, 2, 3])
    >>> select([x < 2, x < 3], [x, 10 * x])
    array([ 1, 20,  0])
    """
    condlist, choicelist = list(condlist), list(choicelist)
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select{place()} got {len(condlist)} conditions and {len(choicelist)} choices. Give one choice for each."
        )
    dtype = promoted_dtype("select", *choicelist, default)
    out = as_dtype(default, dtype)
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        out = lax.select(condition, as_dtype(choice, dtype), out)
    return out


@implements(np.nan_to_num)
def nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value | None = None, neginf: Value | None = None
) -> Value:
    """Return the array with NaN replaced by 0, and infinities by the extremes of the dtype.

    The real and imaginary parts of complex numbers are treated apart.

    >>> import numpy as np
    >>> from calque_numpy import nan_to_num
    >>> nan_to_num(np.array([np.nan, 1.0]))
    array([0., 1.])
    """
    dtype, kind = typeof(x).dtype, typeof(x).kind
    if kind in "biu":
        return x
    if kind == "c":
        return lax.complex(*(nan_to_num(part, copy, nan, posinf, neginf) for part in (lax.real(x), lax.imag(x))))
    high = finfo(dtype).max if posinf is None else posinf
    low = finfo(dtype).min if neginf is None else neginf
    x = lax.select(isnan(x), as_dtype(nan, dtype), x)
    x = lax.select(lax.eq(x, np.inf), as_dtype(high, dtype), x)
    return lax.select(lax.eq(x, -np.inf), as_dtype(low, dtype), x)


# Comparisons


@implements(np.isclose)
def isclose(a: Value, b: Value, rtol: Value = 1e-5, atol: Value = 1e-8, equal_nan: bool = False) -> Value:
    """Return where `a` and `b` differ by at most `atol + rtol * |b|`; an infinity is close only to itself.

    Shapes: broadcast.  Dtype: bool.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy import isclose
    >>> isclose(np.array([1.0, 2.0]), np.array([1.0 + 1e-9, 2.1]))
    array([ True, False])
    """
    check_operands("isclose", a, b)
    a, b = floating(a), floating(b)
    is_finite = isfinite(b)
    center = lax.select(is_finite, b, 0.0)  # inf - inf would give NaN and a warning
    is_near = less_equal(absolute(lax.sub(a, center)), lax.add(lax.mul(absolute(center), rtol), atol))
    out = lax.bitwise_or(lax.bitwise_and(is_finite, is_near), lax.eq(a, b))
    return lax.bitwise_or(out, lax.bitwise_and(isnan(a), isnan(b))) if equal_nan else out


@implements(np.allclose)
def allclose(a: Value, b: Value, rtol: Value = 1e-5, atol: Value = 1e-8, equal_nan: bool = False) -> Value:
    """Return whether all elements are close, in the sense of `isclose`.

    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy import allclose
    >>> allclose(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]))
    True
    """
    check_operands("allclose", a, b)
    return all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Value, a2: Value, equal_nan: bool = False) -> Value:
    """Return whether two arrays have the same shape and equal elements.

    >>> import numpy as np
    >>> from calque_numpy import array_equal
    >>> array_equal(np.array([1, 2]), np.array([1, 2, 3]))
    False
    """
    if typeof(a1).shape != typeof(a2).shape:
        return np.False_
    check_dtypes("array_equal", (typeof(a1), typeof(a2)))
    is_equal = lax.eq(a1, a2)
    return all(lax.bitwise_or(is_equal, lax.bitwise_and(isnan(a1), isnan(a2))) if equal_nan else is_equal)


@implements(np.array_equiv)
def array_equiv(a1: Value, a2: Value) -> Value:
    """Return whether two arrays broadcast to one shape and have equal elements.

    >>> import numpy as np
    >>> from calque_numpy import array_equiv
    >>> array_equiv(np.array([1, 1]), 1)
    True
    """
    try:
        lax.broadcast_shapes(typeof(a1).shape, typeof(a2).shape)
    except ValueError:
        return np.False_
    check_operands("array_equiv", a1, a2)
    return all(lax.eq(a1, a2))
