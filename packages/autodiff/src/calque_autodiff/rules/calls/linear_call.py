"""The derivatives of `linear_call` and `linear_transpose`, which are linear in the operands after the residuals.

One idea: in its linear operands `linear_call` is its own derivative, and stays one equation, so that reverse mode
calls the user's transpose.  In the residuals it is an ordinary program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.programs.jaxprs import jvp_jaxpr
from calque_autodiff.programs.transpose import backward_pass, is_linear, transpose_jaxpr
from calque_autodiff.traces.tangent_trace import record
from calque_core import Jaxpr, add_tangents, dce_jaxpr, eval_jaxpr, instantiate_zeros
from calque_core.engine import zero_of
from calque_core.extend import check_known, is_nonzero, marked, merged, unmarked, zero_tangent
from calque_core.lax import linear_call_p, linear_transpose_p

Value = Any


def tangent_jaxpr(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of the derivative of `jaxpr` alone, and the mask of `jvp_jaxpr`: the results with a tangent.

    >>> from calque_core import lax, make_jaxpr
    >>> tangent_jaxpr(make_jaxpr(lax.square)(1.0), [True])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = mul 2.0 a; d:f64[] = mul b c in (d,) }, [True])
    """
    both, out_mask = jvp_jaxpr(jaxpr, nonzeros, instantiate)
    is_tangent = [i >= len(jaxpr.outvars) for i in range(len(both.outvars))]
    return dce_jaxpr(both, is_tangent, instantiate=True)[0], out_mask


def tangents_along(jaxpr: Jaxpr, primals: Sequence[Value], tangents: Sequence[Value]) -> list[Value]:
    """Return the tangents of the results of `jaxpr`, `Zero`s included, for tangents of its arguments."""
    nonzeros = is_nonzero(tangents)
    program, out_mask = tangent_jaxpr(jaxpr, nonzeros)
    perturbed = marked(tangents, nonzeros)
    out_dots = eval_jaxpr(program, program.consts, *primals, *perturbed) if any(out_mask) else []
    zeros = [zero_of(aval.to_tangent_aval()) for aval in unmarked(jaxpr.out_avals, out_mask)]
    return merged(out_mask, out_dots, zeros)


def only_linear(bars: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
    """Return the cotangents of the operands of a transpose rule, with None for a known operand."""
    return [ct if m else None for ct, m in zip(bars, is_linear(operands))]


# A program and its transpose


@linear_call_p.def_rule("jvp")
def linear_call_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, callee: Jaxpr, num_res: int, **params: Any
) -> tuple[list[Value], list[Value]]:
    """Bind the call again along the linear operands; along the residuals, differentiate its program."""
    params |= {"callee": callee, "num_res": num_res}
    outs = linear_call_p.bind(*primals, **params)
    res, res_dots, linear_dots = primals[:num_res], tangents[:num_res], tangents[num_res:]
    out_dots = tangents_along(callee, primals, [*res_dots, *map(zero_tangent, primals[num_res:])])
    if any(is_nonzero(linear_dots)):
        terms = linear_call_p.bind(*res, *map(instantiate_zeros, linear_dots), **params)
        out_dots = [add_tangents(t, term) for t, term in zip(out_dots, terms)]
    return outs, out_dots


@linear_call_p.def_rule("partial_eval")
def linear_call_partial_eval(known_mask: Sequence[bool], *operands: Value, **params: Any) -> list[Value]:
    """Record the call if its residuals are known; otherwise run its program, operation by operation."""
    if all(known_mask[: params["num_res"]]):
        return record(linear_call_p, operands, params)
    callee: Jaxpr = params["callee"]
    return eval_jaxpr(callee, callee.consts, *operands)


@linear_call_p.def_rule("transpose")
def linear_call_transpose(
    cts: Sequence[Value], *operands: Value, callee: Jaxpr, transpose: Jaxpr, num_res: int
) -> list[Value]:
    """Swap the two programs; in its residuals, transpose the operations of the program."""
    res = operands[:num_res]
    if any(is_linear(res)):
        return backward_pass(callee, callee.consts, operands, cts)
    ct_arrays = map(instantiate_zeros, cts)
    bars = linear_call_p.bind(*res, *ct_arrays, callee=transpose, transpose=callee, num_res=num_res)
    return only_linear([*[None] * num_res, *bars], operands)


# The transpose of a program


def linear_transpose_decomposition(*args: Value, jaxpr: Jaxpr, num_res: int) -> list[Value]:
    """Transpose the program."""
    linear_mask = [i >= num_res for i in range(len(jaxpr.invars))]
    transposed, _ = transpose_jaxpr(jaxpr, linear_mask, instantiate=True)
    return eval_jaxpr(transposed, transposed.consts, *args)


linear_transpose_p.def_rule("decomposition", linear_transpose_decomposition)
linear_transpose_p.def_hole("jvp", "its transposed program is differentiated instead")


@linear_transpose_p.def_rule("partial_eval")
def linear_transpose_partial_eval(known_mask: Sequence[bool], *operands: Value, **params: Any) -> list[Value]:
    """Split the transposed program, operation by operation."""
    return linear_transpose_decomposition(*operands, **params)


@linear_transpose_p.def_rule("transpose")
def linear_transpose_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, num_res: int) -> list[Value]:
    """Twice transposed, a linear program is itself."""
    res = operands[:num_res]
    check_known(linear_transpose_p, *res)
    bars = eval_jaxpr(jaxpr, jaxpr.consts, *res, *map(instantiate_zeros, cts))
    return only_linear([*[None] * num_res, *bars], operands)
