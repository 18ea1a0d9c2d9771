"""The gamma function's logarithm with its derivatives, and Hurwitz' zeta function.

Between 1 and 2 the functions are polynomials that vanish exactly where the function does; recurrences lead there
from (0, 8), asymptotic series serve larger arguments, and reflection serves negative arguments.

They are elementwise primitives, and each is a formula in other operations (`calque_core.engine.declare_formula`).
"""

from __future__ import annotations

import math
from typing import Any

from calque_core import finfo, typeof
from calque_core.engine import declare_formula, evaluate_together, polynomial
from calque_core.extend import real_operands
from calque_core.lax import (
    RoundingMethod,
    abs,
    add,
    bitwise_and,
    bitwise_or,
    div,
    eq,
    exp,
    floor,
    full_like,
    ge,
    gt,
    log,
    lt,
    max,
    min,
    mul,
    ne,
    neg,
    pow,
    round,
    select,
    sin,
    sqrt,
    square,
    sub,
    tan,
)
from calque_special.ops.coefficients import (
    DIGAMMA,
    DIGAMMA_ROOT,
    EULER_MACLAURIN,
    HARMONIC,
    LOG_GAMMA,
    LOG_GAMMA_ABOVE,
    STIRLING,
    ZETA,
)
from calque_special.ops.gamma_regions import DIGAMMA_REGIONS, LGAMMA_REGIONS, TRIGAMMA_REGIONS

Value = Any

LARGE = 8.0  # from here on the asymptotic series have all digits
_STEPS = 6  # from below 8 to below 2

# The logarithm of the gamma function


def stirling_series(x: Value) -> Value:
    """Return the sum in 1 / x of Stirling's series, for x >= 8."""
    inverse = div(1.0, x)
    return mul(inverse, polynomial(square(inverse), STIRLING))


def _stirling(x: Value) -> Value:
    """Return log(gamma(x)) for x >= 8 (DLMF 5.11.1)."""
    half_log = math.log(2 * math.pi) / 2
    return add(add(mul(sub(x, 0.5), sub(log(x), 1.0)), half_log - 0.5), stirling_series(x))


def minus_log_gamma_after(y: Value) -> Value:
    """Return -log(gamma(1 + y)) for 0 <= y <= 1, without a rounding of 1 + y."""
    return mul(mul(y, sub(1.0, y)), polynomial(sub(add(y, y), 1.0), LOG_GAMMA))


def _lgamma_between(x: Value) -> Value:
    """Return log(gamma(x)) for 0 < x < 8: log(gamma(1 + y)) with y in [0, 1) for x < 2, else from [2, 3).

    The logarithm of the factors is added.
    """
    is_small = lt(x, 1.0)
    y = select(is_small, x, sub(min(x, 2.0), 1.0))
    # 0.0, not -0.0, for x = 1
    below = sub(select(is_small, neg(log(x)), 0.0), minus_log_gamma_after(y))
    y, factors = max(x, 2.0), select(lt(x, 2.0), x, 1.0)
    for _ in range(_STEPS):
        factors = select(ge(y, 3.0), mul(factors, sub(y, 1.0)), factors)
        y = select(ge(y, 3.0), sub(y, 1.0), y)
    distance = sub(y, 2.0)
    above = add(mul(distance, polynomial(sub(add(distance, distance), 1.0), LOG_GAMMA_ABOVE)), log(factors))
    return select(lt(x, 2.0), below, above)


def lgamma_formula(x: Value) -> Value:
    size = abs(x)
    shifted = select(lt(x, 0.0), add(size, 1.0), size)
    large = _stirling(max(shifted, LARGE))
    out = select(lt(shifted, LARGE), _lgamma_between(min(shifted, LARGE)), large)
    finite = min(out, float(finfo(typeof(x).dtype).max))  # log(0) adds to it: large numbers are whole
    mirrored = sub(math.log(math.pi), add(log(abs(_sin_of_turns(size))), finite))
    out = select(lt(x, 0.0), mirrored, out)
    return select(eq(size, math.inf), math.inf, out)


def _fraction(x: Value) -> Value:
    """Return x minus the nearest whole number."""
    return sub(x, round(x, RoundingMethod.TO_NEAREST_EVEN))


def _sin_of_turns(x: Value) -> Value:
    """Return sin(pi x) with all digits beside whole numbers, up to its sign."""
    return sin(mul(_fraction(x), math.pi))


# Its derivative


def _digamma_between(x: Value) -> Value:
    """Return digamma(x) for 0 < x < 8: digamma(1 + y) for y in [0, 1), and the sum of the reciprocals."""
    is_small = lt(x, 1.0)
    y, total = select(is_small, x, sub(x, 1.0)), select(is_small, neg(div(1.0, x)), 0.0)
    for _ in range(_STEPS):
        total = select(ge(y, 1.0), add(total, div(1.0, y)), total)
        y = select(ge(y, 1.0), sub(y, 1.0), y)
    head, remainder = DIGAMMA_ROOT
    # The second piece depends on y for XLA, which would otherwise round the sum of both before it subtracts.
    distance = sub(sub(y, head), select(lt(y, 1.0), remainder, y))
    return add(mul(distance, polynomial(sub(add(y, y), 1.0), DIGAMMA)), total)


def _digamma_large(x: Value) -> Value:
    """Return digamma(x) for x >= 8 (DLMF 5.11.2)."""
    inverse = div(1.0, x)
    series = mul(inverse, polynomial(square(inverse), HARMONIC))
    return sub(log(x), mul(inverse, add(0.5, series)))


def digamma_formula(x: Value) -> Value:
    size = abs(x)
    shifted = select(lt(x, 0.0), add(size, 1.0), x)
    out = select(lt(shifted, LARGE), _digamma_between(min(shifted, LARGE)), _digamma_large(max(shifted, LARGE)))
    fraction = _fraction(x)
    mirrored = sub(out, div(math.pi, tan(mul(fraction, math.pi))))
    return select(lt(x, 0.0), select(eq(fraction, 0.0), math.nan, mirrored), out)


# Zeta functions, by Euler-Maclaurin summation after N terms (DLMF 25.11.5 and 25.11.7)

_TERMS = 10
_STEEPEST = 1e4  # 10**-x is 0 long before; a larger order times it would be infinity times 0


def _end_of_sum(x: Value, end: Value, integral: Value, last: Value) -> Value:
    """Return what follows the first terms: their integral from `end`, and corrections in `last`, the next term."""
    order = min(x, _STEEPEST)
    total, factor = add(integral, mul(0.5, last)), div(mul(order, last), end)
    for k, c in enumerate(EULER_MACLAURIN):
        total = add(total, mul(c, factor))
        rising = mul(div(add(order, 2.0 * k + 1), end), div(add(order, 2.0 * k + 2), end))
        factor = mul(factor, rising)
    return total


def _hurwitz(x: Value, q: Value, scale: Value = None) -> Value:
    """Return the sum of ((q + k) / scale)**-x for x > 1 and q > 0."""

    def scaled(y: Value) -> Value:
        return div(y, scale) if scale is not None else y

    total = pow(scaled(q), neg(x))
    for k in range(1, _TERMS):
        total = add(total, pow(scaled(add(q, float(k))), neg(x)))
    end = add(q, float(_TERMS))
    # the integral as one power: for a large q the last term underflows first
    integral = div(div(1.0, pow(scaled(end), sub(x, 1.0))), sub(x, 1.0))
    integral = integral if scale is None else mul(integral, scale)
    return add(total, _end_of_sum(x, end, integral, pow(scaled(end), neg(x))))


def _zeta_formula(x: Value, q: Value) -> Value:
    """Return Hurwitz' function, and Riemann's for x < 1 and q = 1: by a reflection for x < -1 (DLMF 25.4.1)."""
    is_riemann = lt(x, select(eq(q, 1.0), 1.0, -math.inf))
    is_mirrored = bitwise_and(is_riemann, lt(x, -1.0))
    order = select(is_mirrored, sub(1.0, x), x)
    total = _hurwitz(order, q)
    total = select(eq(q, math.inf), 0.0, select(eq(total, math.inf), math.inf, total))
    total = select(bitwise_or(eq(x, 1.0), eq(q, 0.0)), math.inf, total)
    total = select(bitwise_or(lt(x, 1.0), lt(q, 0.0)), math.nan, total)
    near = select(bitwise_and(is_riemann, ge(x, -1.0)), x, 0.0)
    near = add(polynomial(near, ZETA), div(1.0, sub(near, 1.0)))
    out = select(is_riemann, select(is_mirrored, _mirrored_zeta(x, order, q), near), total)
    return select(bitwise_or(ne(x, x), ne(q, q)), math.nan, out)


def _mirrored_zeta(x: Value, order: Value, q: Value) -> Value:
    """Return 2 (2 pi)**-s gamma(s) sin(pi x / 2) zeta(s) with s = 1 - x, which is `order`."""
    half = mul(0.5, x)
    whole = round(half, RoundingMethod.TO_NEAREST_EVEN)
    sine = sin(mul(sub(half, whole), math.pi))
    is_odd = ne(mul(floor(mul(whole, 0.5)), 2.0), whole)
    front, root = _gamma_over_power(min(max(order, LARGE), _LONGEST), 2 * math.pi)
    small = min(order, LARGE)
    is_small = lt(order, LARGE)
    front = select(is_small, mul(gamma_of(small), exp(mul(-math.log(2 * math.pi), small))), mul(front, root))
    size = mul(mul(mul(front, _hurwitz(order, q)), mul(2.0, sine)), select(is_small, 1.0, root))
    return select(eq(sine, 0.0), 0.0, select(is_odd, neg(size), size))


_LONGEST = 1e3  # the result overflows long before


def _gamma_over_power(s: Value, q: Value) -> tuple[Value, Value]:
    """Return f and r with gamma(s) q**-s = f r**2 for s >= 8, by Stirling's series (DLMF 5.11.3)."""
    front = mul(sqrt(div(2 * math.pi, s)), exp(stirling_series(s)))
    return front, pow(mul(q, div(math.e, s)), mul(-0.5, s))


# Derivatives of digamma


def gamma_of(x: Value) -> Value:
    """Return gamma(x) for x >= 1, with 4 digits more than exp(lgamma(x)): no error of a power grows with x."""
    root, other = gamma_factors(x)
    return mul(root, other)


def gamma_factors(x: Value) -> tuple[Value, Value]:
    """Return two factors of gamma(x) for x >= 1; both are finite where gamma(x) is.

    The recurrence leads to x >= 8, and Stirling's series (DLMF 5.11.3) is a product there.
    """
    y, divisor = x, select(eq(x, x), 1.0, x)
    for _ in range(_STEPS + 1):
        divisor = select(lt(y, LARGE), mul(divisor, y), divisor)
        y = select(lt(y, LARGE), add(y, 1.0), y)
    correction = exp(stirling_series(y))
    root = mul(pow(y, mul(0.5, sub(y, 0.5))), exp(mul(-0.5, y)))
    return mul(root, math.sqrt(2 * math.pi)), div(mul(root, correction), divisor)


def _polygamma_formula(m: Value, x: Value) -> Value:
    """Return (-1)**(m + 1) m! zeta(m + 1, x) (DLMF 25.11.12), digamma for m = 0, and a reflection where x < 0."""
    order, is_negative = add(m, 1.0), lt(x, 0.0)
    is_even = eq(mul(floor(mul(m, 0.5)), 2.0), m)
    q = select(is_negative, sub(1.0, x), x)
    size = _factorial_times_zeta(order, q)
    size = select(eq(q, math.inf), 0.0, size)
    mirrored = _mirrored_polygamma(order, select(is_negative, x, -0.5), size)
    out = select(is_negative, mirrored, select(is_even, neg(size), size))
    is_order = bitwise_and(ge(m, 0.0), eq(floor(m), m))
    return select(eq(m, 0.0), digamma_formula(x), select(is_order, out, math.nan))


def _mirrored_polygamma(order: Value, x: Value, size: Value) -> Value:
    """Return the derivative for x < 0, from `size`, which is (s - 1)! zeta(s, 1 - x) for the order s.

    The terms (x + k)**-s are those of all whole k but k < 0; the sum over all k is zeta(s, f) + (-1)**s zeta(s, 1 - f)
    with the fraction f of x.  With s = m + 1 the derivative is (-1)**s (s - 1)! times the sum.
    """
    fraction = _fraction(x)
    distance = abs(fraction)
    near, far = _factorial_times_zeta(order, distance), _factorial_times_zeta(order, sub(1.0, distance))
    both = add(near, far)
    gap = select(eq(distance, 0.5), 0.0, select(eq(near, math.inf), math.inf, sub(near, far)))
    gap = select(gt(fraction, 0.0), neg(gap), gap)
    is_odd = ne(mul(floor(mul(order, 0.5)), 2.0), order)
    out = select(is_odd, gap, both)
    out = select(eq(out, math.inf), out, sub(out, size))
    pole = select(is_odd, math.nan, full_like(order, math.inf))
    return select(eq(fraction, 0.0), pole, out)


def _factorial_times_zeta(order: Value, q: Value) -> Value:
    """Return (s - 1)! zeta(s, q) for a whole order s; its factors are finite where the result is."""
    factorial: Value = 1.0
    for k in range(2, int(LARGE) - 1):
        factorial = mul(factorial, select(gt(order, float(k)), float(k), full_like(order, 1.0)))
    is_large = ge(order, LARGE)
    front, root = _gamma_over_power(max(order, LARGE), q)
    scaled = _hurwitz(order, q, select(bitwise_and(is_large, gt(abs(q), 0.0)), q, 1.0))
    return select(is_large, mul(mul(mul(front, scaled), root), root), mul(factorial, scaled))


lgamma_p = declare_formula("lgamma", lgamma_formula, regions={(): LGAMMA_REGIONS})
digamma_p = declare_formula("digamma", digamma_formula, regions={(): DIGAMMA_REGIONS})
evaluate_together(lgamma_p, digamma_p)
zeta_p = declare_formula("zeta", _zeta_formula)
polygamma_p = declare_formula("polygamma", _polygamma_formula, regions={(1.0,): TRIGAMMA_REGIONS})


def lgamma(x: Value) -> Value:
    """Return log(|gamma(x)|), elementwise: infinite for 0 and negative whole numbers.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.  Accuracy: 8 ulp for x > 0; for x < 0 the
    error is 8 ulp of the largest of 1 and the terms of the reflection formula (DLMF 5.5.3).
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import lgamma
    >>> lgamma(np.array([0.5, 1.0, 11.0]))
    array([ 0.57236494,  0.        , 15.10441257])
    """
    return lgamma_p.bind(*real_operands("lgamma", x))


def digamma(x: Value) -> Value:
    """Return the derivative of lgamma(x), elementwise: NaN for negative whole numbers, -inf for 0.0, inf for -0.0.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.  Accuracy: 8 ulp for x > 0; for x < 0 the
    error is 8 ulp of the larger term of the reflection formula (DLMF 5.5.4).
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import digamma
    >>> digamma(np.array([0.5, 1.0, 100.0]))
    array([-1.96351003, -0.57721566,  4.60016185])
    """
    return digamma_p.bind(*real_operands("digamma", x))


def zeta(x: Value, q: Value) -> Value:
    """Return the sum of (q + k)**-x over k = 0, 1, ..., elementwise: infinite for x = 1 or q = 0.

    NaN where q < 0, and where x < 1 unless q = 1: Riemann's function has all arguments.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.  Accuracy: 8 + x
    ulp, where q**-x is a normal number.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import zeta
    >>> zeta(2.0, np.array([1.0, 2.0]))
    array([1.64493407, 0.64493407])
    """
    return zeta_p.bind(*real_operands("zeta", x, q))


def polygamma(m: Value, x: Value) -> Value:
    """Return the derivative of order m of digamma(x), elementwise; m = 0 is digamma itself.

    NaN where m is negative or not whole.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.  Accuracy: 16 + m
    ulp, where x**-m and m! are normal numbers.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import polygamma
    >>> polygamma(np.array([0.0, 1.0, 2.0]), 1.0)
    array([-0.57721566,  1.64493407, -2.40411381])
    """
    return polygamma_p.bind(*real_operands("polygamma", m, x))
