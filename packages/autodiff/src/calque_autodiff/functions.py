"""Linearized functions: the equations of a function of arrays and of its derivative, made once per types.

One idea: while a derivative is staged, a function such as `numpy.mean` and its derivative rules record the same
equations whenever types and options are equal.  So the function's program is linearized once; later calls append copies
of both halves.  The gradient of a transformer is traced in half of the time.

Read next: `operations.py`, the same for the primitives of an eager derivative; `traces/jvp_trace.py`, which uses both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calque_autodiff.jaxprs import linearize_jaxpr
from calque_autodiff.traces.copies import LinearizedFunction
from calque_autodiff.traces.layouts import TWICE
from calque_core import rule_epoch
from calque_core.extend import Plans, function_program, holds_equations_alone, recorder

Value = Any


def linearized_function(
    mask: Sequence[bool], trace: Any, function: Any, args: Sequence[Value], options: Mapping[str, Any]
) -> LinearizedFunction | None:
    """Return a function on operands of the types of `args`; None if its rules have to run at each call.

    The operands that are tracers of `trace` are those of `mask`, true for an operand with a tangent.
    """
    known_function = function_program(trace, function, args, options)
    if known_function is None:
        return None
    try:
        known, linear, sources = linearize_jaxpr(known_function.program, mask)
    except Exception:  # noqa: BLE001  the rules raise it again, where the user's line is known
        return None
    if not (holds_equations_alone(known) and holds_equations_alone(linear)):
        return None
    return LinearizedFunction(known_function, recorder(known), recorder(linear, TWICE), sources)


_current: list[Any] = [-1, Plans(linearized_function)]


def current_functions() -> Plans[LinearizedFunction]:
    """Return the functions that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Plans(linearized_function)]
    return _current[1]  # type: ignore[no-any-return]
