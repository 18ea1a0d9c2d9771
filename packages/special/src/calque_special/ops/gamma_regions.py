"""The gamma function's logarithm and its derivative for positive numbers, by tables of pieces.

Below 8 the functions of 1 + y are a polynomial in y times the factors that vanish where the function does; a number
below 1 is y itself, and others are 1 + y.  From 8 on the asymptotic series need a few pieces.

Read next: `gamma.py`, whose formulas serve negative numbers and compiled programs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from calque_core.engine import Pieces, Regions, Span, join_pieces, region
from calque_core.lax import add, div, exp, floor, log, min, mul, pow, square, sub
from calque_special.ops.coefficients import (
    BERNOULLI,
    DIGAMMA,
    DIGAMMA_ROOT,
    DIGAMMA_TO_4,
    DIGAMMA_TO_8,
    GAMMA,
    HARMONIC,
    LOG_GAMMA,
    LOG_GAMMA_TO_4,
    LOG_GAMMA_TO_8,
    STIRLING,
    TRIGAMMA,
    TRIGAMMA_TO_4,
    TRIGAMMA_TO_8,
)

Value = Any

_LARGE = 8.0
_OVERFLOW = 190.0  # gamma(x) overflows before, its factors do not
_PIECES, _FAR_PIECES = 128.0, 1024.0  # per unit of y, and of 1 / x**2
_STEEP_PIECES = 256.0  # for functions whose pole has no factor of its own


def _declare_below(name: str, per_unit: float, to_2: Any, to_4: Any, to_8: Any) -> Any:
    """Return the function of places in y for 0 <= y < 7, from polynomials in 2 y - 1, y - 2 and y / 2 - 5 / 2."""
    spans = (Span(to_2, 0.0, 1.0, 2.0, -1.0), Span(to_4, 1.0, 3.0, 1.0, -2.0), Span(to_8, 3.0, 7.0, 0.5, -2.5))
    return Pieces(name, per_unit, *spans)


def _declare_above(name: str, series: Any) -> Any:
    """Return the function of places in 1 / x**2 for x >= 8."""
    return Pieces(name, _FAR_PIECES, Span(series, 0.0, 1 / _LARGE**2 + 1 / _FAR_PIECES))


_log_gamma_pieces = _declare_below("log_gamma_pieces", _PIECES, LOG_GAMMA, LOG_GAMMA_TO_4, LOG_GAMMA_TO_8)
_digamma_pieces = _declare_below("digamma_pieces", _PIECES, DIGAMMA, DIGAMMA_TO_4, DIGAMMA_TO_8)
_stirling_pieces = _declare_above("stirling_pieces", STIRLING)
_harmonic_pieces = _declare_above("harmonic_pieces", HARMONIC)
_trigamma_pieces = _declare_below("trigamma_pieces", _STEEP_PIECES, TRIGAMMA, TRIGAMMA_TO_4, TRIGAMMA_TO_8)
_bernoulli_pieces = _declare_above("bernoulli_pieces", BERNOULLI)


def _gamma_spans() -> list[Span]:
    """Return gamma(1 + k + u) for k = 0, ..., 6: gamma(1 + u) (1 + u) ... (k + u), polynomials in 2 u - 1."""
    spans, coefficients = [], [*map(Fraction, GAMMA)]
    for k in range(7):
        if k:
            ends = zip([*coefficients, Fraction(0)], [Fraction(0), *coefficients])
            coefficients = [(k + Fraction(1, 2)) * same + lower / 2 for same, lower in ends]
        spans.append(Span(coefficients, float(k), k + 1.0, 2.0, -2.0 * k - 1.0))
    return spans


_gamma_pieces = Pieces("gamma_pieces", _STEEP_PIECES, *_gamma_spans())
join_pieces(_log_gamma_pieces, _digamma_pieces)
join_pieces(_stirling_pieces, _harmonic_pieces)


def _log_gamma_below(x: Value) -> Value:
    """Return log(gamma(1 + y)), less log(y) where x is below 1; 0.0, not -0.0, for x = 1."""
    small = min(x, 1.0)
    y = sub(x, floor(small))
    negative = mul(mul(y, sub(1.0, y)), _log_gamma_pieces(mul(y, _PIECES)))
    return sub(0.0, add(negative, log(small)))


def _log_gamma_above(x: Value) -> Value:
    """Return log(gamma(x)) by Stirling's series (DLMF 5.11.1)."""
    inverse = div(1.0, x)
    series = mul(inverse, _stirling_pieces(mul(square(inverse), _FAR_PIECES)))
    return add(add(mul(sub(x, 0.5), sub(log(x), 1.0)), (math.log(2 * math.pi) - 1) / 2), series)


def _digamma_below(x: Value) -> Value:
    """Return digamma(1 + y), less 1 / y where x is below 1."""
    is_other = floor(min(x, 1.0))
    y = sub(x, is_other)
    head, remainder = DIGAMMA_ROOT
    distance = sub(sub(y, head), remainder)
    return sub(mul(distance, _digamma_pieces(mul(y, _PIECES))), div(sub(1.0, is_other), x))


def _digamma_above(x: Value) -> Value:
    """Return digamma(x) by its asymptotic series (DLMF 5.11.2)."""
    inverse = div(1.0, x)
    series = mul(inverse, _harmonic_pieces(mul(square(inverse), _FAR_PIECES)))
    return sub(log(x), mul(inverse, add(0.5, series)))


def _trigamma_below(x: Value) -> Value:
    """Return the derivative of digamma(1 + y), plus 1 / y**2 where x is below 1."""
    is_other = floor(min(x, 1.0))
    y = sub(x, is_other)
    return add(_trigamma_pieces(mul(y, _STEEP_PIECES)), div(div(sub(1.0, is_other), x), x))


def _trigamma_above(x: Value) -> Value:
    """Return the derivative of digamma by its asymptotic series (DLMF 5.15.8)."""
    inverse = div(1.0, x)
    series = mul(inverse, _bernoulli_pieces(mul(square(inverse), _FAR_PIECES)))
    return mul(inverse, add(1.0, mul(inverse, add(0.5, series))))


def _gamma_below(x: Value) -> Value:
    """Return gamma(1 + y), over y where x is below 1."""
    small = min(x, 1.0)
    return div(_gamma_pieces(mul(sub(x, floor(small)), _STEEP_PIECES)), small)


def _gamma_above(x: Value) -> Value:
    """Return gamma(x) by Stirling's series (DLMF 5.11.3), from two factors: their product alone overflows."""
    inverse = div(1.0, x)
    series = mul(inverse, _stirling_pieces(mul(square(inverse), _FAR_PIECES)))
    root = mul(pow(x, mul(0.5, sub(x, 0.5))), exp(mul(-0.5, x)))
    return mul(mul(root, math.sqrt(2 * math.pi)), mul(root, exp(series)))


_BELOW = math.nextafter(_LARGE, 0.0)
LGAMMA_REGIONS = Regions([region(0.0, _BELOW, _log_gamma_below), region(_LARGE, math.inf, _log_gamma_above)])
DIGAMMA_REGIONS = Regions([region(0.0, _BELOW, _digamma_below), region(_LARGE, math.inf, _digamma_above)])
TRIGAMMA_REGIONS = Regions([region(0.0, _BELOW, _trigamma_below), region(_LARGE, math.inf, _trigamma_above)])
GAMMA_REGIONS = Regions([region(0.0, _BELOW, _gamma_below), region(_LARGE, _OVERFLOW, _gamma_above)])
