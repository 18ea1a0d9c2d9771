"""Cuts, sums and means, in arrays of every size: an operation of another shape without a run of the rules.

One idea: such a function is linear, its residuals are its positions or nothing, and each way is a line of NumPy.  Sizes
are all that differs between two shapes of one rank, so where the rules have shown the operation for one shape, the
lines for another one are known.  Data of another length at each call, such as sentences or batches, costs no rules.

Read next: `operations.py` of this package, which makes operations from the rules, for every other function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.traces.steps import LinearizedOperation, Pull, PullCode, Push
from calque_core import JaxprEqn, Literal, ShapedArray, extend, lax
from calque_core.extend import Shape, is_large, linear_in_every_size, shaped_array
from calque_core.lax import div_p, reduce_sum_p

Value = Any
Function = Callable[..., Any]


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


def in_every_size(
    operation: LinearizedOperation,
    function: Function,
    others: Sequence[Value],
    by_rules: Callable[[Sequence[ShapedArray]], LinearizedOperation],
) -> Callable[[Sequence[Shape]], LinearizedOperation | None] | None:
    """Return the function from shapes of the arrays to the operation on arrays of these shapes, or to None; or None.

    `operation` is the function on arrays and on other values, `others`; only the first array has a tangent.
    """
    programs = operation.programs()
    kind = linear_in_every_size[function]
    avals = programs.program.in_avals
    if operation.pull is None or [*programs.mask] != [True, *[False] * (_NUM_ARRAYS[kind] - 1)]:
        return None  # the index is an array without a tangent, say
    lines = _MAKERS[kind](operation, others)
    if lines is None:
        return None

    def in_shapes(shapes: Sequence[Shape]) -> LinearizedOperation | None:
        new = [shaped_array(shape, aval.dtype) for shape, aval in zip(shapes, avals)]
        known = lines(*new)
        return None if known is None else _operation(operation, new, known, by_rules)

    return in_shapes


def _operation(
    old: LinearizedOperation,
    avals: Sequence[ShapedArray],
    lines: Lines,
    make: Callable[[Sequence[ShapedArray]], LinearizedOperation],
) -> LinearizedOperation:
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
    return operation.made_by(make, avals, old.settings)


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
    """Return the maker of the sum over all axes."""
    aval, eqns = _equations_of(operation)
    if len(eqns) != 1 or not _adds_all(eqns[0], aval):
        return None
    (total,) = eqns

    def lines(aval: ShapedArray) -> Lines:
        run = reduce_sum_p.impl_for_types([aval], total.params)
        return Lines(shaped_array((), aval.dtype), run, lambda ct: _filled(aval, ct))

    return lines


def _mean(operation: LinearizedOperation, others: Sequence[Value]) -> Maker | None:
    """Return the maker of the mean over all axes, which divides the sum by the number of elements."""
    aval, eqns = _equations_of(operation)
    if len(eqns) != 2 or not _adds_all(eqns[0], aval):
        return None
    total, quotient = eqns
    count = quotient.invars[1]
    if quotient.primitive is not div_p or type(count) is not Literal or count.val != aval.size:
        return None
    number = type(count.val)
    divide = div_p.impl_for_types([total.outvars[0].aval, count.aval], {})

    def lines(aval: ShapedArray) -> Lines | None:
        if not aval.size:
            return None
        add_up, size = reduce_sum_p.impl_for_types([aval], total.params), number(aval.size)
        out_aval = shaped_array((), aval.dtype)
        return Lines(out_aval, lambda x: divide(add_up(x), size), lambda ct: _filled(aval, divide(ct, size)))

    return lines


def _equations_of(operation: LinearizedOperation) -> tuple[ShapedArray, Sequence[JaxprEqn]]:
    """Return the type of the first array of an operation, and its equations."""
    program = operation.programs().program
    return program.in_avals[0], program.eqns


def _adds_all(eqn: JaxprEqn, aval: ShapedArray) -> bool:
    """Tell whether an equation is the sum over all axes of an array of the type `aval`, in its dtype."""
    is_sum = eqn.primitive is reduce_sum_p and eqn.invars[0].aval is aval
    return is_sum and eqn.outvars[0].aval is shaped_array((), aval.dtype)


def _filled(aval: ShapedArray, ct: Value) -> Value:
    out = np.empty(aval.shape, aval.dtype)
    out.fill(ct)
    return out


_NUM_ARRAYS = {"cut": 1, "positions": 2, "sum": 1, "mean": 1}
_MAKERS: dict[str, Callable[[LinearizedOperation, Sequence[Value]], Maker | None]] = {
    "cut": _cut,
    "positions": _positions,
    "sum": _sum,
    "mean": _mean,
}
