"""The tracer of staging, and how its trace makes equations.

Read next: `stage.py`, the trace; `known/operation.py`, which records the equations of a whole function.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from calque_core.frames.source import Position
from calque_core.hooks import add_array_methods
from calque_core.jaxprs.jaxpr import JaxprEqn, Var
from calque_core.staging.own_tracers import own_tracer_class
from calque_core.traces.trace import Trace
from calque_core.traces.tracer import Tracer
from calque_core.types.array_methods import ArrayOperations
from calque_core.types.own_types import is_own

NO_PARAMS: dict[str, Any] = {}  # one dict for all equations without parameters
new_eqn: Any = partial(tuple.__new__, JaxprEqn)  # runs in C only: 0.1 us, where a Python __init__ takes 0.35
new_object: Any = object.__new__  # setting the attributes in place is 0.03 us sooner than a Python __init__


add_array_methods()


class JitTracer(ArrayOperations, Tracer):
    """A value during staging: its type, its variable, and the place of its equation."""

    __slots__ = ("aval", "position", "variable")

    def __init__(self, trace: Trace, aval: Any, variable: Var, position: Position | None) -> None:
        self._trace, self.aval = trace, aval
        self.variable, self.position = variable, position

    @property
    def known_value(self) -> Any:
        """No value; the trace may refuse the question."""
        return self._trace.value_asked()

    @property
    def origin(self) -> Position | None:
        """The place in the user's program that made this value."""
        return self.position or self._trace.position


def jit_tracer(trace: Trace, variable: Var, position: Position | None) -> Any:
    """Return the tracer of a variable, whose type may be one's own."""
    aval = variable.aval
    kind = own_tracer_class(JitTracer, aval) if is_own(aval) else JitTracer
    return kind(trace, aval, variable, position)
