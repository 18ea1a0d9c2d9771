"""Known operations on batches: the operations of the batching rules as straight-line code, made once per types.

One idea: rules give the same operations for all operands of the same types and batch axes.  So an operation, a
primitive or a function such as `numpy.var`, is recorded once for one element and once for the whole batch.  Later calls
run the program of the batch: as a Python function, or where the arrays are tracers of the parent, as a function that
the parent may know in turn.

Read next: `batch_trace.py`, which runs the code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_batching.batch_tracer import BatchTracer, element_of
from calque_core import (
    Jaxpr,
    Primitive,
    Tracer,
    current_trace,
    eval_jaxpr,
    evaluation,
    jaxpr_as_fun,
    stage,
    tracing,
    typeof,
)
from calque_core.engine import (
    SCALAR_TYPES,
    Call,
    CodeTrace,
    JaxprFunction,
    Known,
    KnownOperations,
    Operation,
    StraightLine,
    here,
    holds_equations_alone,
    is_straight,
    known_of,
    makes_its_results,
)

Value = Any
Dims = Sequence[int | None]
Code = Callable[..., list[Value]]
"""`code(trace, *operands)` returns the results of an operation; tracers of `trace` for results with a batch axis."""


def known_batch(call: Call) -> Known | None:
    """Return an operation with its code for operands like those of a call; None if it has to run at each call.

    >>> import numpy as np
    >>> from calque_batching import AxisData, BatchTrace, BatchTracer
    >>> from calque_core import evaluation
    >>> from calque_core.lax import neg_p
    >>> trace = BatchTrace(evaluation, AxisData("i", 2))
    >>> x = BatchTracer(trace, np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
    >>> (y,) = known_batch(Call(trace, neg_p, [x], {}, [x], frozenset())).code(trace, x)
    >>> y.aval, y.val
    (float64[2], array([[-1., -2.],
           [-3., -4.]]))
    """
    return known_of(call, CodeTrace, lambda operation, _: _code(call, operation))


def _code(call: Call, operation: Operation) -> Code | None:
    """Return the code of an operation on operands like those of a call; None if a rule has to run."""
    trace, program = call.trace, operation.program
    if not (holds_equations_alone(program) and all(has_plain_rule(eqn.primitive) for eqn in program.eqns)):
        return None
    whole = whole_program(trace, program, call.operands)
    if whole is None:
        return None
    # A result that is an operand or a constant is left to the rule: two results never share memory by accident.  A
    # program's result may be one; a function's result without the axis may be no tracer.
    if type(call.operation) is not JaxprFunction and not makes_its_results(whole.program):
        return None
    if not isinstance(call.operation, (Primitive, JaxprFunction)) and None in whole.out_dims:
        return None
    return code_of_whole(trace, whole, call.operands, [v.aval.weak_type for v in program.outvars])


def has_plain_rule(primitive: Primitive) -> bool:
    """Tell whether the batching rule of a primitive depends on types and parameters alone."""
    rules = primitive.adapted
    return primitive.is_leaf and rules["axis_batch"] is None and rules["batch"] is not None


class WholeProgram(NamedTuple):
    """An operation as a program of whole arrays; `dims` and `out_dims` are the batch axes of operands and results."""

    program: Jaxpr
    dims: Dims
    out_dims: Dims


_PLAIN = frozenset((np.ndarray, *SCALAR_TYPES))


def whole_program(trace: Any, program: Jaxpr, args: Sequence[Value]) -> WholeProgram | None:
    """Return a program as one of whole arrays, for operands like `args`.

    It is None if no operand has the axis of `trace`, or if the program has to be made at each call.
    """
    vals, dims = trace.split(args)
    if all(d is None for d in dims) or not all(type(x) in _PLAIN or isinstance(x, Tracer) for x in vals):
        return None
    out_dims: list[int | None] = []

    def batched(*arrays: Value) -> list[Value]:
        inner = type(trace)(current_trace(), trace.axis)
        with tracing(inner):
            values = [x if d is None else BatchTracer(inner, x, d) for x, d in zip(arrays, dims)]
            outs, out_dims[:] = inner.split(eval_jaxpr(program, (), *values))
        return outs  # type: ignore[no-any-return]

    whole = stage(batched, [typeof(x) for x in vals], verb="vmap")
    return WholeProgram(whole, dims, out_dims) if is_straight(whole) and not whole.consts else None


def code_of_whole(trace: Any, whole: WholeProgram, args: Sequence[Value], weak: Sequence[bool]) -> Code:
    """Return the code that runs a program on operands like `args`; the elements of the results in `weak` are weak.

    A rule that misplaces the batch axis is refused.
    """
    size = trace.axis.size
    for v, d in zip(whole.program.outvars, whole.out_dims):
        assert d is None or v.aval.shape[d] == size, (v.aval, d, size)
    vals, _ = trace.split(args)
    return _function(whole, weak) if _PLAIN.issuperset(map(type, vals)) else _call(whole, weak)


def _function(whole: WholeProgram, weak: Sequence[bool]) -> Code:
    """Return the function of a trace and of operands, tracers where they have the axis, that runs a program."""
    program, code = whole.program, StraightLine()
    arguments = code.arguments(program.invars)
    code.lines += [f"{name} = {name}.val" for name, d in zip(arguments, whole.dims) if d is not None]
    outs = [
        out if d is None else _tracer(code, i, out, element_of(np.ndarray, v.aval.shape, v.aval.dtype, d, is_weak))
        for i, (out, v, d, is_weak) in enumerate(zip(code.results(program), program.outvars, whole.out_dims, weak))
    ]
    return code.function(["trace", *arguments], f"[{', '.join(outs)}]")


def _tracer(code: StraightLine, i: int, out: str, element: Any) -> str:
    """Append lines that make a tracer of `out`, result `i`; return its name.  To call the class takes 0.4 us more."""
    tracer = f"y{i}"
    values = {"_trace": "trace", "val": out, "_element": code.constant(element), "aval": code.constant(element.aval)}
    code.lines.append(f"{tracer} = {code.constant(_new)}({code.constant(BatchTracer)})")
    code.lines += [f"{tracer}.{slot} = {value}" for slot, value in values.items()]
    return tracer


_new = object.__new__


def _call(whole: WholeProgram, weak: Sequence[bool]) -> Code:
    """Return the function of a trace and of operands that lets the parent run a program: it gets tracers."""
    is_mapped, results = [d is not None for d in whole.dims], list(zip(whole.out_dims, weak))
    run = _runner(whole.program)

    def call(trace: Any, *args: Value) -> list[Value]:
        vals = [x.val if m else x for x, m in zip(args, is_mapped)]
        context = here()
        before = context.trace
        try:
            context.trace = trace.parent
            outs = run(trace.parent, vals)
        finally:
            context.trace = before
        return [x if d is None else BatchTracer(trace, x, d, is_weak) for x, (d, is_weak) in zip(outs, results)]

    return call


def _runner(program: Jaxpr) -> Callable[[Any, list[Value]], Sequence[Value]]:
    """Return the function of the current trace and of whole arrays that lets the trace run a program.

    A program of one equation is that operation, which the trace knows from the calls of the rule.
    """
    if len(program.eqns) == 1:
        (eqn,) = program.eqns
        if [*eqn.invars] == [*program.invars] and [*eqn.outvars] == [*program.outvars]:
            return lambda trace, vals: trace.process_primitive(eqn.primitive, vals, eqn.params)
    # The equations of the program lose the lines of the call that made it.
    function = jaxpr_as_fun(program.replace(eqns=[eqn.replace(position=None) for eqn in program.eqns]))

    def run(trace: Any, vals: list[Value]) -> Sequence[Value]:
        # Evaluation would make one class of all results of a function.
        return function(*vals) if trace is evaluation else trace.process_function(function, vals, {})

    return run


batches = KnownOperations(lambda *call: known_batch(Call(*call)))
