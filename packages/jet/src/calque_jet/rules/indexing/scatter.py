"""The Taylor rules of combining an array with updates at positions that are values.

A product is made of operations that have rules of their own.  Of an extreme, each coefficient is a coefficient of the
extreme element; equal elements have its average, as for tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive, current_trace, tracing, typeof
from calque_core.engine import extreme_shares, product_of_others, read_windows
from calque_core.lax import mul, scatter, scatter_add, scatter_max_p, scatter_min_p, scatter_mul_p, zeros_like
from calque_jet.jet_trace import JetTrace
from calque_jet.series import Coefficient, Result, Series

Value = Any


@scatter_mul_p.def_rule("jet")
def scatter_mul_jet(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> Result:
    """Expand the product with the updates."""
    trace = JetTrace(current_trace(), len(series[0]))
    with tracing(trace):
        x, indices, updates = (trace.value(x, s) for x, s in zip(primals, series))
        _, (out_series,) = trace.split([product_with_updates(x, indices, updates, params)])
    return scatter_mul_p.bind(*primals, **params), out_series


def product_with_updates(x: Value, indices: Value, updates: Value, params: dict[str, Any]) -> Value:
    """Return `scatter_mul` of these operands by operations that have derivatives of any order."""
    factors = mul(updates, product_of_others(x, indices, updates, params))
    return scatter(x, indices, mul(read_windows(x, indices, typeof(updates).shape, params), factors), **params)


def def_extreme(primitive: Primitive) -> None:
    """Define the rule of a minimum or maximum with updates."""

    @primitive.def_rule("jet")
    def extreme_jet(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> Result:
        out, (xs, _, us) = primitive.bind(*primals, **params), series
        x_share, u_share = extreme_shares(primals, out, params)

        def combined(x: Coefficient, u: Coefficient) -> Coefficient:
            x_part = zeros_like(out) if x is None else mul(x, x_share)
            return x_part if u is None else scatter_add(x_part, primals[1], mul(u, u_share), **params)

        return out, [None if x is u is None else combined(x, u) for x, u in zip(xs, us)]


def_extreme(scatter_min_p)
def_extreme(scatter_max_p)
