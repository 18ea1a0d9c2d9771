"""Elements taken at positions, and arrays with elements added or removed.

One idea: a position along an axis is an index of the array, `at(a)[:, position]`; so a known position out of bounds is
an IndexError, and a traced one is clipped.  A result whose shape depends on values needs known values.

Read next: `searching.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from calque_core import canonicalize_dtype, implements, is_tracer, lax, result_type, typeof
from calque_core.engine import host_values, short_repr
from calque_core.engine.numpy_functions import (
    as_dtype,
    at,
    broadcast_to,
    canonical_axis,
    check_dtypes,
    one_or_several,
    ravel,
    refuse,
)
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate
from calque_numpy.places import elements_at, first_places, is_known, require_size
from calque_numpy.shapes import moveaxis

Value = Any


def _flat_or_axis(name: str, a: Value, axis: int | None) -> tuple[Value, int]:
    """Return the flat array and 0 for `axis=None`; otherwise the array and its axis."""
    a = asarray(a)
    return (ravel(a), 0) if axis is None else (a, canonical_axis(name, axis, typeof(a).ndim))


@implements(np.take)
def take(
    a: Value,
    indices: Value,
    axis: int | None = None,
    out: None = None,
    mode: str | None = "raise",
    *,
    fill_value: Value = None,
) -> Value:
    """Return the elements at `indices` along `axis`, or of the flat array.

    Shapes: a [*s, n, *t], indices [*i] -> [*s, *i, *t].  The mode "wrap" counts positions modulo n, "clip" takes the
    nearest position, and "raise" or None refuses known positions out of bounds and clips traced ones.  The mode "fill",
    which NumPy does not have, gives `fill_value` out of bounds; if it is None, NaN or the least signed or greatest
    unsigned integer.
    Raises: IndexError for a known position out of bounds; ValueError for an unknown mode or an axis out of range;
    TypeError for indices that are not integers, and for `out`.

    >>> import numpy as np
    >>> from calque_numpy import take
    >>> take(np.array([4, 5, 6]), np.array([2, 0]))
    array([6, 4])
    >>> take(np.array([4.0, 5.0, 6.0]), np.array([2, 3]), mode="fill")
    array([ 6., nan])
    """
    refuse("take", out=out)
    a, axis = _flat_or_axis("take", a, axis)
    if mode != "fill":
        if fill_value is not None:
            raise ValueError(f"take{place()}: the mode {mode!r} has no fill_value. Set mode='fill', or remove it.")
        position = checked_positions("take", asarray(indices), typeof(a).shape[axis], mode)
        return at(a)[(*_all(axis), position)].get()
    position = checked_positions("take", asarray(indices), typeof(a).shape[axis], "raise")
    return at(a)[(*_all(axis), position)].get(mode="fill", fill_value=fill_value)


def _all(count: int) -> tuple[slice, ...]:
    return (slice(None),) * count


def checked_positions(name: str, indices: Value, size: int, mode: str | None) -> Value:
    """Return the positions under a mode of NumPy's: "raise" or None, "wrap" or "clip"; bools are 0 and 1.

    Raises: ValueError for another mode; TypeError for indices that are no integers.
    """
    if typeof(indices).kind == "b":
        index = canonicalize_dtype(np.intp)
        indices = indices.astype(index) if is_known(indices) else as_dtype(indices, index)  # known ones stay known
    if typeof(indices).kind not in "iu":
        raise TypeError(f"{name}{place()}: the indices are {typeof(indices)}. Give integers.")
    if mode not in (None, "raise", "wrap", "clip"):
        raise ValueError(f"{name}{place()}: the mode is {mode!r}. Use 'raise', 'wrap' or 'clip'.")
    if mode in (None, "raise") or not size:
        return indices
    if mode == "clip":
        return lax.clamp(0, indices, size - 1)
    remainder = lax.rem(indices, size)
    return lax.select(lax.lt(remainder, 0), lax.add(remainder, size), remainder)


@implements(np.take_along_axis)
def take_along_axis(
    arr: Value,
    indices: Value,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Value = None,
    *,
    wrap_negative_indices: bool = True,
) -> Value:
    """Return the elements of which `indices` has the positions along `axis`; the other axes are matched.

    Shapes: arr [*s, n, *t], indices [*s, k, *t] -> [*s, k, *t]; axes of size 1 are broadcast.  JAX's `mode` is "clip",
    "fill" or "promise_in_bounds", and `wrap_negative_indices`, are as for `x.at[index].get`; without a mode traced
    positions are clipped.
    Raises: IndexError for a known position out of bounds without a mode; ValueError for another number of axes or an
    unknown mode; TypeError for indices that are no integers.

    >>> import numpy as np
    >>> from calque_numpy import take_along_axis
    >>> x = np.array([[3, 1], [2, 4]])
    >>> take_along_axis(x, np.argsort(x, 1), 1)
    array([[1, 3],
           [2, 4]])
    """
    arr, axis = _flat_or_axis("take_along_axis", arr, axis)
    index = along_axis("take_along_axis", arr, asarray(indices), axis)
    return at(arr)[index].get(mode=mode, fill_value=fill_value, wrap_negative_indices=wrap_negative_indices)


def along_axis(name: str, arr: Value, indices: Value, axis: int) -> tuple[Value, ...]:
    """Return an index of every axis: the positions along `axis`, and each position of the other axes."""
    shape, ndim = typeof(arr).shape, typeof(arr).ndim
    if typeof(indices).ndim != ndim:
        raise ValueError(
            f"{name} of {typeof(arr)}{place()}: the indices are {typeof(indices)}. Give as many axes as the array has."
        )
    if typeof(indices).kind == "b":
        raise TypeError(f"{name} of {typeof(arr)}{place()}: the indices are {typeof(indices)}. Give integers.")
    checked_positions(name, indices, shape[axis], "raise")
    own = (np.arange(n).reshape([n if e == d else 1 for e in range(ndim)]) for d, n in enumerate(shape))
    return tuple(indices if d == axis else position for d, position in enumerate(own))


@implements(np.choose)
def choose(a: Value, choices: Sequence[Value], out: None = None, mode: str = "raise") -> Value:
    """Return, where `a` is n, the element of the n-th choice; all are broadcast together.

    The mode is as for `take`; the dtype is promoted.
    Raises: IndexError for a known position out of bounds; TypeError for positions that are no integers, and for `out`.

    >>> import numpy as np
    >>> from calque_numpy import choose
    >>> choose(np.array([1, 0]), [np.array([10, 20]), np.array([30, 40])])
    array([30, 20])
    """
    refuse("choose", out=out)
    a = asarray(a)
    choices = [asarray(choice) for choice in (choices if isinstance(choices, (list, tuple)) else list(choices))]
    shape = lax.broadcast_shapes(typeof(a).shape, *(typeof(choice).shape for choice in choices))
    table = lax.stack([broadcast_to(choice, shape) for choice in _promoted(choices)])
    position = broadcast_to(checked_positions("choose", a, len(choices), mode), shape)
    return at(table)[along_axis("choose", table, lax.expand_dims(position, (0,)), 0)].get()[0]


def _promoted(arrays: list[Value]) -> list[Value]:
    dtype = result_type(*(typeof(x).dtype for x in arrays))
    return [as_dtype(x, dtype) for x in arrays]


@implements(np.compress)
def compress(
    condition: Value,
    a: Value,
    axis: int | None = None,
    out: None = None,
    *,
    size: int | None = None,
    fill_value: Value = 0,
) -> Value:
    """Return the slices along `axis` where a vector of bools is true, or such elements of the flat array.

    With `size`, the condition may be traced: the first `size` slices, and `fill_value` after the last.
    Raises: NonConcreteBooleanIndexError for a traced condition without `size`; ValueError for a condition of another
    rank, or beside `size` for one that is longer than the axis; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import compress
    >>> compress(np.array([True, False, True]), np.array([1, 2, 3]))
    array([1, 3])
    """
    refuse("compress", out=out)
    condition = asarray(condition) != 0  # NumPy's operator, so that known values stay known under a trace
    if typeof(condition).ndim != 1:
        raise ValueError(f"compress{place()}: the condition is {typeof(condition)}. Give a vector.")
    a, axis = _flat_or_axis("compress", a, axis)
    count = typeof(condition).shape[0]
    if size is not None:
        return _first_slices(condition, a, axis, require_size("compress", condition, size), fill_value)
    shorter = lax.slice_in_dim(a, 0, min(count, typeof(a).shape[axis]), axis=axis)
    return at(shorter)[(*_all(axis), condition)].get()


def _first_slices(condition: Value, a: Value, axis: int, size: int, fill_value: Value) -> Value:
    """Return the first `size` slices where a condition is true, and `fill_value` after the last."""
    if typeof(condition).shape[0] > typeof(a).shape[axis]:
        raise ValueError(
            f"compress{place()}: the condition is {typeof(condition)} for axis {axis} of {typeof(a)}. Give one bool "
            "for each slice, or fewer."
        )
    places, exists = first_places(condition, size)
    return moveaxis(elements_at(moveaxis(a, axis, 0), places, exists, fill_value), 0, axis)


@implements(np.extract)
def extract(condition: Value, arr: Value, *, size: int | None = None, fill_value: Value = 0) -> Value:
    """Return the elements of the flat array where a condition is true; `size` and `fill_value` as for `compress`.

    Raises: NonConcreteBooleanIndexError for a traced condition without `size`.

    >>> import numpy as np
    >>> from calque_numpy import extract
    >>> extract(np.array([[True, False], [False, True]]), np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return compress(asarray(condition).ravel(), ravel(asarray(arr)), size=size, fill_value=fill_value)


# Arrays with elements added or removed


@implements(np.append)
def append(arr: Value, values: Value, axis: int | None = None) -> Value:
    """Return the array with `values` after it along `axis`, or both flat.

    Raises: ShapeError if the other axes differ.

    >>> import numpy as np
    >>> from calque_numpy import append
    >>> append(np.array([1, 2]), 3)
    array([1, 2, 3])
    """
    check_dtypes("append", (typeof(arr), typeof(values)))
    arr, values = asarray(arr), asarray(values)
    return concatenate([ravel(arr), ravel(values)]) if axis is None else concatenate([arr, values], axis)


@implements(np.delete)
def delete(arr: Value, obj: Any, axis: int | None = None) -> Value:
    """Return the array without the slices at known positions along `axis`; flat for `axis=None`.

    Raises: IndexError for a position out of bounds; TypeError for positions that are no integers or bools; a tracer's
    own error for traced positions, since the shape of the result depends on them.

    >>> import numpy as np
    >>> from calque_numpy import delete
    >>> delete(np.array([1, 2, 3]), 1)
    array([1, 3])
    """
    arr, axis = _flat_or_axis("delete", arr, axis)
    n = typeof(arr).shape[axis]
    try:
        kept = np.delete(np.arange(n), _known_positions("delete", obj))
    except IndexError:
        raise _out_of_bounds("delete", arr, axis, obj, n - 1) from None
    return at(arr)[(*_all(axis), kept)].get()


def _known_positions(name: str, positions: Any) -> Any:
    """Return positions for NumPy's own function, which would hand a tracer or a device array back to this module.

    Raises: a tracer's own error for a traced value that is not known; TypeError for no positions.
    """
    if is_tracer(positions):
        return np.asarray(positions) if typeof(positions).ndim else index(positions)
    positions = host_values(positions)
    if not isinstance(positions, slice):
        array = np.asarray(positions)
        if array.size and array.dtype.kind not in ("biu" if array.ndim else "iu"):
            raise TypeError(
                f"{name}{place()}: the positions are {short_repr(positions)}. Give integers, a slice, or a mask of "
                "bools."
            )
    return positions


def _out_of_bounds(name: str, arr: Value, axis: int, positions: Any, highest: int) -> IndexError:
    size = typeof(arr).shape[axis]
    return IndexError(
        f"{name} of {typeof(arr)}{place()}: the positions {short_repr(positions)} are out of bounds for axis {axis} of "
        f"size {size}. Use {-size} to {highest}."
    )


@implements(np.insert)
def insert(arr: Value, obj: Any, values: Value, axis: int | None = None) -> Value:
    """Return the array with `values` before known positions along `axis`; flat for `axis=None`.

    Shapes: arr [*s, n, *t] -> [*s, n + k, *t] for k positions; the values are broadcast to [*s, k, *t].  For one
    position, the values may be several: k is the size of their first axis, or of the `axis` for a list of one.
    Dtype: arr's.
    Raises: IndexError for a position out of bounds; TypeError for positions that are no integers or bools; a tracer's
    own error for traced positions; ShapeError for values that do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy import insert
    >>> insert(np.array([1, 2, 3]), 1, 9)
    array([1, 9, 2, 3])
    """
    arr, axis = _flat_or_axis("insert", arr, axis)
    shape, values = typeof(arr).shape, as_dtype(asarray(values), typeof(arr).dtype)
    n, missing, obj = shape[axis], len(shape) - typeof(values).ndim, _known_positions("insert", obj)
    values = lax.expand_dims(values, range(missing)) if missing > 0 else values
    if np.ndim(obj) == 1 and np.asarray(obj).dtype.kind == "b":
        obj = np.flatnonzero(obj)  # NumPy before 2.2 reads a mask as integers, later releases refuse it as a list
    try:
        count = np.insert(np.arange(n), obj, 0).size - n
    except IndexError:
        raise _out_of_bounds("insert", arr, axis, obj, n) from None
    if count == 1:
        values = moveaxis(values, 0, axis) if not isinstance(obj, slice) and not np.ndim(obj) else values
        count = typeof(values).shape[axis]
    values = broadcast_to(values, (*shape[:axis], count, *shape[axis + 1 :]))
    order = np.insert(np.arange(n), obj, np.arange(n, n + count))
    return at(lax.concatenate([arr, values], axis))[(*_all(axis), order)].get()


@implements(np.resize)
def resize(a: Value, new_shape: Any) -> Value:
    """Return an array of the new shape, filled by the elements of `a`, again and again.

    Raises: ValueError for a negative size; TypeError if `new_shape` holds no integers.

    >>> import numpy as np
    >>> from calque_numpy import resize
    >>> resize(np.array([1, 2, 3]), (2, 2))
    array([[1, 2],
           [3, 1]])
    """
    a = ravel(asarray(a))
    sizes = one_or_several("resize", "new_shape", new_shape)
    order = np.resize(np.arange(typeof(a).size), sizes)
    return at(a)[order].get() if typeof(a).size else lax.full(order.shape, 0, typeof(a).dtype)
