"""The derivatives of `remat`, `name`, `optimization_barrier` and `dce_sink`.

One idea: linearizing a checkpointed program keeps its operands and the results that the policy saves; the linear
program is one `remat`, which first computes the other residuals again.  These equations are not linear, so transposing
runs them forward.

Read next: `saving.py`, which cuts the first computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.checkpoint_policies import Policy, nothing_saveable
from calque_autodiff.programs.partial_eval import partial_eval_jaxpr
from calque_autodiff.rules.calls.jit import def_call_jvp, def_call_transpose
from calque_autodiff.rules.calls.saving import cut_jaxpr
from calque_autodiff.traces.tangent_trace import record
from calque_core import Atom, Jaxpr, dce_jaxpr
from calque_core.extend import is_nonzero, marked, merged, not_linear, settings_key, unmarked
from calque_core.lax import dce_sink_p, name_p, optimization_barrier_p, remat_p

Value = Any
Params = dict[str, Any]


# Programs


def_call_jvp(remat_p)  # the derivative follows the same policy
def_call_transpose(remat_p)  # first runs the equations that are not linear


class Rematted(NamedTuple):
    """A program cut in two.

    `forward` takes the operands and returns the results, then the saved values; `second` takes the operands marked in
    `used`, the saved values, and operands of its own; it computes the other residuals again.
    """

    forward: Jaxpr
    second: Jaxpr
    used: list[bool]


def again(jaxpr: Jaxpr, params: Params) -> Params:
    """Return the parameters of a `remat` whose program computes some values for the second time."""
    return params | {"jaxpr": jaxpr, "differentiated": True}


def compose_remat(known: Jaxpr, num_outs: int, second: Jaxpr, policy: Policy | None) -> Rematted:
    """Return both programs, where `second` takes the results of `known` after its first `num_outs`."""
    cut = cut_jaxpr(known, policy or nothing_saveable)
    num_args, num_residuals = len(known.invars), len(known.outvars) - num_outs
    program, used = dce_jaxpr(cut.again, [False] * num_outs + [True] * num_residuals)
    used_outs = [True] * num_outs + [False] * num_residuals + used[num_args:]
    forward, _ = dce_jaxpr(cut.forward, used_outs, instantiate=True)
    return Rematted(forward, compose(program, second), used[:num_args])


def compose(first: Jaxpr, second: Jaxpr) -> Jaxpr:
    """Return both programs as one, where the results of `first` are the first arguments of `second`.

    Halves of one program may have the same constants.
    """
    consts = dict(zip((*first.constvars, *second.constvars), (*first.consts, *second.consts)))
    atoms: dict[Any, Atom] = dict(zip(second.invars, first.outvars))
    eqns = [eqn.replace(invars=[atoms.get(v, v) for v in eqn.invars]) for eqn in second.eqns]
    return second.replace(
        constvars=tuple(consts),
        consts=tuple(consts.values()),
        invars=(*first.invars, *second.invars[len(first.outvars) :]),
        eqns=(*first.eqns, *eqns),
        outvars=[atoms.get(v, v) for v in second.outvars],
    )


@remat_p.def_rule("partial_eval")
def remat_partial_eval(known_mask: Sequence[bool], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """Run the known half, keep the values that the policy saves, and record one equation that computes the unsaved."""
    policy = params["policy"]
    split = partial_eval_jaxpr(jaxpr, known_mask)
    num_known = sum(split.known_outs)
    key = ("remat split", tuple(known_mask), policy, *settings_key())
    halves = jaxpr.memo(key, lambda: compose_remat(split.known, num_known, split.unknown, policy))
    known = marked(operands, known_mask)
    results = remat_p.bind(*known, jaxpr=halves.forward, **params)
    second_operands = [*marked(known, halves.used), *results[num_known:], *unmarked(operands, known_mask)]
    return merged(split.known_outs, results, record(remat_p, second_operands, again(halves.second, params)))


# Names


@name_p.def_rule("jvp")
def name_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, name: str) -> tuple[Value, Value]:
    """Name the value, not its tangent."""
    return name_p.bind(primals[0], name=name), tangents[0]


@name_p.def_rule("transpose")
def name_transpose(ct: Value, x: Value, *, name: str) -> list[Value]:
    return [ct]


# Barriers


@optimization_barrier_p.def_rule("jvp")
def optimization_barrier_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """Pass the tangents that are not zero through a second barrier."""
    nonzeros = is_nonzero(tangents)
    dots = optimization_barrier_p.bind(*marked(tangents, nonzeros))
    return optimization_barrier_p.bind(*primals), merged(nonzeros, dots, unmarked(tangents, nonzeros))


@optimization_barrier_p.def_rule("transpose")
def optimization_barrier_transpose(cts: Sequence[Value], *operands: Value) -> list[Value]:
    """Pass the cotangents that are not zero through a barrier."""
    nonzeros = is_nonzero(cts)
    return merged(nonzeros, optimization_barrier_p.bind(*marked(cts, nonzeros)))


@dce_sink_p.def_rule("jvp")
def dce_sink_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """Keep the values; nothing uses the tangents."""
    return dce_sink_p.bind(*primals), []


not_linear(dce_sink_p)
