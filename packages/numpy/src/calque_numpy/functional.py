"""Functions that take functions: of slices, of axes, of pieces of the domain, of indices.

Read next: `lax.map` of core; `vmap` maps any function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, implements, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, broadcast_to, canonical_axis, integers, truth
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.masks import where
from calque_numpy.shapes import moveaxis

Value = Any


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Value], axis: int, arr: Value, *args: Any, **kwargs: Any) -> Value:
    """Return the results of a function of vectors along `axis`, in the place of that axis.

    Shapes: arr [*s, n, *t], func1d: [n] -> [*k] -> [*s, *k, *t].  Under a trace the function runs in a loop; `vmap` of
    it is faster.
    Raises: ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import apply_along_axis
    >>> apply_along_axis(np.sum, 0, np.ones((3, 2)))
    array([3., 3.])
    """
    arr = asarray(arr)
    shape = typeof(arr).shape
    axis = canonical_axis("apply_along_axis", axis, len(shape))
    loop_shape = (*shape[:axis], *shape[axis + 1 :])
    rows = lax.reshape(moveaxis(arr, axis, -1), (int(np.prod(loop_shape)), shape[axis]))
    results = lax.map(lambda row: asarray(func1d(row, *args, **kwargs)), rows)
    results = lax.reshape(results, (*loop_shape, *typeof(results).shape[1:]))
    extra = typeof(results).ndim - len(loop_shape)
    return moveaxis(results, tuple(range(len(loop_shape), len(loop_shape) + extra)), tuple(range(axis, axis + extra)))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[[Value, int], Value], a: Value, axes: Any) -> Value:
    """Return `func(a, axis)` for one axis after the other; a result that lost the axis has it again with size 1.

    Raises: ShapeError if a result has another number of axes.

    >>> import numpy as np
    >>> from calque_numpy import apply_over_axes
    >>> apply_over_axes(np.sum, np.ones((2, 3)), [0, 1])
    array([[6.]])
    """
    a = asarray(a)
    ndim = typeof(a).ndim
    for axis in integers("apply_over_axes", "axes", (axes,) if isinstance(axes, int) else axes):
        out = func(a, axis)
        if typeof(out).ndim == ndim - 1:
            out = lax.expand_dims(out, (canonical_axis("apply_over_axes", axis, ndim),))
        if typeof(out).ndim != ndim:
            raise ShapeError(
                f"apply_over_axes{place()}: the function makes {typeof(out)} of {typeof(a)}. Keep the axes."
            )
        a = out
    return a


@implements(np.piecewise)
def piecewise(x: Value, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Value:
    """Return, where a condition is true, the value of its function; the last condition that is true counts.

    One function more than conditions is the value elsewhere, otherwise it is 0.  A function is a number or a function
    of `x`: it computes on all of `x`, so it must be finite there to have a finite derivative.
    Dtype: that of x.
    Raises: ValueError if the numbers of conditions and functions do not fit.

    >>> import numpy as np
    >>> from calque_numpy import piecewise
    >>> piecewise(np.array([-1.0, 2.0]), [np.array([True, False])], [0.0, lambda x: x * x])
    array([0., 4.])
    """
    x = asarray(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if conditions and not typeof(asarray(conditions[0])).ndim and typeof(x).ndim:
        conditions = [asarray(conditions)]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise{place()}: there are {len(conditions)} conditions and {len(funclist)} functions. "
            f"Give {len(conditions)} or {len(conditions) + 1} functions."
        )
    *pieces, out = [_value(function, x, args, kw) for function in functions]
    for condition, piece in zip(conditions, pieces):
        out = where(broadcast_to(truth(asarray(condition)), typeof(x).shape), piece, out)
    return out


def _value(function: Any, x: Value, args: Any, kw: Any) -> Value:
    out = asarray(function(x, *args, **kw) if callable(function) else function)
    return broadcast_to(as_dtype(out, typeof(x).dtype), typeof(x).shape)


def fromfunction(function: Callable[..., Value], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Value:
    """Return the function of the indices of each axis, which are arrays of `shape`.

    >>> from calque_numpy import fromfunction
    >>> fromfunction(lambda i, j: i + j, (2, 2))
    array([[0., 1.],
           [1., 2.]])
    """
    return function(*(asarray(index) for index in np.indices(shape, dtype=dtype)), **kwargs)
