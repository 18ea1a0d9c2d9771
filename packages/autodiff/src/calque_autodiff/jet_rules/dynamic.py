"""Taylor rules of reading and replacing a slice: linear in all but the position, which has no series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_autodiff.jet_series import Coefficient, Series
from calque_autodiff.jet_trace import instantiated
from calque_core.lax import dynamic_index_p, dynamic_update_index_p
from calque_core.primitive import Primitive

Value = Any


def linear_but_last(primitive: Primitive) -> Callable[..., tuple[Value, Series]]:
    """Return the rule of a primitive that is linear in all its operands together but the last, an index."""

    def jet(primals: Sequence[Value], series: Sequence[Series]) -> tuple[Value, Series]:
        def at(coefficients: Sequence[Coefficient]) -> Coefficient:
            if all(c is None for c in coefficients):
                return None
            return primitive.bind(*map(instantiated, primals[:-1], coefficients), primals[-1])

        return primitive.bind(*primals), [at(coefficients) for coefficients in zip(*series[:-1])]

    return jet


for _primitive in (dynamic_index_p, dynamic_update_index_p):
    _primitive.def_rule("jet", linear_but_last(_primitive))
