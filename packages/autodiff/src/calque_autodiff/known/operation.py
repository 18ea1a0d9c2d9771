"""Linearized operations: the derivative of a primitive or of a function, made from the rules once per types.

One idea: a program, of one equation for a primitive, is cut into a known and a linear half, and the linear half is
transposed.  Both become Python functions that call the implementations of the primitives one after the other; so does
the program together with its derivative, for a forward derivative.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.  An error, such as a type that does not fit or a nan that NumPy was told to raise, is left to the
rules, whose messages name the place.

Read next: `traces/steps.py`, which defines the result; `traces/planned_trace.py`, which uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.jaxprs import Linearized, linearization
from calque_autodiff.known.every_size import KINDS_OF_LINES, ForShapes, by_code, by_lines
from calque_autodiff.known.steps import (
    FLOATS,
    LinearizedOperation,
    Programs,
    Pull,
    PullCode,
    Push,
    is_among,
    operands_among,
)
from calque_autodiff.partial_eval import at_places, without_repeats
from calque_autodiff.recorded import recorded_jvp
from calque_autodiff.transpose import transpose_jaxpr
from calque_core import (
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    Var,
    canonicalize_dtype,
    dce_jaxpr,
    eval_context,
    evaluation,
    jaxpr_as_fun,
    typeof,
)
from calque_core.extend import (
    CodeTrace,
    FunctionProgram,
    JitTracer,
    Plans,
    Settings,
    Shape,
    StraightLine,
    entered,
    function_program,
    here,
    holds_equations_alone,
    is_large,
    is_straight,
    kinds_in_every_size,
    makes_its_results,
    marked,
    merge_equal_equations,
    merged,
    unmarked,
)
from calque_core.lax import broadcast_in_dim_p

Value = Any


def linearized_operation(
    primitive: Primitive, avals: Sequence[Any], mask: Sequence[bool], params: dict[str, Any]
) -> LinearizedOperation | None:
    """Return a primitive on operands of these types, those in `mask` with tangents; None if its rules have to run.

    >>> import numpy as np
    >>> from calque_core import lax, typeof
    >>> operation = linearized_operation(lax.sin_p, [typeof(1.0).strip_weak_type()], [True], {})
    >>> operation.run(0.0)
    (np.float64(0.0), (np.float64(1.0),))
    >>> operation.pull.code.function(np.float64(3.0), np.float64(1.0))
    (np.float64(3.0),)
    """
    try:
        with eval_context():
            operands = [Var(aval) for aval in avals]
            outs = [Var(aval) for aval in primitive.abstract(*avals, **params)]
            program = Jaxpr((), operands, [JaxprEqn(primitive, operands, outs, params)], outs)
            return _linearized(program, mask, primitive.multiple_results)
    except Exception:  # noqa: BLE001  the rules raise it again, in their own words
        return None


def _linearized(program: Jaxpr, mask: Sequence[bool], multiple_results: bool) -> LinearizedOperation | None:
    outs, avals = program.outvars, program.in_avals
    if not here().settings.enable_x64 and any(canonicalize_dtype(aval.dtype) != aval.dtype for aval in avals):
        return None  # whether the cotangent has 32 bits depends on the settings of the backward pass
    halves = linearization(program, mask)  # without copies, which one use does not repay
    known, linear, sources = _repeated_late(halves, len(outs))
    known = _simplified(known)
    dot_avals = [None if type(v) is Literal else v.aval for v in linear.outvars]
    if not is_straight(known):
        return None
    is_single = not multiple_results and dot_avals != [None]
    run = StraightLine()
    primals = run.arguments(known.invars)
    results = run.results(known)
    residuals = [primals[i] if kind == "in" else results[i] for kind, i in sources]
    result = results[0] if is_single else _list_of(results[: len(outs)])
    function = run.function(primals, f"{result}, {_tuple_of(residuals)}")
    arrays = [i for i, (aval, m) in enumerate(zip(avals, mask)) if aval.shape and not m]
    makes_residuals = any(kind == "out" and i >= len(outs) for kind, i in sources)
    kept = {i for kind, i in sources if kind == "in"}
    captured = [i for i in arrays if makes_residuals or i in kept]
    pull_for = cache(partial(_pull, here().settings, linear, len(sources)))
    pull = pull_for((True,)) if is_single else None
    if pull is not None and pull.code is None:
        return None
    programs = Programs(program, mask, jaxpr_as_fun(known), sources, linear, pull_for)
    push = cache(partial(_push, program, mask))
    return LinearizedOperation([v.aval for v in outs], dot_avals, (function, captured), pull, push, programs)


def _repeated_late(halves: Linearized, num_outs: int) -> Linearized:
    """Return halves whose residuals are no repeated arrays: the linear half repeats the operands, which are smaller.

    A ufunc repeats them itself, so that nobody makes or keeps the repeated array.
    """
    known, linear, _ = halves
    made_by = {eqn.outvars[0]: eqn for eqn in known.eqns if eqn.primitive is broadcast_in_dim_p}
    residuals = at_places(halves.sources, known.invars, known.outvars)
    late = [made_by.get(x) if type(x) is Var and x not in known.outvars[:num_outs] else None for x in residuals]
    if not any(late):
        return halves
    invars, eqns = list(linear.invars), list(linear.eqns)
    for i, eqn in enumerate(late):
        if eqn is not None and type(eqn.invars[0]) is Var:
            residuals[i] = eqn.invars[0]
            invars[i] = Var(eqn.invars[0].aval)
            eqns.insert(0, eqn.replace(invars=[invars[i]], outvars=[linear.invars[i]]))
    smaller, sources = without_repeats(known.replace(outvars=[*known.outvars[:num_outs], *residuals]), num_outs)
    return Linearized(smaller, linear.replace(invars=invars, eqns=eqns), sources)


def _pull(settings: Settings, linear: Jaxpr, num_residuals: int, has_ct: tuple[bool, ...]) -> Pull:
    """Return the way back through a linear program of residuals and tangents, for results that have a cotangent."""
    is_tangent = [False] * num_residuals + [True] * (len(linear.invars) - num_residuals)
    ct_mask = iter(has_ct)
    mask = [type(v) is not Literal and next(ct_mask) for v in linear.outvars]
    with entered(evaluation, settings=settings):
        transposed, nonzero = transpose_jaxpr(linear, is_tangent, mask)
    transposed = _simplified(transposed)
    for_tracers, is_whole = jaxpr_as_fun(transposed), all(nonzero)
    if not is_straight(transposed):
        return Pull(None, None, None, for_tracers, nonzero, is_whole)
    cts = transposed.invars[num_residuals:]
    adding = _adding_code(transposed, num_residuals)
    is_kept = [adding is not None or is_large(v.aval) for v in transposed.outvars]
    code = _pull_code(transposed, num_residuals, (), is_kept)
    consuming = _pull_code(transposed, num_residuals, cts, is_kept) if any(is_large(v.aval) for v in cts) else code
    return Pull(code, consuming, adding, for_tracers, nonzero, is_whole)


def _pull_code(transposed: Jaxpr, num_residuals: int, private: Sequence[Var], is_kept: Sequence[bool]) -> PullCode:
    """Return the code of a program of residuals and cotangents, which may write to the cotangents `private`.

    It says of the results in `is_kept` whether nothing else refers to them.
    """
    code = StraightLine()
    names = code.arguments(transposed.invars)
    cts = code.results(transposed, private)
    function = code.function([*names[num_residuals:], *names[:num_residuals]], _tuple_of(cts))
    outvars = transposed.outvars
    is_private = [m and v in code.private and outvars.count(v) == 1 for v, m in zip(outvars, is_kept)]
    return PullCode(function, is_private if any(is_private) else ())


def _adding_code(transposed: Jaxpr, num_residuals: int) -> Callable[..., None] | None:
    """Return the code of an array, of cotangents and of residuals that adds the result of a program to the array."""
    code = StraightLine()
    names = code.arguments(transposed.invars)
    if not code.adds(transposed, "total"):
        return None
    return code.function(["total", *names[num_residuals:], *names[:num_residuals]], "None")


def _push(program: Jaxpr, mask: Sequence[bool]) -> Push:
    """Return the way of primals and tangents through a program."""
    with eval_context():
        dual, _ = recorded_jvp(program, mask)
    assert is_straight(dual), dual  # else the rules run
    dual = _simplified(dual)
    code = StraightLine()
    arguments = code.arguments(dual.invars)
    return Push(code.function(arguments, _tuple_of(code.results(dual))), jaxpr_as_fun(dual))


def _simplified(program: Jaxpr) -> Jaxpr:
    """Return a program without dead equations, and with one of equal equations, as a rule and its derivative have."""
    smaller, _ = dce_jaxpr(merge_equal_equations(program), [True] * len(program.outvars), instantiate=True)
    return smaller


def _list_of(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _tuple_of(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def _operation_of_key(key: Sequence[Any], params: dict[str, Any]) -> LinearizedOperation | None:
    """Return the operation of a key: the primitive, its operands, its parameters."""
    return linearized_operation(key[0], *_operands_of(key), params)


def _operation_of_program(key: Sequence[Any]) -> LinearizedOperation | None:
    """Return the operation of a key: a program as a function, and its operands."""
    program, (avals, mask) = key[0].jaxpr, _operands_of(key)
    if avals != program.in_avals or not (makes_its_results(program) and holds_equations_alone(program)):
        return None
    try:
        with eval_context():
            return _linearized(program, mask, len(program.outvars) > 1)
    except Exception:  # noqa: BLE001  the rules raise it again, in their own words
        return None


def _operands_of(key: Sequence[Any]) -> tuple[list[Any], list[bool]]:
    """Return the types of the operands in a key, and a mask of the operands with a tangent.

    For each operand a key has its type if it has a tangent, the class of a scalar without tangent, or `np.ndarray` and
    the type of an array or a tracer without tangent.
    """
    avals: list[Any] = []
    mask: list[bool] = []
    for before, part in pairwise(key):
        if part is not np.ndarray and _is_type(part):
            avals.append(part if isinstance(part, ShapedArray) else typeof(part(0)))
            mask.append(isinstance(part, ShapedArray) and before is not np.ndarray)
    return avals, mask


def _is_type(part: Any) -> bool:
    return isinstance(part, (ShapedArray, type))


def _shared(
    operation: LinearizedOperation, shapes: Sequence[Shape], key: Sequence[Any], params: dict[str, Any]
) -> ForShapes | None:
    """Return the function from shapes to a primitive on arrays of these shapes; `operation` is for `shapes`."""
    is_sized = [isinstance(part, ShapedArray) for part in key if part is not np.ndarray and _is_type(part)]

    def by_rules(avals: Sequence[ShapedArray]) -> LinearizedOperation:
        with entered(evaluation, settings=operation.settings):
            of_rules = linearized_operation(key[0], avals, operation.programs().mask, params)
        assert of_rules is not None, (key[0], avals)
        return of_rules

    kind = kinds_in_every_size.get(key[0])
    return by_lines(operation, kind, (), by_rules) if kind in KINDS_OF_LINES else by_code(operation, is_sized, by_rules)


class SteppedFunction(NamedTuple):
    """A function as one operation; the program of `function` may be for arrays of another shape.

    There is no operation if the equations depend on the values of floats, as those of `x**0.5` may.
    """

    function: FunctionProgram
    operation: LinearizedOperation | None


def _function_of_types(
    owner: Trace,
    function: Callable[..., Any],
    args: Sequence[Value],
    options: Mapping[str, Any],
    kinds: frozenset[type],
) -> SteppedFunction | None:
    """Return a function as one operation of its tracers and values of the classes `kinds`; or None.

    Tracers of the trace `owner` have tangents.  There is no operation if the function looks at floats.  None says that
    it has to run at each call.
    """
    floats = kinds & FLOATS
    mask = [owner.owns(x) for x in operands_among(args, kinds)]
    known = _on_operands(function, args, options, kinds - floats)
    if known is None:
        return None
    if not any(type(x) in floats for x in args):
        return _stepped(known, mask)
    of_all_values = _on_operands(function, args, options, kinds)
    if of_all_values is None or _operations_of(of_all_values) != _operations_of(known):
        return SteppedFunction(known, None)
    return _stepped(of_all_values, mask) or SteppedFunction(known, None)


def _on_operands(
    function: Callable[..., Any], args: Sequence[Value], options: Mapping[str, Any], kinds: Collection[type]
) -> FunctionProgram | None:
    """Return the equations of a function of its tracers and of values of the classes `kinds`, or None."""
    trace = CodeTrace(evaluation)
    arguments = [
        JitTracer(trace, typeof(x), Var(typeof(x)), None) if isinstance(x, Tracer) or is_among(x, kinds) else x
        for x in args
    ]
    return function_program(trace, function, arguments, options)


def _stepped(known: FunctionProgram, mask: Sequence[bool]) -> SteppedFunction | None:
    """Return a function as one operation of its operands, those in `mask` with tangents; None if there is none."""
    try:
        with eval_context():
            operation = _linearized(known.program, mask, known.container is not None)
    except Exception:  # noqa: BLE001  the rules raise it again, where the user's line is known
        return None
    if operation is None or any(viewed and aval is None for viewed, aval in zip(known.views, operation.dot_avals)):
        return None  # a view that is no tracer cannot be marked
    return SteppedFunction(known, operation)


def _shared_function(
    stepped: SteppedFunction,
    shapes: Sequence[Shape],
    owner: Trace,
    function: Callable[..., Any],
    args: Sequence[Value],
    options: Mapping[str, Any],
    kinds: frozenset[type],
) -> Callable[[Sequence[Shape]], SteppedFunction | None] | None:
    """Return the function from shapes to a function of arrays of these shapes; `stepped` is for arrays of `shapes`."""
    operation = stepped.operation
    if operation is None:
        return lambda new: stepped
    is_operand = [isinstance(x, Tracer) or is_among(x, kinds) for x in args]
    others = unmarked(args, is_operand)  # no plan may keep the arrays
    by_rules = partial(_by_rules, operation, function, is_operand, others, options)
    kind = kinds_in_every_size[function]
    if kind in KINDS_OF_LINES:
        for_shapes = by_lines(operation, kind, others, by_rules)
    else:
        for_shapes = by_code(operation, [type(x) not in FLOATS for x in marked(args, is_operand)], by_rules)
    if for_shapes is None:
        return None

    def in_shapes(new: Sequence[Shape]) -> SteppedFunction | None:
        of_these = for_shapes(new)
        return None if of_these is None else SteppedFunction(stepped.function, of_these)

    return in_shapes


def _by_rules(
    old: LinearizedOperation,
    function: Callable[..., Any],
    is_operand: Sequence[bool],
    others: Sequence[Value],
    options: Mapping[str, Any],
    avals: Sequence[ShapedArray],
) -> LinearizedOperation:
    """Return the operation of a function of operands of the types `avals`, with tangents as `old` has, and `others`."""
    with entered(evaluation, settings=old.settings):
        trace = CodeTrace(evaluation)
        operands = [JitTracer(trace, aval, Var(aval), None) for aval in avals]
        known = function_program(trace, function, merged(is_operand, operands, others), options)
        stepped = None if known is None else _stepped(known, old.programs().mask)
    assert stepped is not None, function
    assert stepped.operation is not None, function
    return stepped.operation


def _operations_of(known: FunctionProgram) -> list[Any]:
    """Return the equations of a function without their operands, and the types of its results."""
    return [[(eqn.primitive, eqn.params) for eqn in known.program.eqns], known.program.out_avals]


# The operations that ran so far: primitives, programs, and functions.
primitive_operations = Plans(_operation_of_key, _shared)
program_operations = Plans(_operation_of_program)
function_operations = Plans(_function_of_types, _shared_function)
