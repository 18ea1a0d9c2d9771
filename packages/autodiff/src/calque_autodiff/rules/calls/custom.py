"""The derivatives of functions with their own rules.

One idea: a user's rule runs as every rule does, over the tangent trace, on primals of the parent; so it may branch on
values and call its own function.  A vjp rule runs its forward half at once, and records one equation in the linear
program; the backward half is the transpose of that equation.

A function with a rule for batches alone is differentiated as its program, in equations with rules for batches.

Read next: `custom_batches.py`, which differentiates rules for batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_autodiff.programs.jaxprs import jvp_jaxpr, jvp_of_call, linearize_jaxpr
from calque_autodiff.programs.partial_eval import at_places
from calque_autodiff.programs.transpose import backward_pass, is_linear, transpose_jaxpr, transpose_of_call
from calque_autodiff.rules.calls.custom_batches import JvpBatch, TransposeBatch
from calque_autodiff.traces.tangent_trace import TangentTrace, captured_by_rules, record, record_whole
from calque_core import (
    CustomRules,
    Jaxpr,
    UndefinedPrimal,
    Zero,
    current_trace,
    dce_jaxpr,
    eval_jaxpr,
    evaluation,
    instantiate_zeros,
    stage,
    typeof,
)
from calque_core.engine import (
    Mask,
    Pullback,
    add_remedy,
    close_rules,
    copy_shared,
    has_tangent,
    here,
    no_jvp_rule,
    with_integer_zeros,
)
from calque_core.extend import (
    JaxprTrace,
    is_nonzero,
    marked,
    merged,
    run_program,
    settings_key,
    split_results,
    unmarked,
    zero_tangent,
)
from calque_core.lax import (
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_fwd_p,
    custom_vjp_linear_p,
    custom_vmap_call_p,
    psum,
)

Value = Any


def custom_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, rules: CustomRules, jaxpr: Jaxpr | None = None
) -> tuple[list[Value], list[Value]]:
    """Run the jvp rule; a function without derivative rules is its program.

    Raises: TypeError if there is only a vjp rule.
    """
    if rules.jvp is not None:
        with captured_by_rules():
            outs, out_dots = rules.jvp(primals, tangents)
        return list(outs), out_dots
    if rules.fwd is not None:
        raise TypeError(no_jvp_rule(rules.name))
    assert jaxpr is not None, rules
    return jvp_of_call(_run, jaxpr, primals, tangents)


def _run(*operands: Value, jaxpr: Jaxpr) -> list[Value]:
    return eval_jaxpr(jaxpr, jaxpr.consts, *operands)


def custom_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    """Apply the transpose rule, or transpose the program: a function that is applied to tangents is linear in them."""
    if rules.transpose is not None:
        return _summed(rules.transpose(operands, cts), operands)
    return backward_pass(jaxpr, jaxpr.consts, operands, cts)


custom_jvp_call_p.def_rule("jvp", custom_jvp)
for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.def_rule("transpose", custom_transpose)
record_whole(custom_jvp_call_p, custom_vjp_call_p)  # a user's rules cannot be cut in two


@custom_vjp_call_p.def_rule("jvp")
def custom_vjp(
    primals: Sequence[Value], tangents: Sequence[Value], *, rules: CustomRules, jaxpr: Jaxpr | None = None
) -> tuple[list[Value], list[Value]]:
    """Run the forward half; record one equation on the tangents, which holds the backward half.

    If the function has a jvp rule, the equation runs forwards by it, and takes the primals too.  It may run under any
    trace, so tracers in the rules become primals.  Where no trace records, nothing runs backwards, and the jvp rule is
    applied at once.
    """
    trace = current_trace()
    if rules.fwd is None or not isinstance(trace, JaxprTrace):
        return custom_jvp(primals, tangents, rules=rules, jaxpr=jaxpr)
    is_eager = isinstance(trace, TangentTrace) and trace.parent is evaluation  # the rules hold values; saves 60 us
    if rules.jvp is not None and not is_eager:
        rules, captured = close_rules(rules, [typeof(x) for x in primals])
        primals, tangents = (*captured, *primals), (*map(zero_tangent, captured), *tangents)
    assert rules.fwd is not None, rules
    nonzeros = is_nonzero(tangents)
    outs, residuals, bwd = rules.fwd(primals, nonzeros)
    kept = primals if rules.jvp is not None else ()
    avals = [typeof(x).to_tangent_aval() for x in outs]
    pullback = _pullback(rules, bwd, nonzeros, avals, len(residuals), len(kept))
    with captured_by_rules():
        out_dots = custom_vjp_linear_p.bind(*residuals, *kept, *marked(tangents, nonzeros), pullback=pullback)
    return outs, with_integer_zeros(out_dots, avals)


def _pullback(
    rules: CustomRules, bwd: Any, nonzeros: Mask, out_avals: Sequence[Any], num_residuals: int, num_kept: int
) -> Pullback:
    """Return the derivative of a call, as a function of residuals, kept primals, and the tangents that are not zero."""
    known = num_residuals + num_kept
    is_floating = [*map(has_tangent, out_avals)]

    def fun(*operands: Value) -> list[Value]:
        if rules.jvp is None:
            raise TypeError(no_jvp_rule(rules.name))
        primals = operands[num_residuals:known]
        tangents = merged(nonzeros, operands[known:], map(zero_tangent, unmarked(primals, nonzeros)))
        return marked(map(instantiate_zeros, rules.jvp(primals, tangents)[1]), is_floating)

    def transpose(operands: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        residuals, cts = operands[:num_residuals], with_integer_zeros(cts, out_avals)
        try:
            bars = bwd(_read_only(residuals), _read_only(cts))
        except ValueError as error:
            if "read-only" in str(error):
                add_remedy(
                    error,
                    f"The backward rule of {rules.name} gets read-only arrays, because the rest of the derivative uses "
                    "them too. Make a new array, g = g * 2.0, or change a copy, g.copy().",
                )
            raise
        return [*[None] * known, *copy_shared(marked(bars, nonzeros), residuals, cts)]

    return Pullback(rules.name, fun, transpose, marked(out_avals, is_floating))


def _read_only(values: Sequence[Value]) -> list[Value]:
    """Return a read-only view of each array: other equations, and another pull, compute with the same memory."""
    views = [x.view() if type(x) is np.ndarray and x.flags.writeable else x for x in values]
    for x, view in zip(values, views):
        if view is not x:
            view.flags.writeable = False
    return views


custom_vjp_linear_p.def_hole("jvp", "it runs forwards by the jvp rule of its function, if there is one")


@custom_vjp_linear_p.def_rule("transpose")
def custom_vjp_linear_transpose(cts: Sequence[Value], *operands: Value, pullback: Pullback) -> list[Value]:
    """Run the backward half."""
    return _summed(pullback.transpose(operands, cts), operands)


def _summed(bars: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
    """Return the cotangents that a user's rule returned, summed over the shards that have one value of the operand.

    A cotangent that varies along an axis of a mesh along which its operand does not is the share of one position.
    """
    names = [name for name, _ in here().axis_env] if here().varying_axes else []
    if not names:
        return list(bars)
    return [_summed_over(bar, x, names) if type(x) is UndefinedPrimal else bar for bar, x in zip(bars, operands)]


def _summed_over(bar: Value, x: UndefinedPrimal, names: Sequence[Any]) -> Value:
    if bar is None or type(bar) is Zero:
        return bar
    axes = tuple(name for name in names if name in typeof(bar).vma - x.aval.vma)
    return psum(bar, axes) if axes else bar


# Forward halves, whose derivatives are those of their operations


@custom_vjp_fwd_p.def_rule("partial_eval")
def custom_vjp_fwd_partial_eval(known_mask: Mask, *operands: Value, fwd: Jaxpr, **_: Any) -> list[Value]:
    return run_program(fwd, operands)


@custom_vjp_fwd_p.def_rule("transpose")
def custom_vjp_fwd_transpose(cts: Sequence[Value], *operands: Value, fwd: Jaxpr, **_: Any) -> list[Value]:
    return backward_pass(fwd, fwd.consts, operands, cts)


# Functions with a rule for batches alone


@custom_vmap_call_p.def_rule("jvp")
def custom_vmap_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, jaxpr: Jaxpr, rules: CustomRules
) -> tuple[list[Value], list[Value]]:
    """Bind one call of the program of results and tangents."""
    if rules.batch is None:
        return jvp_of_call(_run, jaxpr, primals, tangents)
    nonzeros = is_nonzero(tangents)
    dual, out_mask = jvp_jaxpr(jaxpr, nonzeros)
    both = rules.derived(("jvp", tuple(nonzeros)), JvpBatch(jaxpr, rules, nonzeros, out_mask))
    outs = custom_vmap_call_p.bind(*primals, *marked(tangents, nonzeros), jaxpr=dual, rules=both)
    return split_results(outs, out_mask)


@custom_vmap_call_p.def_rule("partial_eval")
def custom_vmap_partial_eval(known_mask: Mask, *operands: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    """Cut the call that `custom_vmap_jvp` binds into a call of the function, and one that is linear in the tangents.

    The linear call takes the primals again: the residuals of the program and of the rule for batches may differ.
    """
    if rules.batch is None:
        return _run(*operands, jaxpr=jaxpr)
    both = rules.batch
    if not isinstance(both, JvpBatch) or not all(known_mask[: len(both.nonzeros)]):
        return record(custom_vmap_call_p, operands, {"jaxpr": jaxpr, "rules": rules})
    outs = both.function(operands[: len(both.nonzeros)])
    tangents = _tangent_program(both.jaxpr, both.nonzeros, both.out_mask)
    linear = rules.derived("tangents", both.tangents)
    return [*outs, *record(custom_vmap_call_p, operands, {"jaxpr": tangents, "rules": linear})]


def _tangent_program(jaxpr: Jaxpr, nonzeros: Sequence[bool], out_mask: Sequence[bool]) -> Jaxpr:
    """Return the program of primals and tangents that returns the tangents in `out_mask`.

    Each of its equations has known operands alone or is linear, calls and loops too: so it has a transpose.
    """
    known, linear, places = linearize_jaxpr(jaxpr, nonzeros)

    def tangents(*operands: Value) -> list[Value]:
        primals, dots = operands[: len(nonzeros)], operands[len(nonzeros) :]
        residuals = at_places(places, primals, eval_jaxpr(known, known.consts, *primals))
        return [*map(instantiate_zeros, marked(eval_jaxpr(linear, linear.consts, *residuals, *dots), out_mask))]

    def make() -> Jaxpr:
        dot_avals = [aval.to_tangent_aval() for aval in marked(jaxpr.in_avals, nonzeros)]
        program = stage(tangents, [*jaxpr.in_avals, *dot_avals], verb="linearize")
        return dce_jaxpr(program, [True] * len(program.outvars), instantiate=True)[0]

    return jaxpr.memo(("tangents", tuple(nonzeros), *settings_key()), make)  # type: ignore[no-any-return]


@custom_vmap_call_p.def_rule("transpose")
def custom_vmap_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    """Bind one call of the transposed program."""
    if rules.batch is None:
        return backward_pass(jaxpr, jaxpr.consts, operands, cts)
    linear_mask, ct_mask = is_linear(operands), is_nonzero(cts)
    _, out_mask = transpose_jaxpr(jaxpr, linear_mask, ct_mask)
    batch = TransposeBatch(jaxpr, rules, linear_mask, ct_mask, out_mask)
    transposed = rules.derived(("transpose", tuple(linear_mask), tuple(ct_mask)), batch)
    return transpose_of_call(partial(custom_vmap_call_p.bind, rules=transposed), jaxpr, cts, operands)
