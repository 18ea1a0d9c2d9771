"""Functions with derivative rules of their own, under a transformation whose tangents are values.

One idea: function and rules run on values, under a trace of the transformation made anew wherever they run; to the
parent, they are a function and rules of the arrays that the values are made of.

Read next: `value_parts.py` for how values are made of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.custom import custom_jvp_call_p, custom_vjp_call_p
from calque_core.ops.custom_rules import Backward, CustomRules
from calque_core.ops.jit import run_program
from calque_core.ops.linear import Zero, instantiate_zeros, zero_of
from calque_core.primitives.primitive import Primitive
from calque_core.traces.trace import current_trace, hand_custom_down, tracing
from calque_core.values.value_parts import Part, Parts, flattened, restored

Value = Any
Array = Any
Values = Sequence[Value]


def custom_call_on_values(
    trace: Any, primitive: Primitive, fun: Callable[..., Values], args: Values, rules: CustomRules
) -> list[Value]:
    """Hand a call to the parent, for the arrays that the values are made of."""
    arrays, parts = flattened(trace, args)
    call = _Call(trace, parts)
    on_arrays = replace(
        rules,
        key=("value", type(trace), trace.tag, tuple(parts), rules.key),
        jvp=None if rules.jvp is None else partial(call.jvp, rules.jvp),
        fwd=None if rules.fwd is None else partial(call.fwd, rules.fwd),
        batch=None,
        transpose=None,
    )
    outs = hand_custom_down(trace.parent, primitive, partial(call.function, fun), arrays, {"rules": on_arrays})
    assert len(call.out_parts) > 0 or not outs, "neither the function nor a rule has run"
    return restored(trace, call.out_parts, outs)


class _Call:
    """One call on values that are made of `parts`; `out_parts` are those of its results, once it has run."""

    def __init__(self, trace: Any, parts: Parts) -> None:
        self.trace, self.parts = trace, parts
        self.out_parts: list[Part] = []

    def function(self, fun: Callable[..., Values], *arrays: Array) -> list[Array]:
        """Run the function."""
        with tracing(self.trace.over(current_trace())) as inner:
            outs, self.out_parts = flattened(inner, fun(*restored(inner, self.parts, arrays)))
            return outs

    def jvp(self, rule: Any, primals: Values, tangents: Values) -> tuple[list[Array], list[Array]]:
        """Run a jvp rule: the tangent of a value is the value made of the tangents of its arrays."""
        with tracing(self.trace.over(current_trace())) as inner:
            outs, out_dots = rule(restored(inner, self.parts, primals), self.tangents(inner, self.parts, tangents))
            flat_outs, self.out_parts = flattened(inner, outs)
            return flat_outs, self.flat_tangents(inner, self.out_parts, out_dots)

    def fwd(self, rule: Any, primals: Values, nonzeros: Sequence[bool]) -> tuple[list[Array], list[Array], Backward]:
        """Run the forward half of a vjp rule; the backward half knows how its residuals are made."""
        with tracing(self.trace.over(current_trace())) as inner:
            marks = iter(nonzeros)
            is_nonzero = [sum(next(marks) for _ in part.arrays) > 0 for part in self.parts]
            outs, residuals, bwd = rule(restored(inner, self.parts, primals), is_nonzero)
            flat_outs, self.out_parts = flattened(inner, outs)
            flat_residuals, residual_parts = flattened(inner, residuals)
            return flat_outs, flat_residuals, partial(self.bwd, bwd, residual_parts)

    def bwd(self, rule: Backward, residual_parts: Parts, residuals: Values, cts: Values) -> list[Array]:
        """Run the backward half of a vjp rule."""
        with tracing(self.trace.over(current_trace())) as inner:
            kept = restored(inner, residual_parts, residuals)
            return self.flat_tangents(inner, self.parts, rule(kept, self.tangents(inner, self.out_parts, cts)))

    def tangents(self, inner: Any, parts: Parts, arrays: Values) -> list[Value]:
        """Return one tangent or cotangent for each value, a `Zero` if those of all its arrays are."""
        remaining = iter(arrays)
        tangents = []
        for part in parts:
            own_arrays = [next(remaining) for _ in part.arrays]
            if all(type(x) is Zero for x in own_arrays):
                tangents.append(zero_of(part.aval.to_tangent_aval()))
            else:
                tangents += restored(inner, [part], [instantiate_zeros(x) for x in own_arrays])
        return tangents

    def flat_tangents(self, inner: Any, parts: Parts, tangents: Values) -> list[Array]:
        """Return the arrays of tangents or cotangents of values that are made of `parts`."""
        arrays: list[Array] = []
        for part, x in zip(parts, tangents):
            if x is None or type(x) is Zero:
                arrays += [zero_of(aval.to_tangent_aval()) for aval in part.arrays]
            else:
                arrays += flattened(inner, [x], [part])[0]
        return arrays


def _custom_on_values(
    primitive: Primitive, trace: Any, args: Values, *, jaxpr: Jaxpr, rules: CustomRules
) -> list[Value]:
    return trace.process_custom_derivative(  # type: ignore[no-any-return]
        primitive, lambda *xs: run_program(jaxpr, xs), args, {"rules": rules}
    )


custom_jvp_call_p.def_rule("value", partial(_custom_on_values, custom_jvp_call_p))
custom_vjp_call_p.def_rule("value", partial(_custom_on_values, custom_vjp_call_p))
