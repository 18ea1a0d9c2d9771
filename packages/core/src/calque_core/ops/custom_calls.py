"""Calls of functions with rules of their own under a trace that differentiates.

One idea: such a trace applies the rules to its own tracers, and hands a call without them to its parent.

Read next: `custom_closures.py` for the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.errors import UnexpectedTracerError
from calque_core.jaxprs.captured import captured_tracers, cells_of
from calque_core.ops.custom_closures import CustomRules, closure_message
from calque_core.traces.trace import hand_custom_down, only_evaluates
from calque_core.types.avals import typeof

Value = Any
Values = Sequence[Value]


def call_by_rules(
    trace: Any, primitive: Any, fun: Callable[..., Values], args: Values, params: dict[str, Any]
) -> list[Value]:
    """Return the results of a function under a trace that differentiates: its method `process_custom_derivative`.

    The rules apply if an argument is a tracer of this trace; otherwise the parent processes the call.  A function
    without derivative rules is differentiated as its operations are.
    Raises: UnexpectedTracerError if the function, or a rule that runs, closes over such a tracer.
    """
    rules: CustomRules = params["rules"]
    if not rules.has_derivative:
        return _differentiate_as_program(trace, primitive, fun, args, rules)
    if any(trace.owns(x) for function in rules.functions[:1] for x in cells_of(function)):
        raise UnexpectedTracerError(closure_message(rules))
    try:
        if any(trace.owns(x) for x in args):
            return trace.process_primitive(primitive, args, params)  # type: ignore[no-any-return]
        return hand_custom_down(trace.parent, primitive, fun, args, params)
    except UnexpectedTracerError as error:
        if any(trace.owns(x) for x in captured_tracers(rules.functions)):
            raise UnexpectedTracerError(closure_message(rules)) from error
        raise


def _differentiate_as_program(
    trace: Any, primitive: Any, fun: Callable[..., Values], args: Values, rules: CustomRules
) -> list[Value]:
    """Return the results of a function without derivative rules under a trace that differentiates.

    If a trace below may map its derivative, the rule for batches must reach it: the function becomes an equation.
    """
    if rules.batch is None or only_evaluates(trace.parent):
        return list(fun(*args))
    jaxpr, rules, captured = rules.staged(fun, [typeof(x) for x in args])
    return trace.process_primitive(primitive, [*captured, *args], {"jaxpr": jaxpr, "rules": rules})  # type: ignore[no-any-return]
