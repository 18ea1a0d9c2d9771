"""The trace that propagates Taylor series of intervals, above the trace of bounds.

One idea: a value is the list of its coefficients, each a value of the trace of bounds.  Its rules, of kind "taylor",
are written in operations, which round outward there.  An operation with a jump or a kink inside of the box has no
derivative: its coefficients are all numbers, so that no enclosure is too narrow.  A first derivative at a kink is
the interval of the slopes on both sides, which the mean value theorem needs.

Read next: `series.py` for the arithmetic, `rules_taylor.py` for the rules, `enclosure.py` for the public functions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from calque_bounds.bounds_trace import all_branches
from calque_bounds.interval import Interval
from calque_bounds.series import Series, instantiate, plus, product
from calque_core import Primitive, ShapedArray, Trace, ValueTrace, lax, rules, typeof
from calque_core.extend import missing_rule

Value = Any
RULES = rules("taylor")


class TaylorTrace(ValueTrace):
    """Its values are lists of coefficients, from 0 to the degree of the trace."""

    verb = "taylor_bounds"
    kind = "taylor"
    drops_custom_derivatives = True

    def __init__(self, parent: Trace, degree: int) -> None:
        super().__init__(parent)
        self.degree = self.key = degree

    def lift(self, x: Value) -> Series:
        return [x, *[None] * self.degree]

    def to_arrays(self, value: Series) -> tuple[list[Value], None]:
        if typeof(value[0]).kind != "f":
            return value[:1], None
        return [value[0], *(instantiate(x, value[0]) for x in value[1:])], None

    def from_arrays(self, static: Hashable, arrays: Sequence[Value]) -> Series:
        return [*arrays, *[None] * (self.degree + 1 - len(arrays))]

    def predicate(self, value: Series) -> Value:
        return value[0]

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        if primitive is lax.cond_p and self.owns(args[0]):
            return all_branches(args[0], args[1:], params["branches"])
        return super().process_primitive(primitive, args, params)

    def apply(self, primitive: Primitive, values: Sequence[Series], params: dict[str, Any]) -> Any:
        if primitive in RULES:
            return super().apply(primitive, values, params)
        if primitive.linearity in LINEAR:
            return LINEAR[primitive.linearity](primitive, values, params)
        if primitive.is_elementwise and primitive is not lax.guard_p:
            raise missing_rule(primitive, "taylor")
        return NotImplemented


# Primitives that are declared linear, bilinear or constant


def linear_series(primitive: Primitive, values: Sequence[Series], params: dict[str, Any]) -> list[Series]:
    """Apply a linear primitive to the coefficients of each order; integers, which are positions, stay."""
    is_moving = [typeof(x[0]).kind == "f" for x in values]
    outs: list[Any] = []
    for k in range(len(values[0])):
        if k and all(x[k] is None for x, moves in zip(values, is_moving) if moves):
            outs.append(None)
            continue
        operands = [instantiate(x[k], x[0]) if moves else x[0] for x, moves in zip(values, is_moving)]
        out = primitive.bind(*operands, **params)
        outs.append(out if primitive.multiple_results else [out])
    return [[None if out is None else out[i] for out in outs] for i in range(len(outs[0]))]


def bilinear_series(primitive: Primitive, values: Sequence[Series], params: dict[str, Any]) -> list[Series]:
    """Convolve the coefficients of the two operands."""
    xs, ys = values
    return [[product(xs, ys, k, lambda x, y: primitive.bind(x, y, **params)) for k in range(len(xs))]]


def step_series(primitive: Primitive, values: Sequence[Series], params: dict[str, Any]) -> list[Series]:
    """Apply a piecewise constant primitive: where its result is not one number, it jumps."""
    outs = primitive.bind(*[x[0] for x in values], **params)
    count = len(values[0]) - 1
    return [jumping([out, *[None] * count], out) for out in (outs if primitive.multiple_results else [outs])]


LINEAR = {"linear": linear_series, "bilinear": bilinear_series, "constant": step_series}

# Jumps

jump_p = Primitive("jump")
jump_p.is_elementwise = True


@jump_p.def_abstract_eval
def jump_abstract_eval(x_aval: ShapedArray, *, dtype: np.dtype[Any]) -> ShapedArray:
    return ShapedArray(x_aval.shape, dtype)


@jump_p.def_rule("bounds")
def jump_bounds(x: Interval, *, dtype: np.dtype[Any]) -> Interval:
    """Return zero where x is one number, and all numbers elsewhere."""
    zero = lax.zeros_like(lax.convert_element_type(x.lower, dtype))
    if x.is_exact:
        return Interval(zero, zero)
    is_known = lax.eq(x.lower, x.upper)
    return Interval(lax.select(is_known, zero, -np.inf), lax.select(is_known, zero, np.inf))


jump_p.def_impl(lambda x, *, dtype: np.zeros(np.shape(x), dtype)[()])


def jumping(xs: Series, decision: Value, first: int = 1) -> Series:
    """Return a series whose coefficients from `first` on are all numbers where a decision is not known."""
    if typeof(xs[0]).kind != "f":
        return xs
    jump = lax.broadcast_like(jump_p.bind(decision, dtype=typeof(xs[0]).dtype), xs[0])
    return [x if k < first else plus(x, jump) for k, x in enumerate(xs)]
