"""The error function and the complementary one by tables of pieces.

Read next: `special.py`, whose formulas serve compiled programs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core.ops.arithmetic import add, div, min, mul, neg, square, sub
from calque_core.ops.coefficients import ERF_TO_2, ERF_TO_4, ERF_TO_6, SHIFTED_ERFC
from calque_core.ops.exponential import exp
from calque_core.ops.pieces import Pieces, Span
from calque_core.ops.regions import Regions, odd, region
from calque_core.ops.rounding import floor

Value = Any

ERF_SERIES = [2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(16)]
_PIECES = 128.0  # per unit of x
_ONE = 6.0  # from here on erf(x) is rounded to 1

_pieces = Pieces(
    "erf_pieces",
    _PIECES,
    Span([c for term in ERF_SERIES for c in (0.0, term)], 0.0, 0.75),
    Span(ERF_TO_2, 0.75, 2.0, 1.0, -1.0, 0.84375),
    Span(ERF_TO_4, 2.0, 4.0, 1.0, -3.0, 1.0),
    Span(ERF_TO_6, 4.0, _ONE + 1 / _PIECES, 1.0, -5.0, 1.0),
)


_SHIFT, _TAIL_PIECES = 3.75, 512.0  # per unit of x / (x + 3.75)
_UNDERFLOW = 100.0  # erfc(x) is 0 long before
_tail_pieces = Pieces("erfc_pieces", _TAIL_PIECES, Span(SHIFTED_ERFC, 0.0, 1.0 + 1 / _TAIL_PIECES, 2.0, -1.0))


def _erf_of_size(x: Value) -> Value:
    return _pieces(mul(min(x, _ONE), _PIECES))


ERF_REGIONS = Regions([region(0.0, math.inf, _erf_of_size)], [odd])


def shifted_erfc(x: Value) -> Value:
    """Return (x + 3.75) exp(x**2) erfc(x) for finite x."""
    return _tail_pieces(mul(div(x, add(x, _SHIFT)), _TAIL_PIECES))


def _erfc_of_size(x: Value) -> Value:
    """Return erfc(x); exp(-x**2) is split where x is a multiple of 1/16, so that its square is exact."""
    x = min(x, _UNDERFLOW)
    near = mul(floor(mul(x, 16.0)), 1 / 16)
    scaled = div(shifted_erfc(x), add(x, _SHIFT))
    return mul(mul(exp(neg(square(near))), scaled), exp(mul(sub(near, x), add(x, near))))


def _erfc_mirror(out: Value, x: Value) -> Value:
    return np.where(x < 0.0, 2.0 - out, out)


ERFC_REGIONS = Regions([region(0.0, math.inf, _erfc_of_size)], [_erfc_mirror])
