"""Functions with custom derivative rules, under a transformation whose tangents are values.

One idea: function and rules run on values, each time under a new trace of the transformation; the parent sees a
function and rules of the arrays that represent the values.

Read next: `value_layouts.py` for the arrays that represent values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.custom import custom_jvp_call_p, custom_vjp_call_p
from calque_core.ops.custom_rules import Backward, CustomRules
from calque_core.ops.jit import run_program
from calque_core.ops.linear import Zero, instantiate_zeros, zero_of
from calque_core.primitives.primitive import Primitive
from calque_core.traces.trace import current_trace, hand_custom_down, tracing
from calque_core.values.value_layouts import Layout, Layouts, flatten_values, unflatten_values

Value = Any
Array = Any
Values = Sequence[Value]


def custom_call_on_values(
    trace: Any, primitive: Primitive, fun: Callable[..., Values], args: Values, rules: CustomRules
) -> list[Value]:
    """Hand a call on the arrays of the values to the parent."""
    arrays, layouts = flatten_values(trace, args)
    call = _Call(trace, layouts)
    array_rules = rules.replace(
        key=("value", type(trace), trace.tag, tuple(layouts), rules.key),
        jvp=None if rules.jvp is None else partial(call.jvp, rules.jvp),
        fwd=None if rules.fwd is None else partial(call.fwd, rules.fwd),
        batch=None,
        transpose=None,
    )
    outs = hand_custom_down(trace.parent, primitive, partial(call.function, fun), arrays, {"rules": array_rules})
    assert len(call.out_layouts) > 0 or not outs, "neither the function nor a rule has run"
    return unflatten_values(trace, call.out_layouts, outs)


class _Call:
    """One call on values with these layouts; `out_layouts` are the layouts of its results, once it has run."""

    def __init__(self, trace: Any, layouts: Layouts) -> None:
        self.trace, self.layouts = trace, layouts
        self.out_layouts: list[Layout] = []

    def function(self, fun: Callable[..., Values], *arrays: Array) -> list[Array]:
        """Run the function."""
        with tracing(self.trace.over(current_trace())) as inner:
            outs, self.out_layouts = flatten_values(inner, fun(*unflatten_values(inner, self.layouts, arrays)))
            return outs

    def jvp(self, rule: Any, primals: Values, tangents: Values) -> tuple[list[Array], list[Array]]:
        """Run a jvp rule: the tangents of a value's arrays represent the tangent of the value."""
        with tracing(self.trace.over(current_trace())) as inner:
            outs, out_dots = rule(
                unflatten_values(inner, self.layouts, primals), self.tangents(inner, self.layouts, tangents)
            )
            flat_outs, self.out_layouts = flatten_values(inner, outs)
            return flat_outs, self.flat_tangents(inner, self.out_layouts, out_dots)

    def fwd(self, rule: Any, primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Array], list[Array], Backward]:
        """Run the forward half of a vjp rule; the backward half gets the layouts of the residuals."""
        with tracing(self.trace.over(current_trace())) as inner:
            marks = iter(nonzeros)
            is_nonzero = [sum(next(marks) for _ in layout.avals) > 0 for layout in self.layouts]
            outs, residuals, bwd = rule(unflatten_values(inner, self.layouts, primals), is_nonzero)
            flat_outs, self.out_layouts = flatten_values(inner, outs)
            flat_residuals, residual_layouts = flatten_values(inner, residuals)
            return flat_outs, flat_residuals, partial(self.bwd, bwd, residual_layouts)

    def bwd(self, rule: Backward, residual_layouts: Layouts, residuals: Values, cts: Values) -> list[Array]:
        """Run the backward half of a vjp rule."""
        with tracing(self.trace.over(current_trace())) as inner:
            residual_values = unflatten_values(inner, residual_layouts, residuals)
            in_cts = rule(residual_values, self.tangents(inner, self.out_layouts, cts))
            return self.flat_tangents(inner, self.layouts, in_cts)

    def tangents(self, inner: Any, layouts: Layouts, arrays: Values) -> list[Value]:
        """Return one tangent or cotangent for each value, a `Zero` if all its arrays have a `Zero`."""
        remaining = iter(arrays)
        tangents = []
        for layout in layouts:
            own_arrays = [next(remaining) for _ in layout.avals]
            if all(type(x) is Zero for x in own_arrays):
                tangents.append(zero_of(layout.aval.to_tangent_aval()))
            else:
                tangents += unflatten_values(inner, [layout], [instantiate_zeros(x) for x in own_arrays])
        return tangents

    def flat_tangents(self, inner: Any, layouts: Layouts, tangents: Values) -> list[Array]:
        """Return the arrays of tangents or cotangents of values with these layouts."""
        arrays: list[Array] = []
        for layout, x in zip(layouts, tangents):
            if x is None or type(x) is Zero:
                arrays += [zero_of(aval.to_tangent_aval()) for aval in layout.avals]
            else:
                arrays += flatten_values(inner, [x], [layout])[0]
        return arrays


def _custom_on_values(
    primitive: Primitive, trace: Any, args: Values, *, jaxpr: Jaxpr, rules: CustomRules
) -> list[Value]:
    return trace.process_custom_derivative(  # type: ignore[no-any-return]
        primitive, lambda *xs: run_program(jaxpr, xs), args, {"rules": rules}
    )


custom_jvp_call_p.def_rule("value", partial(_custom_on_values, custom_jvp_call_p))
custom_vjp_call_p.def_rule("value", partial(_custom_on_values, custom_vjp_call_p))
