"""Operations as programs: the equations of a primitive, a program or a function on operands of known types.

One idea: a function such as `numpy.mean` binds the same primitives whenever its operands have the same types and its
options are equal.  So it is staged once, by itself; a transformation is then one of its program.

A function runs at each call if it captures an array, holds programs, or returns anything but new arrays.

Read next: `table.py`, which keeps operations; `record.py` and `run.py`, the two kinds of code made of programs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core.context import own_context
from calque_core.frames.source import current_position
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Var, has_jaxpr
from calque_core.known.operands import Call, TypedCall, is_whole
from calque_core.known.table import LOOKS_AT_FLOATS, Known, attempt
from calque_core.primitives.primitive import Primitive
from calque_core.staging.jit_tracer import JitTracer
from calque_core.traces.trace import eval_context, evaluation, tracing

Value = Any


class Operation(NamedTuple):
    """The equations of an operation on operands of known types.

    For each result, `views` holds the positions of the operands whose memory NumPy's array would share; `container` is
    the class of the results, None for one result alone; `is_new_array` says that there is one result and no view.
    """

    program: Jaxpr
    views: Sequence[Sequence[int]]
    container: type | None
    is_new_array: bool

    def results(self, outs: Sequence[Value], operands: Sequence[Value]) -> Value:
        """Return the results of a call on `operands`, marked as views of these and in the function's container."""
        for out, viewed in zip(outs, self.views):
            if viewed:
                sources = [operands[i] for i in viewed]
                out._viewed = tuple(ref for x in sources for ref in (weakref.ref(x), *getattr(x, "_viewed", ())))
        return outs[0] if self.container is None else self.container(outs)


def known_of(call: Call, staging: Any, derive: Callable[[Operation, TypedCall], Any]) -> Known | None:
    """Return a known operation with `derive(operation, typed)`; None if the operation has to run at each call.

    The operation is recorded by a trace of the class `staging`.  It is `LOOKS_AT_FLOATS` if its equations depend on the
    values of floats, or if there is no code for all their values.
    """
    position = current_position()
    with eval_context():
        own_context().source = position  # of all equations: to search it for each takes a twentieth of the time
        return _known_of(call, staging, derive)


def _known_of(call: Call, staging: Any, derive: Callable[[Operation, TypedCall], Any]) -> Known | None:
    typed = call.typed()
    if not any(typed.is_number) or is_whole(call.operation):
        operation = operation_of(typed, staging)
        code = None if operation is None else derive(operation, typed)
        return None if code is None else Known(operation, code)
    of_these = operation_of(call.typed_without_floats(), staging)
    if of_these is None:
        return None
    of_all = attempt(operation_of, typed, staging)
    if of_all is None or _operations(of_all) != _operations(of_these):
        return LOOKS_AT_FLOATS  # type: ignore[no-any-return]
    code = attempt(derive, of_all, typed)
    return LOOKS_AT_FLOATS if code is None else Known(of_all, code)


def _operations(operation: Operation) -> list[Any]:
    """Return the equations of an operation without their operands, and the types of its results."""
    return [[(eqn.primitive, eqn.params) for eqn in operation.program.eqns], operation.program.out_avals]


def operation_of(typed: TypedCall, staging: Any) -> Operation | None:
    """Return an operation as a program, recorded by a trace of the class `staging`; None if it has to run each time."""
    operation = typed.operation
    is_primitive = type(operation) is Primitive
    is_direct = len(typed.places) == len(typed.avals)  # each argument is an operand, and another one
    if not (is_whole(operation) and is_direct):
        return _of_function(operation.bind if is_primitive else operation, typed, staging)
    if not is_primitive:
        program = operation.jaxpr
        return _of_program(program, list) if list(typed.avals) == program.in_avals else None
    invars = [Var(aval) for aval in typed.avals]
    outvars = [Var(aval) for aval in operation.abstract(*typed.avals, **typed.options)]
    program = Jaxpr((), invars, [JaxprEqn(operation, invars, outvars, dict(typed.options))], outvars)
    return _of_program(program, list if operation.multiple_results else None)


def _of_program(program: Jaxpr, container: type | None) -> Operation:
    return Operation(program, [()] * len(program.outvars), container, container is None)


def _of_function(function: Callable[..., Value], typed: TypedCall, staging: Any) -> Operation | None:
    containers: list[type | None] = []
    views: list[list[int]] = []

    def results(*operands: Value) -> list[Value]:
        out = function(*typed.arguments(operands), **typed.options)
        containers.append(type(out) if type(out) in (tuple, list) else None)
        outs = [out] if containers[0] is None else list(out)
        views[:] = [[i for i, x in enumerate(operands) if _is_view(y, x)] for y in outs]
        return outs

    program = staged_apart(staging, results, typed.avals)
    if program is None or not makes_its_results(program):
        return None
    return Operation(program, views, containers[0], containers[0] is None and not any(views))


def staged_apart(staging: Any, function: Callable[..., list[Value]], avals: Sequence[Any]) -> Jaxpr | None:
    """Return the equations of a function of operands of these types, recorded by a trace of the class `staging`.

    It is None if such equations must not be recorded again.
    """
    trace = staging(evaluation)
    trace.position = current_position()
    with tracing(trace):
        own_context().source = trace.position  # as in `known_of`
        program: Jaxpr = trace.finish(function(*map(trace.new_arg, avals)))
    return program if holds_equations_alone(program) else None


def _is_view(out: Value, x: JitTracer) -> bool:
    return any(viewed() is x for viewed in getattr(out, "_viewed", ()))


def makes_its_results(program: Jaxpr) -> bool:
    """Tell whether each result is a new value, and each another one."""
    made = {v for eqn in program.eqns for v in eqn.outvars}
    results = program.outvars
    return bool(results) and all(type(v) is Var and v in made for v in results) and len(set(results)) == len(results)


def holds_equations_alone(program: Jaxpr) -> bool:
    """Tell whether equations like those of a program may be recorded again: they hold no program, array or effect."""
    return not program.consts and not program.effects and not any(has_jaxpr(eqn.params) for eqn in program.eqns)
