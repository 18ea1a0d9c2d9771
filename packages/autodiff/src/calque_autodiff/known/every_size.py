"""Operations in arrays of every size: an operation of another shape without a run of the rules.

One idea: where the rules have shown an operation for one shape, the code for another shape of as many axes is known.
The code of products and of operations on elements has no size in it, so it is the same code (`by_code`).  Cuts, sums
and means are linear, with positions or nothing as their residuals, and each way is a line of NumPy in which sizes are
all that differs (`by_lines`).  Data of another length at each call, such as sentences or batches, costs no rules.

Read next: `operations.py` of this package, which makes operations from the rules, for every other function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from calque_autodiff.known.operation import dual_operation, linearized_operation
from calque_autodiff.known.steps import DualOperation, LinearizedOperation, Pull, PullCode
from calque_core import Jaxpr, JaxprEqn, Literal, Primitive, ShapedArray, evaluation, extend, lax
from calque_core.extend import (
    HAS_SIZES,
    LOOKS_AT_FLOATS,
    Call,
    CodeTrace,
    Known,
    Operation,
    Settings,
    Shape,
    TypedCall,
    entered,
    has_no_sizes,
    is_large,
    kinds_in_every_size,
    operation_of,
    shaped_array,
)
from calque_core.lax import broadcast_in_dim_p, div_p, reduce_sum_p

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

    @cache
    def in_shapes() -> InShapes[T] | None:
        by_rules = partial(_by_rules, typed, derive, settings)
        kind = kinds_in_every_size.get(typed.operation)
        if kind not in KINDS_OF_LINES:
            return by_code(known.code, known.operation.program, by_rules)  # type: ignore[no-any-return]
        lines = lines_of(known.operation, kind, typed) if all(known.code.dot_avals) else None
        return None if lines is None else partial(by_lines, lines, by_rules, settings)

    def for_shapes(shapes: Shapes) -> Known | None:
        made = in_shapes()  # most operations never meet another size, and this takes a tenth of their code
        if made is None:
            return HAS_SIZES  # type: ignore[no-any-return]
        of_arrays, operands = iter(shapes), zip(typed.avals, typed.is_number)
        avals = [aval if m else shaped_array(next(of_arrays), aval.dtype, aval.weak_type) for aval, m in operands]
        code = made(avals)
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


class Lines(NamedTuple):
    """A function that is linear in its first array, and the transpose, as code.

    `run(x, *others)` is the result, `pull(ct, *others)` a new array, the cotangent of x; `add(total, ct, *others)` adds
    it to an array in place, if that is less.
    """

    out_aval: ShapedArray
    run: Callable[..., Value]
    pull: Callable[..., Value]
    add: Callable[..., None] | None = None


Maker = Callable[..., Lines | None]
"""From the types of the arrays to the lines for them; None if the rules have to run."""


def lines_of(operation: Operation, kind: str, typed: TypedCall) -> Maker | None:
    """Return the function from types to the lines of an operation of a kind; only its first array has a tangent."""
    if [*typed.is_mine] != [True, *[False] * (_NUM_ARRAYS[kind] - 1)]:
        return None  # the index is an array without a tangent, say
    return _MAKERS[kind](operation, typed.others)


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


# Cuts


def _cut(operation: Operation, others: Sequence[Value]) -> Maker | None:
    """Return the maker of `x[index]`, for an index of integers, slices, None and `...`."""
    (index,) = others
    if not _BASIC.issuperset(map(type, index if type(index) is tuple else (index,))):
        return None

    def lines(aval: ShapedArray) -> Lines | None:
        shape, dtype = aval.shape, aval.dtype
        try:
            out_shape = np.ndarray(shape, np.bool_, b" ", strides=(0,) * len(shape))[index].shape  # of one byte
        except IndexError:  # the rules say it in words
            return None
        if out_shape == shape:  # the array itself, maybe
            return None

        def pull(ct: Value) -> Value:
            out = np.zeros(shape, dtype)
            out[index] = ct
            return out

        def add(total: Value, ct: Value) -> None:
            total[index] += ct

        run: Callable[[Value], Value] = itemgetter(index) if out_shape else lambda x: x[index][()]
        return Lines(shaped_array(out_shape, dtype), run, pull, add)

    return lines


_BASIC = frozenset((int, slice, type(None), type(Ellipsis)))


def _positions(operation: Operation, others: Sequence[Value]) -> Maker | None:
    """Return the maker of `x[rows]` or `x[i, j]`, for known positions, as rows of indices, along the first axes.

    The sizes are in no parameter, so no window of a `gather` is made, and kept, for each.
    """
    _, eqns = _equations_of(operation)
    (eqn,) = eqns if len(eqns) == 1 else (None,)
    if eqn is None or eqn.primitive is not lax.gather_p:
        return None
    clipped_lines, combine_lines = extend.clipped_lines, extend.combine_lines  # loaded by now, not at a first gradient
    offset_dims, axes = eqn.params["dimension_numbers"][:2]
    num_rows, count = eqn.invars[1].aval.ndim - 1, len(axes)
    is_first = axes == tuple(range(count)) and offset_dims == tuple(range(num_rows, num_rows + len(offset_dims)))
    if not is_first or not others[0].is_gather or eqn.params["mode"] is not lax.GatherScatterMode.PROMISE_IN_BOUNDS:
        return None

    def lines(aval: ShapedArray, rows: ShapedArray) -> Lines | None:
        shape, dtype, sizes = aval.shape, aval.dtype, aval.shape[:count]
        in_lines = (prod(sizes), *shape[count:])
        out_aval = shaped_array((*rows.shape[:-1], *shape[count:]), dtype)
        if not out_aval.size:
            return None

        def run(x: Value, indices: Value) -> Value:
            if x.flags.c_contiguous:
                return x.reshape(in_lines).take(clipped_lines(indices, sizes), 0)
            return x[tuple([indices[..., i] for i in range(count)])]

        def add(total: Value, ct: Value, indices: Value) -> None:
            if total.flags.c_contiguous:
                combine_lines(np.add, total.reshape(in_lines), clipped_lines(indices, sizes).reshape(-1), ct)
            else:
                np.add(total, pull(ct, indices), total)

        def pull(ct: Value, indices: Value) -> Value:
            out = np.zeros(shape, dtype)
            add(out, ct, indices)
            return out

        return Lines(out_aval, run, pull, add)

    return lines


# Sums and means


def _sum(operation: Operation, others: Sequence[Value]) -> Maker | None:
    """Return the maker of a sum over some axes."""
    aval, eqns = _equations_of(operation)
    if len(eqns) != 1 or not _adds(eqns[0], aval):
        return None
    (total,) = eqns

    def lines(aval: ShapedArray) -> Lines:
        run = reduce_sum_p.impl_for_types([aval], total.params)
        (out_aval,) = reduce_sum_p.abstract(aval, **total.params)
        return Lines(out_aval, run, _spreading(aval, total.params["axes"], out_aval))

    return lines


def _mean(operation: Operation, others: Sequence[Value]) -> Maker | None:
    """Return the maker of a mean over some axes, which divides the sum by the number of elements."""
    aval, eqns = _equations_of(operation)
    if len(eqns) != 2 or not _adds(eqns[0], aval):
        return None
    total, quotient = eqns
    axes, count = total.params["axes"], quotient.invars[1]
    if quotient.primitive is not div_p or type(count) is not Literal or count.val != _count(aval, axes):
        return None
    number = type(count.val)

    def lines(aval: ShapedArray) -> Lines | None:
        if not aval.size:
            return None
        (out_aval,) = reduce_sum_p.abstract(aval, **total.params)
        add_up, size = reduce_sum_p.impl_for_types([aval], total.params), number(_count(aval, axes))
        divide, spread = div_p.impl_for_types([out_aval, count.aval], {}), _spreading(aval, axes, out_aval)
        return Lines(out_aval, lambda x: divide(add_up(x), size), lambda ct: spread(divide(ct, size)))

    return lines


def _equations_of(operation: Operation) -> tuple[ShapedArray, Sequence[JaxprEqn]]:
    """Return the type of the first array of an operation, and its equations."""
    program = operation.program
    return program.in_avals[0], program.eqns


def _adds(eqn: JaxprEqn, aval: ShapedArray) -> bool:
    """Tell whether an equation is a sum over some axes of an array of the type `aval`, in its dtype."""
    is_sum = eqn.primitive is reduce_sum_p and eqn.invars[0].aval is aval
    return is_sum and bool(eqn.params["axes"]) and eqn.outvars[0].aval.dtype is aval.dtype


def _count(aval: ShapedArray, axes: Sequence[int]) -> int:
    return prod([aval.shape[axis] for axis in axes])


def _spreading(aval: ShapedArray, axes: Sequence[int], out_aval: ShapedArray) -> Callable[[Value], Value]:
    """Return the function that repeats a cotangent along the axes of a sum."""
    shape, dtype = aval.shape, aval.dtype
    kept = tuple([1 if axis in axes else size for axis, size in enumerate(shape)])

    def fill(ct: Value) -> Value:
        out = np.empty(shape, dtype)
        out.fill(ct)
        return out

    def spread(ct: Value) -> Value:
        out = np.empty(shape, dtype)
        out[...] = ct.reshape(kept)
        return out

    return spread if out_aval.shape else fill


_NUM_ARRAYS = {"cut": 1, "positions": 2, "sum": 1, "mean": 1}
_MAKERS: dict[str, Callable[[Operation, Sequence[Value]], Maker | None]] = {
    "cut": _cut,
    "positions": _positions,
    "sum": _sum,
    "mean": _mean,
}
KINDS_OF_LINES = _MAKERS.keys()
