"""The error function of all numbers, and the scaled complementary one from 0 on, by tables of pieces.

Read next: `special.py`, whose formulas serve compiled programs.
"""

from __future__ import annotations

import math
from typing import Any

from calque_core.ops.arithmetic import abs, div, max, min, mul
from calque_core.ops.coefficients import ERF_TO_2, ERF_TO_4, ERF_TO_6
from calque_core.ops.pieces import Pieces, Span
from calque_core.ops.regions import region

Value = Any

ERF_SERIES = [2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(16)]
_PIECES = 128.0  # per unit of x
_SMALLEST = math.ulp(0.0)
_ONE = 6.0  # from here on erf(x) is rounded to 1

_pieces = Pieces(
    "erf_pieces",
    _PIECES,
    Span([c for term in ERF_SERIES for c in (0.0, term)], 0.0, 0.75),
    Span(ERF_TO_2, 0.75, 2.0, 1.0, -1.0, 0.84375),
    Span(ERF_TO_4, 2.0, 4.0, 1.0, -3.0, 1.0),
    Span(ERF_TO_6, 4.0, _ONE + 1 / _PIECES, 1.0, -5.0, 1.0),
)


def _erf_everywhere(x: Value) -> Value:
    """Return erf(|x|) times the sign of x, which is that of the zero at 0."""
    near = max(min(x, _ONE), -_ONE)
    size = max(abs(near), _SMALLEST)
    return mul(div(near, size), _pieces(mul(size, _PIECES)))


ERF_REGIONS = (region(-math.inf, math.inf, _erf_everywhere),)
