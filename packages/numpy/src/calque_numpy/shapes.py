"""Axes added, enlarged and moved.

One idea: each is one broadcast or one transposition.  Core has the functions that are also methods of arrays:
`reshape transpose squeeze swapaxes ravel`.

Read next: `rearranging.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, implements, lax, typeof
from calque_core.engine.numpy_functions import broadcast_to as broadcast
from calque_core.engine.numpy_functions import canonical_axis, one_or_several, swapaxes
from calque_core.extend import where
from calque_core.lax import broadcast_shapes
from calque_numpy.creation import asarray

Value = Any
Axes = int | Sequence[int]


def distinct_axes(name: str, axes: Any, ndim: int) -> list[int]:
    positions = [canonical_axis(name, axis, ndim) for axis in one_or_several(name, "the axis", axes)]
    if len(set(positions)) != len(positions):
        raise ValueError(f"{name}{where()}: the axes {axes!r} name one axis twice. Give each axis once.")
    return positions


# More axes, larger axes


@implements(np.expand_dims)
def expand_dims(a: Value, axis: Axes) -> Value:
    """Return the array with new axes of size 1 at the positions `axis` of the result.

    Raises: ValueError if a position is out of range or repeated.

    >>> import numpy as np
    >>> from calque_numpy import expand_dims
    >>> expand_dims(np.zeros(3), (0, -1)).shape
    (1, 3, 1)
    """
    return lax.expand_dims(a, one_or_several("expand_dims", "the axis", axis))


@implements(np.broadcast_to)
def broadcast_to(array: Value, shape: Axes, subok: bool = False) -> Value:
    """Return the array repeated along axes of size 1 and new leading axes, to the shape `shape`.

    `subok` changes nothing.
    Raises: ShapeError if the array does not broadcast to it.

    >>> import numpy as np
    >>> from calque_numpy import broadcast_to
    >>> broadcast_to(np.array([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    return broadcast(array, one_or_several("broadcast_to", "shape", shape))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Value, subok: bool = False) -> tuple[Value, ...]:
    """Return the arrays, all broadcast to one shape.

    Raises: ShapeError if the shapes do not broadcast; TypeError for None and strings beside a traced array.

    >>> import numpy as np
    >>> from calque_numpy import broadcast_arrays
    >>> [x.shape for x in broadcast_arrays(np.zeros((2, 1)), np.zeros(3))]
    [(2, 3), (2, 3)]
    """
    for x in args:
        if x is None or isinstance(x, str):  # as in a bar chart: matplotlib passes heights and hatches
            raise NumpyRuleError(f"broadcast_arrays{where()}: {x!r} is not an array or a scalar. Leave it out.")
    shape = broadcast_shapes(*[typeof(x).shape for x in args])
    return tuple(broadcast_to(asarray(x), shape, subok) for x in args)


def _at_least(ndim: int, arys: tuple[Value, ...], axes: dict[int, tuple[int, ...]]) -> Any:
    """Return the arrays with new axes, which `axes` lists by rank; a single array without a tuple."""
    arrays = [asarray(x) for x in arys]
    out = [x if typeof(x).ndim >= ndim else lax.expand_dims(x, axes[typeof(x).ndim]) for x in arrays]
    return out[0] if len(out) == 1 else tuple(out)


@implements(np.atleast_1d)
def atleast_1d(*arys: Value) -> Any:
    """Return the arrays with one axis or more: scalars become vectors.

    >>> from calque_numpy import atleast_1d
    >>> atleast_1d(1.0)
    array([1.])
    """
    return _at_least(1, arys, {0: (0,)})


@implements(np.atleast_2d)
def atleast_2d(*arys: Value) -> Any:
    """Return the arrays with two axes or more: vectors become rows.

    >>> import numpy as np
    >>> from calque_numpy import atleast_2d
    >>> atleast_2d(np.array([1.0, 2.0]))
    array([[1., 2.]])
    """
    return _at_least(2, arys, {0: (0, 1), 1: (0,)})


@implements(np.atleast_3d)
def atleast_3d(*arys: Value) -> Any:
    """Return the arrays with three axes or more: [n] becomes [1, n, 1], and [n, m] becomes [n, m, 1].

    >>> import numpy as np
    >>> from calque_numpy import atleast_3d
    >>> atleast_3d(np.zeros(2)).shape
    (1, 2, 1)
    """
    return _at_least(3, arys, {0: (0, 1, 2), 1: (0, 2), 2: (2,)})


# The same axes in other positions


@implements(np.moveaxis)
def moveaxis(a: Value, source: Axes, destination: Axes) -> Value:
    """Return the array with axes moved to other positions; all other axes keep their order.

    Raises: ValueError if an axis is out of range or repeated, or if the numbers of axes and positions differ.

    >>> import numpy as np
    >>> from calque_numpy import moveaxis
    >>> moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    ndim = len(typeof(a).shape)
    old, new = distinct_axes("moveaxis", source, ndim), distinct_axes("moveaxis", destination, ndim)
    if len(old) != len(new):
        raise ValueError(f"moveaxis{where()} got {len(old)} axes and {len(new)} positions. Give equal numbers of both.")
    order = [axis for axis in range(ndim) if axis not in old]
    for position, axis in sorted(zip(new, old)):
        order.insert(position, axis)
    return lax.transpose(a, order)


@implements(np.matrix_transpose)
def matrix_transpose(x: Value) -> Value:
    """Return the array with its last two axes exchanged.

    Raises: ValueError if there are fewer axes.

    >>> import numpy as np
    >>> from calque_numpy import matrix_transpose
    >>> matrix_transpose(np.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    if typeof(x).ndim < 2:
        raise ValueError(
            f"matrix_transpose of {typeof(x)}{where()}: the array must have at least two axes. Use x[:, None]."
        )
    return swapaxes(x, -1, -2)


@implements(np.rollaxis)
def rollaxis(a: Value, axis: int, start: int = 0) -> Value:
    """Return the array with `axis` moved before the axis `start`; `moveaxis` says the same more plainly.

    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy import rollaxis
    >>> rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    ndim = len(typeof(a).shape)
    axis = canonical_axis("rollaxis", axis, ndim)
    start = ndim if start == ndim else canonical_axis("rollaxis", start, ndim)
    return moveaxis(a, axis, start - 1 if axis < start else start)
