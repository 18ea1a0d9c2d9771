"""The Taylor rules of the extreme elements along axes: each coefficient is a coefficient of the extreme element.

At a tie it is the average, at every order, as for tangents; the derivatives do not exist there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive, typeof
from calque_core.engine import extremes
from calque_core.extend import Shape
from calque_core.lax import div, mul, reduce_max_p, reduce_min_p, reduce_sum
from calque_jet.series import Result, Series

Value = Any


def def_extreme(primitive: Primitive) -> None:
    """Define the rule of a maximum or a minimum."""

    @primitive.def_rule("jet")
    def extreme_jet(primals: Sequence[Value], series: Sequence[Series], *, axes: Shape, **keepdims: bool) -> Result:
        (x,), (xs,) = primals, series
        out = primitive.bind(x, axes=axes, **keepdims)
        if not typeof(x).size:  # the extreme of nothing is constant
            return out, [None] * len(xs)
        is_extreme, count = extremes(x, out, axes)
        return out, [None if c is None else div(reduce_sum(mul(c, is_extreme), axes, **keepdims), count) for c in xs]


def_extreme(reduce_max_p)
def_extreme(reduce_min_p)
