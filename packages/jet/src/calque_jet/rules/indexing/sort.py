"""The Taylor rule of sorting: coefficients are moved like their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import positions, sort_by
from calque_core.lax import sort_p
from calque_jet.jaxprs import masks_of, nonzeros, with_zeros
from calque_jet.series import Series

Value = Any


@sort_p.def_rule("jet")
def sort_jet(
    primals: Sequence[Value], series: Sequence[Series], *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[list[Value], list[Series]]:
    """Carry positions along to learn the order, then move the coefficients of all operands at once."""
    here = positions(primals[0], dimension)
    *outs, order = sort_p.bind(*primals, here, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    (rank,) = sort_by([order], [here], dimension)
    return outs, with_zeros(sort_by([rank], nonzeros(series), dimension), masks_of(series))
