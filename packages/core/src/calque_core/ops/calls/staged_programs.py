"""Programs of a user's functions inside an operation: branches, the steps of loops, checkpointed functions.

One idea: a function whose code reads the same values as before is staged once; its program is found again by these
values and by the types of the operands, so that a loop that runs again and again stages its step once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from calque_core.calls.api_util import FlatFunction, arg_names, check_arrays
from calque_core.context import here
from calque_core.epoch import rule_epoch
from calque_core.frames.reach import reach
from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr, Var
from calque_core.known.table import KnownOperations
from calque_core.ops.elementwise.convert import narrow
from calque_core.passes.discharge import flatten_arrays
from calque_core.primitives.rules import settings_key
from calque_core.staging.stage import JaxprTrace, stage
from calque_core.traces.trace import Trace
from calque_core.types.avals import is_array_like, typeof
from calque_pytree import PyTreeDef, tree_flatten

Value = Any
Program = tuple[Jaxpr, PyTreeDef]
_programs: KnownOperations[Program] = KnownOperations()
_stored: weakref.WeakSet[Jaxpr] = weakref.WeakSet()  # the jaxprs in `_programs`
_SMALL, _DEEP = 8, 8  # functions and modules in a key; traces inside one another


def operand_leaves(verb: str, fun: Callable[..., Any], operands: Sequence[Any]) -> tuple[list[Value], PyTreeDef]:
    """Return the arrays of the operands of branches, and their structure; the names in errors are those of `fun`."""
    leaves, in_tree = tree_flatten((tuple(operands), {}))
    if not all(map(is_array_like, leaves)):
        leaves, in_tree = flatten_arrays((tuple(operands), {}))
        check_arrays(leaves, lambda: arg_names(fun, operands, {}), f"{verb}{where()}")
    return [*narrow(leaves)], in_tree


def stage_once(
    verb: str,
    fun: Callable[..., Any],
    in_tree: PyTreeDef,
    avals: Sequence[Any],
    trace_type: Callable[[Trace], JaxprTrace] = JaxprTrace,
    may_store: Callable[[], bool] | None = None,
) -> Program:
    """Return the program of a function and the structure of its result, from a table if `program_of` has it there.

    A new program is recorded by a trace of `trace_type`, and stored unless `may_store()` is false afterwards.
    """
    return program_of(verb, fun, in_tree, avals, lambda: _stage(verb, fun, in_tree, avals, trace_type), may_store)


def program_of(
    verb: str,
    fun: Callable[..., Any],
    in_tree: PyTreeDef,
    avals: Sequence[Any],
    make: Callable[[], Program],
    may_store: Callable[[], bool] | None = None,
) -> Program:
    """Return `make()`, or the stored program of this function, if its code reads the same values as when it was staged.

    A program is stored if it closes over no array and no tracer.  Staging takes 100 us and more, the key 10.  A key has
    every function that the code reads, so the keys of all levels of a nest would cost the square of its depth: deep
    inside other programs only small keys are made.
    """
    reached = reach(fun, at_most=_SMALL if _is_deep(here().trace) else None)
    if reached is None:
        return make()
    key = verb, reached, in_tree.key, tuple(avals), *settings_key()
    program: Program | None = _programs.known.get(key)
    if program is None:
        epoch = rule_epoch()
        program = make()
        if not program[0].consts and (may_store is None or may_store()):
            _programs.keep(key, program, epoch)
            _stored.add(program[0])
    return program


def _stage(
    verb: str,
    fun: Callable[..., Any],
    in_tree: PyTreeDef,
    avals: Sequence[Any],
    trace_type: Callable[[Trace], JaxprTrace] = JaxprTrace,
) -> Program:
    flat = FlatFunction(fun, in_tree, verb)
    return stage(flat, avals, verb=verb, user_fun=fun, trace_type=trace_type), flat.out_tree


def _is_deep(trace: Trace | None) -> bool:
    """Tell whether a trace is inside many traces."""
    for _ in range(_DEEP):
        if trace is None:
            return False
        trace = trace.parent
    return True


def detach(programs: Sequence[Jaxpr]) -> list[Jaxpr]:
    """Return programs to bind together: copies of the stored programs, unless all are stored in `_programs`.

    A program has a memo of programs derived from it and from the programs bound with it.  A stored program would keep
    these alive, with everything that their rules refer to.
    """
    stored = [program in _stored for program in programs]
    if all(stored):
        return list(programs)
    return [program.replace() if is_stored else program for program, is_stored in zip(programs, stored)]


def forget_staged_programs() -> None:
    """Drop the stored programs of branches, steps and checkpointed functions; the next use stages them again.

    >>> from calque_core.engine import forget_staged_programs
    >>> forget_staged_programs()
    """
    _programs.clear()


def join_constants(jaxprs: Sequence[Jaxpr]) -> tuple[tuple[Jaxpr, ...], list[Value]]:
    """Return the branches with the constants of all of them as leading arguments, and these constants."""
    values = {id(c): c for jaxpr in jaxprs for c in jaxpr.consts}
    if not values:
        return tuple(jaxprs), []
    branches = []
    for jaxpr in jaxprs:
        constvars = {id(c): v for c, v in zip(jaxpr.consts, jaxpr.constvars)}
        leading = [constvars.get(i) or Var(typeof(c)) for i, c in values.items()]
        branches.append(jaxpr.replace(constvars=(), consts=(), invars=(*leading, *jaxpr.invars)))
    return tuple(branches), list(values.values())
