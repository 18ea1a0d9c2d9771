"""Formulas with derivatives of their own, by a rule for each operand.

One idea: a formula is a primitive, whose decomposition serves every transformation; where its derivative would be
unstable, the derivative is a rule, stored in core's table, so that this package needs none that differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce, wraps
from typing import Any

from calque_core import Primitive, Zero, lax
from calque_core.engine import declare_formula, strong
from calque_core.extend import where as place

Value = Any
Formula = Callable[..., Value]

_NONE: Mapping[tuple[float, ...], Any] = {}


def declare(name: str, formula: Formula, *slopes: Formula | str, kinds: str = "f", regions: Any = _NONE) -> Primitive:
    """Return a new primitive that is `formula` of its operands, with the derivative `slope(out, *primals)` in each.

    `kinds` and `regions` are those of `declare_formula`.

    A text in the place of a slope names an operand whose derivative has no formula; a derivative in it is refused.
    Formula and slopes are written with operators: no operand is a Python scalar, which divides otherwise.
    """
    primitive = declare_formula(name, wraps(formula)(lambda *args: formula(*map(strong, args))), kinds, None, regions)

    def jvp(primals: Value, tangents: Value) -> tuple[Value, Value]:
        primals = [strong(x) for x in primals]
        out, terms = primitive.bind(*primals), []
        for x_dot, slope in zip(tangents, slopes, strict=True):
            if type(x_dot) is not Zero:
                factor = _refuse(name, slope) if isinstance(slope, str) else slope(out, *primals)
                terms.append(lax.mul(x_dot, factor))
        return out, reduce(lax.add, terms)

    primitive.def_rule("jvp", jvp)
    return primitive


def _refuse(name: str, operand: str) -> Value:
    raise NotImplementedError(
        f"{name}{place()}: no derivative with respect to {operand} is implemented. Keep it constant: stop_gradient."
    )
