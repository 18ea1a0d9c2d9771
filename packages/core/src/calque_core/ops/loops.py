"""What the loops have in common: tracing a body, and a carry whose type stays what it was.

A weak carry takes the type that a step gives it, as in a loop of Python's: the body is traced again until its carry has
the types that it takes.  So that loops inside of loops are not traced again and again, the trace of a body remembers
the types of the carries inside it, and the next trace of that body starts from them; and the first trace of a body, of
which only types are wanted, traces no loop inside it again whose types follow from its first trace.

Read next: `scan.py` and `while_loop.py`; `retyping.py` for types that follow from a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core.calls.api_util import check_arrays
from calque_core.frames.source import describe_function, where
from calque_core.jaxprs.interpret import run_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.cond import converted_to, join_constants, reaches, stage_once
from calque_core.ops.convert import convert_element_type, narrowed
from calque_core.ops.operands import scalar_kind, strong, weak
from calque_core.ops.retyping import derived_types
from calque_core.staging.stage import JaxprTrace, stage
from calque_core.traces.trace import Trace, current_trace
from calque_core.types.avals import typeof
from calque_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path

Value = Any


class Body(NamedTuple):
    """A traced function of a loop: what it closed over comes first among its arguments."""

    jaxpr: Jaxpr
    consts: list[Value]
    out_tree: PyTreeDef


class LoopTrace(JaxprTrace):
    """The trace of the body of a loop, which remembers the types of the carries of the loops inside it."""

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.types_only = False  # whether the body may be traced again, for a carry of other types
        self.is_rough = False  # whether it has to be: a loop inside has the right types only
        self.inside: list[CarryTypes] = []
        self.guesses: Sequence[CarryTypes] = ()

    def guess(self, start: Types) -> CarryTypes:
        """Return what the trace of the body before this one found of the next loop inside."""
        place = len(self.inside)
        if place < len(self.guesses) and _may_become(start, self.guesses[place].types):
            return self.guesses[place]
        return CarryTypes(start, ())


Types = Sequence[Any]


class CarryTypes(NamedTuple):
    """The types that the carry of a loop has, and those of the loops inside its body, in the order of tracing."""

    types: Types
    inside: Sequence[CarryTypes]


def trace_body(verb: str, fun: Callable[..., Any], in_tree: PyTreeDef, avals: Types) -> Body:
    """Return `fun` traced, with every constant, tracer or array, as a leading argument."""
    return _body(*stage_once(verb, fun, in_tree, avals))


def _body(jaxpr: Jaxpr, out_tree: PyTreeDef) -> Body:
    (joined,), consts = join_constants([jaxpr])
    return Body(joined, consts, out_tree)


def trace_step(
    verb: str, fun: Callable[..., Any], in_tree: PyTreeDef, carry: Types, xs: Types, check: Callable[[Body], None]
) -> tuple[Body, Types]:
    """Return the traced body of a loop and the types of its carry, which its results have too where it is weak.

    The carry is the first arguments and results; `check(body)` raises if the results have another structure.
    """
    outer = _enclosing_loop()
    before, guesses = CarryTypes(carry, ()) if outer is None else outer.guess(carry)
    only_types_count = outer is not None and outer.types_only
    types_only = any(aval.weak_type for aval in before)
    traces: list[LoopTrace] = []

    def new_trace(parent: Trace) -> LoopTrace:
        trace = LoopTrace(parent)
        trace.types_only, trace.guesses = types_only, traces[-1].inside if traces else guesses
        traces.append(trace)
        return trace

    while True:
        count = len(traces)
        avals = [*before, *xs]
        # A program with a loop of the right types only is not for others.
        body = _body(*stage_once(verb, fun, in_tree, avals, new_trace, lambda: not traces[-1].is_rough))
        check(body)
        is_rough = len(traces) > count and traces[-1].is_rough
        after = list(map(_after_step, before, body.jaxpr.out_avals))
        if after == list(before) and (only_types_count or not is_rough):
            break
        derived = _derived(body, before, after, len(xs)) if after != list(before) and only_types_count else None
        if derived is not None:
            body, before, is_rough = _retyped(body, before, *derived, len(xs)), derived[0], True
            break
        types_only = after != list(before) and any(aval.weak_type for aval in after)
        before = after
    if outer is not None:
        outer.inside.append(CarryTypes(before, traces[-1].inside if traces else ()))
        outer.is_rough = outer.is_rough or is_rough
    return body, before


def _enclosing_loop() -> LoopTrace | None:
    """Return the trace of the loop whose body is being traced, if it is the innermost program that is."""
    trace: Trace | None = current_trace()
    while trace is not None and not isinstance(trace, JaxprTrace):
        trace = trace.parent
    return trace if isinstance(trace, LoopTrace) else None


def _after_step(before: Any, after: Any) -> Any:
    """Return the type of a carry: a weak one takes that which a step gives it, if that can hold it."""
    return after if _may_become([before], [after]) else before


def _may_become(before: Types, after: Types) -> bool:
    return len(before) == len(after) and all(
        a is b or (a.weak_type and a.shape == b.shape and reaches(a.dtype, b.dtype)) for a, b in zip(before, after)
    )


def _derived(body: Body, before: Types, after: Types, num_xs: int) -> tuple[Types, Types] | None:
    """Return the types that the carry of a body settles at and those of its other results, None if there is a doubt."""
    if len(body.jaxpr.outvars) == len(before):
        return after, ()
    avals = body.jaxpr.in_avals
    stop = len(avals) - num_xs
    while True:
        outs = derived_types(body.jaxpr, [*avals[: stop - len(after)], *after, *avals[stop:]])
        if outs is None:
            return None
        then = list(map(_after_step, after, outs))
        if then == list(after):
            return after, outs[len(after) :]
        after = then


def _retyped(body: Body, before: Types, after: Types, ys: Types, num_xs: int) -> Body:
    """Return a body that takes a carry of other types and converts it: as good as the right one if only types count."""
    stop = len(body.jaxpr.invars) - num_xs
    start = stop - len(before)

    def converted(*args: Value) -> list[Value]:
        carry = [x if a is b else weak(x, scalar_kind(b)) for x, a, b in zip(args[start:stop], after, before)]
        outs = run_jaxpr(body.jaxpr, body.jaxpr.consts, *args[:start], *carry, *args[stop:])
        return list(map(converted_to, outs, [*after, *ys]))

    avals = body.jaxpr.in_avals
    return body._replace(jaxpr=stage(converted, [*avals[:start], *after, *avals[stop:]], verb="loop"))


def carry_leaves(what: str, name: str, tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves of an initial carry.  Raises: TypeError if a leaf is not an array."""
    leaves, treedef = tree_flatten(tree)
    check_arrays(leaves, lambda: [f"{name}{keystr(path)}" for path, _ in tree_flatten_with_path(tree)[0]], what)
    return [*narrowed(leaves)], treedef


def as_carry(x: Value, aval: Any) -> Value:
    """Return a leaf of an initial carry in the type that the loop has for it."""
    return x if typeof(x) is aval else converted_to(x, aval)


def as_dtype_of(before: Value, after: Value) -> Value:
    """Return a leaf after a step in the dtype it had before if it is weak, and was an array."""
    old, new = typeof(before), typeof(after)
    return convert_element_type(after, old.dtype) if new.weak_type and not old.weak_type else after


def strong_leaves(what: str, name: str, tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves of a tree, Python scalars made arrays.  Raises: TypeError if a leaf is not an array."""
    leaves, treedef = carry_leaves(what, name, tree)
    return [strong(x) for x in leaves], treedef


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
    """Return the body's jaxpr with carry results of the carry's types, the leaves of `carry`: weak ones take its dtype.

    The carry's results come first.  Raises: TypeError that names the leaf, its type before and after, and the fix.
    """
    pairs = tree_flatten_with_path(carry)[0]
    for (path, before), after in zip(pairs, body.jaxpr.out_avals):
        is_weak = after.shape == before.shape and after.weak_type and reaches(after.dtype, before.dtype)
        if not is_weak and (after.shape != before.shape or after.dtype != before.dtype):
            raise TypeError(
                f"{what}: the carry{keystr(path)} is {before} before a step of {describe_function(fun)}, "
                f"and {after} after it; a carry keeps its type. Start with {after}, or convert "
                f"what the step returns to {before}."
            )
    targets = [aval for _, aval in pairs]
    if all(after is target for after, target in zip(body.jaxpr.out_avals, targets)):
        return body.jaxpr

    def converted(*args: Value) -> list[Value]:
        outs = run_jaxpr(body.jaxpr, body.jaxpr.consts, *args)
        return [*map(converted_to, outs, targets), *outs[len(targets) :]]

    return stage(converted, body.jaxpr.in_avals, verb="loop")


def add_step(error: FloatingPointError, verb: str, step: int) -> None:
    """Say in which step of an evaluated loop an operation made a nan or an infinity."""
    error.add_note(f"This happened in step {step} of a {verb}{where()}, counted from 0.")


def loop_name(verb: str, fun: Any) -> str:
    """Return 'scan of step (model.py:12) at train.py:41 (main)', for messages."""
    return f"{verb} of {describe_function(fun)}{where()}"
