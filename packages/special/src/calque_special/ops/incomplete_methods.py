"""The methods of the incomplete gamma functions: power series, continued fraction, Temme's expansion, with derivatives.

One idea: each holds in a region of its own, of the order `a` and the limit `x`, and has a derivative in `a` beside it.

Read next: `incomplete.py`, which chooses among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from calque_core.engine import polynomial
from calque_core.lax import (
    add,
    div,
    eq,
    exp,
    full_like,
    lt,
    max,
    min,
    mul,
    neg,
    pow,
    select,
    sqrt,
    square,
    sub,
)
from calque_special.ops.coefficients import TEMME
from calque_special.ops.deviances import damping, deviance
from calque_special.ops.gamma import LARGE, gamma_of, stirling_series
from calque_special.ops.sums import summed

Value = Any
Values = tuple[Value, ...]


def front_density(a: Value, x: Value) -> Value:
    """Return x**a exp(-x) / gamma(a + 1)."""
    small, near = min(a, LARGE), min(x, _UNDERFLOW)
    half = exp(mul(-0.5, near))
    direct = div(mul(mul(pow(near, small), half), half), gamma_of(add(small, 1.0)))
    large = max(a, LARGE)
    peak = div(exp(neg(stirling_series(large))), sqrt(mul(2 * math.pi, large)))
    return select(lt(a, LARGE), direct, mul(damping(large, div(sub(x, large), large), div(x, large)), peak))


_UNDERFLOW = 1000.0  # exp(-x) is 0 long before, and x**8 does not overflow


def gamma_series(a: Value, x: Value) -> Value:
    """Return the sum of x**n / ((a + 1) ... (a + n)) (DLMF 8.7.1)."""

    def step(n: Value, values: Values) -> Values:
        term, total = values
        term = mul(term, div(x, add(a, n)))
        return term, add(total, term)

    one = full_like(x, 1.0)
    return summed(step, (one, one))[-1]


def gamma_series_slope(a: Value, x: Value) -> tuple[Value, Value]:
    """Return the sum of `gamma_series` without its first term 1, and its derivative in a."""

    def step(n: Value, values: Values) -> Values:
        term, term_dot, total, total_dot = values
        divisor = add(a, n)
        factor = div(x, divisor)
        term_dot = mul(factor, sub(term_dot, div(term, divisor)))
        term = mul(term, factor)
        return term, term_dot, add(total, term), add(total_dot, term_dot)

    one, zero = full_like(x, 1.0), full_like(x, 0.0)
    *_, tail, tail_dot = summed(step, (one, zero, zero, zero), count=2)
    return tail, tail_dot


def gamma_fraction(a: Value, x: Value) -> Value:
    """Return F in Q = F x**a exp(-x) / gamma(a) (DLMF 8.9.2), for x > a.

    Source: Steed's method, a sum of the differences of convergents: Barnett, Feng, Steed & Goldfarb (1974), Coulomb
    wave functions for all real eta and rho, Computer Physics Communications 8.
    """
    b = sub(add(x, 1.0), a)

    def step(n: Value, values: Values) -> Values:
        d, term, total = values
        numerator = mul(mul(n, sub(a, n)), d)
        d_next = div(1.0, add(add(b, add(n, n)), numerator))
        term = mul(neg(mul(numerator, d_next)), term)
        return d_next, term, add(total, term)

    d = div(1.0, b)
    return summed(step, (d, d, d))[-1]


def gamma_fraction_slope(a: Value, x: Value) -> tuple[Value, Value]:
    """Return F of `gamma_fraction` and its derivative in a."""
    b = sub(add(x, 1.0), a)

    def step(n: Value, values: Values) -> Values:
        d, d_dot, term, term_dot, total, total_dot = values
        numerator, denominator = mul(n, sub(a, n)), add(b, add(n, n))
        product_dot = add(mul(n, d), mul(numerator, d_dot))
        d_next = div(1.0, add(denominator, mul(numerator, d)))
        d_next_dot = mul(square(d_next), sub(1.0, product_dot))
        factor = neg(mul(mul(numerator, d), d_next))
        factor_dot = neg(add(mul(product_dot, d_next), mul(mul(numerator, d), d_next_dot)))
        term_dot = add(mul(factor, term_dot), mul(factor_dot, term))
        term = mul(factor, term)
        return d_next, d_next_dot, term, term_dot, add(total, term), add(total_dot, term_dot)

    d = div(1.0, b)
    *_, total, total_dot = summed(step, (d, square(d), d, square(d), d, square(d)), count=2)
    return total, total_dot


_COLUMNS = 18
_ROWS = [TEMME[k : k + _COLUMNS] for k in range(0, len(TEMME), _COLUMNS)]
UNIFORM = 200.0  # the order from which seven terms of Temme's expansion have all digits


def temme(a: Value, x: Value) -> tuple[Value, Value, list[Value]]:
    """Return eta, exp(-a eta**2 / 2) / sqrt(2 pi a), and the coefficients c_k(eta) of a sum over a**-k.

    Source: DLMF 8.12.3 to 8.12.8; mu = x / a - 1 and eta**2 / 2 = mu - log(1 + mu).
    """
    mu = div(sub(x, a), a)
    half_square = deviance(mu, div(x, a))
    size = sqrt(mul(2.0, half_square))
    eta = select(lt(mu, 0.0), neg(size), size)
    front = div(exp(neg(mul(a, half_square))), sqrt(mul(2 * math.pi, a)))
    return eta, front, [polynomial(eta, row) for row in _ROWS]


def temme_slope(a: Value, mu: Value, eta: Value, terms: Sequence[Value]) -> Value:
    """Return the derivative of the sum over c_k(eta) a**-k in a."""
    slopes = [polynomial(eta, [n * c for n, c in enumerate(row)][1:]) for row in _ROWS]
    eta_dot = neg(div(mu_over_eta(mu, eta), a))
    inverse = div(1.0, a)
    by_order = neg(mul(square(inverse), power_sum(inverse, [mul(float(k), t) for k, t in enumerate(terms) if k])))
    return add(mul(eta_dot, power_sum(inverse, slopes)), by_order)


def mu_over_eta(mu: Value, eta: Value) -> Value:
    return div(select(eq(eta, 0.0), 1.0, mu), select(eq(eta, 0.0), 1.0, eta))


def power_sum(x: Value, terms: Sequence[Value]) -> Value:
    """Return the sum of terms[k] x**k by Horner's rule."""
    total = terms[-1]
    for term in terms[-2::-1]:
        total = add(mul(total, x), term)
    return total
