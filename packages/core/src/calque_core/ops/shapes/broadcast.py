"""Adding axes to an array, or elements to its axes.

It stands below the other families because promotion (`operands.py`) broadcasts operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import methodcaller
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.known.buffers import Repetition, unchanged
from calque_core.ops.shapes.axes import integer, integers
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof

Value = Any

broadcast_in_dim_p = Primitive("broadcast_in_dim", linearity="linear")


@broadcast_in_dim_p.def_abstract_eval(cached=True)
def broadcast_in_dim_abstract_eval(x_aval: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape) -> ShapedArray:
    dims = broadcast_dimensions
    fits = not dims or (
        all(0 <= d < len(shape) for d in dims)
        and len(set(dims)) == len(dims)
        and all(n in (1, shape[d]) for n, d in zip(x_aval.shape, dims))
    )
    if len(dims) != x_aval.ndim or not fits or min(shape, default=0) < 0:
        raise ShapeError(
            f"broadcast_in_dim{where()} cannot broadcast {x_aval} to the shape {shape} with its axes at {dims}. Each "
            "axis must have size 1 or the new size, the positions must differ, and no size may be negative."
        )
    return shaped_array(shape, x_aval.dtype)


def broadcast_in_dim_impl(x: Value, *, shape: Shape, broadcast_dimensions: Shape) -> Value:
    x = np.asarray(x)
    if broadcast_dimensions:
        order = _order(broadcast_dimensions)
        x = (x if order is None else x.transpose(order)).reshape(_aligned(x.shape, shape, broadcast_dimensions))
    out = np.empty(shape, x.dtype)  # a copy: a view would let an in-place write reach many elements at once
    out[...] = x
    return out if shape else out[()]


@lru_cache(maxsize=4096)
def _order(positions: Shape) -> Shape | None:
    """Return the axes of an operand in the order of their positions; None if that is their order."""
    order = tuple(sorted(range(len(positions)), key=positions.__getitem__))
    return None if order == tuple(range(len(positions))) else order


def _aligned(shape: Shape, out_shape: Shape, positions: Shape) -> Shape:
    """Return the shape of an operand with as many axes as the result; its new axes have size 1."""
    sizes = dict(zip(positions, shape))
    return tuple(sizes.get(d, 1) for d in range(len(out_shape)))


def broadcast_in_dim_impl_for_types(
    x_aval: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape
) -> Callable[..., Value] | None:
    dtype = x_aval.dtype
    if not x_aval.shape:
        return Repetition(partial(_filled, shape, dtype), unchanged, ()) if shape else None
    if _order(broadcast_dimensions) is not None:
        return partial(broadcast_in_dim_impl, shape=shape, broadcast_dimensions=broadcast_dimensions)
    aligned = _aligned(x_aval.shape, shape, broadcast_dimensions)

    def repeat(x: Value) -> Value:
        out = np.empty(shape, dtype)
        out[...] = x.reshape(aligned)
        return out

    if broadcast_dimensions == tuple(range(len(shape)))[-len(broadcast_dimensions) :]:  # as NumPy aligns axes
        return Repetition(repeat, unchanged, x_aval.shape)
    return Repetition(repeat, methodcaller("reshape", aligned), aligned)


def _filled(shape: Shape, dtype: np.dtype[Any], x: Value) -> Value:
    """Return an array of equal elements; `np.full` takes 0.4 us more."""
    out = np.empty(shape, dtype)
    out.fill(x)
    return out


broadcast_in_dim_p.def_impl(
    broadcast_in_dim_impl, leaf=True, for_types=broadcast_in_dim_impl_for_types, makes_arrays=True
)


def broadcast_in_dim(x: Value, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Value:
    """Return `x` with shape `shape`; axis i of `x` becomes axis `broadcast_dimensions[i]`, new axes repeat it.

    Shapes: x [*s] -> shape.  Dtype: kept.
    Raises: ShapeError if an axis has neither size 1 nor the new size, or two axes have one position.

    >>> import numpy as np
    >>> from calque_core.lax import broadcast_in_dim
    >>> broadcast_in_dim(np.array([1, 2]), (2, 3), (0,))
    array([[1, 1, 1],
           [2, 2, 2]])
    """
    shape = integers("broadcast_in_dim", "shape", shape)
    dims = integers("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    return _broadcast_in_dim(x, shape, dims)


def _broadcast_in_dim(x: Value, shape: Shape, dims: Shape) -> Value:
    aval = typeof(x)
    broadcast_in_dim_p.abstract(aval, shape=shape, broadcast_dimensions=dims)
    if aval.shape == shape and not aval.weak_type and aval.dtype == x.dtype and _order(dims) is None:
        return x  # of its own dtype: with x64 off, a wider array has another
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)


def broadcast(x: Value, sizes: Sequence[int]) -> Value:
    """Return `x` with new leading axes of sizes `sizes`.

    Shapes: x [*s] -> [*sizes, *s].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_core.lax import broadcast
    >>> broadcast(np.array([1, 2]), (2,))
    array([[1, 2],
           [1, 2]])
    """
    shape = typeof(x).shape
    sizes = integers("broadcast", "sizes", sizes)
    return broadcast_in_dim(x, (*sizes, *shape), range(len(sizes), len(sizes) + len(shape)))


def expand_dims(x: Value, dimensions: Sequence[int]) -> Value:
    """Return `x` with new axes of size 1 at the positions `dimensions` of the result.

    Shapes: x [*s] -> [*s with ones].  Dtype: kept.
    Raises: ValueError if a position is out of range or named twice.

    >>> import numpy as np
    >>> from calque_core.lax import expand_dims
    >>> expand_dims(np.array([1, 2]), (0,)).shape
    (1, 2)
    """
    shape, dimensions = typeof(x).shape, integers("expand_dims", "dimensions", dimensions)
    ndim = len(shape) + len(dimensions)
    new = {d + ndim if d < 0 else d for d in dimensions}
    if len(new) != len(dimensions) or not all(0 <= d < ndim for d in new):
        raise ValueError(
            f"expand_dims{where()}: {dimensions} are not distinct axes of a result with {ndim} axes. Use each axis "
            f"from {-ndim} to {ndim - 1} once at most."
        )
    kept = [d for d in range(ndim) if d not in new]
    sizes = [1] * ndim
    for size, d in zip(shape, kept):
        sizes[d] = size
    return broadcast_in_dim(x, sizes, kept)


def broadcast_to_rank(x: Value, rank: int) -> Value:
    """Return `x` with new leading axes of size 1, so that it has `rank` axes; unchanged if it has as many or more.

    Shapes: x [*s] -> [1, ..., 1, *s].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_core.lax import broadcast_to_rank
    >>> broadcast_to_rank(np.array([1, 2]), 3).shape
    (1, 1, 2)
    """
    return expand_dims(x, range(integer("broadcast_to_rank", "the rank", rank) - typeof(x).ndim))


def broadcast_like(arr: Value, like_arr: Value) -> Value:
    """Return `arr` broadcast to the shape of `like_arr` by NumPy's rule: axes are aligned at the end.

    Shapes: arr [*s], like_arr [*t] -> [*t].  Dtype: of `arr`.
    Raises: ShapeError if it does not fit.

    >>> import numpy as np
    >>> from calque_core.lax import broadcast_like
    >>> broadcast_like(np.array([1, 2]), np.zeros((2, 2)))
    array([[1, 2],
           [1, 2]])
    """
    return broadcast_to(arr, typeof(like_arr).shape)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that all of `shapes` broadcast to, by NumPy's rule.

    Raises: ShapeError if they do not fit; TypeError if one is no sequence of integers.

    >>> from calque_core.lax import broadcast_shapes
    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    try:
        return _broadcast_shapes(shapes)
    except ShapeError:
        raise
    except TypeError:  # a shape is no tuple of ints
        return _broadcast_shapes(tuple([integers("broadcast_shapes", "a shape", shape) for shape in shapes]))


@lru_cache(maxsize=4096)
def _broadcast_shapes(shapes: tuple[Shape, ...]) -> Shape:
    ndim = max(map(len, shapes), default=0)
    out = [1] * ndim
    for shape in shapes:
        for axis, size in enumerate(shape, ndim - len(shape)):
            if size < 0:
                raise ShapeError(f"broadcast_shapes{where()} got the shape {shape}. Give sizes of zero or more.")
            if size != 1 and out[axis] not in (1, size):
                raise ShapeError(
                    f"the shapes {' and '.join(map(str, shapes))}{where()} do not broadcast. Make the sizes equal or 1."
                )
            out[axis] = size if out[axis] == 1 else out[axis]
    return tuple(out)


def broadcast_to(x: Value, shape: Shape) -> Value:
    """Return `x` broadcast to `shape` by NumPy's rule: axes are aligned at the end.

    Raises: ShapeError if it does not fit.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import broadcast_to
    >>> broadcast_to(np.array([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    ndim = len(typeof(x).shape)
    return _broadcast_in_dim(x, shape, tuple(range(len(shape) - ndim, len(shape))))


def spread(x: Value, out: Value) -> Value:
    """Return an operand of rank 0 repeated to the shape of the elementwise result `out`; return an array unchanged.

    >>> import numpy as np
    >>> from calque_core.engine import spread
    >>> spread(1.0, np.zeros(2))
    array([1., 1.])
    """
    shape = typeof(out).shape
    return broadcast(x, shape) if shape and not typeof(x).shape else x


def broadcast_reduced(out: Value, shape: Shape, axes: Shape) -> Value:
    """Return a reduced array, with its axes kept or not, in its former shape `shape`: repeated along `axes`."""
    kept = range(len(shape))
    return broadcast_in_dim(out, shape, kept if has_axes(out, shape) else [axis for axis in kept if axis not in axes])


def has_axes(out: Value, shape: Shape) -> bool:
    """Tell whether a reduction over some axes of an array of `shape` kept them."""
    return len(typeof(out).shape) == len(shape)
