"""Taylor rules that follow from the declaration of a primitive as linear, bilinear or constant.

One idea: a linear operation is applied to each coefficient, a bilinear one is a convolution, and the result of a
constant one has no coefficients.  Any author of a primitive may declare it (`Primitive.linearity`).

Read next: `jet_trace.py`, which applies these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, typeof
from calque_core.engine import results_of
from calque_core.extend import is_float
from calque_jet.series import Coefficient, Series, coefficient, instantiate

Value = Any
Params = dict[str, Any]
Results = tuple[list[Value], list[Series]]


def linear(primitive: Primitive, primals: Sequence[Value], series: Sequence[Series], params: Params) -> Results:
    """Apply the primitive to each coefficient."""
    outs = results_of(primitive, primals, params)

    def term(coefficients: Sequence[Coefficient]) -> Sequence[Coefficient]:
        if all(c is None for c in coefficients):
            return [None] * len(outs)
        return results_of(primitive, map(direction, primals, coefficients), params)

    return outs, [list(out_series) for out_series in zip(*map(term, zip(*series)))]


def direction(primal: Value, c: Coefficient) -> Value:
    """Return a coefficient, zeros for None; an operand without derivative, such as a position, is unchanged."""
    is_parameter = c is None and not is_float(typeof(primal).dtype)
    return primal if is_parameter else instantiate(primal, c)


def bilinear(primitive: Primitive, primals: Sequence[Value], series: Sequence[Series], params: Params) -> Results:
    """Multiply two series."""
    xs, ys = ([x, *s] for x, s in zip(primals, series))

    def multiply(x: Value, y: Value) -> Value:
        return primitive.bind(x, y, **params)

    return [multiply(*primals)], [[coefficient(xs, ys, k, multiply) for k in range(1, len(xs))]]


def constant(primitive: Primitive, primals: Sequence[Value], series: Sequence[Series], params: Params) -> Results:
    """Return results without coefficients."""
    outs = results_of(primitive, primals, params)
    return outs, [[None] * len(series[0]) for _ in outs]


derived_rules: dict[str, Callable[..., Results]] = {"linear": linear, "bilinear": bilinear, "constant": constant}
