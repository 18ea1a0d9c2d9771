"""The tracers that Python functions hold.

One idea: an equation outlives the trace that recorded it.  So we must know the tracers in the functions that it holds.
Python shows them: in closures, defaults, bound objects and containers.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.record import Record
from calque_core.traces.trace import current_trace
from calque_core.traces.tracer import Tracer

_MAX_OBJECTS = 10_000


class Search(Record):
    """A search for tracers: the tracers, and all objects that it met."""

    tracers: list[Tracer]
    objects: list[Any]


def captured_tracers(objects: Sequence[Any]) -> list[Tracer]:
    """Return the tracers that functions hold, in closures, defaults, bound objects and containers.

    Tracers of the current trace and of its parents; a tracer of an inner trace is replaced by the tracers it wraps.

    >>> from calque_core.engine import captured_tracers
    >>> captured_tracers([lambda x: x])
    []
    """
    return search_for_tracers(objects).tracers


def search_for_tracers(objects: Sequence[Any], without: Sequence[Any] = ()) -> Search:
    """Return the tracers that functions hold, and the objects met; the objects `without` tracers are not searched.

    >>> search_for_tracers([abs, (1.0,)])
    Search(tracers=[], objects=[<built-in function abs>, (1.0,), 1.0])
    """
    tracers: list[Tracer] = []
    met: dict[int, Any] = {}
    skipped = set(map(id, without))
    stack = list(reversed(objects))
    visible = [trace := current_trace()]
    while trace.parent is not None:
        visible.append(trace := trace.parent)
    while stack and len(met) < _MAX_OBJECTS:
        x = stack.pop()
        if id(x) in met or id(x) in skipped:
            continue
        met[id(x)] = x
        if not isinstance(x, Tracer):
            stack.extend(reversed(_held_by(x)))
        elif any(x._trace is trace or (x._trace.tag is not None and x._trace.tag is trace.tag) for trace in visible):
            tracers.append(x)
        elif x._trace.is_open:
            stack.extend(reversed(x.inner_values))
    return Search(tracers, list(met.values()))


_LEAVES = (str, bytes, int, float, complex, np.ndarray, np.generic, type, ModuleType, BuiltinFunctionType, Jaxpr)


def _held_by(x: Any) -> list[Any]:
    """Return the objects that Python code in `x` can reach in one step."""
    if x is None or isinstance(x, _LEAVES):
        return []
    if isinstance(x, FunctionType):
        return [*cells_of(x), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(), *x.__dict__.values()]
    if isinstance(x, MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, (dict, tuple, list, set, frozenset)):
        return list(x.values() if isinstance(x, dict) else x)
    return [*getattr(x, "__dict__", {}).values(), *_in_slots(x)]


def _in_slots(x: Any) -> list[Any]:
    """Return the values of the slots of `x` that are set."""
    names = [n for cls in type(x).__mro__ for n, d in vars(cls).items() if type(d) is MemberDescriptorType]
    return [getattr(x, name) for name in names if hasattr(x, name)]


def cells_of(fun: Any) -> list[Any]:
    """Return the values of the variables that a Python function closes over; unassigned variables are left out.

    >>> from calque_core.jaxprs.captured import cells_of
    >>> scale = (lambda factor: lambda x: factor * x)(3.0)
    >>> cells_of(scale)
    [3.0]
    """
    values = []
    for cell in getattr(fun, "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # the variable is assigned later
            continue
    return values
