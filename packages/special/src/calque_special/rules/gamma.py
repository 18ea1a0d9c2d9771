"""The derivatives of the gamma function's logarithm and of its own derivatives.

The order of a derivative, or of a sum of powers, has no derivative here.
"""

from __future__ import annotations

from typing import Any, NoReturn

from calque_core import Primitive
from calque_core.extend import defbroadcasting, defjvp, defvectorized, not_linear, where
from calque_core.lax import add, mul, neg
from calque_special.ops.gamma import digamma, digamma_p, lgamma_p, polygamma, polygamma_p, zeta, zeta_p

Value = Any


def underivable(primitive: Primitive, operand: str) -> Any:
    """Return a rule for an operand whose derivative has no formula: it raises NotImplementedError."""

    def refuse(x_dot: Value, out: Value, *primals: Value) -> NoReturn:
        raise NotImplementedError(
            f"{primitive.name}{where()}: no derivative with respect to {operand} is implemented. "
            "Keep it constant: stop_gradient."
        )

    return refuse


defjvp(lgamma_p, lambda x_dot, out, x: mul(x_dot, digamma(x)))
defjvp(digamma_p, lambda x_dot, out, x: mul(x_dot, polygamma(1.0, x)))
defjvp(
    zeta_p,
    underivable(zeta_p, "the exponent x"),
    lambda q_dot, out, x, q: mul(q_dot, mul(neg(x), zeta(add(x, 1.0), q))),
)
defjvp(
    polygamma_p,
    underivable(polygamma_p, "the order m"),
    lambda x_dot, out, m, x: mul(x_dot, polygamma(add(m, 1.0), x)),
)
not_linear(lgamma_p, digamma_p, zeta_p, polygamma_p)

# The batch axis is one more axis.
defvectorized(lgamma_p, digamma_p)
defbroadcasting(zeta_p, polygamma_p)
