"""The derivatives of the scaled Bessel functions (DLMF 10.29.3): I_0' = I_1 and I_1' = I_0 - I_1 / x."""

from __future__ import annotations

from math import factorial
from typing import Any

from calque_core.extend import defjvp, defvectorized, not_linear
from calque_core.lax import abs, add, div, exp, lt, mul, neg, select, sign, sub, zeros_like
from calque_special.ops.bessel import bessel_decay, bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p

Value = Any


_FAR = 2.0  # from here on exp(-|x|) (I_0 - |I_1|) has a formula of its own, since its terms cancel


def bessel_i0e_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    near = sub(bessel_i1e(x), mul(sign(x), out))
    far = neg(mul(sign(x), bessel_decay(abs(x))))
    return mul(x_dot, select(lt(abs(x), _FAR), near, far))


def bessel_i1e_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    near = sub(bessel_i0e(x), mul(sign(x), out))
    difference = select(lt(abs(x), _FAR), near, bessel_decay(abs(x)))
    return mul(x_dot, sub(difference, _quotient(out, x)))


def _quotient(out: Value, x: Value) -> Value:
    """Return bessel_i1e(x) / x; near 0 by its power series, so that all derivatives are right (DLMF 10.25.2)."""
    is_near = lt(abs(x), 0.25)
    far, near = select(is_near, 1.0, x), select(is_near, x, 0.0)
    square, series = mul(near, near), zeros_like(x)
    for k in range(6, -1, -1):  # the next term is below 1e-20
        series = add(mul(series, square), 0.5 / (4**k * factorial(k) * factorial(k + 1)))
    return select(is_near, mul(series, exp(neg(mul(sign(near), near)))), div(out, far))


defjvp(bessel_i0e_p, bessel_i0e_jvp)
defjvp(bessel_i1e_p, bessel_i1e_jvp)
not_linear(bessel_i0e_p, bessel_i1e_p)

# The batch axis is one more axis.
defvectorized(bessel_i0e_p, bessel_i1e_p)
