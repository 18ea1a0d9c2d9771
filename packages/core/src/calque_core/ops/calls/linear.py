"""The two placeholders of differentiation: a tangent that is zero, and an operand without a value.

They stand in core because jvp and transpose rules handle them, and the author of a primitive writes these with core
alone.  Neither ever reaches `bind` or evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from calque_core.jaxprs.masks import Mask, merged, unmarked
from calque_core.known.operands import Option
from calque_core.ops.elementwise.arithmetic import add_any_p
from calque_core.ops.shapes.broadcast import broadcast
from calque_core.primitives.own_values import lowered, raised
from calque_core.primitives.rule_results import zeros
from calque_core.types.avals import Shape, ShapedArray, own_types, typeof
from calque_core.types.dtypes import float0
from calque_core.types.type_queries import has_tangent

Value = Any


class Zero:
    """A tangent or cotangent that is zero, of type `aval`, without its elements.

    >>> from calque_core import Zero, typeof
    >>> Zero(typeof(1.0).to_tangent_aval())
    Zero(float64[])
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self.aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.aval.dtype  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Zero({self.aval!r})"


zeros.add(Zero)


class UndefinedPrimal(Option):
    """The place of a linear operand in a transpose rule: its type is known, its value is not."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval!r})"


zero_of = lru_cache(maxsize=1 << 14)(Zero)
zero_for = lru_cache(maxsize=1 << 14)(lambda aval: zero_of(aval.to_tangent_aval()))
undefined_of = lru_cache(maxsize=1 << 14)(UndefinedPrimal)


def zero_tangent(primal: Value) -> Zero:
    """Return the symbolic zero tangent of a value: of its type, made strong; `float0` for integers and bools.

    >>> from calque_core.extend import zero_tangent
    >>> zero_tangent(2.0)
    Zero(float64[])
    """
    return zero_for(typeof(primal))


def is_undefined_primal(x: object) -> bool:
    """Tell whether an operand of a transpose rule is linear.

    >>> from calque_core import is_undefined_primal
    >>> is_undefined_primal(1.0)
    False
    """
    return type(x) is UndefinedPrimal


def is_nonzero(tangents: Sequence[Value]) -> Mask:
    """Return a mask of the tangents or cotangents that are not symbolic zeros.

    >>> from calque_core.extend import is_nonzero, zero_tangent
    >>> is_nonzero([zero_tangent(2.0), 1.0])
    [False, True]
    """
    return [type(t) is not Zero for t in tangents]


def split_results(results: Sequence[Value], out_mask: Sequence[bool]) -> tuple[list[Value], list[Value]]:
    """Return primal results and tangents from the results of a program that gives both: a `Zero` outside the mask.

    >>> from calque_core.extend import split_results
    >>> split_results([1.0, 2.0, 3.0], [False, True])
    ([1.0, 2.0], [Zero(float64[]), 3.0])
    """
    outs, out_dots = list(results[: len(out_mask)]), results[len(out_mask) :]
    return outs, merged(out_mask, out_dots, map(zero_tangent, unmarked(outs, out_mask)))


def with_integer_zeros(float_tangents: Iterable[Value], avals: Sequence[Any]) -> list[Value]:
    """Return a tangent per type: the next of `float_tangents` for a float, a `Zero` for an integer or a bool.

    >>> from calque_core import typeof
    >>> from calque_core.engine import with_integer_zeros
    >>> with_integer_zeros([3.0], [typeof(1), typeof(2.0)])
    [Zero(float0[]), 3.0]
    """
    mask = [*map(has_tangent, avals)]
    return merged(mask, float_tangents, map(zero_for, unmarked(avals, mask)))


def instantiate_zeros(x: Value) -> Value:
    """Return an array of zeros for a `Zero`, and any other value as it is.

    >>> import numpy as np
    >>> from calque_core import Zero, instantiate_zeros, typeof
    >>> instantiate_zeros(Zero(typeof(np.ones(2))))
    array([0., 0.])
    """
    return zeros_of(x.aval) if type(x) is Zero else x


def zeros_of(aval: Any) -> Value:
    """Return zeros of the type `aval`; for `float0`, a NumPy array of that dtype, which no operation takes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import zeros_of
    >>> zeros_of(typeof(np.float32(1)))
    np.float32(0.0)
    """
    if type(aval) is not ShapedArray:
        return raised([*map(zeros_of, aval.arrays().values())], aval)
    if aval.dtype == float0:
        return np.zeros(aval.shape, float0)
    zero = aval.dtype.type(0)
    return broadcast(zero, aval.shape) if aval.shape else zero


def add_tangents(x: Value, y: Value) -> Value:
    """Return the sum of two tangents or cotangents of one type; each may be a `Zero`.

    >>> from calque_core import Zero, add_tangents, typeof
    >>> add_tangents(Zero(typeof(1.0)), 2.0)
    2.0
    """
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    return add_any_p.bind(x, y) if type(x) not in own_types else _sum_of_own(x, y)


def _sum_of_own(x: Value, y: Value) -> Value:
    """Return the sum of two values of one own type, array by array."""
    return raised([add_any_p.bind(a, b) for a, b in zip(lowered(x), lowered(y))], typeof(x))
