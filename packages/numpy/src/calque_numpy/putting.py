"""Arrays with elements replaced, by NumPy's names; NumPy's functions change their argument instead.

One idea: the result is a new array, made by `x.at[index].set`.  NumPy's own functions have no rule for traced arrays,
since their callers would read the old array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.engine.numpy_functions import as_dtype, astype, at, canonical_axis, ravel, remainder
from calque_core.extend import where as place_of_call
from calque_numpy.creation import asarray
from calque_numpy.taking import along_axis, checked_positions

Value = Any


def _refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise TypeError(f"{name}{place_of_call()}: an array is not changed in place. Use the result.")


def put(a: Value, ind: Value, v: Value, mode: str | None = "raise", *, inplace: bool = False) -> Value:
    """Return the array with the elements at positions of the flat array replaced by `v`, which is repeated.

    The mode is as for `take`; updates at traced positions out of bounds are dropped.
    Shapes: a [*s], ind [*i], v of any shape -> [*s].  Dtype: a's.
    Raises: IndexError for a known position out of bounds; TypeError for positions that are no integers, values that
    the dtype cannot hold, and `inplace`; ValueError for an unknown mode or no values.

    >>> import numpy as np
    >>> from calque_numpy import put
    >>> put(np.array([1, 2, 3]), [0, 2], [7, 8])
    array([7, 2, 8])
    """
    _refuse_inplace("put", inplace)
    a, positions = asarray(a), ravel(asarray(ind))
    if not typeof(positions).size:
        return a
    positions = checked_positions("put", positions, typeof(a).size, mode)
    values = _repeated("put", v, np.arange(typeof(positions).size))
    return lax.reshape(at(ravel(a))[positions].set(values), typeof(a).shape)


def _repeated(name: str, values: Value, positions: Value) -> Value:
    """Return the elements of the flat values at positions, which count modulo their number."""
    values = ravel(asarray(values))
    if not typeof(values).size:
        raise ValueError(f"{name}{place_of_call()}: there are no values to put. Give at least one.")
    return at(values)[remainder(positions, typeof(values).size)].get()


def place(arr: Value, mask: Value, vals: Value, *, inplace: bool = False) -> Value:
    """Return the array with the elements where the mask is true replaced by `vals` in turn, which are repeated.

    Shapes: arr [*s], mask with as many elements, vals of any shape -> [*s].  Dtype: arr's.
    Raises: ValueError for a mask of another size, or no values; TypeError for values that the dtype cannot hold, and
    for `inplace`.

    >>> import numpy as np
    >>> from calque_numpy import place
    >>> place(np.array([1, 2, 3]), np.array([True, False, True]), [7, 8])
    array([7, 2, 8])
    """
    _refuse_inplace("place", inplace)
    arr, mask = asarray(arr), asarray(mask)
    if typeof(mask).size != typeof(arr).size:
        raise ValueError(
            f"place{place_of_call()}: the mask is {typeof(mask)} and the array {typeof(arr)}. Give a mask of its shape."
        )
    chosen = lax.reshape(lax.ne(mask, 0), typeof(arr).shape)
    if not typeof(arr).size:
        return arr
    rank = lax.sub(lax.cumsum(as_dtype(ravel(chosen), np.dtype("int32")), 0), np.int32(1))
    values = lax.reshape(_repeated("place", vals, rank), typeof(arr).shape)
    return lax.select(chosen, astype(values, typeof(arr).dtype, casting="same_kind"), arr)


def put_along_axis(
    arr: Value,
    indices: Value,
    values: Value,
    axis: int | None,
    *,
    inplace: bool = False,
    mode: str | None = None,
) -> Value:
    """Return the array with `values` at the positions along `axis` that `indices` has; the other axes are matched.

    Shapes: arr [*s, n, *t], indices [*s, k, *t] -> [*s, n, *t]; axes of size 1 and the values are broadcast.  Without
    an axis, positions of the flat array.  Dtype: arr's.  JAX's `mode` is "clip", "drop" or "promise_in_bounds", as for
    `x.at[index].set`; without it updates at traced positions out of bounds are dropped.
    Raises: IndexError for a known position out of bounds without a mode; ValueError for another number of axes or an
    unknown mode; TypeError for `inplace`.

    >>> import numpy as np
    >>> from calque_numpy import put_along_axis
    >>> put_along_axis(np.array([[3, 1], [2, 4]]), np.array([[0], [1]]), 9, 1)
    array([[9, 1],
           [2, 9]])
    """
    _refuse_inplace("put_along_axis", inplace)
    arr, indices = asarray(arr), asarray(indices)
    flat = ravel(arr) if axis is None else arr
    along = canonical_axis("put_along_axis", 0 if axis is None else axis, typeof(flat).ndim)
    index = along_axis("put_along_axis", flat, indices, along)
    return lax.reshape(at(flat)[index].set(asarray(values), mode=mode), typeof(arr).shape)
