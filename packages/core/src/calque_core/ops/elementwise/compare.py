"""Comparisons, boolean and bitwise logic, shifts, and choosing between values element by element.

As in `arithmetic.py`, operands have one dtype, and equal shapes or rank 0.  `select_n` is elementwise too, but its
first operand has another dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise import formulas, scalars
from calque_core.ops.elementwise.declare import (
    ANY,
    BITS,
    INTEGER,
    ORDERED,
    declare,
    elementwise,
    fitting,
    insist,
    ordered_operands,
)
from calque_core.ops.elementwise.formulas import keeping_dtype
from calque_core.ops.elementwise.operands import binary, broadcast_operands
from calque_core.ops.elementwise.weakness import strong
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof

Value = Any

_BOOL = np.dtype(bool)
_SELECTORS = (_BOOL, np.dtype("int32"), np.dtype("int64"))

# Comparisons

eq_p = declare("eq", ANY, scalars.binary(operator.eq, np.equal, scalars.ANY), _BOOL, weak_kinds="bifc")
ne_p = declare("ne", ANY, scalars.binary(operator.ne, np.not_equal, scalars.ANY), _BOOL, weak_kinds="bifc")
lt_p = declare("lt", ORDERED, scalars.binary(operator.lt, np.less, scalars.ANY), _BOOL, weak_kinds="bif")
le_p = declare("le", ORDERED, scalars.binary(operator.le, np.less_equal, scalars.ANY), _BOOL, weak_kinds="bif")
gt_p = declare("gt", ORDERED, scalars.binary(operator.gt, np.greater, scalars.ANY), _BOOL, weak_kinds="bif")
ge_p = declare("ge", ORDERED, scalars.binary(operator.ge, np.greater_equal, scalars.ANY), _BOOL, weak_kinds="bif")


def eq(x: Value, y: Value) -> Value:
    """Tell where x == y, elementwise.  NaN equals nothing.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import eq
    >>> eq(np.array([1.0, 2.0]), 2)
    array([False,  True])
    """
    return eq_p.bind(*binary("eq", x, y))


def ne(x: Value, y: Value) -> Value:
    """Tell where x != y, elementwise.  NaN differs from everything.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import ne
    >>> ne(np.array([1.0, 2.0]), 2)
    array([ True, False])
    """
    return ne_p.bind(*binary("ne", x, y))


def lt(x: Value, y: Value) -> Value:
    """Tell where x < y, elementwise.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import lt
    >>> lt(np.array([1.0, 2.0]), 2)
    array([ True, False])
    """
    return lt_p.bind(*ordered_operands("lt", x, y))


def le(x: Value, y: Value) -> Value:
    """Tell where x <= y, elementwise.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import le
    >>> le(np.array([1.0, 3.0]), 2)
    array([ True, False])
    """
    return le_p.bind(*ordered_operands("le", x, y))


def gt(x: Value, y: Value) -> Value:
    """Tell where x > y, elementwise.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import gt
    >>> gt(np.array([1.0, 3.0]), 2)
    array([False,  True])
    """
    return gt_p.bind(*ordered_operands("gt", x, y))


def ge(x: Value, y: Value) -> Value:
    """Tell where x >= y, elementwise.

    Shapes: broadcast.  Dtype: bool, after promotion.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import ge
    >>> ge(np.array([1.0, 2.0]), 2)
    array([False,  True])
    """
    return ge_p.bind(*ordered_operands("ge", x, y))


# Logic, on bools and on the bits of integers

_and, _or, _xor = keeping_dtype(np.bitwise_and), keeping_dtype(np.bitwise_or), keeping_dtype(np.bitwise_xor)
and_p = declare("and", BITS, scalars.binary(operator.and_, _and, scalars.BITS), weak_kinds="bi")
or_p = declare("or", BITS, scalars.binary(operator.or_, _or, scalars.BITS), weak_kinds="bi")
xor_p = declare("xor", BITS, scalars.binary(operator.xor, _xor, scalars.BITS), weak_kinds="bi")
not_p = declare("not", BITS, scalars.unary(operator.invert, keeping_dtype(np.invert)), weak_kinds="i")


def bitwise_and(x: Value, y: Value) -> Value:
    """Return x & y, elementwise: on bools, or on the bits of integers.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for floats and complex numbers.

    >>> from calque_core.lax import bitwise_and
    >>> bitwise_and(6, 3)
    np.int64(2)
    """
    return and_p.bind(*insist("and", BITS, *binary("and", x, y)))


def bitwise_or(x: Value, y: Value) -> Value:
    """Return x | y, elementwise: on bools, or on the bits of integers.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for floats and complex numbers.

    >>> from calque_core.lax import bitwise_or
    >>> bitwise_or(6, 3)
    np.int64(7)
    """
    return or_p.bind(*insist("or", BITS, *binary("or", x, y)))


def bitwise_xor(x: Value, y: Value) -> Value:
    """Return x ^ y, elementwise: on bools, or on the bits of integers.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for floats and complex numbers.

    >>> from calque_core.lax import bitwise_xor
    >>> bitwise_xor(6, 3)
    np.int64(5)
    """
    return xor_p.bind(*insist("xor", BITS, *binary("xor", x, y)))


def bitwise_not(x: Value) -> Value:
    """Return the negation of bools, or of the bits of integers, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for floats and complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import bitwise_not
    >>> bitwise_not(np.array([True, False]))
    array([False,  True])
    """
    return not_p.bind(*insist("not", BITS, strong(x)))


# Shifts

shift_left_p = declare("shift_left", INTEGER, keeping_dtype(np.left_shift))
shift_right_logical_p = declare("shift_right_logical", INTEGER, partial(formulas.shift_right, signed=False))
shift_right_arithmetic_p = declare("shift_right_arithmetic", INTEGER, partial(formulas.shift_right, signed=True))


def shift_left(x: Value, y: Value) -> Value:
    """Return the bits of x moved left by y places, elementwise; 0 if y is negative or the width of the dtype or more.

    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for anything but integers.

    >>> from calque_core.lax import shift_left
    >>> shift_left(3, 2)
    np.int64(12)
    """
    return shift_left_p.bind(*insist("shift_left", INTEGER, *binary("shift_left", x, y)))


def shift_right_logical(x: Value, y: Value) -> Value:
    """Return the bits of x moved right by y places, elementwise; zeros fill in, also for signed integers.

    The result is 0 if y is negative or the width of the dtype or more.
    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for anything but integers.

    >>> import numpy as np
    >>> from calque_core.lax import shift_right_logical
    >>> shift_right_logical(np.int8(-1), np.int8(4))
    np.int8(15)
    """
    return shift_right_logical_p.bind(*insist("shift_right_logical", INTEGER, *binary("shift_right_logical", x, y)))


def shift_right_arithmetic(x: Value, y: Value) -> Value:
    """Return the bits of x moved right by y places, elementwise; the top bit fills in, also for unsigned integers.

    The top bit fills the result if y is negative or the width of the dtype or more.
    Shapes: broadcast.  Dtype: promoted.
    Raises: ShapeError if the shapes do not broadcast; TypeError for anything but integers.

    >>> from calque_core.lax import shift_right_arithmetic
    >>> shift_right_arithmetic(-8, 1)
    np.int64(-4)
    """
    operands = insist("shift_right_arithmetic", INTEGER, *binary("shift_right_arithmetic", x, y))
    return shift_right_arithmetic_p.bind(*operands)


# Counts of bits

population_count_p = declare("population_count", INTEGER, formulas.count_ones)
clz_p = declare("clz", INTEGER, formulas.count_leading_zeros)


def population_count(x: Value) -> Value:
    """Return how many bits of x are 1, elementwise; of a negative number, the bits of its two's complement.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for anything but integers.

    >>> import numpy as np
    >>> from calque_core.lax import population_count
    >>> population_count(np.array([0, 6, -1], np.int8))
    array([0, 2, 8], dtype=int8)
    """
    return population_count_p.bind(*insist("population_count", INTEGER, strong(x)))


def clz(x: Value) -> Value:
    """Return how many bits of x are 0 before the first 1, elementwise: the width of the dtype for 0.

    Shapes: x [*s] -> [*s].  Dtype: kept.
    Raises: TypeError for anything but integers.

    >>> import numpy as np
    >>> from calque_core.lax import clz
    >>> clz(np.array([0, 6, -1], np.int8))
    array([8, 5, 0], dtype=int8)
    """
    return clz_p.bind(*insist("clz", INTEGER, strong(x)))


# Choices

select_n_p = Primitive("select_n")
select_n_p.is_elementwise = True


@select_n_p.def_abstract_eval(cached=True)
def select_n_abstract_eval(which_aval: ShapedArray, *case_avals: ShapedArray) -> ShapedArray:
    _check_which(which_aval, len(case_avals))
    aval = _select_n_cases(*case_avals)
    if which_aval.shape and aval.shape and which_aval.shape != aval.shape:
        raise ShapeError(
            f"select_n{where()} got a selector of type {which_aval} for cases of type {aval}. Broadcast them to one "
            "shape, or use a selector of rank 0."
        )
    return shaped_array(which_aval.shape or aval.shape, aval.dtype)


_select_n_cases = elementwise("select_n", ANY)


def _check_which(which_aval: ShapedArray, n_cases: int) -> None:
    if which_aval.dtype not in _SELECTORS:
        raise TypeError(
            f"select_n{where()} got a selector of type {which_aval}. Give bools, or int32 or int64 for the number of a "
            "case."
        )
    if n_cases < 1 or (n_cases > 2 and which_aval.dtype == _BOOL):
        raise TypeError(
            f"select_n{where()} got a selector of type {which_aval} for {n_cases} cases. Give 1 or 2 cases."
        )


def select_n_impl(which: Value, *cases: Value) -> Value:
    out: Value
    if len(cases) == 2 and typeof(which).kind == "b":
        out = np.where(which, cases[1], cases[0])
        return out[()]
    out = np.where(np.less(which, 1), cases[0], cases[0])  # a single case takes the shape of `which` too
    for number, case in enumerate(cases[1:], 1):
        out = np.where(np.greater_equal(which, number), case, out)
    return out[()]


def select_n_impl_for_types(which_aval: ShapedArray, *avals: ShapedArray) -> Callable[..., Value] | None:
    shape = select_n_p.abstract(which_aval, *avals)[0].shape
    if len(avals) != 2 or which_aval.kind != "b" or not shape:
        return None
    is_full = [aval.shape == shape for aval in avals]
    if which_aval.shape and is_full != [True, True] and any(is_full):
        return formulas.choice_beside_zero(avals[0].dtype, which_aval.size, is_true_full=is_full[1])
    return formulas.choose


select_n_p.def_impl(select_n_impl, leaf=True, for_types=select_n_impl_for_types, makes_arrays=True)


def select_n(which: Value, *cases: Value) -> Value:
    """Return, element by element, the case whose number is in `which`; False and True choose the first and the second.

    Shapes: broadcast.  Dtype: the promoted dtype of the cases.  A number out of range chooses the nearest case.
    Raises: TypeError if `which` is neither bool nor int32 nor int64, or bool with more than two cases; ShapeError if
    the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import select_n
    >>> select_n(np.array([True, False]), np.array([1, 2]), np.array([10, 20]))
    array([10,  2])
    """
    _check_which(typeof(which), len(cases))
    return select_n_p.bind(*_fitting_cases("select_n", which, fitting("select_n", *cases)))


def _fitting_cases(name: str, which: Value, cases: Sequence[Value]) -> Sequence[Value]:
    if typeof(which).shape in ((), typeof(cases[0]).shape):
        return (which, *cases)
    return broadcast_operands(name, (which, *cases))


def select(pred: Value, on_true: Value, on_false: Value) -> Value:
    """Return `on_true` where `pred` holds and `on_false` elsewhere.

    Shapes: broadcast.  Dtype: promoted.
    Raises: TypeError if `pred` is not bool; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import select
    >>> select(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    """
    if typeof(pred).dtype != _BOOL:
        raise TypeError(
            f"select{where()} got a predicate of type {typeof(pred)}. Give bools: compare the operand, x != 0."
        )
    on_true, on_false = fitting("select", on_true, on_false)
    return select_n_p.bind(*_fitting_cases("select", pred, (on_false, on_true)))


# A choice between operands of a computation.  Results computed from `safe` are dropped.  Evaluation and derivatives
# choose: a zero divisor is an error, and an infinite derivative times a zero cotangent is NaN.  A compiled
# program takes `x` everywhere.  The operands are those of `select_n`: (is_used, safe, x).
guard_p = Primitive("guard")
guard_p.is_elementwise = True
guard_p.def_abstract_eval(select_n_abstract_eval, cached=True)
guard_p.def_impl(select_n_impl, leaf=True, for_types=select_n_impl_for_types, makes_arrays=True)
guard_p.def_rule("decomposition", select_n)


@keeping_dtype
def clamp_impl(min: Value, x: Value, max: Value) -> Value:
    return np.minimum(np.maximum(x, min), max)


clamp_p = declare("clamp", ANY, clamp_impl)


def clamp(min: Value, x: Value, max: Value) -> Value:
    """Return x, elementwise, moved to the nearer bound where it lies outside [min, max].  NaN stays NaN.

    Shapes: broadcast.  Dtype: promoted; complex numbers are compared by the real part first.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import clamp
    >>> clamp(0.0, np.array([-1.0, 0.5, 2.0]), 1.0)
    array([0. , 0.5, 1. ])
    """
    return clamp_p.bind(*fitting("clamp", min, x, max))
