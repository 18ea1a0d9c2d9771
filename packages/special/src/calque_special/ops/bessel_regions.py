"""The modified Bessel functions of order 0 and 1 by tables of pieces: as they are below 8, scaled everywhere.

Below 8 they are polynomials in x**2 (DLMF 10.25.2), of order 1 times x; from 8 on polynomials in 1 / x over sqrt(x).

Read next: `bessel.py`, whose formulas serve compiled programs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from calque_core.engine import Pieces, Regions, Span, even, join_pieces, odd, region
from calque_core.lax import div, exp, mul, neg, rsqrt, square
from calque_special.ops.coefficients import BESSEL_I0_LARGE, BESSEL_I1_LARGE

Value = Any

I0_SERIES = [1 / (math.factorial(k) ** 2 * 4**k) for k in range(27)]
I1_SERIES = [0.5 / (math.factorial(k) * math.factorial(k + 1) * 4**k) for k in range(27)]
_LARGE = 8.0
_PIECES, _FAR_PIECES = 8.0, 128.0  # per unit of x**2, and of 8 / x


def _declare_near(name: str, series: Sequence[float]) -> Pieces:
    """Return the function of places in x**2, a polynomial in x**2 / 64: no coefficient is huge or tiny."""
    return Pieces(name, _PIECES, Span([c * _LARGE ** (2 * k) for k, c in enumerate(series)], 0.0, 64.0, 1 / 64))


def _declare_far(name: str, coefficients: Sequence[float]) -> Pieces:
    """Return the function of places in 8 / x, a polynomial in 16 / x - 1."""
    return Pieces(name, _FAR_PIECES, Span(coefficients, 0.0, 1.0 + 1 / _FAR_PIECES, 2.0, -1.0))


_i0_pieces, _i1_pieces = _declare_near("i0_pieces", I0_SERIES), _declare_near("i1_pieces", I1_SERIES)
_i0_far_pieces = _declare_far("i0_far_pieces", BESSEL_I0_LARGE)
_i1_far_pieces = _declare_far("i1_far_pieces", BESSEL_I1_LARGE)
join_pieces(_i0_pieces, _i1_pieces)
join_pieces(_i0_far_pieces, _i1_far_pieces)


def _i0_near(x: Value) -> Value:
    return _i0_pieces(mul(square(x), _PIECES))


def _i1_near(x: Value) -> Value:
    return mul(x, _i1_pieces(mul(square(x), _PIECES)))


def _i0e_near(x: Value) -> Value:
    return mul(exp(neg(x)), _i0_near(x))


def _i1e_near(x: Value) -> Value:
    return mul(exp(neg(x)), _i1_near(x))


def _i0e_far(x: Value) -> Value:
    return mul(_i0_far_pieces(mul(div(_LARGE, x), _FAR_PIECES)), rsqrt(x))


def _i1e_far(x: Value) -> Value:
    return mul(_i1_far_pieces(mul(div(_LARGE, x), _FAR_PIECES)), rsqrt(x))


_BELOW = math.nextafter(_LARGE, 0.0)
I0_REGIONS = Regions([region(0.0, _BELOW, _i0_near)], [even])
I1_REGIONS = Regions([region(0.0, _BELOW, _i1_near)], [odd])
I0E_REGIONS = Regions([region(0.0, _BELOW, _i0e_near), region(_LARGE, math.inf, _i0e_far)], [even])
I1E_REGIONS = Regions([region(0.0, _BELOW, _i1e_near), region(_LARGE, math.inf, _i1e_far)], [odd])
