"""The Taylor rules of extreme elements over named axes: averages over the elements that reach the result."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from calque_core import Primitive, typeof
from calque_core.lax import axis_index_p, convert_element_type, div, eq, mul, pmax_p, pmin_p, psum
from calque_jet.series import Result, Series

Value = Any


def def_extreme(primitive: Primitive) -> None:
    """Define the rule of a maximum or a minimum over named axes."""

    @primitive.def_rule("jet")
    def extreme_jet(primals: Sequence[Value], series: Sequence[Series], *, axes: tuple[Hashable, ...]) -> Result:
        (x,), (xs,) = primals, series
        out = primitive.bind(x, axes=axes)
        is_extreme = convert_element_type(eq(x, out), typeof(x).dtype)
        weights = div(is_extreme, psum(is_extreme, axes))
        return out, [None if c is None else psum(mul(c, weights), axes) for c in xs]


def_extreme(pmax_p)
def_extreme(pmin_p)

axis_index_p.def_hole("jet", "it has no operands")
