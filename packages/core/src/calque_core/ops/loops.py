"""What the loops have in common: tracing a body, and a carry whose type stays what it was.

Read next: `scan.py` and `while_loop.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core.api_util import check_arrays
from calque_core.avals import typeof
from calque_core.interpret import eval_jaxpr
from calque_core.jaxpr import Jaxpr
from calque_core.operands import strong
from calque_core.ops.control_flow import join_constants, reaches, stage_once
from calque_core.ops.convert import convert_element_type, narrowed
from calque_core.source import describe_function, where
from calque_core.stage import stage
from calque_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path

Value = Any


class Body(NamedTuple):
    """A traced function of a loop: what it closed over comes first among its arguments."""

    jaxpr: Jaxpr
    consts: list[Value]
    out_tree: PyTreeDef


def trace_body(verb: str, fun: Callable[..., Any], in_tree: PyTreeDef, avals: Sequence[Any]) -> Body:
    """Return `fun` traced, with every constant, tracer or array, as a leading argument."""
    jaxpr, out_tree = stage_once(verb, fun, in_tree, avals)
    (joined,), consts = join_constants([jaxpr])
    return Body(joined, consts, out_tree)


def strong_leaves(what: str, name: str, tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves of an initial carry, Python scalars made arrays, so that no step changes a weak type.

    Raises: TypeError if a leaf is not an array.
    """
    leaves, treedef = tree_flatten(tree)
    check_arrays(leaves, lambda: [f"{name}{keystr(path)}" for path, _ in tree_flatten_with_path(tree)[0]], what)
    return [*narrowed([strong(x) for x in leaves])], treedef


def check_carry(what: str, fun: Any, carry_tree: PyTreeDef, after_tree: PyTreeDef) -> None:
    """Check that a step gives a carry of the structure it took.

    Raises: TypeError with both structures.
    """
    if after_tree != carry_tree:
        raise TypeError(
            f"{what}: the carry has the structure {carry_tree}, but {describe_function(fun)} returned {after_tree}. "
            "Return a carry of the structure of the initial one."
        )


def check_step(what: str, carry: Sequence[Any], after: Sequence[Any]) -> None:
    """Check that a step of the programs of a loop gives a carry of the types it takes.

    Raises: TypeError with both.
    """
    if [(a.shape, a.dtype) for a in carry] != [(a.shape, a.dtype) for a in after]:
        before, then = (", ".join(str(a) for a in types) for types in (carry, after))
        raise TypeError(
            f"{what} got a program that makes of a carry ({before}) the carry ({then}). Let it keep the types."
        )


def settled_carry(what: str, fun: Any, body: Body, carry: Any) -> Jaxpr:
    """Return the body's jaxpr with carry results of the carry's types: Python scalars among them take its dtype.

    The carry's results come first.  Raises: TypeError that names the leaf, its type before and after, and the fix.
    """
    leaves = tree_flatten_with_path(carry)[0]
    dtypes: list[Any] = [None] * len(body.jaxpr.outvars)
    for i, ((path, leaf), after) in enumerate(zip(leaves, body.jaxpr.out_avals)):
        before = typeof(leaf)
        if after.shape == before.shape and after.weak_type and reaches(after.dtype, before.dtype):
            dtypes[i] = before.dtype
        elif after.shape != before.shape or after.dtype != before.dtype:
            raise TypeError(
                f"{what}: the carry{keystr(path)} is {before} before a step of {describe_function(fun)}, "
                f"and {after} after it; a carry keeps its type. Start with {after}, or convert "
                f"what the step returns to {before}."
            )
    if not any(dtype is not None and a.dtype != dtype for dtype, a in zip(dtypes, body.jaxpr.out_avals)):
        return body.jaxpr

    def converted(*args: Value) -> list[Value]:
        outs = eval_jaxpr(body.jaxpr, body.jaxpr.consts, *args)
        return [x if dtype is None else convert_element_type(x, dtype) for x, dtype in zip(outs, dtypes)]

    return stage(converted, body.jaxpr.in_avals, verb="loop")


def add_step(error: FloatingPointError, verb: str, step: int) -> None:
    """Say in which step of an evaluated loop an operation made a nan or an infinity."""
    error.add_note(f"This happened in step {step} of a {verb}{where()}, counted from 0.")


def loop_name(verb: str, fun: Any) -> str:
    """Return 'scan of step (model.py:12) at train.py:41 (main)', for messages."""
    return f"{verb} of {describe_function(fun)}{where()}"
