"""The Taylor rules of `remat`, `name` and `optimization_barrier`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.jet_jaxpr import given, masks_of, with_zeros
from calque_autodiff.jet_rules.call import def_call
from calque_autodiff.jet_rules.elementwise import Result
from calque_autodiff.jet_series import Series
from calque_core.lax import name_p, optimization_barrier_p, remat_p

Value = Any

def_call(remat_p)


@name_p.def_rule("jet")
def name_jet(primals: Sequence[Value], series: Sequence[Series], *, name: str) -> Result:
    """Name the value, not its coefficients."""
    return name_p.bind(*primals, name=name), series[0]


@optimization_barrier_p.def_rule("jet")
def optimization_barrier_jet(primals: Sequence[Value], series: Sequence[Series]) -> tuple[list[Value], list[Series]]:
    """Let the coefficients that are not zero pass a barrier of their own."""
    return optimization_barrier_p.bind(*primals), with_zeros(
        optimization_barrier_p.bind(*given(series)), masks_of(series)
    )
