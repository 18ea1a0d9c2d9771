"""The Taylor rule of choosing the greatest elements: coefficients are read where their elements were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import elements_at
from calque_core.lax import top_k, top_k_p
from calque_jet.series import Series

Value = Any


@top_k_p.def_rule("jet")
def top_k_jet(
    primals: Sequence[Value], series: Sequence[Series], *, k: int, axis: int
) -> tuple[list[Value], list[Series]]:
    """Read the coefficients at the positions of the chosen elements; the positions are constants."""
    values, indices = top_k(primals[0], k, axis=axis)
    (xs,) = series
    return [values, indices], [[None if c is None else elements_at(c, indices, axis) for c in xs], [None] * len(xs)]
