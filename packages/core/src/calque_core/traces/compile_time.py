"""Computing known values while a program is traced: `ensure_compile_time_eval`.

Read next: `trace.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.traces.trace import Trace, current_trace, evaluation, hand_custom_down, hand_down, tracing
from calque_core.traces.tracer import Tracer

Value = Any


class _CompileTimeTrace(Trace):
    """Evaluates operations without tracer operands; its parent processes all other operations."""

    verb = "ensure_compile_time_eval"

    def process_primitive(self, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        assert self.parent is not None
        target = self.parent if any(isinstance(x, Tracer) for x in args) else evaluation
        return hand_down(target, primitive, args, params)

    def process_custom_derivative(
        self, primitive: Any, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        assert self.parent is not None
        target = self.parent if any(isinstance(x, Tracer) for x in args) else evaluation
        return hand_custom_down(target, primitive, fun, args, params)


def ensure_compile_time_eval() -> tracing[Trace]:
    """Compute operations on known values while tracing, for a `with` block; operations on tracers are traced.

    >>> import numpy as np
    >>> from calque_core import ensure_compile_time_eval, lax, make_jaxpr
    >>> def f(x):
    ...     with ensure_compile_time_eval():
    ...         print(lax.add(1.0, 2.0))
    ...     return lax.add(x, 1.0)
    >>> make_jaxpr(f)(np.float64(1.0))
    3.0
    { lambda ; a:f64[]. let b:f64[] = add a 1.0 in (b,) }
    """
    return tracing(_CompileTimeTrace(current_trace()))
