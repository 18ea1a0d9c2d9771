"""The Taylor rules of windowed maxima: each coefficient is read at the winner, as tangents are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive
from calque_core.lax import ge_p, le_p
from calque_jet.series import Result, Series
from calque_signal.ops.reduce_window import reduce_window_max_p, reduce_window_min_p
from calque_signal.ops.select_and_scatter import select_and_gather_add

Value = Any


def def_windowed_extreme(primitive: Primitive, select_prim: Primitive) -> None:
    """Define the rule of a windowed maximum or minimum."""

    @primitive.def_rule("jet")
    def windowed_extreme_jet(primals: Sequence[Value], series: Sequence[Series], **window: Any) -> Result:
        (x,), (xs,) = primals, series
        terms = [None if c is None else select_and_gather_add(c, x, select_prim, **window) for c in xs]
        return primitive.bind(x, **window), terms


def_windowed_extreme(reduce_window_max_p, ge_p)
def_windowed_extreme(reduce_window_min_p, le_p)
