"""Forward halves that a program replaces by their function where nobody uses their residuals: `optimize_remat`.

One idea: a traced forward half is one equation, which holds its program and that of the function with its rules.
Dead code elimination chooses between the two; derivatives of the equation are those of the half's operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_autodiff.programs.partial_eval import at_places, without_repeats
from calque_core import Jaxpr, Tracer, stage, typeof
from calque_core.engine import as_declared, join_constants
from calque_core.lax import custom_vjp_fwd_p

Value = Any
Function = Callable[..., Any]
Forward = Callable[[Sequence[Value], Sequence[bool]], tuple[list[Value], list[Value], Any]]


def optimized_fwd(name: str, fwd: Forward, fun: Function, user_rule: Function) -> Forward:
    """Return a forward half on lists that is one equation where it is traced; `fun` is its function, with its rules.

    On values it runs as it is.
    """

    def forward(primals: Sequence[Value], nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Any]:
        if not any(isinstance(x, Tracer) for x in primals):
            return fwd(primals, nonzeros)
        avals = [typeof(x) for x in primals]
        function = stage(fun, avals, verb="custom_vjp", user_fun=user_rule)
        half, bwd = _staged(fwd, avals, nonzeros, function, user_rule)
        (half, function), consts = join_constants([half, function])
        num_outs, operands = len(function.outvars), [*consts, *primals]
        half, places = without_repeats(half, num_outs)
        results = custom_vjp_fwd_p.bind(*operands, fwd=half, fun=function, name=name)
        return results[:num_outs], at_places(places, operands, results), bwd

    return forward


def _staged(
    fwd: Forward, avals: Sequence[Any], nonzeros: Sequence[bool], function: Jaxpr, user_rule: Function
) -> tuple[Jaxpr, Any]:
    """Return the program of a forward half, with results of the function's types, and the backward half."""
    backward: list[Any] = []

    def flat(*primals: Value) -> list[Value]:
        outs, residuals, bwd = fwd(primals, nonzeros)
        backward.append(bwd)
        return [*map(as_declared, outs, function.out_avals), *residuals]

    half = stage(flat, avals, verb="the fwd rule", user_fun=user_rule)
    return half, backward[-1]
