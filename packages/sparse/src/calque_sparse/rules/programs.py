"""Operations that hold programs: calls, branches, loops, functions with derivative rules of their own.

One idea: a program inside is run by the same detection.  A loop whose number of steps is known is run step by step;
another one until its carry's sets grow no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import ShapedArray, instantiate_zeros, lax, stage
from calque_core.extend import is_float, zero_tangent
from calque_sparse.detection import UNKNOWN, Detection, Operand, Params, Products
from calque_sparse.sets import Sets

STEPS = 1000  # of a loop that are run one by one
PASSES = 64  # over a body, before every element of the carry gets one set

Args = list[Operand]
Avals = list[Any]


lax.linear_call_p.def_rule("sparsity_program", lambda run, args, avals, params: run.run(params["callee"], args))


# Branches


@lax.platform_dependent_p.def_rule("sparsity_program")
def joined_branches(run: Detection, args: Args, avals: Avals, params: Params) -> Args:
    """Return what the results of any branch depend on."""
    return [join(run, outs) for outs in zip(*[run.run(branch, args) for branch in params["branches"]])]


@lax.cond_p.def_rule("sparsity_program")
def cond_sparsity(run: Detection, args: Args, avals: Avals, params: Params) -> Args:
    if not args[0].is_known:
        return joined_branches(run, args[1:], avals, params)
    branches = params["branches"]
    return run.run(branches[min(max(int(args[0].value), 0), len(branches) - 1)], args[1:])


def join(run: Detection, outs: Sequence[Operand]) -> Operand:
    """Return an operand that depends on what any of several depends on; its value is unknown."""
    given = [out.layers for out in outs if out.layers]
    layers = tuple([sets.union(*ids) for sets, *ids in zip(run.layers, *given)]) if given else ()
    return Operand(outs[0].aval, UNKNOWN, layers)


# Loops


@lax.scan_p.def_rule("sparsity_program")
def scan_sparsity(run: Detection, args: Args, avals: Avals, params: Params) -> Args:
    jaxpr, length, num_consts, num_carry = (params[x] for x in ("jaxpr", "length", "num_consts", "num_carry"))
    consts, carry, xs = args[:num_consts], args[num_consts:][:num_carry], args[num_consts + num_carry :]
    if length > STEPS:
        slices = [any_slice(run, x) for x in xs]
        carry = settled_carry(run, lambda carry: run.run(jaxpr, [*consts, *carry, *slices])[:num_carry], carry)
        steps = [run.run(jaxpr, [*consts, *carry, *slices])[num_carry:]] * length
        return [*carry, *stacked(steps, avals[num_carry:])]
    steps = []
    for i in range(length)[:: -1 if params["reverse"] else 1]:
        outs = run.run(jaxpr, [*consts, *carry, *[slice_at(x, i) for x in xs]])
        carry = outs[:num_carry]
        steps.append(outs[num_carry:])
    return [*carry, *stacked(steps[:: -1 if params["reverse"] else 1], avals[num_carry:])]


@lax.while_p.def_rule("sparsity_program")
def while_sparsity(run: Detection, args: Args, avals: Avals, params: Params) -> Args:
    num_cond, num_consts = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    carry = args[num_consts:]

    def step(carry: Args) -> Args:
        return run.run(params["body_jaxpr"], [*args[num_cond:num_consts], *carry])

    for _ in range(STEPS):
        (answer,) = run.run(params["cond_jaxpr"], [*args[:num_cond], *carry])
        if not answer.is_known:
            break
        if not answer.value:
            return carry
        carry = step(carry)
    return settled_carry(run, step, carry)


def settled_carry(run: Detection, step: Callable[[Args], Args], carry: Args) -> Args:
    """Return a carry that no further step enlarges, with unknown values.

    A union that equals an operand has the operand's number, so a carry that has settled keeps its numbers.
    """
    before: Args = []
    carry = [x._replace(value=UNKNOWN) for x in carry]
    passes = 0
    while not before or any(not np.array_equal(x.layers, y.layers) for x, y in zip(before, carry)):
        before, passes = carry, passes + 1
        carry = [join(run, pair) for pair in zip(carry, step(carry))]
        if passes > PASSES:
            carry = with_one_set(run, carry)
    return carry


def with_one_set(run: Detection, carry: Args) -> Args:
    """Return the carry, of which each element depends on what any depends on: loops that grow for long stop here."""
    given = [x.layers for x in carry if x.layers]
    sets = [sets.everything(*ids) for sets, *ids in zip(run.layers, *given)]
    return [x._replace(layers=tuple([np.full(x.aval.shape, s) for s in sets]) if x.layers else ()) for x in carry]


def slice_at(x: Operand, i: int) -> Operand:
    """Return slice `i` along the leading axis."""
    value = np.asarray(x.value)[i] if x.is_known else UNKNOWN
    return Operand(ShapedArray(x.aval.shape[1:], x.aval.dtype), value, tuple([ids[i] for ids in x.layers]))


def any_slice(run: Detection, x: Operand) -> Operand:
    """Return the union of the slices along the leading axis."""
    layers = tuple([sets.union_over(ids, [0]) for sets, ids in zip(run.layers, x.layers)])
    return Operand(ShapedArray(x.aval.shape[1:], x.aval.dtype), UNKNOWN, layers)


def stacked(steps: Sequence[Args], avals: Avals) -> Args:
    """Return the arrays of the results of all steps along a new leading axis."""
    return [stack([step[i] for step in steps], aval) if steps else Operand(aval) for i, aval in enumerate(avals)]


def stack(slices: Args, aval: Any) -> Operand:
    """Return the array of slices along a new leading axis."""
    value = np.stack([x.value for x in slices]) if all(x.is_known for x in slices) else UNKNOWN
    count = max(len(x.layers) for x in slices)
    return Operand(aval, value, tuple([np.stack([x.layer(i).ids for x in slices]) for i in range(count)]))


# Functions with derivative rules of their own


@lax.custom_jvp_call_p.def_rule("sparsity_program")
@lax.custom_vjp_call_p.def_rule("sparsity_program")
def custom_sparsity(run: Detection, args: Args, avals: Avals, params: Params) -> Args:
    """Return what the rules depend on, which may be more, or less, than what the function depends on.

    A rule that calls the function again evaluates it: there, the pattern is that of the function.
    """
    custom, products = params["rules"], run.products
    if run.order == 0 or not custom.has_derivative:
        return run.run(params["jaxpr"], args)
    inside, singles = Detection(run.layers[0], order=0), [x.layer(0) for x in args]
    ways = [way(inside, singles, avals, rule) for way, rule in ((by_jvp, custom.jvp), (by_vjp, custom.fwd)) if rule]
    values = inside.run(params["jaxpr"], singles if run.order < 2 and products is not None else constants(args))
    outs = [join(inside, both)._replace(value=both[0].value) for both in zip(values, *ways)]
    if products is None:
        return outs
    if custom.fwd is None and run.order == 2:
        seconds = second_by_jvp(run, products, args, custom.jvp)
    else:
        seconds = second_of_any(run, products, args, outs)
    return [out._replace(layers=out.layers and (out.ids, second)) for out, second in zip(outs, seconds)]


def constants(args: Args) -> Args:
    """Return the arguments without sets."""
    return [x._replace(layers=()) for x in args]


def second_by_jvp(run: Detection, products: Products, args: Args, rule: Any) -> list[Any]:
    """Return the products behind the tangents of the results: those of tangents, and of a tangent and a primal."""
    mark, join_sets = products.nothing, products.as_sets.union
    primals = [x._replace(layers=x.layers and (x.ids, np.zeros_like(x.ids))) for x in args]
    tangents = [x._replace(layers=x.layers and (x.ids, join_sets(x.layer(1).ids, mark))) for x in args]
    outs = by_jvp(Detection(run.layers[0], products, 1), primals, [], rule, tangents)
    return [out.layer(1).ids for out in outs]


def second_of_any(run: Detection, products: Products, args: Args, outs: Args) -> list[Any]:
    """Return products that are safe for every rule: of what a result depends on, and all arguments.

    Inside of a rule, a call on primals alone makes none: a rule is linear in the tangents, which are marked.
    """
    behind = [x.layer(1).ids for x in args]
    if run.order == 1 and not any(map(np.any, behind)):
        return [np.zeros(out.aval.shape, np.int32) for out in outs]
    everything, older = products.sets.everything(*[x.ids for x in args]), products.as_sets.everything(*behind)
    return [products.as_sets.union(products.of(out.ids, everything), older) for out in outs]


def by_jvp(run: Detection, args: Args, avals: Avals, rule: Any, tangents: Args | None = None) -> Args:
    """Return what the tangents of the results depend on through the tangents of the arguments."""

    def tangents_of(*operands: Any) -> list[Any]:
        primals, given = operands[: len(args)], operands[len(args) :]
        dots = [t if x.layers else zero_tangent(t) for x, t in zip(tangents or args, given)]
        return [instantiate_zeros(tangent) for tangent in rule(primals, dots)[1]]

    primals = constants(args) if tangents is None else args
    unknown = [x._replace(value=UNKNOWN) for x in (tangents or args)]
    return run.run(stage(tangents_of, [x.aval for x in args] * 2), [*primals, *unknown])


def by_vjp(run: Detection, args: Args, avals: Avals, rule: Any) -> Args:
    """Return what the results depend on: the arguments whose cotangents depend on the cotangents of the results."""

    def cotangents_of(*operands: Any) -> list[Any]:
        primals, given = operands[: len(args)], operands[len(args) :]
        _, residuals, backward = rule(primals, [bool(x.layers) for x in args])
        bars = backward(residuals, [ct if is_float(ct.dtype) else zero_tangent(ct) for ct in given])
        is_zero = [bar is None or not x.layers for bar, x in zip(bars, args)]
        return [lax.zeros_like(x) if zero else instantiate_zeros(bar) for x, bar, zero in zip(primals, bars, is_zero)]

    ends = np.cumsum([aval.size for aval in avals]).tolist()
    backwards = Sets(ends[-1])
    parts = np.split(backwards.singletons(np.arange(ends[-1])), ends[:-1])
    seeds = [Operand(aval, UNKNOWN, (ids.reshape(aval.shape),)) for aval, ids in zip(avals, parts)]
    jaxpr = stage(cotangents_of, [x.aval for x in args] + avals)
    bars = Detection(backwards, order=0).run(jaxpr, [*constants(args), *seeds])
    sizes, results = backwards.members(np.concatenate([bar.ids.ravel() for bar in bars]))
    ids = run.layers[0].merge(results, np.repeat(np.concatenate([x.ids.ravel() for x in args]), sizes), ends[-1])
    pieces = np.split(ids, ends[:-1])
    return [Operand(aval, UNKNOWN, (piece.reshape(aval.shape),)) for aval, piece in zip(avals, pieces)]
