"""Taylor rules that follow from what a primitive is: linear, bilinear, constant.

The short forms of `define.py` give these rules beside the derivative rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_autodiff.jet_series import Coefficient, Series, coefficient
from calque_autodiff.jet_trace import instantiated, jet_through_jvp
from calque_core.primitive import Primitive
from calque_core.rule_results import gives_lists

Value = Any
Rule = Callable[..., Any]


def linear_jet(primitive: Primitive) -> Rule:
    """Return the rule of a primitive that is linear in all its operands together: it is applied to each coefficient."""

    @gives_lists
    def jet_rule(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> tuple[list[Value], list[Series]]:
        def at(coefficients: Sequence[Coefficient]) -> Coefficient:
            if all(c is None for c in coefficients):
                return None
            return primitive.bind(*map(instantiated, primals, coefficients), **params)

        return [primitive.bind(*primals, **params)], [[at(coefficients) for coefficients in zip(*series)]]

    return jet_rule


def bilinear_jet(primitive: Primitive) -> Rule:
    """Return the rule of a primitive that is linear in each of its two operands: a convolution."""

    @gives_lists
    def jet_rule(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> tuple[list[Value], list[Series]]:
        xs, ys = ([x, *s] for x, s in zip(primals, series))

        def multiply(x: Value, y: Value) -> Value:
            return primitive.bind(x, y, **params)

        return [multiply(*primals)], [[coefficient(xs, ys, k, multiply) for k in range(1, len(xs))]]

    return jet_rule


def constant_jet(primitive: Primitive) -> Rule:
    """Return the rule of a primitive whose derivative is zero."""

    def jet_rule(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> tuple[list[Value], list[Series]]:
        out = primitive.bind(*primals, **params)
        outs = out if primitive.multiple_results else [out]
        return outs, [[None] * len(series[0]) for _ in outs]

    return jet_rule if primitive.multiple_results else gives_lists(jet_rule)


def through_jvp(primitive: Primitive) -> Rule:
    """Return the rule that runs the derivative rule, which is of polynomial cost if it binds the primitive once."""

    @gives_lists
    def jet_rule(primals: Sequence[Value], series: Sequence[Series], **params: Any) -> tuple[list[Value], list[Series]]:
        return jet_through_jvp(primitive, primals, series, params)

    return jet_rule
