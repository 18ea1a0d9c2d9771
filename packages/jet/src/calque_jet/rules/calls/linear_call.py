"""The Taylor rules of `linear_call` and `linear_transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr
from calque_core.lax import linear_call_p, linear_transpose_p
from calque_jet.jaxprs import run_jet
from calque_jet.series import Coefficient, Series, instantiate

Value = Any


@linear_call_p.def_rule("jet")
def linear_call_jet(
    primals: Sequence[Value], series: Sequence[Series], *, callee: Jaxpr, num_res: int, **params: Any
) -> tuple[list[Value], list[Series]]:
    """Call the function for each coefficient; if a residual has a series, expand its program."""
    if any(c is not None for s in series[:num_res] for c in s):
        return run_jet(callee, primals, series)
    params |= {"callee": callee, "num_res": num_res}
    res, linear = primals[:num_res], primals[num_res:]
    outs = linear_call_p.bind(*primals, **params)

    def at(coefficients: Sequence[Coefficient]) -> Sequence[Coefficient]:
        if all(c is None for c in coefficients):
            return [None] * len(outs)
        called: list[Value] = linear_call_p.bind(*res, *map(instantiate, linear, coefficients), **params)
        return called

    return outs, [list(s) for s in zip(*map(at, zip(*series[num_res:])))]


linear_transpose_p.def_hole("jet", "its transposed program is expanded instead")
