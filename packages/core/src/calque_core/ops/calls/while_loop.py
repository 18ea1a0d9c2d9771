"""Loops that run until a condition fails: the primitive `while`.

One idea: condition and body are jaxprs over a carry that keeps its type; the values that each closes over are operands
of the loop.

Read next: `fori_loop.py` for loops that count, `scan.py` for loops with a known number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calque_core.calls.api_util import call, check_callable
from calque_core.context import here
from calque_core.errors import CheckError
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.known.programs import control_flow, run_again
from calque_core.memory.separate import copy_shared, copy_writable_tree
from calque_core.ops.calls.cond import cond
from calque_core.ops.calls.jit import check_operands
from calque_core.ops.calls.loop_rules import split_while
from calque_core.ops.calls.loops import (
    add_step,
    as_carry,
    as_dtype_of,
    carry_leaves,
    check_carry,
    check_carry_types,
    check_step,
    discharge_bodies,
    loop_name,
    trace_body,
    trace_step,
    with_carry_types,
)
from calque_core.ops.calls.own_values import is_run_on_arrays, run_on_arrays
from calque_core.ops.calls.scan import run_scan
from calque_core.ops.calls.staged_programs import detach
from calque_core.ops.elementwise.weakness import as_declared
from calque_core.ops.meshes.varying import fit_loop, fit_operands, fits
from calque_core.ops.shapes.axes import integer
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.primitives.primitive import Primitive
from calque_core.traces.tracer import known, unknown
from calque_core.types.avals import own_types, typeof
from calque_pytree import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_structure

Value = Any

CHECKPOINTS = 16  # the number of states that reverse mode keeps by default
OPTIONS = {"batched": "select", "checkpoints": CHECKPOINTS}  # the parameters that do not concern the programs
BATCHED = ("select", "map")

while_p = Primitive("while", multiple_results=True)
while_p.takes_weak = True
control_flow.add(while_p)


@while_p.def_abstract_eval
def while_abstract_eval(
    *avals: Any, body_jaxpr: Jaxpr, body_nconsts: int, cond_jaxpr: Jaxpr, cond_nconsts: int, **_: Any
) -> list[Any]:
    carry = avals[cond_nconsts + body_nconsts :]
    check_operands("the condition of while", cond_jaxpr, [*avals[:cond_nconsts], *carry])
    check_operands("the body of while", body_jaxpr, [*avals[cond_nconsts : cond_nconsts + body_nconsts], *carry])
    check_step("while", carry, body_jaxpr.out_avals)
    if [(aval.shape, aval.dtype) for aval in cond_jaxpr.out_avals] != [((), np.bool_)]:
        types = ", ".join(str(aval) for aval in cond_jaxpr.out_avals) or "nothing"
        raise TypeError(f"the condition of while returned {types}. Return one bool scalar.")
    return body_jaxpr.out_avals


@while_p.def_impl
def while_impl(*args: Value, **params: Any) -> list[Value]:
    body_jaxpr, cond_jaxpr = params["body_jaxpr"], params["cond_jaxpr"]
    if own_types and is_run_on_arrays(args, body_jaxpr, cond_jaxpr):
        return run_on_arrays(while_p, args, params, body_jaxpr.out_avals)
    return _while_steps(*args, **params)


def _while_steps(
    *args: Value, body_jaxpr: Jaxpr, body_nconsts: int, cond_jaxpr: Jaxpr, cond_nconsts: int, **_: Any
) -> list[Value]:
    cond_consts, body_consts = args[:cond_nconsts], args[cond_nconsts : cond_nconsts + body_nconsts]
    carry = list(map(as_declared, args[cond_nconsts + body_nconsts :], body_jaxpr.out_avals))
    step = 0
    try:
        while run_again(cond_jaxpr, *cond_consts, *carry)[0]:
            carry = run_again(body_jaxpr, *body_consts, *carry)
            step += 1
    except (FloatingPointError, CheckError) as error:
        add_step(error, "while", step, where())
        raise
    return carry


@while_p.def_pp
def while_pp(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in OPTIONS or OPTIONS[name] != value}


def dce_while(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drop carries that neither the condition nor a used result needs, and constants that only these carries need."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    params = eqn.params
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    _, cond_used = dce_jaxpr(cond_jaxpr, [True])
    used = [a or b for a, b in zip(used_outputs, cond_used[cond_nconsts:])]
    while True:
        _, body_used = dce_jaxpr(body_jaxpr, used)
        needed = [a or b for a, b in zip(used, body_used[body_nconsts:])]
        if needed == used:
            break
        used = needed
    kept_cond, kept_body = cond_used[:cond_nconsts], body_used[:body_nconsts]
    new_params = {
        "body_jaxpr": dce_jaxpr(body_jaxpr, used, instantiate=[*kept_body, *used])[0],
        "body_nconsts": sum(kept_body),
        "cond_jaxpr": dce_jaxpr(cond_jaxpr, [True], instantiate=[*kept_cond, *used])[0],
        "cond_nconsts": sum(kept_cond),
    }
    kept = [*kept_cond, *kept_body, *used]
    invars, outvars = marked(eqn.invars, kept), marked(eqn.outvars, used)
    return kept, eqn.replace(invars=invars, outvars=outvars, params=params | new_params)


while_p.def_rule("dce", dce_while)


@while_p.def_rule("lower_values")
def lower_while(
    count: Callable[[int, int], int], *, cond_nconsts: int, body_nconsts: int, **params: Any
) -> dict[str, Any]:
    num_consts = cond_nconsts + body_nconsts
    return params | {"cond_nconsts": count(0, cond_nconsts), "body_nconsts": count(cond_nconsts, num_consts)}


@while_p.def_rule("fit")
def fit_while(args: Sequence[Value], params: dict[str, Any]) -> tuple[Sequence[Value], dict[str, Any]]:
    """Make operands, the condition and the body vary along the same axes of a mesh."""
    body, condition = params["body_jaxpr"], params["cond_jaxpr"]
    cond_consts, body_consts, carry = split_while(args, params["cond_nconsts"], params["body_nconsts"])
    if fits([*body_consts, *carry], body.in_avals) and fits([*cond_consts, *carry], condition.in_avals):
        return args, params
    args, (body, condition) = fit_loop(args, [body, condition], [len(carry), 0])
    return args, params | {"body_jaxpr": body, "cond_jaxpr": condition}


while_p.def_rule("vma", lambda vmas, *, body_jaxpr, **_: [aval.vma for aval in body_jaxpr.out_avals])


@api_boundary
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    max_steps: int | None = None,
    checkpoints: int | None = None,
    batched: str = "select",
) -> Any:
    """Run `value = body_fun(value)` for as long as `cond_fun(value)` is true; return the last value.

    The value is a pytree of arrays that keeps its structure, shapes and dtypes, but a Python scalar takes the dtype
    of the result of `body_fun`.

    Reverse mode runs the loop again, and keeps `checkpoints` of its values (16, by default) at a time, from which it
    computes the values between them when it needs them.  If s values are kept, each of n steps is computed at most
    r + 2 times more, where r is the least number with C(s + r, r) >= n.  By default that is 3 times up to 17 steps, 4
    up to 153, 6 up to 4,845 and 10 up to 735,471.  With `max_steps`, the loop ends after that many steps at the latest;
    it is then a `scan` of branches: reverse mode keeps every step and computes none again.

    `batched` says how `vmap` handles a mapped condition: "select" (all elements step until the last one is finished) or
    "map" (each element runs its own loop, one element after the other).
    Raises: TypeError if the value changes its type, or `cond_fun` does not return a bool scalar; ValueError if
    `max_steps` is negative, `checkpoints` is not positive, or both are set, or for another value of `batched`.

    >>> from calque_core.lax import while_loop
    >>> while_loop(lambda x: x < 10.0, lambda x: x * 2.0, 1.0)
    16.0
    >>> while_loop(lambda x: x < 10.0, lambda x: x * 2.0, 1.0, max_steps=3)
    8.0
    """
    check_callable(cond_fun, "while_loop")
    check_callable(body_fun, "while_loop")
    caller = loop_name("while_loop", body_fun)
    if batched not in BATCHED:
        raise ValueError(f"{caller} got batched={batched!r}. Use one of {', '.join(map(repr, BATCHED))}.")
    options = {"batched": batched, "checkpoints": _checkpoints(caller, checkpoints, max_steps)}
    if max_steps is not None:
        return _run_bounded(caller, cond_fun, body_fun, init_val, max_steps, batched)
    return run_unbounded(caller, cond_fun, body_fun, init_val, options)


def run_unbounded(
    caller: str,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    options: Mapping[str, Any] = OPTIONS,
) -> Any:
    """Run steps until the condition fails; messages name the loop `caller`."""
    carry, carry_tree = carry_leaves(caller, "init_val", init_val)
    if here().settings.disable_jit:
        value, is_over = _run_by_python(caller, cond_fun, body_fun, carry_tree.unflatten(carry))
        if is_over:
            return copy_writable_tree(value)
        carry, carry_tree = carry_leaves(caller, "init_val", value)
    return _bind_traced(caller, cond_fun, body_fun, carry, carry_tree, options)


def _bind_traced(
    caller: str,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    carry: Sequence[Value],
    carry_tree: PyTreeDef,
    options: Mapping[str, Any],
) -> Any:
    """Trace both functions for a carry of leaves `carry`, and bind the loop."""
    _, in_tree = tree_flatten(((carry_tree.unflatten(carry),), {}))
    check = lambda body: check_carry(caller, body_fun, carry_tree, body.out_tree)
    types: Sequence[Any] = [typeof(x) for x in carry]
    while True:
        body, types = trace_step("while_loop", body_fun, in_tree, types, (), check)
        condition = trace_body("while_loop", cond_fun, in_tree, types)
        _check_condition(caller, cond_fun, condition.out_tree, condition.jaxpr.out_avals)
        vma = condition.jaxpr.out_avals[0].vma  # each position takes its own number of steps along these axes
        if all(vma <= aval.vma for aval in types):
            break
        types = [aval.varying(aval.vma | vma) for aval in types]
    carry = list(map(as_carry, carry, types))
    step = with_carry_types(caller, describe_function(body_fun), body.jaxpr, carry_tree.unflatten(types))
    (body, condition), written = discharge_bodies(body._replace(jaxpr=step), condition)
    body_jaxpr, cond_jaxpr = detach([body.jaxpr, _only_result(caller, cond_fun, condition.jaxpr)])
    outs = while_p.bind(
        *condition.consts,
        *fit_operands(body.consts, [vma] * len(body.consts)),  # so that no step sums the cotangents of all positions
        *written.contents,
        *carry,
        body_jaxpr=body_jaxpr,
        body_nconsts=len(body.consts),
        cond_jaxpr=cond_jaxpr,
        cond_nconsts=len(condition.consts),
        **options,
    )
    return carry_tree.unflatten(copy_shared(written.results(outs), condition.consts, body.consts, carry))


def _only_result(caller: str, cond_fun: Any, jaxpr: Jaxpr) -> Jaxpr:
    """Return the program of a condition without the values of references.  Raises: TypeError if it writes one."""
    *contents, result = jaxpr.outvars
    if any(x not in jaxpr.invars for x in contents):
        raise TypeError(
            f"{caller}: the condition {describe_function(cond_fun)} writes into a reference. Write in the step."
        )
    return jaxpr.replace(outvars=[result]) if contents else jaxpr


def _checkpoints(caller: str, checkpoints: int | None, max_steps: int | None) -> int:
    """Return the number of values to keep.  Raises: TypeError or ValueError for a wrong argument."""
    if checkpoints is None:
        return CHECKPOINTS
    if max_steps is not None:
        raise ValueError(
            f"{caller} got max_steps={max_steps!r} and checkpoints={checkpoints!r}, but a bounded loop keeps every "
            "step. Remove one of the two."
        )
    count = integer("while_loop", "checkpoints", checkpoints)
    if count < 1:
        raise ValueError(f"{caller} got checkpoints={checkpoints}. Give 1 or more.")
    return count


def _run_bounded(
    caller: str,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    max_steps: int,
    batched: str,
) -> Any:
    """Run a fixed number of steps; a step does nothing after the condition has failed."""
    count = integer("while_loop", "max_steps", max_steps)
    if count < 0:
        raise ValueError(f"{caller} got max_steps={max_steps}. Give 0 or more.")

    @named_after(body_fun)  # so that messages name the user's function
    def stepped(value: Any) -> Any:
        after = call(body_fun, "while_loop", value)
        check_carry(caller, body_fun, tree_structure(value), tree_structure(after))
        check_carry_types(caller, describe_function(body_fun), tree_map(typeof, value), map(typeof, tree_leaves(after)))
        return after

    @named_after(body_fun)
    def step(value: Any, _: None) -> tuple[Any, None]:
        answer = call(cond_fun, "while_loop", value)
        _check_answer(caller, cond_fun, answer)
        return cond(answer, stepped, lambda finished: finished, value, batched=batched), None

    value, _ = run_scan(caller, step, init_val, None, count, False, 1)
    return value


def _run_by_python(
    caller: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any
) -> tuple[Any, bool]:
    """Run steps on values until the condition fails or is unknown; return the value and whether it failed."""
    value, tree = init, tree_structure(init)
    while True:
        answer = cond_fun(value)
        _check_answer(caller, cond_fun, answer)
        is_true = known(answer)
        if is_true is unknown or not is_true:
            return value, is_true is not unknown
        after = body_fun(value)
        check_carry(caller, body_fun, tree, tree_structure(after))
        value = tree_map(as_dtype_of, value, after)


def _check_answer(caller: str, cond_fun: Any, answer: Any) -> None:
    _check_condition(caller, cond_fun, tree_structure(answer), [typeof(x) for x in tree_leaves(answer)])


def _check_condition(caller: str, cond_fun: Any, tree: PyTreeDef, avals: Sequence[Any]) -> None:
    if not tree.is_leaf or [(aval.shape, aval.dtype) for aval in avals] != [((), np.bool_)]:
        types = ", ".join(str(aval) for aval in avals) or "nothing"
        types += "" if tree.is_leaf or len(avals) != 1 else f" in a container, {tree}"
        raise TypeError(
            f"{caller}: the condition {describe_function(cond_fun)} returned {types}. Return one bool scalar, for "
            "example a comparison."
        )
