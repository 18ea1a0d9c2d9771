"""How far a ratio is from 1, t - log(1 + t), and its exponential: densities are made of it, without cancellation.

Read next: `incomplete.py` and `incomplete_beta.py`, whose densities these are.
"""

from __future__ import annotations

from typing import Any

from calque_core.engine import polynomial
from calque_core.lax import abs, add, bitwise_and, div, exp, log, lt, mul, neg, pow, select, square, sub

Value = Any


def deviance(t: Value, ratio: Value) -> Value:
    """Return t - log(1 + t), where 1 + t is `ratio`, without cancellation near 0.

    With v = t / (2 + t), log(1 + t) is 2 atanh(v), and t - 2 v is t v.
    Source: Loader (2000), Fast and accurate computation of binomial probabilities, section 3.
    """
    near = select(lt(abs(t), 0.4), t, 0.0)
    v = div(near, add(2.0, near))
    series = polynomial(square(v), [1 / (2 * k + 3) for k in range(15)])
    close = sub(mul(near, v), mul(mul(2.0, mul(square(v), v)), series))
    return select(lt(abs(t), 0.4), close, sub(t, log(ratio)))


def damping(a: Value, t: Value, ratio: Value) -> Value:
    """Return exp(-a deviance(t, ratio)): far below zero and for moderate `a` as a power.

    A logarithm as an exponent would lose as many digits as it has before the point.
    """
    is_power = bitwise_and(lt(t, -0.4), lt(a, 64.0))
    base = mul(select(is_power, ratio, 1.0), exp(select(is_power, neg(t), 0.0)))
    return select(is_power, pow(base, select(is_power, a, 0.0)), exp(neg(mul(a, deviance(t, ratio)))))
