"""Spherical harmonics.

One idea: the associated Legendre functions with the norm of the harmonics obey a recurrence whose factors stay near 1,
so that no factorial overflows.
Source: Holmes & Featherstone (2002), A unified approach to the Clenshaw summation, Journal of Geodesy 76, section 2.

Read next: `slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

from calque_core import lax
from calque_core.extend import where as place
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.slopes import declare

Value = Any

_FIRST = math.sqrt(0.25 / math.pi)


def _legendre_formula(n: Value, m: Value, theta: Value) -> Value:
    """Return Y_n^m(theta, 0) by the recurrence in n from n = |m| (DLMF 14.10.3 with 14.30.1); 0 for |m| > n."""
    order, cosine, sine = abs(m), lax.cos(theta), abs(lax.sin(theta))
    zero = lax.full_like(theta, 0.0)

    def is_open(carry: Value) -> Value:
        return carry[0] <= carry[1]

    def step(carry: Value) -> Value:
        k, last, before, now, at_n = carry
        square = k * k - order * order
        is_diagonal = k <= order
        diagonal = -lax.sqrt((2.0 * k + 1.0) / (2.0 * k)) * sine * now
        scale = lax.sqrt((4.0 * k * k - 1.0) / lax.select(is_diagonal, 1.0, square))
        previous = lax.max((k - 1.0) * (k - 1.0) - order * order, 0.0)
        factor = lax.sqrt(previous / lax.max(4.0 * (k - 1.0) * (k - 1.0) - 1.0, 1.0))
        following = lax.select(is_diagonal, diagonal, scale * (cosine * now - factor * before))
        at_n = lax.select(k == n, following, at_n)
        return k + 1.0, last, now, following, at_n

    first = lax.full_like(theta, _FIRST)
    last = lax.reduce_max(n)
    carry = (lax.full_like(last, 1.0), last, zero, first, lax.select(n == 0.0, first, zero))
    out = lax.while_loop(is_open, step, carry)[-1]
    is_odd = lax.floor(0.5 * order) * 2.0 != order
    out = lax.select((m < 0.0) & is_odd, -out, out)
    return lax.select(order > n, 0.0, lax.select(n < 0.0, math.nan, out))


def _legendre_slope(out: Value, n: Value, m: Value, theta: Value) -> Value:
    """Return the derivative in theta from the orders below and above, which has no pole (DLMF 14.10.5, twice)."""
    below = lax.sqrt(lax.max((n + m) * (n - m + 1.0), 0.0)) * legendre_p.bind(n, m - 1.0, theta)
    above = lax.sqrt(lax.max((n - m) * (n + m + 1.0), 0.0)) * legendre_p.bind(n, m + 1.0, theta)
    return 0.5 * lax.select(lax.sin(theta) < 0.0, below - above, above - below)


legendre_p = declare("legendre", _legendre_formula, "the degree n", "the order m", _legendre_slope)


def sph_harm_y(n: Value, m: Value, theta: Value, phi: Value, *, diff_n: int | None = None, n_max: Any = None) -> Value:
    """Return the spherical harmonic of degree n and order m at the polar angle theta and the azimuth phi.

    It is 0 where |m| > n; a theta outside [0, pi] counts as the one with the same cosine inside.  `n_max`, jax's bound
    of the degrees, is not needed.
    Shapes: broadcast.  Dtype: complex, of the promoted precision; complex128 for integers.  Accuracy: 16 + n ulp of the
    largest value in theta.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast; ValueError for `diff_n`.

    >>> from calque_numpy.scipy.special import sph_harm_y
    >>> round(float(sph_harm_y(0, 0, 0.5, 0.7).real), 12)
    0.282094791774
    """
    if diff_n:
        raise ValueError(f"sph_harm_y{place()}: diff_n is {diff_n}. Differentiate the function itself: jvp, or grad.")
    real, imag = _parts(n, m, theta, phi)
    return lax.complex(real, imag)


@elementwise()
def _parts(n: Value, m: Value, theta: Value, phi: Value) -> tuple[Value, Value]:
    size, angle = legendre_p.bind(n, m, theta), m * phi
    return lax.mul(size, lax.cos(angle)), lax.mul(size, lax.sin(angle))
