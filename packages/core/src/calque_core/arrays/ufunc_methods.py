"""The methods of NumPy's ufuncs on traced arrays: `np.add.reduce`, `np.maximum.accumulate`, `np.subtract.outer`.

One idea: a ufunc of two operands and one result is a step from a total and an element to the next total, so a scan is
its reduction and its accumulation.  Two tables name the ufuncs that have operations of their own: `reductions` of
`numpy_protocol.py`, and `_accumulations`, made at its first use: it needs `cumulative.py` and the loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import as_dtype, truth
from calque_core.arrays.numpy_protocol import implementation, reductions, refuse
from calque_core.arrays.numpy_reductions import keep_axes, reduced_axes, sum_dtype
from calque_core.arrays.numpy_sequences import array_of
from calque_core.errors import NumpyRuleError
from calque_core.frames.source import where as place
from calque_core.ops.elementwise.weakness import strong
from calque_core.ops.shapes.axes import Axes, canonical_axis, integers
from calque_core.ops.shapes.batch_axes import moveaxis
from calque_core.ops.shapes.broadcast import broadcast_to
from calque_core.traces.trace import eval_context
from calque_core.traces.tracer import is_tracer
from calque_core.types.avals import typeof
from calque_core.types.dtypes import canonicalize_dtype

Value = Any
DType = Any
Step = Callable[[Value, Value], Value]

_SUMS = (np.add, np.multiply)  # of small integers in the default integer
_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)
_REORDERABLE = (np.maximum, np.minimum, np.fmax, np.fmin)  # over several axes, though they have no identity
_ABSENT: Any = np._NoValue  # NumPy's mark of an argument that is not given


@cache
def _accumulations() -> dict[np.ufunc, Callable[[Value, int], Value]]:
    return {
        np.add: lax.cumsum,
        np.multiply: lax.cumprod,
        np.maximum: lax.cummax,
        np.minimum: lax.cummin,
        np.logaddexp: lax.cumlogsumexp,
    }


def reduce(ufunc: np.ufunc, array: Value, axis: Axes = 0, dtype: DType = None, **options: Any) -> Value:
    """Return `ufunc` applied to one element after the other over `axis`; the options are those of NumPy's reductions.

    Raises: ValueError for several axes if the order matters, and for no element without `initial` or an identity;
    TypeError for `out`; NumpyRuleError if a result cannot be the next operand.
    """
    if not typeof(array).shape and axis in (0, -1):  # NumPy lets a number be reduced
        axis = ()
    is_logical = ufunc in (np.logical_and, np.logical_or)
    if is_logical and dtype is None and "initial" not in options:
        return reductions[ufunc](array, axis, **options)
    if ufunc in _SUMS:
        return reductions[ufunc](array, axis, dtype, **options)
    if ufunc in reductions and not is_logical:
        array = array if dtype is None else as_dtype(array, canonicalize_dtype(dtype))
        return reductions[ufunc](array, axis, **options)
    return _fold(ufunc, array, axis, dtype, **options)


def _fold(  # noqa: PLR0913, PLR0917  (the signature is NumPy's, after the ufunc)
    ufunc: np.ufunc,
    array: Value,
    axis: Axes,
    dtype: DType,
    out: None = None,
    keepdims: bool = False,
    initial: Value = _ABSENT,
    where: Value = True,
) -> Value:
    name = f"numpy.{ufunc.__name__}.reduce"
    refuse(name, out=out)
    step, x = _step(ufunc, "reduce", array, dtype)
    aval = typeof(x)
    axes = reduced_axes(name, axis, aval.ndim)
    if len(axes) > 1 and ufunc.identity is None and ufunc not in _REORDERABLE:
        raise ValueError(f"{name} of {aval}{place()} over the axes {axes}: the order matters. Give one axis.")
    initial = ufunc.identity if initial is _ABSENT else initial
    if initial is None and (where is not True or not math.prod(aval.shape[i] for i in axes)):
        raise ValueError(f"{name} of {aval}{place()} over the axes {axes}: there may be no element. Give initial=.")
    rows = _along_first(x, axes)
    if initial is None:
        total, rows = rows[0], rows[1:]
    else:
        total = lax.full(typeof(rows).shape[1:], _of_dtype(initial, aval.dtype))
    if where is True:
        return keep_axes(lax.scan(lambda total, row: (step(total, row), None), total, rows)[0], axes, keepdims)
    masks = _along_first(broadcast_to(truth(where), aval.shape), axes)
    total, _ = lax.scan(lambda t, row: (lax.select(row[1], step(t, row[0]), t), None), total, (rows, masks))
    return keep_axes(total, axes, keepdims)


def _of_dtype(initial: Value, dtype: np.dtype[Any]) -> Value:
    """Return an initial value in `dtype`; of an unsigned integer, the identity -1 has all bits set."""
    return as_dtype(initial, dtype) if is_tracer(initial) else np.asarray(initial).astype(dtype)[()]


def _along_first(x: Value, axes: tuple[int, ...]) -> Value:
    """Return `x` with the elements over `axes` along one leading axis."""
    sizes = typeof(x).shape
    kept = [i for i in range(len(sizes)) if i not in axes]
    count = math.prod(sizes[i] for i in axes)
    return lax.reshape(lax.transpose(x, (*axes, *kept)), (count, *(sizes[i] for i in kept)))


def accumulate(ufunc: np.ufunc, array: Value, axis: int = 0, dtype: DType = None, out: None = None) -> Value:
    """Return the results of `reduce` up to each element along `axis`.

    Raises: ValueError for an axis out of range; otherwise as `reduce`.
    """
    name = f"numpy.{ufunc.__name__}.accumulate"
    refuse(name, out=out)
    step, x = _step(ufunc, "accumulate", array, dtype)
    aval = typeof(x)
    axis = canonical_axis(name, axis, aval.ndim)
    if ufunc in _accumulations() and aval.kind != "b":
        return _accumulations()[ufunc](x, axis)
    if aval.shape[axis] == 0:
        return x

    def next_row(total: Value, row: Value) -> tuple[Value, Value]:
        total = step(total, row)
        return total, total

    rows = moveaxis(x, axis, 0)
    _, totals = lax.scan(next_row, rows[0], rows[1:])
    return moveaxis(lax.concatenate([rows[:1], totals], 0), 0, axis)


def reduceat(
    ufunc: np.ufunc, array: Value, indices: Any, axis: int = 0, dtype: DType = None, out: None = None
) -> Value:
    """Return the reductions of the elements from each index to before the next, which is one element if it is lower.

    Raises: IndexError for an index out of range; TypeError for traced indices; otherwise as `reduce`.
    """
    name = f"numpy.{ufunc.__name__}.reduceat"
    refuse(name, out=out)
    _, x = _step(ufunc, "reduceat", array, dtype)
    aval = typeof(x)
    axis = canonical_axis(name, axis, aval.ndim)
    starts, size = integers(name, "indices", indices), aval.shape[axis]
    if not starts:
        return lax.slice_in_dim(x, 0, 0, axis=axis)
    for start in starts:
        if not 0 <= start < size:
            raise IndexError(f"{name} of {aval}{place()}: index {start} is out of range. Give 0 to {size - 1}.")
    options = {} if ufunc in reductions else {"initial": None}  # a part starts at its first element
    ends = [max(start + 1, end) for start, end in zip(starts, (*starts[1:], size))]
    parts = [lax.slice_in_dim(x, start, end, axis=axis) for start, end in zip(starts, ends)]
    return lax.stack([as_dtype(reduce(ufunc, part, axis, **options), aval.dtype) for part in parts], axis)


def outer(ufunc: np.ufunc, a: Value, b: Value, **options: Any) -> Value:
    """Return `ufunc` of every element of `a` with every element of `b`.

    Shapes: a [*s], b [*t] -> [*s, *t].
    """
    a, b = (array_of(x) if isinstance(x, (list, tuple)) else x for x in (a, b))
    ndim = typeof(a).ndim
    return ufunc(lax.expand_dims(a, range(ndim, ndim + typeof(b).ndim)), b, **options)


def _step(ufunc: np.ufunc, method: str, array: Value, dtype: DType) -> tuple[Step, Value]:
    """Return the function of `ufunc`, and the array in the dtype of its results.

    Raises: NumpyRuleError if the results of the ufunc have another dtype than its operands: `less` of floats.
    """
    function, array = implementation(ufunc), strong(array)
    x = truth(array) if ufunc in _LOGICAL else array
    if dtype is not None:
        x = as_dtype(x, canonicalize_dtype(dtype))
    elif ufunc in _SUMS:
        x = as_dtype(x, sum_dtype(typeof(x).dtype))
    with eval_context():
        dtype = typeof(function(_one(x), _one(x))).dtype
    if dtype.kind == "b" and typeof(x).kind != "b":
        raise NumpyRuleError(
            f"numpy.{ufunc.__name__}.{method} of {typeof(array)}{place()}: a result of {ufunc.__name__} is a bool, "
            "which is no operand of the next step. Compare arrays: x[1:], x[:-1]."
        )
    return function, as_dtype(x, dtype)


def _one(x: Value) -> Value:
    """Return a number of the dtype of `x`."""
    return typeof(x).dtype.type(1)
