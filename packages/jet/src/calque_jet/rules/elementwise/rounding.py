"""The Taylor rule of neighbours among the floats: a neighbour moves as its first operand does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import nextafter, nextafter_p
from calque_jet.series import Result, Series, spread_each

Value = Any


@nextafter_p.def_rule("jet")
def nextafter_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    out = nextafter(*primals)
    return out, spread_each(series[0], out)
