"""Tracing the body of a loop, with a carry that keeps its types.

A weak carry takes the type of the result of a step, as in a Python loop: the body is traced again until its results
have the types of its carry.  Nested loops would be traced many times, so the trace of a body stores the types of the
carries of its inner loops, and the next trace of that body starts from them.  If only the types of a trace are needed,
an inner loop is traced once, provided that `retyping.py` derives its types from that trace.

Read next: `scan.py` and `while_loop.py`; `retyping.py` for the types that follow from a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from calque_core.calls.api_util import array_leaves, difference
from calque_core.errors import CheckError
from calque_core.frames.source import describe_function, where
from calque_core.jaxprs.interpret import run_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, Var
from calque_core.jaxprs.masks import marked, unmarked
from calque_core.ops.calls.retyping import derived_types
from calque_core.ops.calls.staged_programs import join_constants, stage_once
from calque_core.ops.elementwise.convert import convert_element_type, narrow
from calque_core.ops.elementwise.weakness import convert_to, may_take, scalar_kind, strong, weak
from calque_core.ops.meshes.varying import as_varying
from calque_core.passes.discharge import discharge_programs, is_reference
from calque_core.record import Record
from calque_core.staging.stage import JaxprTrace, stage
from calque_core.traces.trace import Trace, current_trace
from calque_core.types.avals import reference_types, typeof
from calque_core.types.own_types import is_own
from calque_core.types.type_queries import same_type, same_types
from calque_pytree import PyTreeDef, keystr, tree_flatten_with_path, tree_leaves

Value = Any


class Body(NamedTuple):
    """A traced function of a loop; the values that it closes over are its leading arguments."""

    jaxpr: Jaxpr
    consts: list[Value]
    out_tree: PyTreeDef


class WrittenReferences(Record):
    """The references that the functions of a loop write: their contents are the first of its carry."""

    references: Sequence[Any] = ()

    @property
    def contents(self) -> list[Value]:
        """The arrays before the loop."""
        return [ref.read() for ref in self.references]

    def results(self, outs: Sequence[Value]) -> Sequence[Value]:
        """Write the arrays after the loop back, and return its other results."""
        if not self.references:
            return outs
        for ref, x in zip(self.references, outs):
            ref.write(x)
        return outs[len(self.references) :]


def discharge_bodies(*bodies: Body) -> tuple[Sequence[Body], WrittenReferences]:
    """Return the functions of one loop without references, which then have the constants of all of them.

    Their leading arguments after the constants, and their leading results, are the arrays of the references that one
    of them writes.
    """
    if not reference_types or not any(is_reference(c) for body in bodies for c in body.consts):
        return bodies, _NO_REFERENCES
    consts = {id(c): c for body in bodies for c in body.consts}
    pure = discharge_programs([_with_consts(body, consts) for body in bodies], list(consts.values()))
    is_written = [i in pure.written for i in range(len(consts))]
    kept = unmarked(pure.arrays, is_written)
    discharged = []
    for body, program in zip(bodies, pure.programs):
        leading = program.invars[: len(consts)]
        invars = (*unmarked(leading, is_written), *marked(leading, is_written), *program.invars[len(consts) :])
        discharged.append(Body(program.replace(invars=invars), kept, body.out_tree))
    return discharged, WrittenReferences(marked(pure.operands, is_written))


_NO_REFERENCES = WrittenReferences()


def _with_consts(body: Body, consts: dict[int, Value]) -> Jaxpr:
    """Return the program of a function with more constants, which are its leading arguments."""
    own = dict(zip(map(id, body.consts), body.jaxpr.invars))
    leading = [own.get(i) or Var(typeof(c)) for i, c in consts.items()]
    return body.jaxpr.replace(invars=(*leading, *body.jaxpr.invars[len(own) :]))


class LoopTrace(JaxprTrace):
    """The trace of the body of a loop; it stores the types of the carries of inner loops."""

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.types_only = False  # the body may be traced again, for a carry of other types
        self.is_rough = False  # the body must be traced again: the program of an inner loop has the right types only
        self.inside: list[CarryTypes] = []
        self.guesses: Sequence[CarryTypes] = ()

    def guess(self, start: Types) -> CarryTypes:
        """Return the types of the next inner loop in the previous trace of this body, or `start` if they do not fit."""
        index = len(self.inside)
        if index < len(self.guesses) and _may_become(start, self.guesses[index].types):
            return self.guesses[index]
        return CarryTypes(start, ())


Types = Sequence[Any]


class CarryTypes(NamedTuple):
    """The types of the carry of a loop, and the `CarryTypes` of the loops inside its body, in the order of tracing."""

    types: Types
    inside: Sequence[CarryTypes]


def trace_body(verb: str, fun: Callable[..., Any], in_tree: PyTreeDef, avals: Types) -> Body:
    """Return the trace of `fun`, with every constant, tracer or array, as a leading argument."""
    return _body(*stage_once(verb, fun, in_tree, avals))


def _body(jaxpr: Jaxpr, out_tree: PyTreeDef) -> Body:
    (joined,), consts = join_constants([jaxpr])
    return Body(joined, consts, out_tree)


def trace_step(
    verb: str, fun: Callable[..., Any], in_tree: PyTreeDef, carry: Types, xs: Types, check: Callable[[Body], None]
) -> tuple[Body, Types]:
    """Return the traced body of a loop and the types of its carry; weak carries have the types of the body's results.

    Arguments and results begin with the carry; `check(body)` raises if the results have another structure.
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
        # No other call may use a program with a loop that has the right types only.
        body = _body(*stage_once(verb, fun, in_tree, avals, new_trace, lambda: not traces[-1].is_rough))
        check(body)
        is_rough = len(traces) > count and traces[-1].is_rough
        after = list(map(_after_step, before, body.jaxpr.out_avals))
        if after == list(before) and (only_types_count or not is_rough):
            break
        derived = _derived_types(body, before, after, len(xs)) if after != list(before) and only_types_count else None
        if derived is not None:
            body, before, is_rough = _retyped_body(body, before, *derived, len(xs)), derived[0], True
            break
        types_only = after != list(before) and any(aval.weak_type for aval in after)
        before = after
    if outer is not None:
        outer.inside.append(CarryTypes(before, traces[-1].inside if traces else ()))
        outer.is_rough = outer.is_rough or is_rough
    return body, before


def _enclosing_loop() -> LoopTrace | None:
    """Return the trace of a loop's body if it is the innermost staging trace, otherwise None."""
    trace: Trace | None = current_trace()
    while trace is not None and not isinstance(trace, JaxprTrace):
        trace = trace.parent
    return trace if isinstance(trace, LoopTrace) else None


def _after_step(before: Any, after: Any) -> Any:
    """Return the type of a carry after a step: a weak carry takes the type of the result, if that can hold it.

    It varies along the axes of both.
    """
    vma = before.vma | after.vma
    return after.varying(vma) if _may_become([before], [after.varying(vma)]) else before.varying(vma)


def _may_become(before: Types, after: Types) -> bool:
    return len(before) == len(after) and all(
        a is b or (a.vma <= b.vma and _may_take_dtype(a, b.varying(a.vma))) for a, b in zip(before, after)
    )


def _may_take_dtype(before: Any, after: Any) -> bool:
    """Tell whether a carry is of the type `after`, or weak and takes its dtype."""
    if not before.weak_type or is_own(after):
        return bool(before == after)
    return before is after or (before.shape == after.shape and may_take(before.dtype, after.dtype))


def _derived_types(body: Body, before: Types, after: Types, num_xs: int) -> tuple[Types, Types] | None:
    """Return the final types of the carry and the types of the other results, or None if they cannot be derived."""
    if len(body.jaxpr.outvars) == len(before):
        return after, ()
    avals = body.jaxpr.in_avals
    stop = len(avals) - num_xs
    while True:
        outs = derived_types(body.jaxpr, [*avals[: stop - len(after)], *after, *avals[stop:]])
        if outs is None:
            return None
        next_after = list(map(_after_step, after, outs))
        if next_after == list(after):
            return after, outs[len(after) :]
        after = next_after


def _retyped_body(body: Body, before: Types, after: Types, ys: Types, num_xs: int) -> Body:
    """Return a body for a carry of the types `after`, which it converts for `body`: only its types are right."""
    stop = len(body.jaxpr.invars) - num_xs
    start = stop - len(before)

    def converted(*args: Value) -> list[Value]:
        carry = [
            weak(x, scalar_kind(b)) if b.weak_type and a is not b else x
            for x, a, b in zip(args[start:stop], after, before)
        ]
        outs = run_jaxpr(body.jaxpr, body.jaxpr.consts, *args[:start], *carry, *args[stop:])
        return list(map(_in_type, outs, [*after, *ys]))

    avals = body.jaxpr.in_avals
    return body._replace(jaxpr=stage(converted, [*avals[:start], *after, *avals[stop:]], verb="loop"))


def carry_leaves(caller: str, name: str, tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves of an initial carry.  Raises: TypeError if a leaf is not an array."""
    leaves, treedef = array_leaves(caller, name, tree)
    return [*narrow(leaves)], treedef


def as_carry(x: Value, aval: Any) -> Value:
    """Return a leaf of an initial carry in its type in the loop."""
    return x if typeof(x) is aval else _in_type(x, aval)


def _in_type(x: Value, aval: Any) -> Value:
    """Return a value with the dtype, the weakness and the varying axes of `aval`."""
    return as_varying(convert_to(x, aval), aval.vma)


def as_dtype_of(before: Value, after: Value) -> Value:
    """Return a leaf after a step, in the dtype of the leaf `before` if only that one is strong and can hold it."""
    old, new = typeof(before), typeof(after)
    is_joined = new.weak_type and not old.weak_type and may_take(new.dtype, old.dtype)
    return convert_element_type(after, old.dtype) if is_joined else after


def strong_leaves(caller: str, name: str, tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves of a tree, Python scalars converted to arrays.  Raises: TypeError if a leaf is not an array."""
    leaves, treedef = carry_leaves(caller, name, tree)
    return [strong(x) for x in leaves], treedef


def check_carry(caller: str, fun: Any, carry_tree: PyTreeDef, after_tree: PyTreeDef) -> None:
    """Check that a step returns a carry of the same structure.

    Raises: TypeError with both structures.
    """
    if after_tree != carry_tree:
        raise TypeError(
            f"{caller}: the carry has the structure {carry_tree}, but {describe_function(fun)} returned {after_tree}."
            f"{difference(carry_tree, after_tree)} Return the structure of the initial carry."
        )


def check_step(verb: str, carry: Sequence[Any], after: Sequence[Any]) -> None:
    """Check that the program of a step returns a carry of the same types.

    Raises: TypeError with both types.
    """
    if not same_types(carry, after):
        before, result = (", ".join(str(a) for a in types) for types in (carry, after))
        raise TypeError(
            f"{verb}: the body changes the types of the carry from ({before}) to ({result}). They must stay the same."
        )


def with_carry_types(caller: str, step: str, jaxpr: Jaxpr, carry: Any) -> Jaxpr:
    """Return the program of a step, whose first results are converted to the types of the carry, the leaves of `carry`.

    Only weak results are converted.  Raises: TypeError that names the step, the leaf, its types before and after.
    """
    check_carry_types(caller, step, carry, jaxpr.out_avals)
    targets = tree_leaves(carry)
    if all(after is target for after, target in zip(jaxpr.out_avals, targets)):
        return jaxpr

    def converted(*args: Value) -> list[Value]:
        outs = run_jaxpr(jaxpr, jaxpr.consts, *args)
        return [*map(_in_type, outs, targets), *outs[len(targets) :]]

    return stage(converted, jaxpr.in_avals, verb="loop")


def check_carry_types(caller: str, step: str, carry: Any, results: Iterable[Any]) -> None:
    """Check that the results of a step have the types of the carry, the leaves of `carry`.

    Raises: as `check_carry_type`.
    """
    for (path, before), after in zip(tree_flatten_with_path(carry)[0], results):
        check_carry_type(caller, step, keystr(path), before, after)


def check_carry_type(caller: str, step: str, path: str, before: Any, after: Any) -> None:
    """Check that a leaf of a carry has the same type after a step, or that one of the two types is weak.

    Of two weak types, the type before the step must be able to take that after it: a Python loop gives the latter.
    Raises: TypeError that names the step, the leaf, its types before and after.
    """
    if not same_type(before, after) and not _is_joined(before, after):
        raise TypeError(
            f"{caller}: {step} changes the type of the carry{path} from {before} to "
            f"{after}; it must stay the same. Start with {after.strip_weak_type()}, or convert the result of the step "
            f"to {before.strip_weak_type()}."
        )


def _is_joined(before: Any, after: Any) -> bool:
    """Tell whether one of two types, of one shape, is weak and can take the dtype of the other."""
    if is_own(before) or is_own(after) or before.shape != after.shape:
        return False
    if before.weak_type:
        return may_take(before.dtype, after.dtype)
    return after.weak_type and may_take(after.dtype, before.dtype)


def add_step(error: FloatingPointError | CheckError, verb: str, step: int, place: str) -> None:
    """Add a note with the step of a loop, after an operation in it made a nan or an infinity, or a check failed."""
    error.add_note(f"This happened in step {step} of a {verb}{place}, counted from 0.")
    if isinstance(error, CheckError):
        error.steps = (step, *error.steps)


def loop_name(verb: str, fun: Any) -> str:
    """Return 'scan of step (model.py:12) at train.py:41 (main)', for messages."""
    return f"{verb} of {describe_function(fun)}{where()}"
