"""Testing kits for authors: `check_primitive` for the rules of a primitive, `check_trace` for a transformation.

One idea: the primitives of any author must obey the laws that core's primitives obey.  This module checks evaluation,
types, staging, dead code and decomposition of a primitive, and the assumptions of the machinery about a trace.

Read next: `report.py` for the reports; `agreement.py` for types and refusals of a function; `calque.testing`, which
adds derivatives, batching and compiling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.frames.names import name_of
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.kits.agreement import Operand, check_calls, check_types
from calque_core.kits.report import Finding, Report, compare
from calque_core.ops.calls.jit import jit_p
from calque_core.ops.elementwise.arithmetic import mul_p
from calque_core.ops.elementwise.trigonometric import sin, sin_p
from calque_core.ops.indexing.sort import sort_p
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.primitives.primitive import Primitive
from calque_core.show.printing_autodidax import long_type
from calque_core.staging.check import check_jaxpr
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.staging.stage import stage
from calque_core.traces.trace import Trace, current_trace, evaluation, run_under, tracing
from calque_core.types.avals import typeof
from calque_core.values.value_trace import ValueTrace
from calque_pytree import tree_leaves

__all__ = [
    "Finding", "Operand", "Report", "application", "check_calls", "check_primitive", "check_staging", "check_trace",
    "check_types", "compare", "examine",
]  # fmt: skip

Value = Any
Params = dict[str, Any]
Function = Callable[..., list[Value]]


def application(primitive: Primitive, params: Params | None = None) -> Function:
    """Return a function from the operands of a primitive to the list of its results.

    >>> from calque_core.lax import neg_p
    >>> from calque_core.testing import application
    >>> application(neg_p)(1.0)
    [-1.0]
    """

    def apply(*args: Value) -> list[Value]:
        out = primitive.bind(*args, **(params or {}))
        return list(out) if primitive.multiple_results else [out]

    apply.__name__ = primitive.name
    return apply


def check_primitive(primitive: Primitive, args: Sequence[Value], params: Params | None = None) -> Report:
    """Check the rules of a primitive that core reads, at the operands `args`; return a report of all laws.

    The laws: evaluation gives the types of `abstract_eval` and does not change its operands; a staged program gives the
    same values, also after `dce` for each result alone; a decomposition gives the same values, to rounding.
    Raises: AssertionError that lists the broken laws, with the values that break them.

    >>> import numpy as np
    >>> from calque_core.lax import mul_p
    >>> from calque_core.testing import check_primitive
    >>> check_primitive(mul_p, (2.0, np.ones(3)))
    mul at (~float64[], float64[3])
      evaluate: holds
      stage: holds
      dead code: holds
    """
    report = examine(primitive, args, params)
    report.raise_failures()
    return report


def examine(primitive: Primitive, args: Sequence[Value], params: Params | None = None) -> Report:
    """Return the report of `check_primitive`, failures included."""
    types = ", ".join(str(typeof(x)) for x in args)
    report = Report(f"{primitive.name} at ({types})", primitive)
    fun = application(primitive, params)
    report.ask("evaluate", partial(_check_evaluation, primitive, args, params or {}))
    report.ask("stage", partial(check_staging, fun, args))
    report.ask("dead code", partial(_check_dead_code, fun, args))
    if "decomposition" in primitive.rules:
        report.ask("decomposition", partial(_check_decomposition, primitive, args, params or {}))
    return report


def _check_evaluation(primitive: Primitive, args: Sequence[Value], params: Params) -> None:
    copies = [np.array(x) for x in args]
    outs = application(primitive, params)(*args)
    compare("an operand, after evaluation,", [np.asarray(x) for x in args], copies)
    if primitive.abstract is None:
        return
    avals = primitive.abstract(*map(typeof, args), **params)
    actual_types, aval_types = [[long_type(typeof(x)) for x in outs], [*map(long_type, avals)]]
    if actual_types != aval_types:
        raise AssertionError(
            f"evaluation gives ({', '.join(actual_types)}), but abstract_eval says ({', '.join(aval_types)})."
        )


def check_staging(fun: Function, args: Sequence[Value], tolerance: float = 0.0) -> None:
    """Check that the jaxpr of a function is well typed and gives the function's values."""
    outs = fun(*args)
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    compare("the staged program", eval_jaxpr(jaxpr, jaxpr.consts, *args), outs, tolerance)


def _check_dead_code(fun: Function, args: Sequence[Value]) -> None:
    jaxpr, outs = make_jaxpr(fun)(*args), fun(*args)
    for i in range(len(outs)):
        mask = [i == j for j in range(len(outs))]
        smaller, _ = dce_jaxpr(jaxpr, mask, instantiate=True)
        check_jaxpr(smaller)
        compare(f"result {i} alone", eval_jaxpr(smaller, smaller.consts, *args), [outs[i]])


def _check_decomposition(primitive: Primitive, args: Sequence[Value], params: Params) -> None:
    outs = list(primitive.adapted["decomposition"](*args, **params))
    compare("the decomposition", outs, application(primitive, params)(*args), tolerance=200)


def check_trace(
    make: Callable[[Trace], Trace],
    lift: Callable[[Any, Value], Value] | None = None,
    operations: Mapping[str, Callable[[Value], object]] | None = None,
) -> Report:
    """Check a transformation whose traces `make(parent)` returns; return a report of all laws.

    `lift(trace, value)` returns a tracer of the trace for a value, if the transformation has tracers; a `ValueTrace`
    needs no `lift`.  For a trace that knows some primitives only, `operations` maps names for the report to functions
    of one array of three floats that bind these primitives; the first function serves for the laws of nesting, staging
    and leaving.
    The laws: `process_primitive` returns a list with one result for each result of the primitive, of the type of its
    type rule, and does not change the operands; the trace runs inside another trace of its class, and while staging;
    the outer trace is current again afterwards, after an error too; the trace is closed then, so that its tracers are
    refused.  A `ValueTrace` with arrays gives the same values inside a program.
    Raises: AssertionError that lists the broken laws.

    >>> from calque_core import Trace, hand_down
    >>> from calque_core.testing import check_trace
    >>> class Plain(Trace):
    ...     def process_primitive(self, primitive, args, params):
    ...         return hand_down(self.parent, primitive, args, params)
    >>> check_trace(Plain)
    Plain
      one result: holds
      several results: holds
      nesting: holds
      staging: holds
      leaving: holds
      ending: holds
    """
    report = Report(name_of(make))
    run = partial(_run, make, lift or _lift)
    functions = {"one result": _one_result, "several results": _several_results} if operations is None else operations
    first = next(iter(functions.values()))
    for name, operation in functions.items():
        report.ask(name, partial(run, operation))
    report.ask("nesting", lambda: run(lambda x: run(first, x)))
    report.ask("staging", partial(_check_under_staging, run, first))
    report.ask("leaving", partial(_check_leaving, run, first))
    report.ask("ending", partial(_check_ending, run))
    trace = make(evaluation)
    if isinstance(trace, ValueTrace) and trace.has_arrays:
        report.ask("programs", lambda: run(partial(_check_program, first)))
    report.raise_failures()
    return report


_EXAMPLE = np.array([0.5, 0.25, 1.0])
_EXAMPLE.flags.writeable = False


def _lift(trace: Trace, x: Value) -> Value:
    return trace.wrap(trace.unwrap(x), typeof(x)) if isinstance(trace, ValueTrace) else x


def _run(make: Any, lift: Any, fun: Callable[[Value], Any], x: Value = _EXAMPLE) -> Any:
    """Run a function of an array under a new trace, and check every result of the trace."""
    with tracing(make(current_trace())) as trace:
        trace.process_primitive = partial(_process, trace.process_primitive)
        return fun(lift(trace, x))


def _one_result(x: Value) -> Value:
    y = sin_p.bind(x)
    mul_p.bind(y, 2.0)
    return mul_p.bind(y, x)


def _several_results(x: Value) -> list[Value]:
    return sort_p.bind(x, x, dimension=0, is_stable=True, num_keys=1)  # type: ignore[no-any-return]


def _process(process: Any, primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
    """Return the results of a primitive under a trace, after a check that they are a list of the right types."""
    operands, types = list(args), [*map(long_type, primitive.abstract(*map(typeof, args), **params))]
    outs = process(primitive, operands, params)
    if not isinstance(outs, list) or len(outs) != len(types):
        raise AssertionError(
            f"process_primitive returned a {type(outs).__name__} for {primitive.name}. Return a list of {len(types)}."
        )
    out_types = [long_type(typeof(x)) for x in outs]
    if out_types != types:
        raise AssertionError(f"{primitive.name} gives ({', '.join(out_types)}) where ({', '.join(types)}) is right.")
    if len(operands) != len(args) or any(a is not b for a, b in zip(operands, args)):
        raise AssertionError(f"process_primitive changed the list of operands of {primitive.name}. Make a new list.")
    return outs


def _check_under_staging(run: Callable[..., Any], operation: Callable[[Value], object]) -> None:
    def staged(x: Value) -> Value:
        run(operation, x)
        return sin(x)

    check_jaxpr(make_jaxpr(staged)(_EXAMPLE))


def _check_program(operation: Callable[[Value], Any], x: Value) -> None:
    """Check that an operation gives the same value inside a program, which holds arrays."""
    trace = current_trace()
    assert isinstance(trace, ValueTrace)
    jaxpr = stage(lambda y: tree_leaves(operation(y)), [typeof(x)])
    inside = jit_p.bind(x, jaxpr=jaxpr, name="operation", compiler=None)
    for one, other in zip(inside, tree_leaves(operation(x))):
        (arrays, static), (values, value_static) = (
            run_under(trace.parent, trace.to_arrays, trace.unwrap(y)) for y in (one, other)
        )
        compare("a program", list(arrays), list(values), tolerance=4)
        if static != value_static:
            raise AssertionError(
                f"a program gives a value with the static item {static!r} where {value_static!r} is right."
            )


def _check_leaving(run: Callable[..., Any], operation: Callable[[Value], object]) -> None:
    before = current_trace()
    run(operation)
    after = [current_trace()]
    try:
        run(_fail)
    except ZeroDivisionError:
        after.append(current_trace())
    if any(trace is not before for trace in after) or len(after) != 2:
        raise AssertionError(
            "the trace is still current after its block. Do not change the current trace inside the block."
        )


def _fail(x: Value) -> None:
    raise ZeroDivisionError


def _check_ending(run: Callable[..., Any]) -> None:
    trace = run(lambda x: current_trace())
    if trace.is_open or not trace.is_closed:
        raise AssertionError(
            "the trace is open after its block, so its tracers are still accepted. Close it in the method `close`."
        )
