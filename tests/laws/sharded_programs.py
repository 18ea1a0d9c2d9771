"""The table of sharded programs, and the functions that the laws apply to its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sharded_collectives import COLLECTIVES
from sharded_models import MODELS
from sharded_pmaps import PMAPS

from calque_autodiff import vjp

PROGRAMS = [*COLLECTIVES, *MODELS, *PMAPS]
BACKWARDS = [program for program in PROGRAMS if program.name not in {"common_loop", "own_loop"}]  # no reverse mode
CLOSE = 1e-12


def pulled(fun: Callable[..., Any], cts: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return the function from arguments to the cotangents of the arguments."""
    return lambda *xs: list(vjp(fun, *xs)[1](cts))
