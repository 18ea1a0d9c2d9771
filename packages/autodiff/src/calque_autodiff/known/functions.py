"""Functions with their derivatives: the equations of both, made once per types.

One idea: while a derivative is staged, a function such as `numpy.mean` and its derivative rules record the same
equations whenever types and options are equal.  So the function's program is differentiated or linearized once; later
calls append copies.  A primitive whose implementation is a leaf is such a function, too.  The gradient of a transformer
is traced in half of the time.

Read next: `recorded.py`, which makes these programs; `traces/copies.py`, which asks for functions; `operations.py`, the
same for an eager derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from calque_autodiff.known.copies import DualFunction, LinearizedFunction
from calque_autodiff.partial_eval import distinct
from calque_autodiff.recorded import recorded_halves, recorded_jvp
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_autodiff.traces.layouts import TWICE
from calque_core.extend import (
    FunctionProgram,
    JaxprTrace,
    JitTracer,
    Plans,
    function_program,
    holds_equations_alone,
    recorder,
)

T = TypeVar("T")
Value = Any


def records_alone(trace: Any) -> bool:
    """Tell whether a trace records operations and does nothing else with them, so that copies may take their place."""
    return isinstance(trace, JaxprTrace) and type(trace).process_primitive is JaxprTrace.process_primitive


def of_types(
    derive: Callable[[FunctionProgram, Sequence[bool]], T | None],
    trace: JVPTrace,
    function: Any,
    args: Sequence[Value],
    options: Mapping[str, Any],
) -> T | None:
    """Return `derive(program, mask)` of a function on operands of the types of `args`; `mask` marks tangents.

    It is None if the rules have to run at each call.
    """
    tracers = {id(x): x for x in args if trace.owns(x) or type(x) is JitTracer}
    program = function_program(trace.parent, function, [trace.primal_of(x) for x in args], options)
    if program is None:
        return None
    try:
        return derive(program, [trace.owns(x) for x in tracers.values()])
    except Exception:  # noqa: BLE001  the rules raise it again, where the user's line is known
        return None


def dual_function(function: FunctionProgram, mask: Sequence[bool]) -> DualFunction | None:
    """Return a function with its derivative; None if its equations must not be recorded again."""
    both, out_mask = recorded_jvp(function.program, mask)
    return DualFunction(function, recorder(both), out_mask) if holds_equations_alone(both) else None


def linearized_function(function: FunctionProgram, mask: Sequence[bool]) -> LinearizedFunction | None:
    """Return a function cut in two; None if its equations must not be recorded again."""
    known, linear = recorded_halves(function.program, mask)
    if not (holds_equations_alone(known) and holds_equations_alone(linear)):
        return None
    outvars, sources = distinct(known, len(function.program.outvars))
    known = known.replace(outvars=outvars)
    places = [i if kind == "in" else len(mask) + i for kind, i in sources]
    return LinearizedFunction(function, recorder(known), recorder(linear, len(places), TWICE), places)


dual_functions = Plans(partial(of_types, dual_function))
linearized_functions = Plans(partial(of_types, linearized_function))
