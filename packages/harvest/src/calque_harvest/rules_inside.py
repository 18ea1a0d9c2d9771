"""Functions with derivative rules of their own, below a trace that has no tracers.

One idea: such a trace hands the call to its parent, with a function and rules that run under a new trace of its kind.

Read next: `harvest_trace.py` and `nesting.py`, the traces.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from calque_core import Trace, current_trace, tracing


class Inside:
    """Runs a function and its rules, each under a trace that `make(parent)` returns: an adapter of `CustomRules`."""

    def __init__(self, make: Callable[[Trace], Trace]) -> None:
        self.make = make

    def run(self, fun: Callable[..., Any], *args: Any) -> Any:
        with tracing(self.make(current_trace())):
            return fun(*args)

    jvp = transpose = run

    def fwd(self, rule: Callable[..., Any], *args: Any) -> Any:
        outs, residuals, bwd = self.run(rule, *args)
        return outs, residuals, partial(self.run, bwd)
