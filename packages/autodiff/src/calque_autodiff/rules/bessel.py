"""The derivatives of the scaled Bessel functions (DLMF 10.29.3): I_0' = I_1 and I_1' = I_0 - I_1 / x."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defjvp, not_linear
from calque_core.lax import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p, div, eq, mul, select, sign, sub

Value = Any


def bessel_i1e_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """I_1(x) / x is 1/2 at 0."""
    quotient = select(eq(x, 0.0), 0.5, div(out, select(eq(x, 0.0), 1.0, x)))
    return mul(x_dot, sub(sub(bessel_i0e(x), quotient), mul(sign(x), out)))


defjvp(bessel_i0e_p, lambda x_dot, out, x: mul(x_dot, sub(bessel_i1e(x), mul(sign(x), out))))
defjvp(bessel_i1e_p, bessel_i1e_jvp)
not_linear(bessel_i0e_p, bessel_i1e_p)
