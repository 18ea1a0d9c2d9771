"""Copies of the equations of a linearized function, in a trace of primals and a trace of tangents.

Read next: `functions.py` of this package, which linearizes functions; `jvp_trace.py`, which asks for copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_autodiff.partial_eval import Place, at_places
from calque_core.extend import FunctionProgram, JitTracer, Position

Value = Any


class LinearizedFunction(NamedTuple):
    """A function on operands of known types, some of which have tangents, cut in two.

    `record_known(trace, position, *atoms)` appends the equations of the results and of residuals, `record_linear` those
    of the tangents, which takes residuals, then tangents; `sources` holds the place of each residual.
    """

    function: FunctionProgram
    record_known: Callable[..., list[Value]]
    record_linear: Callable[..., list[Value]]
    sources: Sequence[Place]

    def record(
        self, trace: Any, position: Position | None, primals: Sequence[JitTracer], tangents: Sequence[JitTracer]
    ) -> tuple[list[Value], list[Value]]:
        """Record the function and its derivative under a `JVPTrace`; return the results and their tangents."""
        outs = self.record_known(trace.parent, position, *[x.variable for x in primals])
        constant = trace.tangent_trace.constant
        residuals = [constant(x) for x in at_places(self.sources, primals, outs)]
        return outs, self.record_linear(trace.tangent_trace, position, *residuals, *[x.variable for x in tangents])
