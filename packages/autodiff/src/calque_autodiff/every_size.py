"""Cuts, sums and means of one array, in arrays of every size: an operation of another shape without a run of the rules.

One idea: the derivative of such a function has no residuals, and each way is a line of NumPy.  The size of the array is
all that differs between two shapes of one rank, so where the rules have shown the operation for one shape, the lines
for another one are known.  Data of another length at each call, such as sentences or batches, then costs no rules.

Read next: `operations.py` of this package, which makes operations from the rules, for every other function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.traces.steps import LinearizedOperation, Pull, PullCode, Push
from calque_core import JaxprEqn, Literal, ShapedArray
from calque_core.extend import Shape, is_large, linear_in_every_size, shaped_array
from calque_core.lax import div_p, reduce_sum_p

Value = Any
Function = Callable[..., Any]


class Lines(NamedTuple):
    """A function of one array and its transpose as code.

    `run(x)` is the result, `pull(ct)` a new array, the cotangent of x; `add(total, ct)` adds it to an array in place,
    if that is less.
    """

    out_aval: ShapedArray
    run: Callable[[Value], Value]
    pull: Callable[[Value], Value]
    add: Callable[[Value, Value], None] | None = None


Maker = Callable[[ShapedArray], Lines | None]
"""From the type of an array to the lines for it; None if the rules have to run."""


def in_every_size(
    operation: LinearizedOperation,
    function: Function,
    others: Sequence[Value],
    by_rules: Callable[[ShapedArray], LinearizedOperation],
) -> Callable[[Shape], LinearizedOperation | None] | None:
    """Return the function from a shape to the operation on an array of that shape, or to None; or None.

    `operation` is `function(x, *others)`, where x has a tangent.
    """
    programs = operation.programs()
    if operation.pull is None or [*programs.mask] != [True]:
        return None
    aval = programs.program.in_avals[0]
    lines = _MAKERS[linear_in_every_size[function]](aval, programs.program.eqns, others)
    if lines is None:
        return None

    def in_shape(shape: Shape) -> LinearizedOperation | None:
        new = shaped_array(shape, aval.dtype)
        known = lines(new)
        return None if known is None else _operation(operation, new, known, lambda _: by_rules(new))

    return in_shape


def _operation(
    old: LinearizedOperation, aval: ShapedArray, lines: Lines, make: Callable[[Shape], LinearizedOperation]
) -> LinearizedOperation:
    """Return the operation that some lines compute, on arrays of the type `aval`."""
    run, pull = lines.run, lines.pull
    is_kept = lines.add is not None or is_large(aval)
    code = PullCode(lambda ct: (pull(ct),), (True,) if is_kept else ())
    way_back = Pull(code, code, lines.add, None, (True,), is_whole=True)

    def push() -> Push:
        return Push(lambda x, dot: (run(x), run(dot)), None)

    out_avals = [lines.out_aval]
    operation = LinearizedOperation(out_avals, out_avals, (lambda x: (run(x), ()), ()), way_back, push, None)
    return operation.made_by(make, aval.shape, old.settings)


# Cuts


def _cut(aval: ShapedArray, eqns: Sequence[JaxprEqn], others: Sequence[Value]) -> Maker | None:
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


# Sums and means


def _sum(aval: ShapedArray, eqns: Sequence[JaxprEqn], others: Sequence[Value]) -> Maker | None:
    """Return the maker of the sum over all axes."""
    if len(eqns) != 1 or not _adds_all(eqns[0], aval):
        return None
    (total,) = eqns

    def lines(aval: ShapedArray) -> Lines:
        run = reduce_sum_p.impl_for_types([aval], total.params)
        return Lines(shaped_array((), aval.dtype), run, lambda ct: _filled(aval, ct))

    return lines


def _mean(aval: ShapedArray, eqns: Sequence[JaxprEqn], others: Sequence[Value]) -> Maker | None:
    """Return the maker of the mean over all axes, which divides the sum by the number of elements."""
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


def _adds_all(eqn: JaxprEqn, aval: ShapedArray) -> bool:
    """Tell whether an equation is the sum over all axes of an array of the type `aval`, in its dtype."""
    is_sum = eqn.primitive is reduce_sum_p and eqn.invars[0].aval is aval
    return is_sum and eqn.outvars[0].aval is shaped_array((), aval.dtype)


def _filled(aval: ShapedArray, ct: Value) -> Value:
    out = np.empty(aval.shape, aval.dtype)
    out.fill(ct)
    return out


_MAKERS: dict[str, Callable[[ShapedArray, Sequence[JaxprEqn], Sequence[Value]], Maker | None]] = {
    "cut": _cut,
    "sum": _sum,
    "mean": _mean,
}
