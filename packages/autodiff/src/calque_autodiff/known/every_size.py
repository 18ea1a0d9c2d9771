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
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.known.steps import LinearizedOperation, Pull, PullCode, Push
from calque_core import Jaxpr, JaxprEqn, Literal, Primitive, ShapedArray, extend, lax
from calque_core.extend import Shape, has_no_sizes, is_large, shaped_array
from calque_core.lax import broadcast_in_dim_p, div_p, reduce_sum_p

Value = Any
Types = Sequence[ShapedArray]
ForShapes = Callable[[Sequence[Shape]], LinearizedOperation | None]
"""From the shapes of the arrays among the operands to the operation on such arrays; None if the rules have to run."""
ByRules = Callable[[Types], LinearizedOperation]
"""From the types of all operands to the operation, as its rules make it."""

# By code without sizes


def by_code(operation: LinearizedOperation, is_sized: Sequence[bool], by_rules: ByRules) -> ForShapes | None:
    """Return the function from shapes to an operation, by the code of `operation`; None if its code has sizes.

    Its operands in `is_sized` are arrays or tracers, its other operands Python's or NumPy's numbers.  A function of
    several products is left to the rules, which choose their order by the sizes.
    """
    programs, pull = operation.programs(), operation.pull
    program, ways = programs.program, [programs.known.jaxpr]
    if pull is not None:
        if pull.adding is not None or pull.for_tracers is None:
            return None
        ways.append(pull.for_tracers.jaxpr)
        pull = pull._replace(for_tracers=None)
    elif any(operation.dot_avals):
        return None
    if [_is_product(eqn.primitive) for eqn in program.eqns].count(True) > 1:
        return None

    def in_shapes(shapes: Sequence[Shape]) -> Types:
        of_arrays, operands = iter(shapes), zip(program.in_avals, is_sized)
        return [shaped_array(next(of_arrays), aval.dtype, aval.weak_type) if m else aval for aval, m in operands]

    types_in = _types_of_results(program, in_shapes)
    if types_in is None or not all(has_no_sizes(way) for way in ways):
        return None
    code = operation.run, operation.captured
    push = cache(partial(_push_without_sizes, operation))
    dot_avals = operation.dot_avals

    def for_shapes(shapes: Sequence[Shape]) -> LinearizedOperation | None:
        try:
            outs = types_in(shapes)
        except Exception:  # noqa: BLE001  the rules say in words that shapes do not fit
            return None
        dots = outs if dot_avals == operation.out_avals else _in_shapes_of(outs, dot_avals)
        shared = LinearizedOperation(outs, dots, code, pull, push, None)
        return shared.made_by(lambda shapes: by_rules(in_shapes(shapes)), shapes, operation.settings)

    return for_shapes


def _in_shapes_of(outs: Types, dot_avals: Sequence[ShapedArray | None]) -> list[ShapedArray | None]:
    """Return the types of tangents, None for a zero one, in the shapes of the results."""
    return [dot and shaped_array(out.shape, dot.dtype, dot.weak_type) for out, dot in zip(outs, dot_avals)]


def _is_product(primitive: Primitive) -> bool:
    return primitive.linearity == "bilinear" and not primitive.is_elementwise


def _types_of_results(
    program: Jaxpr, in_shapes: Callable[[Sequence[Shape]], Types]
) -> Callable[[Sequence[Shape]], Types] | None:
    """Return the function from shapes of arrays to types of the results; None if a program has repeated arrays.

    Arrays that operations on elements repeat have the shape of the results, which is that of all operands, broadcast.
    """
    outs = [v.aval for v in program.outvars]
    try:
        whole = _broadcast([aval.shape for aval in program.in_avals])
    except ValueError:
        whole = None
    if all(aval.shape == whole for aval in outs) and all(_acts_by_element(eqn, whole) for eqn in program.eqns):
        return partial(_of_whole_shape, outs)
    if any(eqn.primitive is broadcast_in_dim_p for eqn in program.eqns):
        return None
    return lambda shapes: _inferred(program, in_shapes(shapes))


def _acts_by_element(eqn: JaxprEqn, whole: Shape | None) -> bool:
    is_repeated = eqn.primitive is broadcast_in_dim_p and eqn.params["shape"] == whole
    return bool(is_repeated or eqn.primitive.is_elementwise)


def _of_whole_shape(outs: Types, shapes: Sequence[Shape]) -> Types:
    whole = _broadcast(shapes)
    return [shaped_array(whole, aval.dtype, aval.weak_type) for aval in outs]


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    whole: Shape = ()
    for shape in shapes:
        if shape and shape != whole:
            if whole:
                return np.broadcast_shapes(*shapes)
            whole = shape
    return whole


def _inferred(program: Jaxpr, avals: Types) -> Types:
    """Return the types of the results of a program by its type rules."""
    types: dict[Any, Any] = dict(zip(program.invars, avals))
    for eqn in program.eqns:
        operands = [types.get(x, x.aval) for x in eqn.invars]
        types.update(zip(eqn.outvars, eqn.primitive.abstract(*operands, **eqn.params)))
    return [types.get(v, v.aval) for v in program.outvars]


def _push_without_sizes(operation: LinearizedOperation) -> Push | None:
    """Return how the operation pushes tangents on, None if this code has sizes."""
    push = operation.push()
    if push is None or push.for_tracers is None or not has_no_sizes(push.for_tracers.jaxpr):
        return None
    return push


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


def by_lines(operation: LinearizedOperation, kind: str, others: Sequence[Value], by_rules: ByRules) -> ForShapes | None:
    """Return the function from shapes to an operation of a kind, by lines of NumPy; None if there are none.

    `operation` is a function of arrays and of other values, `others`; only the first array has a tangent.
    """
    programs = operation.programs()
    avals = programs.program.in_avals
    if operation.pull is None or [*programs.mask] != [True, *[False] * (_NUM_ARRAYS[kind] - 1)]:
        return None  # the index is an array without a tangent, say
    lines = _MAKERS[kind](operation, others)
    if lines is None:
        return None

    def for_shapes(shapes: Sequence[Shape]) -> LinearizedOperation | None:
        new = [shaped_array(shape, aval.dtype) for shape, aval in zip(shapes, avals)]
        known = lines(*new)
        return None if known is None else _operation(operation, new, known, by_rules)

    return for_shapes


def _operation(old: LinearizedOperation, avals: Types, lines: Lines, by_rules: ByRules) -> LinearizedOperation:
    """Return the operation that some lines compute, on arrays of the types `avals`."""
    run, pull = lines.run, lines.pull
    is_kept = lines.add is not None or is_large(avals[0])
    code = PullCode(lambda ct, *others: (pull(ct, *others),), (True,) if is_kept else ())
    way_back = Pull(code, code, lines.add, None, (True,), is_whole=True)

    def forward(x: Value, *others: Value) -> tuple[Value, tuple[Value, ...]]:
        return run(x, *others), others

    def push() -> Push:
        return Push(lambda x, *others: (run(x, *others[:-1]), run(others[-1], *others[:-1])), None)

    out_avals, captured = [lines.out_aval], range(1, len(avals))
    operation = LinearizedOperation(out_avals, out_avals, (forward, captured), way_back, push, None)
    return operation.made_by(by_rules, avals, old.settings)


# Cuts


def _cut(operation: LinearizedOperation, others: Sequence[Value]) -> Maker | None:
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


def _positions(operation: LinearizedOperation, others: Sequence[Value]) -> Maker | None:
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


def _sum(operation: LinearizedOperation, others: Sequence[Value]) -> Maker | None:
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


def _mean(operation: LinearizedOperation, others: Sequence[Value]) -> Maker | None:
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


def _equations_of(operation: LinearizedOperation) -> tuple[ShapedArray, Sequence[JaxprEqn]]:
    """Return the type of the first array of an operation, and its equations."""
    program = operation.programs().program
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
_MAKERS: dict[str, Callable[[LinearizedOperation, Sequence[Value]], Maker | None]] = {
    "cut": _cut,
    "positions": _positions,
    "sum": _sum,
    "mean": _mean,
}
KINDS_OF_LINES = _MAKERS.keys()
