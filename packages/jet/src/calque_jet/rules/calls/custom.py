"""The Taylor rules of functions with derivative rules of their own: by their jvp rule, or by their program.

One idea: at every t, the rule computes the derivative of y = f(x(t)) from x'(t); so the rule, run on series, gives the
series of y'.  A function that has only a vjp rule is refused, as jvp refuses it.

A function with a rule for batches alone is expanded as its program; so is its rule, which is the rule for batches of
the expansion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core import CustomRules, Jaxpr, current_trace, dce_jaxpr, matchaxis, tracing
from calque_core.engine import no_jvp_rule
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p, custom_vmap_call_p
from calque_jet.jaxprs import Mask, fill_zeros, jet_jaxpr, masks_of, nonzeros, run_jet, with_zeros
from calque_jet.jet_trace import JetTrace, jet_through_jvp
from calque_jet.series import Series

Value = Any
BatchRule = Callable[[int, Sequence[bool], Sequence[Value]], tuple[list[Value], list[bool]]]


def custom_jet(
    primals: Sequence[Value], series: Sequence[Series], *, rules: CustomRules, jaxpr: Jaxpr | None = None
) -> tuple[list[Value], list[Series]]:
    """Run the jvp rule on series; a function without derivative rules runs as its program.

    Raises: TypeError if there is only a vjp rule.
    """
    if rules.jvp is not None:
        return jet_through_jvp(rules.jvp, primals, series)
    if rules.fwd is not None:
        raise TypeError(no_jvp_rule(rules.name))
    assert jaxpr is not None, rules
    return run_jet(jaxpr, primals, series)


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.def_rule("jet", custom_jet)
custom_vjp_linear_p.def_hole("jet", "the operations of its jvp rule are expanded instead")


# Functions with a rule for batches alone


@custom_vmap_call_p.def_rule("jet")
def custom_vmap_jet(
    primals: Sequence[Value], series: Sequence[Series], *, jaxpr: Jaxpr, rules: CustomRules
) -> tuple[list[Value], list[Series]]:
    """Bind one call of the program, and one of the coefficients: a result may be mapped less than its coefficients."""
    if rules.batch is None:
        return run_jet(jaxpr, primals, series)
    masks = masks_of(series)
    expanded, out_masks = jet_jaxpr(jaxpr, masks)
    is_coefficient = [i >= len(out_masks) for i in range(len(expanded.outvars))]
    program, _ = dce_jaxpr(expanded, is_coefficient, instantiate=True)
    own_rules = rules.derived(("jet", tuple(masks)), partial(coefficients_of_batch, rules.batch, masks, out_masks))
    outs = custom_vmap_call_p.bind(*primals, jaxpr=jaxpr, rules=rules)
    coefficients = custom_vmap_call_p.bind(*primals, *nonzeros(series), jaxpr=program, rules=own_rules)
    return outs, with_zeros(coefficients, out_masks)


def coefficients_of_batch(
    rule: BatchRule,
    masks: Sequence[Mask],
    out_masks: Sequence[Mask],
    size: int,
    is_mapped: Sequence[bool],
    operands: Sequence[Value],
) -> tuple[list[Value], list[bool]]:
    """Expand a rule for batches; return the coefficients.  An argument is mapped if one of its coefficients is.

    `masks` and `out_masks` are the masks of `jet_jaxpr` for the function of the rule.
    """
    count = len(masks)
    series = with_zeros(operands[count:], masks)
    marks = [[m, *ms] for m, ms in zip(is_mapped, with_zeros(is_mapped[count:], masks))]
    trace = JetTrace(current_trace(), len(masks[0]))
    with tracing(trace):
        fitted = [_alike(size, [x, *s], own_marks) for x, s, own_marks in zip(operands, series, marks)]
        args = [trace.value(x, s) for x, *s in fitted]
        results, out_mapped = rule(size, [any(own_marks) for own_marks in marks], args)
        outs, out_series = trace.split(results)
    out_series = [fill_zeros(x, s, mask) for x, s, mask in zip(outs, out_series, out_masks)]
    coefficients = [c for s, mask in zip(out_series, out_masks) for c, m in zip(s, mask) if m]
    return coefficients, [m for m, mask in zip(out_mapped, out_masks) for _ in range(sum(mask))]


def _alike(size: int, values: Sequence[Value], is_mapped: Sequence[bool | None]) -> list[Value]:
    """Return a primal and its coefficients, None for zero, with a batch axis each if one of them has it."""
    if not any(is_mapped):
        return list(values)
    return [x if x is None or m else matchaxis(x, None, 0, size) for x, m in zip(values, is_mapped)]
