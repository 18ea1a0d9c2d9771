"""Known operations with their derivatives as code, made from the rules once per types.

One idea: a program, of one equation for a primitive, is cut into a known and a linear half, and the linear half is
transposed.  Both become Python functions that call the implementations of the primitives one after the other; so does
the program together with its derivative, for a forward derivative.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.

Read next: `steps.py`, which defines the results; `tables.py`, which keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from calque_autodiff.known.steps import DualOperation, LinearizedOperation, Programs, Pull, PullCode
from calque_autodiff.programs.partial_eval import at_places, without_repeats
from calque_autodiff.programs.recorded import Linearized, linearization, recorded_jvp
from calque_autodiff.programs.transpose import transpose_jaxpr
from calque_core import Jaxpr, Literal, Var, canonicalize_dtype, dce_jaxpr, evaluation, jaxpr_as_fun
from calque_core.engine import (
    Operation,
    Settings,
    StraightLine,
    entered,
    here,
    is_large,
    is_straight,
    merge_equal_equations,
)
from calque_core.lax import broadcast_in_dim_p

Value = Any


def linearized_operation(operation: Operation, mask: Sequence[bool]) -> LinearizedOperation | None:
    """Return an operation cut in two, whose operands in `mask` have tangents; None if its rules have to run."""
    program = operation.program
    outs, avals = program.outvars, program.in_avals
    if not here().settings.enable_x64 and any(canonicalize_dtype(aval.dtype) != aval.dtype for aval in avals):
        return None  # whether the cotangent has 32 bits depends on the settings of the backward pass
    halves = linearization(program, mask)  # without copies, which one use does not repay
    known, linear, sources = _repeated_late(halves, len(outs))
    known = merge_equal_equations(known)
    dot_avals = [None if type(v) is Literal else v.aval for v in linear.outvars]
    if not is_straight(known) or _has_marked_constant(operation, dot_avals):
        return None
    is_single = len(outs) == 1 and dot_avals != [None]
    run = StraightLine()
    primals = run.arguments(known.invars)
    results = run.results(known)
    residuals = [primals[i] if kind == "in" else results[i] for kind, i in sources]
    result = results[0] if is_single else _list_of(results[: len(outs)])
    function = run.function(primals, f"{result}, {_tuple_of(residuals)}")
    arrays = [i for i, (aval, m) in enumerate(zip(avals, mask)) if aval.shape and not m]
    makes_residuals = any(kind == "out" and i >= len(outs) for kind, i in sources)
    kept = {i for kind, i in sources if kind == "in"}
    captured = [i for i in arrays if makes_residuals or i in kept]
    pull = _pull(linear, len(sources), (True,)) if is_single else None
    if pull is not None and pull.code is None:
        return None
    pull_for = cache(partial(_pull_under, here().settings, linear, len(sources)))
    programs = Programs(program, mask, jaxpr_as_fun(known), sources, linear, pull_for)
    out_avals = [v.aval for v in outs]
    return LinearizedOperation(out_avals, dot_avals, (function, captured), pull, programs, here().settings)


def dual_operation(operation: Operation, mask: Sequence[bool]) -> DualOperation | None:
    """Return an operation with its derivative, of operands in `mask` with tangents; None if its rules have to run."""
    program = operation.program
    dual, out_mask = recorded_jvp(program, mask)
    if not is_straight(dual):
        return None
    dual = _simplified(dual)
    num_outs = len(program.outvars)
    dots = iter(dual.outvars[num_outs:])
    dot_avals = [next(dots).aval if m else None for m in out_mask]
    if _has_marked_constant(operation, dot_avals):
        return None
    code = StraightLine()
    arguments = code.arguments(dual.invars)
    run = code.function(arguments, _tuple_of(code.results(dual)))
    return DualOperation([v.aval for v in program.outvars], dot_avals, run, jaxpr_as_fun(dual), here().settings)


def _has_marked_constant(operation: Operation, dot_avals: Sequence[Any]) -> bool:
    """Tell whether a result without a tangent, which is no tracer, is a view: it cannot be marked."""
    return any(viewed and aval is None for viewed, aval in zip(operation.views, dot_avals))


def _repeated_late(halves: Linearized, num_outs: int) -> Linearized:
    """Return halves whose residuals are no repeated arrays: the linear half repeats the operands, which are smaller.

    A ufunc repeats them itself, so that nobody makes or keeps the repeated array.
    """
    known, linear, _ = halves
    made_by = {eqn.outvars[0]: eqn for eqn in known.eqns if eqn.primitive is broadcast_in_dim_p}
    residuals = at_places(halves.sources, known.invars, known.outvars)
    late = [made_by.get(x) if type(x) is Var and x not in known.outvars[:num_outs] else None for x in residuals]
    if not any(late):
        return halves
    invars, eqns = list(linear.invars), list(linear.eqns)
    for i, eqn in enumerate(late):
        if eqn is not None and type(eqn.invars[0]) is Var:
            residuals[i] = eqn.invars[0]
            invars[i] = Var(eqn.invars[0].aval)
            eqns.insert(0, eqn.replace(invars=[invars[i]], outvars=[linear.invars[i]]))
    smaller, sources = without_repeats(known.replace(outvars=[*known.outvars[:num_outs], *residuals]), num_outs)
    return Linearized(smaller, linear.replace(invars=invars, eqns=eqns), sources)


def _pull_under(settings: Settings, linear: Jaxpr, num_residuals: int, has_ct: tuple[bool, ...]) -> Pull:
    """Return the way back as `_pull`, under the settings of the operation, where a backward pass first asks for it."""
    with entered(evaluation, settings=settings):
        return _pull(linear, num_residuals, has_ct)


def _pull(linear: Jaxpr, num_residuals: int, has_ct: tuple[bool, ...]) -> Pull:
    """Return the way back through a linear program of residuals and tangents, for results that have a cotangent."""
    is_tangent = [False] * num_residuals + [True] * (len(linear.invars) - num_residuals)
    ct_mask = iter(has_ct)
    mask = [type(v) is not Literal and next(ct_mask) for v in linear.outvars]
    transposed, nonzero = transpose_jaxpr(linear, is_tangent, mask)
    transposed = _simplified(transposed)
    for_tracers, is_whole = jaxpr_as_fun(transposed), all(nonzero)
    if not is_straight(transposed):
        return Pull(None, None, None, for_tracers, nonzero, is_whole)
    cts = transposed.invars[num_residuals:]
    adding = _adding_code(transposed, num_residuals)
    is_kept = [adding is not None or is_large(v.aval) for v in transposed.outvars]
    code = _pull_code(transposed, num_residuals, (), is_kept)
    consuming = _pull_code(transposed, num_residuals, cts, is_kept) if any(is_large(v.aval) for v in cts) else code
    return Pull(code, consuming, adding, for_tracers, nonzero, is_whole)


def _pull_code(transposed: Jaxpr, num_residuals: int, private: Sequence[Var], is_kept: Sequence[bool]) -> PullCode:
    """Return the code of a program of residuals and cotangents, which may write to the cotangents `private`.

    It says of the results in `is_kept` whether nothing else refers to them.
    """
    code = StraightLine()
    names = code.arguments(transposed.invars)
    cts = code.results(transposed, private)
    function = code.function([*names[num_residuals:], *names[:num_residuals]], _tuple_of(cts))
    outvars = transposed.outvars
    is_private = [m and v in code.private and outvars.count(v) == 1 for v, m in zip(outvars, is_kept)]
    return PullCode(function, is_private if any(is_private) else ())


def _adding_code(transposed: Jaxpr, num_residuals: int) -> Callable[..., None] | None:
    """Return the code of an array, of cotangents and of residuals that adds the result of a program to the array."""
    code = StraightLine()
    names = code.arguments(transposed.invars)
    if not code.adds(transposed, "total"):
        return None
    return code.function(["total", *names[num_residuals:], *names[:num_residuals]], "None")


def _simplified(program: Jaxpr) -> Jaxpr:
    """Return a program without dead equations, and with one of equal equations, as a rule and its derivative have."""
    smaller, _ = dce_jaxpr(merge_equal_equations(program), [True] * len(program.outvars), instantiate=True)
    return smaller


def _list_of(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _tuple_of(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"
