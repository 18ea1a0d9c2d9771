"""The Taylor rules of trigonometric and hyperbolic functions, from equations as in `exponential.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import cos, cos_p, sin, sin_p, tan, tan_p, tanh, tanh_p
from calque_jet.rules.arithmetic import Result
from calque_jet.rules.exponential import def_solution, newest_square
from calque_jet.series import Series, minus, raised, solution

Value = Any

# Trigonometry


@sin_p.def_rule("jet")
def sin_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    sines, _ = sines_and_cosines(primals[0], series[0])
    return sines[0], sines[1:]


@cos_p.def_rule("jet")
def cos_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    _, cosines = sines_and_cosines(primals[0], series[0])
    return cosines[0], cosines[1:]


def sines_and_cosines(x: Value, xs: Series) -> list[Series]:
    """Return the series of sin and cos, each computed from the other."""
    return solution([sin(x), cos(x)], lambda s, c: [c[-1], minus(None, s[-1])], [x, *xs])


def_solution(tan_p, tan, lambda y: [raised(newest_square(y), len(y) - 1, 1.0)])
def_solution(tanh_p, tanh, lambda y: [raised(minus(None, newest_square(y)), len(y) - 1, 1.0)])
