"""Functions with derivative rules of their own, under `interpret`.

One idea: such a call means its program, and where nobody can ask for a derivative the program is interpreted.
Elsewhere the call stays a call: its function and its derivative rules are programs, and the table interprets each.

Read next: `table_interpreter.py`, which interprets all other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.custom import custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p
from calque_core.ops.custom_rules import Backward, ClosedRules, CustomRules, ForwardHalf, FwdRule, JvpRule, Outputs
from calque_core.primitives.primitive import Primitive
from calque_core.traces.trace import current_trace, only_evaluates
from calque_core.types.avals import is_array_like, typeof

Value = Any
Values = Sequence[Value]
Run = Callable[..., list[Value]]


def custom_interpret(primitive: Primitive, run: Run, *args: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    """Interpret the function; if a derivative may be asked for, make a call whose rules are interpreted too.

    Raises: NotImplementedError for values that are no arrays, whose derivative rules would be lost.
    """
    trace = current_trace()
    if only_evaluates(trace):
        return run(jaxpr, *args)
    name = f"{primitive.name}_p"
    drop_rules = (
        f"Give the table a rule for {name}; for instance {{{name}: lambda *xs, jaxpr, rules: interpret(jaxpr, table, "
        "*xs)}, which drops them."
    )
    if not all(map(is_array_like, args)):
        raise NotImplementedError(
            f"interpret met a call of {rules.name}{where()} on values that are no arrays, and an outer transformation "
            f"may need the derivative rules of the function. {drop_rules}"
        )
    in_avals = [typeof(x) for x in args]
    closure = (
        "is interpreted by a rule that closes over a value that is being differentiated, but the derivative rules of "
        f"the function cover its arguments only. {drop_rules}"
    )
    adapted = rules.through(_InterpretedRules(run, rules, in_avals), (run, tuple(in_avals)), [run], closure)
    return list(trace.process_custom_derivative(primitive, partial(run, jaxpr), args, {"rules": adapted}))


class _InterpretedRules:
    """The derivative rules of one call: traced at their first use, and interpreted."""

    def __init__(self, run: Run, rules: CustomRules, in_avals: Sequence[Any]) -> None:
        self.closed = ClosedRules(rules, [], in_avals, run)

    def jvp(self, rule: JvpRule, primals: Values, tangents: Values) -> Outputs:
        return self._traced().jvp(primals, tangents)

    def fwd(self, rule: FwdRule, primals: Values, nonzeros: Sequence[bool]) -> ForwardHalf:
        return self._traced().fwd(primals, nonzeros)

    def transpose(self, rule: Backward, operands: Values, cts: Values) -> list[Value]:
        """Run a transpose rule as it is: it is not traced."""
        return rule(operands, cts)

    def _traced(self) -> ClosedRules:
        if not self.closed.programs:
            self.closed.trace_derivatives()
        return self.closed


custom_jvp_call_p.def_rule("interpret", partial(custom_interpret, custom_jvp_call_p))
custom_vjp_call_p.def_rule("interpret", partial(custom_interpret, custom_vjp_call_p))
custom_vmap_call_p.def_rule("interpret", lambda run, *args, jaxpr, rules: run(jaxpr, *args))
