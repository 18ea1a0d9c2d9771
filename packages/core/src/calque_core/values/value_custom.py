"""Functions with custom derivative rules, under a transformation whose tangents are values.

One idea: function and rules run on values, each time under a new trace of the transformation; the parent sees a
function and rules of the arrays that represent the values.

Read next: `value_layouts.py` for the arrays that represent values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.calls.custom import custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p
from calque_core.ops.calls.custom_closures import Backward, CustomRules, ForwardHalf, FwdRule, JvpRule, Outputs
from calque_core.ops.calls.jit import run_program
from calque_core.ops.calls.linear import UndefinedPrimal, Zero, instantiate_zeros, undefined_of, zero_of
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
    call = _ValueCall(trace, layouts)
    adapted = rules.through(call, ("value", type(trace), trace.tag, tuple(layouts)))
    adapted.num_held = 0  # a value may be several arrays
    params = {"rules": adapted}
    outs = hand_custom_down(trace.parent, primitive, partial(call.function, fun), arrays, params)
    assert len(call.out_layouts) > 0 or not outs, "neither the function nor a rule has run"
    return unflatten_values(trace, call.out_layouts, outs)


class _ValueCall:
    """One call on values with these layouts; `out_layouts` are the layouts of its results, once it has run."""

    def __init__(self, trace: Any, layouts: Layouts) -> None:
        self.trace, self.layouts = trace, layouts
        self.out_layouts: list[Layout] = []

    def inner(self) -> tracing[Any]:
        return tracing(self.trace.over(current_trace()))

    def function(self, fun: Callable[..., Values], *arrays: Array) -> list[Array]:
        with self.inner() as trace:
            outs, self.out_layouts = flatten_values(trace, fun(*_values(trace, self.layouts, arrays)))
            return outs

    def jvp(self, rule: JvpRule, primals: Values, tangents: Values) -> Outputs:
        """Run a jvp rule: the tangents of a value's arrays represent the tangent of the value."""
        with self.inner() as trace:
            outs, out_dots = rule(_values(trace, self.layouts, primals), _tangents(trace, self.layouts, tangents))
            arrays, self.out_layouts = flatten_values(trace, outs)
            return arrays, _tangent_arrays(trace, self.out_layouts, out_dots)

    def fwd(self, rule: FwdRule, primals: Values, nonzeros: Sequence[bool]) -> ForwardHalf:
        """Run the forward half of a vjp rule; the backward half gets the layouts of the residuals."""
        with self.inner() as trace:
            is_nonzero = [any(marks) for _, marks in _by_layout(self.layouts, nonzeros)]
            outs, residuals, bwd = rule(_values(trace, self.layouts, primals), is_nonzero)
            arrays, self.out_layouts = flatten_values(trace, outs)
            residual_arrays, layouts = flatten_values(trace, residuals)
            return arrays, residual_arrays, partial(self.bwd, bwd, layouts)

    def bwd(self, rule: Backward, layouts: Layouts, known: Values, cts: Values) -> list[Array]:
        """Run the backward half of a vjp rule on residuals, or a transpose rule on operands."""
        with self.inner() as trace:
            in_cts = rule(_values(trace, layouts, known), _tangents(trace, self.out_layouts, cts))
            return _tangent_arrays(trace, self.layouts, in_cts)

    def transpose(self, rule: Backward, operands: Values, cts: Values) -> list[Array]:
        return self.bwd(rule, self.layouts, operands, cts)


def _by_layout(layouts: Layouts, items: Sequence[Any]) -> Iterator[tuple[Layout, list[Any]]]:
    """Yield each layout with the items of its own arrays."""
    remaining = iter(items)
    return ((layout, [next(remaining) for _ in layout.avals]) for layout in layouts)


def _values(trace: Any, layouts: Layouts, arrays: Sequence[Array]) -> list[Value]:
    """Return the values that arrays represent; an `UndefinedPrimal` for a linear operand."""
    values: list[Value] = []
    for layout, own_arrays in _by_layout(layouts, arrays):
        is_linear = any(type(x) is UndefinedPrimal for x in own_arrays)
        values += [undefined_of(layout.aval)] if is_linear else unflatten_values(trace, [layout], own_arrays)
    return values


def _tangents(trace: Any, layouts: Layouts, arrays: Sequence[Array]) -> list[Value]:
    """Return a tangent or cotangent for each value, a `Zero` if all its arrays have a `Zero`."""
    tangents: list[Value] = []
    for layout, own_arrays in _by_layout(layouts, arrays):
        if all(type(x) is Zero for x in own_arrays):
            tangents.append(zero_of(layout.aval.to_tangent_aval()))
        else:
            tangents += unflatten_values(trace, [layout], [instantiate_zeros(x) for x in own_arrays])
    return tangents


def _tangent_arrays(trace: Any, layouts: Layouts, tangents: Values) -> list[Array]:
    """Return the arrays of tangents or cotangents of values with these layouts."""
    arrays: list[Array] = []
    for layout, x in zip(layouts, tangents):
        if x is None or type(x) is Zero:
            arrays += [zero_of(aval.to_tangent_aval()) for aval in layout.avals]
        else:
            arrays += flatten_values(trace, [x], [layout])[0]
    return arrays


def _custom_on_values(
    primitive: Primitive, trace: Any, args: Values, *, jaxpr: Jaxpr, rules: CustomRules
) -> list[Value]:
    return trace.process_custom_derivative(  # type: ignore[no-any-return]
        primitive, lambda *xs: run_program(jaxpr, xs), args, {"rules": rules}
    )


for _primitive in (custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p):
    _primitive.def_rule("value", partial(_custom_on_values, _primitive))
