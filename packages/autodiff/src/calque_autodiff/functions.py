"""Linearized functions: the equations of a function of arrays and of its derivative, made once per types.

One idea: while a derivative is staged, a function such as `numpy.mean` and its derivative rules record the same
equations whenever types and options are equal.  So the function's program is linearized once; later calls append copies
of both halves.  A primitive whose implementation is a leaf is such a function, too.  The gradient of a transformer is
traced in half of the time.

Read next: `recorded.py`, which linearizes; `traces/copies.py`, which asks for functions; `operations.py`, the same for
an eager derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calque_autodiff.partial_eval import distinct
from calque_autodiff.recorded import recorded_halves
from calque_autodiff.traces.copies import LinearizedFunction
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_autodiff.traces.layouts import TWICE
from calque_core.extend import JitTracer, Plans, function_program, holds_equations_alone, recorder

Value = Any


def linearized_function(
    trace: JVPTrace, function: Any, args: Sequence[Value], options: Mapping[str, Any]
) -> LinearizedFunction | None:
    """Return a function on operands of the types of `args`; None if its rules have to run at each call."""
    tracers = {id(x): x for x in args if trace.owns(x) or type(x) is JitTracer}
    mask = [trace.owns(x) for x in tracers.values()]
    known_function = function_program(trace.parent, function, [trace.primal_of(x) for x in args], options)
    if known_function is None:
        return None
    program = known_function.program
    try:
        known, linear = recorded_halves(program, mask)
    except Exception:  # noqa: BLE001  the rules raise it again, where the user's line is known
        return None
    if not (holds_equations_alone(known) and holds_equations_alone(linear)):
        return None
    outvars, sources = distinct(known, len(program.outvars))
    known = known.replace(outvars=outvars)
    places = [i if kind == "in" else len(mask) + i for kind, i in sources]
    return LinearizedFunction(known_function, recorder(known), recorder(linear, len(places), TWICE), places)


linearized_functions = Plans(linearized_function)
