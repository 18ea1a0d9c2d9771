"""The Taylor rule of reading windows at positions that are values: linear, but for the fill value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import gather, gather_p
from calque_jet.series import Result, Series

Value = Any


@gather_p.def_rule("jet")
def gather_jet(primals: Sequence[Value], series: Sequence[Series], *, fill_value: Any, **params: Any) -> Result:
    """Read the coefficients at the same positions; values outside of the array are constants."""
    (x, indices), (xs, _) = primals, series
    out = gather(x, indices, fill_value=fill_value, **params)
    return out, [None if c is None else gather(c, indices, fill_value=0, **params) for c in xs]
