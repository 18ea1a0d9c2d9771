"""Branches: the primitive `cond`, bound by `cond` and `switch`.

One idea: the branches are jaxprs over the same operands, in the order of an integer index.  A value that a branch
closes over, tracer or array, becomes an operand of all branches, so that no branch holds a value.

The static parameter `batched` of the equation says how `vmap` handles a batched index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from calque_core.calls.api_util import (
    check_callable,
    describe_value,
    difference,
    leaf_names,
)
from calque_core.context import here
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.known.programs import control_flow
from calque_core.memory.separate import copy_shared, copy_writable_tree
from calque_core.ops.calls.jit import check_operands, run_program
from calque_core.ops.calls.staged_programs import detach, join_constants, operand_leaves, stage_once
from calque_core.ops.elementwise.compare import clamp
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.weakness import convert_to, reaches
from calque_core.ops.meshes.varying import as_varying, fit_branches, fit_operands
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.passes.discharge import Discharged, discharge_programs
from calque_core.primitives.primitive import Primitive
from calque_core.staging.stage import stage
from calque_core.traces.tracer import is_tracer, known, unknown
from calque_core.types.avals import NO_AXES, AxisNames, ShapedArray, is_array_like, shaped_array, short_repr, typeof
from calque_core.types.own_types import is_own
from calque_core.types.promotion import promote_types
from calque_pytree import PyTreeDef

Value = Any
BATCHED = ("select", "skip", "map", "error")
NO_OPERAND: Any = object()  # None is an operand

cond_p = Primitive("cond", multiple_results=True)
cond_p.takes_weak = True
control_flow.add(cond_p)


@cond_p.def_abstract_eval
def cond_abstract_eval(index_aval: ShapedArray, *avals: Any, branches: Sequence[Jaxpr], batched: str) -> list[Any]:
    if index_aval.shape or index_aval.dtype != np.int32:
        raise TypeError(f"cond got an index of type {index_aval}. Give a scalar of dtype int32.")
    for number, branch in enumerate(branches):
        check_operands(f"branch {number} of cond", branch, avals)
    return branches[0].out_avals


def chosen_branches(index: Value, branches: tuple[Jaxpr, ...]) -> tuple[Value, tuple[Jaxpr, ...]]:
    """Return the index and the branches; for a known index, only the branch that it chooses."""
    if is_tracer(index):
        return index, branches
    return index, (branches[min(max(int(index), 0), len(branches) - 1)],)


@cond_p.def_impl
def cond_impl(index: Value, *operands: Value, branches: Sequence[Jaxpr], batched: str) -> list[Value]:
    branch = branches[min(max(int(index), 0), len(branches) - 1)]
    return run_program(branch, operands)


@cond_p.def_pp
def cond_pp(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if (name, value) != ("batched", "select")}


def dce_branches(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drop the unused results, and the operands that no branch needs for the used results."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    branches: Sequence[Jaxpr] = eqn.params["branches"]
    used = np.any([dce_jaxpr(branch, used_outputs)[1] for branch in branches], axis=0).tolist()
    kept = [dce_jaxpr(branch, used_outputs, instantiate=used)[0] for branch in branches]
    used_inputs = [True] * (len(eqn.invars) - len(used)) + used  # the index, if there is one, is kept
    invars, outvars = marked(eqn.invars, used_inputs), marked(eqn.outvars, used_outputs)
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=eqn.params | {"branches": tuple(kept)})


cond_p.def_rule("dce", dce_branches)
cond_p.def_rule("lower_values", lambda count, **params: params)


@cond_p.def_rule("vma")
def cond_vma(vmas: Sequence[AxisNames], *, branches: Sequence[Jaxpr], batched: str) -> list[AxisNames]:
    """Return the axes of the results of a branch, with those of the index: each position may take its own branch."""
    return [aval.vma | vmas[0] for aval in branches[0].out_avals]


@cond_p.def_rule("fit")
def fit_cond(args: Sequence[Value], params: dict[str, Any]) -> tuple[Sequence[Value], dict[str, Any]]:
    """Make operands and branches vary along the same axes of a mesh."""
    operands, branches = fit_branches(args[1:], params["branches"])
    return [args[0], *operands], params | {"branches": branches}


@api_boundary
def cond(
    pred: Value,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = NO_OPERAND,
    batched: str = "select",
) -> Any:
    """Return `true_fun(*operands)` if `pred` is true, otherwise `false_fun(*operands)`.

    Both functions are traced, or the one that is both; one runs.  `cond(pred, x, true_fun, y, false_fun)` has an
    operand for each.  They must return the same pytree of the same types; a Python scalar takes the dtype of its
    counterpart.  `batched` says how `vmap` handles a mapped `pred`: "select" (run both, choose by element), "skip" (run
    a branch only if some element takes it), "map" (run the branch of each element, one element after the other) or
    "error".  `operand=x` is another spelling of one operand.
    Raises: TypeError if `pred` is not a bool scalar, the branches differ in structure or types, or `operand` stands
    beside operands.

    >>> from calque_core.lax import cond
    >>> cond(True, lambda x: x + 1.0, lambda x: x - 1.0, 2.0)
    3.0
    """
    if not callable(true_fun) and callable(false_fun) and len(operands) == 2 and callable(operands[1]):
        true_fun, false_fun, operands = _on_own_operands(true_fun, false_fun, *operands)
    for fun in (true_fun, false_fun):
        check_callable(fun, "cond")
    _check_predicate(pred)
    return _choose("cond", pred, (false_fun, true_fun), _one_spelling("cond", operands, operand), batched)


def _on_own_operands(
    x: Any, true_fun: Callable[..., Any], y: Any, false_fun: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, Any]]:
    """Return two functions of both operands, which use one each, and the operands."""
    first = named_after(true_fun)(lambda x, y: true_fun(x))
    second = named_after(false_fun)(lambda x, y: false_fun(y))
    return first, second, (x, y)


def _one_spelling(verb: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Return the operands, of which one may have been passed as `operand=`."""
    if operand is NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{verb}{where()} got operand= beside {len(operands)} operands. Pass all of them by position.")
    return (operand,)


@api_boundary
def switch(
    index: Value,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = NO_OPERAND,
    batched: str = "select",
) -> Any:
    """Return `branches[index](*operands)`; an index out of range takes the nearest branch.

    The functions are traced, each once; one runs.  Results, `operand` and `batched` are as for `cond`.
    Raises: TypeError if `index` is not an integer scalar, or the branches differ in structure or types; ValueError if
    there are none.

    >>> from calque_core.lax import switch
    >>> switch(1, [lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x + 3.0], 5.0)
    3.0
    """
    if not isinstance(branches, Iterable):
        raise TypeError(f"switch{where()} got {short_repr(branches)} as its branches. Give a list of functions.")
    functions, operands = tuple(branches), _one_spelling("switch", operands, operand)
    if not functions:
        raise ValueError(f"switch{where()} got no branches. Give at least one function.")
    for fun in functions:
        check_callable(fun, "switch")
    if not is_array_like(index) or typeof(index).shape or typeof(index).kind not in "iu":
        raise TypeError(f"switch{where()} got {describe_value(index)} as its index. Give an integer scalar.")
    if len(functions) == 1:
        return copy_writable_tree(functions[0](*operands))
    return _choose("switch", _nearest(index, len(functions)), functions, operands, batched)


def _nearest(index: Value, count: int) -> Value:
    """Return the index of a branch, clamped to the number of branches; it is clamped before it loses bits."""
    dtype = np.dtype(np.int32) if np.can_cast(typeof(index).dtype, np.int32) else typeof(index).dtype
    return clamp(dtype.type(0), convert_element_type(index, dtype), dtype.type(count - 1))


def _choose(
    verb: str, index: Value, functions: Sequence[Callable[..., Any]], operands: Sequence[Any], batched: str
) -> Any:
    """Trace the functions, bring their results to one type, and bind `cond`."""
    if batched not in BATCHED:
        raise ValueError(f"{verb}{where()} got batched={batched!r}. Use one of {', '.join(map(repr, BATCHED))}.")
    leaves, in_tree = operand_leaves(verb, functions[-1], operands)
    if here().settings.disable_jit and known(index) is not unknown:
        operands, _ = in_tree.unflatten(leaves)
        return copy_writable_tree(functions[int(known(index))](*operands))
    pure, out_tree = stage_branches(verb, functions, leaves, in_tree)
    vma = typeof(index).vma  # operands vary along them too, so that no branch sums the cotangents of all positions
    consts = fit_operands(pure.arrays, [vma] * len(pure.operands))
    leaves = fit_operands(leaves, [vma] * len(leaves))
    branches = tuple(pure.programs)
    outs = cond_p.bind(convert_element_type(index, np.int32), *consts, *leaves, branches=branches, batched=batched)
    return out_tree.unflatten(copy_shared(pure.results(outs), consts, leaves))


def stage_branches(
    verb: str, functions: Sequence[Callable[..., Any]], leaves: Sequence[Value], in_tree: PyTreeDef
) -> tuple[Discharged, PyTreeDef]:
    """Return the programs of functions with results of one type, with their common constants, and the output tree.

    A function that stands there several times is traced once.
    """
    avals = [typeof(x) for x in leaves]
    programs: dict[int, tuple[Jaxpr, PyTreeDef]] = {}
    for fun in functions:
        if id(fun) not in programs:
            programs[id(fun)] = stage_once(verb, fun, in_tree, avals)
    staged = [programs[id(fun)] for fun in functions]
    jaxprs = [jaxpr for jaxpr, _ in staged]
    out_tree = _check_structures(verb, functions, [tree for _, tree in staged])
    branches, consts = join_constants(detach(unify_results(verb, functions, jaxprs, out_tree)))
    return discharge_programs(branches, consts), out_tree


def _check_predicate(pred: Value) -> None:
    if not is_array_like(pred):
        raise TypeError(f"cond{where()} got {describe_value(pred)} as its predicate. Give a bool scalar.")
    aval = typeof(pred)
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(f"cond{where()} got a predicate of type {aval}. Give a bool scalar: compare it, x > 0.")


def _check_structures(verb: str, functions: Sequence[Callable[..., Any]], out_trees: Sequence[PyTreeDef]) -> PyTreeDef:
    """Return the common output tree of all branches.  Raises: TypeError that shows two different trees."""
    first = out_trees[-1]
    for fun, out_tree in zip(functions, out_trees):
        if out_tree != first:
            raise TypeError(
                f"{verb} branch outputs must have the same pytree structure, but they differ{where()}: "
                f"{describe_function(functions[-1])} returned {first}, {describe_function(fun)} returned "
                f"{out_tree}.{difference(first, out_tree)} Return the same structure from each branch."
            )
    return first


def unify_results(verb: str, functions: Sequence[Any], jaxprs: Sequence[Jaxpr], out_tree: PyTreeDef) -> list[Jaxpr]:
    """Return branches with results of equal types; a weak result takes the dtype of a strong counterpart.

    Raises: TypeError that names the leaf, the functions and their types.
    """
    targets = []
    for position, avals in enumerate(zip(*(jaxpr.out_avals for jaxpr in jaxprs))):
        target = avals[0] if all(a is avals[0] for a in avals) else _common_type(avals)
        if target is None:
            output = leaf_names("the output", out_tree.unflatten(jaxprs[0].out_avals))[position]
            last, *earlier = [(describe_function(f), str(a)) for f, a in zip(reversed(functions), reversed(avals))]
            raise TypeError(
                f"{verb} branch outputs must have equal types, but they differ{where()}: {output} of "
                f"{last[0]} is {last[1]}{''.join(f', of {name} {kind}' for name, kind in earlier)}. "
                "Convert one of them."
            )
        targets.append(target)
    return [converted_results(jaxpr, targets) for jaxpr in jaxprs]


def _common_type(avals: Sequence[Any]) -> Any:
    """Return the type of the results of several branches; None if they differ in more than weakness."""
    if any(map(is_own, avals)):
        return avals[0] if all(aval == avals[0] for aval in avals) else None
    strong = next((a for a in avals if not a.weak_type), None)
    dtype = reduce(promote_types, [a.dtype for a in avals]) if strong is None else strong.dtype
    same_shape = all(aval.shape == avals[-1].shape for aval in avals)
    if not same_shape or not all(a.dtype == dtype or (a.weak_type and reaches(a.dtype, dtype)) for a in avals):
        return None
    vma = NO_AXES.union(*[aval.vma for aval in avals])
    return shaped_array(avals[0].shape, dtype, strong is None).varying(vma)


def converted_results(jaxpr: Jaxpr, targets: Sequence[ShapedArray]) -> Jaxpr:
    """Return a program whose results are converted to the types `targets`, or the same program if they have them."""
    if all(aval is target for aval, target in zip(jaxpr.out_avals, targets)):
        return jaxpr

    def converted(*args: Value) -> list[Value]:
        outs = map(convert_to, eval_jaxpr(jaxpr, jaxpr.consts, *args), targets)
        return [as_varying(x, target.vma) for x, target in zip(outs, targets)]

    return stage(converted, jaxpr.in_avals, verb="cond")
