"""The incomplete beta function: a density of deviances, as in `incomplete.py`, times a continued fraction.

It is an elementwise primitive, and a formula in other operations (`calque_core.engine.declare_formula`).
"""

from __future__ import annotations

import math
from typing import Any

from calque_core.engine import declare_formula
from calque_core.extend import broadcast_operands, real_operands
from calque_core.lax import (
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    ceil,
    div,
    eq,
    exp,
    floor,
    full_like,
    ge,
    le,
    log,
    lt,
    max,
    min,
    mul,
    neg,
    select,
    sqrt,
    sub,
)
from calque_special.ops.deviances import damping
from calque_special.ops.gamma import LARGE, lgamma_formula, stirling_series
from calque_special.ops.sums import summed

Value = Any
Values = tuple[Value, ...]


def _stirling_error(z: Value) -> Value:
    """Return log(gamma(z)) minus (z - 1/2) log(z) - z + log(2 pi) / 2, for z > 0."""
    small = min(z, LARGE)
    leading = add(sub(mul(sub(small, 0.5), log(small)), small), math.log(2 * math.pi) / 2)
    return select(lt(z, LARGE), sub(lgamma_formula(small), leading), stirling_series(max(z, LARGE)))


def _beta_density(a: Value, b: Value, x: Value, y: Value) -> Value:
    """Return x**a y**b / beta(a, b) for x + y = 1, from the deviances of x and y from a and b over a + b."""
    total, excess = add(a, b), sub(mul(b, x), mul(a, y))
    of_x = damping(a, div(excess, a), mul(x, div(total, a)))
    of_y = damping(b, neg(div(excess, b)), mul(y, div(total, b)))
    errors = sub(_stirling_error(total), add(_stirling_error(a), _stirling_error(b)))
    return mul(sqrt(mul(div(a, total), div(b, 2 * math.pi))), mul(mul(of_x, exp(errors)), of_y))


def _beta_fraction(a: Value, b: Value, x: Value) -> Value:
    """Return the continued fraction of DLMF 8.17.22 by Steed's method, two convergents a step."""

    def convergent(numerator: Value, d: Value, term: Value) -> tuple[Value, Value]:
        d_next = div(1.0, add(1.0, mul(numerator, d)))
        return d_next, neg(mul(mul(mul(numerator, d), d_next), term))

    def step(n: Value, values: Values) -> Values:
        d, term, total = values
        m, twice = sub(n, 1.0), add(a, mul(2.0, sub(n, 1.0)))
        odd = neg(mul(div(add(a, m), twice), mul(div(add(add(a, b), m), add(twice, 1.0)), x)))
        d, first = convergent(odd, d, term)
        even = mul(div(n, add(twice, 1.0)), mul(div(sub(b, n), add(twice, 2.0)), x))
        d, second = convergent(even, d, first)
        return d, second, add(total, add(first, second))

    one = full_like(x, 1.0)
    return summed(step, (one, one, one))[-1]


def _betainc_formula(a: Value, b: Value, x: Value) -> Value:
    a, b, x = broadcast_operands("betainc", (a, b, x))
    # all mass is at 0 or at 1; nowhere for two zeros and two infinities
    is_at_zero, is_at_one = (bitwise_or(eq(p, 0.0), eq(q, math.inf)) for p, q in ((a, b), (b, a)))
    is_valid = bitwise_and(bitwise_and(ge(a, 0.0), ge(b, 0.0)), bitwise_and(ge(x, 0.0), le(x, 1.0)))
    is_valid = bitwise_and(is_valid, bitwise_not(bitwise_and(is_at_zero, is_at_one)))
    is_step = bitwise_or(bitwise_or(is_at_zero, is_at_one), bitwise_or(eq(x, 0.0), eq(x, 1.0)))
    is_inner = bitwise_and(is_valid, bitwise_not(is_step))
    p, q, z = select(is_inner, a, 1.0), select(is_inner, b, 1.0), select(is_inner, x, 0.25)
    is_lower = lt(z, div(add(p, 1.0), add(add(p, q), 2.0)))
    density = _beta_density(p, q, z, sub(1.0, z))
    first, second = select(is_lower, p, q), select(is_lower, q, p)
    tail = div(mul(density, _beta_fraction(first, second, select(is_lower, z, sub(1.0, z)))), first)
    step = select(is_at_one, floor(x), ceil(x))
    out = select(is_inner, select(is_lower, tail, sub(1.0, tail)), step)
    return select(is_valid, out, math.nan)


regularized_incomplete_beta_p = declare_formula("regularized_incomplete_beta", _betainc_formula)


def betainc(a: Value, b: Value, x: Value) -> Value:
    """Return the regularized incomplete beta function I_x(a, b), elementwise.

    For a = 0 or b = inf it is 1 where x > 0, for b = 0 or a = inf 0 where x < 1; NaN where a < 0, b < 0, a = b = 0,
    a = b = inf or x is outside [0, 1].
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Accuracy: 512 ulp, times the exponent 1 - log(I), for a and b up to 1e5.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import betainc
    >>> betainc(2.0, 2.0, np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """
    return regularized_incomplete_beta_p.bind(*real_operands("betainc", a, b, x))
