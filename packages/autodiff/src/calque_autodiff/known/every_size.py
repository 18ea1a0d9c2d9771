"""Operations in arrays of every size: an operation of another shape without a run of the rules.

One idea: where the rules have shown an operation for one shape, the code for another shape of as many axes is known.
The code of products and of operations on elements has no size in it, so it is the same code (`by_code`).  For cuts,
sums and means a rule of kind "every_size" gives the lines of code (`by_lines`).  Data of another length at each call,
such as sentences or batches, cost no other rules.

Read next: `lines.py`; `operation.py`, which makes operations from the rules, for every other function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from calque_autodiff.known.lines import Maker
from calque_autodiff.known.operation import dual_operation, linearized_operation
from calque_autodiff.known.steps import DualOperation, LinearizedOperation, Pull, PullCode
from calque_core import Jaxpr, JaxprEqn, Primitive, ShapedArray, evaluation
from calque_core.engine import (
    HAS_SIZES,
    LOOKS_AT_FLOATS,
    Call,
    CodeTrace,
    Known,
    Operation,
    Settings,
    TypedCall,
    entered,
    has_no_sizes,
    is_large,
    kinds_in_every_size,
    operation_of,
)
from calque_core.extend import Shape, shaped_array
from calque_core.lax import broadcast_in_dim_p

Value = Any
T = TypeVar("T", DualOperation, LinearizedOperation)
Types = Sequence[ShapedArray]
Shapes = Sequence[Shape]
Derive = Callable[[Operation, Sequence[bool]], T | None]
InShapes = Callable[[Types], T | None]
"""From the types of all operands to the operation on such operands; None if the rules have to run."""
ByRules = Callable[[Types], T]
"""From the types of all operands to the operation, as its rules make it."""


def linearized_in_every_size(known: Known, _: Shapes, *call: Any) -> Callable[[Shapes], Known | None] | None:
    """Return the function from shapes to the linearized operation on arrays of these shapes; None if there is none."""
    return _shared(known, Call(*call), linearized_operation, linearized_by_code, _linearized_by_lines)


def dual_in_every_size(known: Known, _: Shapes, *call: Any) -> Callable[[Shapes], Known | None] | None:
    """Return the function from shapes to the operation with its derivative on arrays of these shapes, or None."""
    return _shared(known, Call(*call), dual_operation, dual_by_code, _dual_by_lines)


def _shared(
    known: Known, call: Call, derive: Derive[T], by_code: Callable[..., Any], by_lines: Callable[..., Any]
) -> Callable[[Shapes], Known | None] | None:
    if call.trace.recording is not None:
        return None
    if known is LOOKS_AT_FLOATS:
        return lambda shapes: known
    typed, settings = call.typed(), known.code.settings

    def prepared() -> InShapes[T] | None:
        by_rules = partial(_by_rules, typed, derive, settings)
        kind = kinds_in_every_size.get(typed.operation)
        if not isinstance(kind, Primitive):
            return by_code(known.code, known.operation.program, by_rules)  # type: ignore[no-any-return]
        lines = _lines_of(kind, known, typed)
        return None if lines is None else partial(by_lines, lines, by_rules, settings)

    made: list[InShapes[T] | None] = []  # most operations never meet another size; this takes a tenth of their code

    def for_shapes(shapes: Shapes) -> Known | None:
        if not made:
            made.append(prepared())
        (in_shapes,) = made
        if in_shapes is None:
            return HAS_SIZES  # type: ignore[no-any-return]
        of_arrays, operands = iter(shapes), zip(typed.avals, typed.is_number)
        avals = [aval if m else shaped_array(next(of_arrays), aval.dtype, aval.weak_type) for aval, m in operands]
        code = in_shapes(avals)
        return None if code is None else Known(known.operation, code)

    return for_shapes


def _by_rules(typed: TypedCall, derive: Derive[T], settings: Settings, avals: Types) -> T:
    """Return an operation on operands of the types `avals`, as its rules make it."""
    with entered(evaluation, settings=settings):
        operation = operation_of(typed._replace(avals=avals), CodeTrace)
        assert operation is not None, typed.operation
        made = derive(operation, typed.is_mine)
    assert made is not None, typed.operation
    return made


def _lines_of(primitive: Primitive, known: Known, typed: TypedCall) -> Maker | None:
    """Return the function from types to lines of code, by the rule of a primitive; None if there are none.

    The first operand alone has a tangent, and each result.
    """
    rule = primitive.adapted["every_size"]
    if rule is None or not all(known.code.dot_avals) or [*typed.is_mine] != [True] + [False] * (len(typed.avals) - 1):
        return None
    return rule(known.operation.program, typed.others)  # type: ignore[no-any-return]


# By code without sizes


def linearized_by_code(
    known: LinearizedOperation, program: Jaxpr, by_rules: ByRules[LinearizedOperation]
) -> InShapes[LinearizedOperation] | None:
    """Return the function from types to a linearized operation, by the code of `known`; None if its code has sizes."""
    ways, pull = [known.programs().known.jaxpr], known.pull
    if pull is not None:
        if pull.adding is not None or pull.for_tracers is None:
            return None
        ways.append(pull.for_tracers.jaxpr)
        pull = pull._replace(for_tracers=None)
    elif any(known.dot_avals):
        return None
    types_in = _types_of_results(program, ways)
    if types_in is None:
        return None
    code = known.run, known.captured

    def in_shapes(avals: Types) -> LinearizedOperation | None:
        outs = types_in(avals)
        if outs is None:
            return None
        dots = _in_shapes_of(outs, known)
        return LinearizedOperation(outs, dots, code, pull, None, known.settings, partial(by_rules, avals))

    return in_shapes


def dual_by_code(
    known: DualOperation, program: Jaxpr, by_rules: ByRules[DualOperation]
) -> InShapes[DualOperation] | None:
    """Return the function from types to an operation with its derivative, by the code of `known`, or None."""
    assert known.for_tracers is not None
    types_in = _types_of_results(program, [known.for_tracers.jaxpr])
    if types_in is None:
        return None

    def in_shapes(avals: Types) -> DualOperation | None:
        outs = types_in(avals)
        if outs is None:
            return None
        dots = _in_shapes_of(outs, known)
        return DualOperation(outs, dots, known.run, None, known.settings, partial(by_rules, avals))

    return in_shapes


def _in_shapes_of(outs: Types, known: DualOperation | LinearizedOperation) -> Sequence[ShapedArray | None]:
    """Return the types of tangents, None for a zero one, in the shapes of the results."""
    if known.dot_avals == known.out_avals:
        return outs
    return [dot and shaped_array(out.shape, dot.dtype, dot.weak_type) for out, dot in zip(outs, known.dot_avals)]


def _is_product(primitive: Primitive) -> bool:
    return primitive.linearity == "bilinear" and not primitive.is_elementwise


def _types_of_results(program: Jaxpr, ways: Sequence[Jaxpr]) -> Callable[[Types], Types | None] | None:
    """Return the function from the types of operands to those of results, None for shapes that do not fit.

    There is none if the code of the programs `ways` has sizes, or of several products, whose order the rules choose by
    sizes; or if the program has repeated arrays.  Arrays that operations on elements repeat have the shape of the
    results, which is that of all operands, broadcast.
    """
    if [_is_product(eqn.primitive) for eqn in program.eqns].count(True) > 1 or not all(map(has_no_sizes, ways)):
        return None
    outs = [v.aval for v in program.outvars]
    try:
        whole = _broadcast(program.in_avals)
    except ValueError:
        whole = None
    if all(aval.shape == whole for aval in outs) and all(_acts_by_element(eqn, whole) for eqn in program.eqns):
        return partial(_fitting, partial(_of_whole_shape, outs))
    if any(eqn.primitive is broadcast_in_dim_p for eqn in program.eqns):
        return None
    return partial(_fitting, partial(_inferred, program))


def _fitting(types_in: Callable[[Types], Types], avals: Types) -> Types | None:
    try:
        return types_in(avals)
    except (TypeError, ValueError):  # the rules say in words that shapes do not fit
        return None


def _acts_by_element(eqn: JaxprEqn, whole: Shape | None) -> bool:
    is_repeated = eqn.primitive is broadcast_in_dim_p and eqn.params["shape"] == whole
    return bool(is_repeated or eqn.primitive.is_elementwise)


def _of_whole_shape(outs: Types, avals: Types) -> Types:
    whole = _broadcast(avals)
    return [shaped_array(whole, aval.dtype, aval.weak_type) for aval in outs]


def _broadcast(avals: Types) -> Shape:
    whole: Shape = ()
    for aval in avals:
        if aval.shape and aval.shape != whole:
            if whole:
                return np.broadcast_shapes(*[aval.shape for aval in avals])
            whole = aval.shape
    return whole


def _inferred(program: Jaxpr, avals: Types) -> Types:
    """Return the types of the results of a program by its type rules."""
    types: dict[Any, Any] = dict(zip(program.invars, avals))
    for eqn in program.eqns:
        operands = [types.get(x, x.aval) for x in eqn.invars]
        types.update(zip(eqn.outvars, eqn.primitive.abstract(*operands, **eqn.params)))
    return [types.get(v, v.aval) for v in program.outvars]


# By lines of NumPy


def _linearized_by_lines(
    lines_for: Maker, by_rules: ByRules[LinearizedOperation], settings: Settings, avals: Types
) -> LinearizedOperation | None:
    """Return the linearized operation that some lines compute, on arrays of the types `avals`."""
    lines = lines_for(*avals)
    if lines is None:
        return None
    run, pull = lines.run, lines.pull
    is_kept = lines.add is not None or is_large(avals[0])
    code = PullCode(lambda ct, *others: (pull(ct, *others),), (True,) if is_kept else ())
    way_back = Pull(code, code, lines.add, None, (True,), is_whole=True)

    def forward(x: Value, *others: Value) -> tuple[Value, tuple[Value, ...]]:
        return run(x, *others), others

    outs, captured = [lines.out_aval], range(1, len(avals))
    return LinearizedOperation(outs, outs, (forward, captured), way_back, None, settings, partial(by_rules, avals))


def _dual_by_lines(
    lines_for: Maker, by_rules: ByRules[DualOperation], settings: Settings, avals: Types
) -> DualOperation | None:
    """Return the operation with its derivative that some lines compute, on arrays of the types `avals`."""
    lines = lines_for(*avals)
    if lines is None:
        return None
    run, outs = lines.run, [lines.out_aval]

    def dual(x: Value, *others: Value) -> tuple[Value, Value]:
        return run(x, *others[:-1]), run(others[-1], *others[:-1])

    return DualOperation(outs, outs, dual, None, settings, partial(by_rules, avals))
