"""The Taylor rules of `remat`, `name`, `optimization_barrier` and `dce_sink`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import dce_sink_p, name_p, optimization_barrier_p, remat_p
from calque_jet.jaxprs import masks_of, nonzeros, with_zeros
from calque_jet.rules.calls.jit import def_call
from calque_jet.series import Result, Series

Value = Any

def_call(remat_p)


@name_p.def_rule("jet")
def name_jet(primals: Sequence[Value], series: Sequence[Series], *, name: str) -> Result:
    """Name the value, not its coefficients."""
    return name_p.bind(*primals, name=name), series[0]


@optimization_barrier_p.def_rule("jet")
def optimization_barrier_jet(primals: Sequence[Value], series: Sequence[Series]) -> tuple[list[Value], list[Series]]:
    """Pass the nonzero coefficients through a barrier of their own."""
    return optimization_barrier_p.bind(*primals), with_zeros(
        optimization_barrier_p.bind(*nonzeros(series)), masks_of(series)
    )


@dce_sink_p.def_rule("jet")
def dce_sink_jet(primals: Sequence[Value], series: Sequence[Series]) -> tuple[list[Value], list[Series]]:
    """Keep the values; nothing uses the coefficients."""
    return dce_sink_p.bind(*primals), []
