"""The derivatives of `jit`: those of its program, each again one `jit` with the same compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.jaxprs import is_zero, jvp_jaxpr, linearize_jaxpr, partial_eval_jaxpr
from calque_autodiff.tangent_trace import record
from calque_autodiff.transpose import transpose_jaxpr
from calque_core.jaxpr import Jaxpr
from calque_core.linear import UndefinedPrimal, Zero, zero_tangent
from calque_core.ops.call import jit_p, wrapped

Value = Any


@jit_p.def_rule("jvp")
def jit_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Value], list[Value]]:
    """One program computes the results and their tangents."""
    nonzeros = [type(t) is not Zero for t in tangents]
    differentiated, out_mask = jvp_jaxpr(jaxpr, nonzeros)
    perturbed = [t for t in tangents if type(t) is not Zero]
    results = jit_p.bind(*primals, *perturbed, jaxpr=differentiated, **params)
    outs, rest = results[: len(out_mask)], iter(results[len(out_mask) :])
    return outs, [next(rest) if m else zero_tangent(x) for x, m in zip(outs, out_mask)]


@jit_p.def_rule("linearize")
def jit_linearize(
    nonzeros: Sequence[bool], *primals: Value, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Value], list[Value], Jaxpr]:
    """One program computes the results and the residuals; the linear program is one equation."""
    parts = linearize_jaxpr(jaxpr, nonzeros)
    results = jit_p.bind(*primals, jaxpr=parts.known, **params)
    key = ("linear call", *params.values())
    linear = parts.linear.memo(key, lambda: _linear_call(parts.linear, params))
    return results[: len(jaxpr.outvars)], parts.residuals(primals, results), linear


def _linear_call(linear: Jaxpr, params: dict[str, Any]) -> Jaxpr:
    """Return a program of one `jit` of the results of `linear` that are not zero; zeros stay literal `Zero`s."""
    nonzero = [not is_zero(v) for v in linear.outvars]
    inner = linear.replace(outvars=[v for v, n in zip(linear.outvars, nonzero) if n])
    call = wrapped(inner, jit_p, {"jaxpr": inner, **params}, inner.in_avals, inner.out_avals)
    results = iter(call.outvars)
    return call.replace(outvars=[next(results) if n else v for v, n in zip(linear.outvars, nonzero)])


@jit_p.def_rule("partial_eval")
def jit_partial_eval(known_mask: Sequence[bool], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """Run the known half now; make the rest one `jit` of the residuals and the unknown operands."""
    parts = partial_eval_jaxpr(jaxpr, known_mask)
    known_operands = [x for x, k in zip(operands, known_mask) if k]
    unknown_operands = [x for x, k in zip(operands, known_mask) if not k]
    is_needed = bool(parts.known.outvars or parts.known.effects)
    results = jit_p.bind(*known_operands, jaxpr=parts.known, **params) if is_needed else []
    num_known = sum(parts.known_outs)
    others = record(jit_p, [*results[num_known:], *unknown_operands], {"jaxpr": parts.unknown, **params})
    known_results, unknown_results = iter(results[:num_known]), iter(others)
    return [next(known_results) if k else next(unknown_results) for k in parts.known_outs]


@jit_p.def_rule("transpose")
def jit_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """One program computes the cotangents of the linear operands."""
    linear_mask = [type(x) is UndefinedPrimal for x in operands]
    ct_mask = [type(ct) is not Zero for ct in cts]
    transposed, nonzero = transpose_jaxpr(jaxpr, linear_mask, ct_mask)
    known = [x for x, m in zip(operands, linear_mask) if not m]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(jit_p.bind(*known, *given, jaxpr=transposed, **params))
    found = iter([next(results) if n else None for n in nonzero])
    return [next(found) if m else None for m in linear_mask]
