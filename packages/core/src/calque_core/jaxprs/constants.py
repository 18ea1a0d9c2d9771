"""The arrays that a program captured, with the lines that use them.

One idea: a constant is used first where it was captured, so the position of its first equation is its place.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from calque_core.frames.source import SourceInfo, resolve
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import ShapedArray
from calque_core.types.own_types import is_own
from calque_core.types.type_queries import lower_avals


class CapturedConstant(NamedTuple):
    """An array in a program that is no argument: its type, its size, and the first line that uses it, if any does."""

    aval: Any
    nbytes: int
    source_info: SourceInfo | None

    def __str__(self) -> str:
        place = f", used at {self.source_info}" if self.source_info else ""
        return f"{self.aval} ({bytes_text(self.nbytes)}){place}"


def captured_constants(jaxpr: Jaxpr) -> list[CapturedConstant]:
    """Return the arrays that a program and the programs inside it captured, the largest first, each once.

    >>> import numpy as np
    >>> from calque_core import captured_constants, lax, make_jaxpr
    >>> table = np.arange(100.0)
    >>> jaxpr = make_jaxpr(lambda x: lax.mul(x, table))(np.ones(100))
    >>> captured_constants(jaxpr)[0].nbytes
    800
    """
    captured: dict[int, CapturedConstant] = {}
    for inner in nested_jaxprs(jaxpr):
        places: dict[Any, Any] = {}
        for eqn in reversed(inner.eqns if inner.consts else ()):
            places.update(dict.fromkeys(eqn.invars, eqn.position))
        for var, const in zip(inner.constvars, inner.consts):
            if _has_arrays(var.aval) and not isinstance(const, Tracer) and id(const) not in captured:
                nbytes = sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in lower_avals(var.aval))
                captured[id(const)] = CapturedConstant(var.aval, nbytes, resolve(places.get(var)))
    return sorted(captured.values(), key=lambda constant: -constant.nbytes)


def _has_arrays(aval: Any) -> bool:
    return isinstance(aval, ShapedArray) or is_own(aval)


def bytes_text(count: int) -> str:
    """Return a number of bytes in a unit that suits it.

    >>> from calque_core.engine import bytes_text
    >>> bytes_text(1_500_000), bytes_text(12)
    ('1.5 MB', '12 B')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"
