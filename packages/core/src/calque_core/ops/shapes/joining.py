"""Joining arrays, and cutting an array into arrays.

One idea: joining and cutting are one pair along an existing axis, `concatenate` and `split`, and one along a new axis,
`stack` and `unstack`; each operation is the transpose of its partner.

Read next: `shape.py`, the operations of one array.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.shapes.axes import canonical_axis, integers
from calque_core.ops.shapes.shape import of_one_dtype
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import Shape, ShapedArray, shaped_array, short_repr, typeof
from calque_core.types.avals import _aval_functions as aval_functions

Value = Any


# Along an existing axis

concatenate_p = Primitive("concatenate", linearity="linear")


@concatenate_p.def_abstract_eval(cached=True)
def concatenate_abstract_eval(*avals: ShapedArray, dimension: int) -> ShapedArray:
    first = avals[0]
    for aval in avals[1:]:
        if aval.dtype != first.dtype:
            raise TypeError(_concatenate_text(avals, dimension) + "the dtypes differ. Convert the operands first.")
        if _without(aval.shape, dimension) != _without(first.shape, dimension) or aval.ndim != first.ndim:
            raise ShapeError(
                _concatenate_text(avals, dimension)
                + "the shapes do not fit. All axes except the joined one must have equal sizes."
            )
    return _resized(first, dimension, sum(aval.shape[dimension] for aval in avals))


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _resized(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    return shaped_array((*aval.shape[:axis], size, *aval.shape[axis + 1 :]), aval.dtype)


def _concatenate_text(avals: Sequence[ShapedArray], dimension: int) -> str:
    return f"concatenate of {_types(avals)} along axis {dimension}{where()}: "


def _types(avals: Sequence[ShapedArray]) -> str:
    return " and ".join(map(str, avals))


def concatenate_impl(*operands: Value, dimension: int) -> Value:
    return np.concatenate(operands, dimension)


def concatenate_impl_for_types(*_: ShapedArray, dimension: int) -> Callable[..., Value]:
    return lambda *operands: _concatenate_arrays(operands, dimension)


_concatenate_arrays = inspect.unwrap(np.concatenate)  # asks no operand for `__array_function__`; 0.2 us sooner


concatenate_p.def_impl(concatenate_impl, leaf=True, for_types=concatenate_impl_for_types, makes_arrays=True)


def concatenate(operands: Sequence[Value], dimension: int) -> Value:
    """Return the operands joined along the axis `dimension`.

    Shapes: [*a, n, *b] and [*a, m, *b] -> [*a, n + m, *b].  Dtype: promoted.
    Raises: ShapeError if other axes differ in size; ValueError if there are no operands or the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import concatenate
    >>> concatenate([np.array([1, 2]), np.array([3.0])], 0)
    array([1., 2., 3.])
    """
    operands, avals = _of_one_dtype("concatenate", operands)
    ndim = len(avals[0].shape)
    if type(dimension) is not int or not 0 <= dimension < ndim:
        dimension = canonical_axis("concatenate", dimension, ndim)
    if len(avals) > 1:  # equal types fit; 0.3 us sooner
        concatenate_p.abstract(*avals, dimension=dimension)
    return as_result(operands[0]) if len(operands) == 1 else concatenate_p.bind(*operands, dimension=dimension)


def _of_one_dtype(name: str, operands: Sequence[Value]) -> tuple[Sequence[Value], list[ShapedArray]]:
    """Return the operands, in one dtype and strong, and their types: a single one if all are equal."""
    if type(operands) not in (list, tuple) and not isinstance(operands, Iterable):
        raise TypeError(f"{name}{where()} got {short_repr(operands)} as its operands. Give a sequence of arrays.")
    operands = tuple(operands)
    if not operands:
        raise ValueError(f"{name}{where()} got no operands. Give at least one array.")
    first: Any = None
    for x in operands:
        aval = aval_functions.get(type(x), typeof)(x)
        if first is None:
            first = aval
        elif aval is not first:
            break
    else:  # usually nothing changes; 0.5 us sooner
        if not first.weak_type:
            return operands, [first]
    avals = [typeof(x) for x in operands]
    for aval in avals:
        if aval.dtype is not first.dtype or aval.weak_type:
            operands = of_one_dtype(name, *operands)
            return operands, [typeof(x) for x in operands]
    return operands, avals


split_p = Primitive("split", multiple_results=True, linearity="linear")


@split_p.def_abstract_eval
def split_abstract_eval(x_aval: ShapedArray, *, sizes: Shape, axis: int) -> list[ShapedArray]:
    if any(size < 0 for size in sizes) or sum(sizes) != x_aval.shape[axis]:
        raise ValueError(
            f"split of {x_aval} along axis {axis}{where()} into the sizes {sizes}: the axis has {x_aval.shape[axis]} "
            "elements. Give sizes of zero or more with that sum."
        )
    return [_resized(x_aval, axis, size) for size in sizes]


def split_impl(x: Value, *, sizes: Shape, axis: int) -> list[Value]:
    before = (slice(None),) * axis
    return [x[(*before, slice(start, stop))] for start, stop in pairwise((0, *accumulate(sizes)))]


split_p.def_impl(split_impl, leaf=True)


def split(operand: Value, sizes: Sequence[int], axis: int = 0) -> list[Value]:
    """Return consecutive sections of `operand` along `axis`, of sizes `sizes`.

    Shapes: operand [*a, n, *b] -> [*a, size, *b] per size, with sum n.  Dtype: kept.
    Raises: ValueError if a size is negative, the sizes do not add up to the size of the axis, or the axis is out of
    range.

    >>> import numpy as np
    >>> from calque_core.lax import split
    >>> split(np.arange(5), (2, 3))
    [array([0, 1]), array([2, 3, 4])]
    """
    aval = typeof(operand)
    axis = canonical_axis("split", axis, aval.ndim)
    sizes = integers("split", "sizes", sizes)
    split_p.abstract(aval, sizes=sizes, axis=axis)
    return [as_result(operand)] if len(sizes) == 1 else list(split_p.bind(operand, sizes=sizes, axis=axis))


# Along a new axis

stack_p = Primitive("stack", linearity="linear")


@stack_p.def_abstract_eval(cached=True)
def stack_abstract_eval(*avals: ShapedArray, axis: int) -> ShapedArray:
    first = avals[0]
    if any(aval.dtype != first.dtype for aval in avals):
        raise TypeError(f"stack of {_types(avals)}{where()}: the dtypes differ. Convert the operands first.")
    if any(aval.shape != first.shape for aval in avals):
        raise ShapeError(f"stack of {_types(avals)}{where()}: the shapes differ. Give arrays of one shape.")
    return shaped_array((*first.shape[:axis], len(avals), *first.shape[axis:]), first.dtype)


def stack_impl(*operands: Value, axis: int) -> Value:
    return np.stack(operands, axis)


def stack_impl_for_types(*avals: ShapedArray, axis: int) -> Callable[..., Value] | None:
    """Return a join of views with one more axis: without NumPy's checks, 2 us less."""
    if not avals[0].shape:
        return None
    new_axis = (*(slice(None),) * axis, None)
    return lambda *operands: np.concatenate([x[new_axis] for x in operands], axis)


stack_p.def_impl(stack_impl, leaf=True, for_types=stack_impl_for_types, makes_arrays=True)


def stack(operands: Sequence[Value], axis: int = 0) -> Value:
    """Return arrays of one shape joined along a new axis.

    Shapes: n times [*a, *b] -> [*a, n, *b].  Dtype: promoted.
    Raises: ShapeError if the shapes differ; ValueError if there are no operands or the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import stack
    >>> stack([np.array([1, 2]), np.array([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    operands, avals = _of_one_dtype("stack", operands)
    axis = canonical_axis("stack", axis, avals[0].ndim + 1)
    stack_p.abstract(*avals, axis=axis)
    return stack_p.bind(*operands, axis=axis)


unstack_p = Primitive("unstack", multiple_results=True, linearity="linear")


@unstack_p.def_abstract_eval
def unstack_abstract_eval(x_aval: ShapedArray, *, axis: int) -> list[ShapedArray]:
    return [shaped_array(_without(x_aval.shape, axis), x_aval.dtype)] * x_aval.shape[axis]


def unstack_impl(x: Value, *, axis: int) -> list[Value]:
    return list(np.moveaxis(x, axis, 0) if axis else x)


unstack_p.def_impl(unstack_impl, leaf=True)


def unstack(operand: Value, axis: int = 0) -> list[Value]:
    """Return the elements of `operand` along `axis`, a list of arrays without this axis.

    Shapes: operand [*a, n, *b] -> n times [*a, *b].  Dtype: kept.
    Raises: ValueError if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import unstack
    >>> unstack(np.array([[1, 2], [3, 4]]), axis=1)
    [array([1, 3]), array([2, 4])]
    """
    axis = canonical_axis("unstack", axis, typeof(operand).ndim)
    return list(unstack_p.bind(operand, axis=axis)) if typeof(operand).shape[axis] else []


# Copies side by side

tile_p = Primitive("tile", linearity="linear")


@tile_p.def_abstract_eval(cached=True)
def tile_abstract_eval(x_aval: ShapedArray, *, reps: Shape) -> ShapedArray:
    if len(reps) != x_aval.ndim or any(count < 0 for count in reps):
        raise ValueError(
            f"tile of {x_aval}{where()}: reps is {reps}. Give {x_aval.ndim} numbers of zero or more, one per axis."
        )
    return shaped_array(tuple(count * size for count, size in zip(reps, x_aval.shape)), x_aval.dtype)


def tile_impl(x: Value, *, reps: Shape) -> Value:
    return np.tile(x, reps)


tile_p.def_impl(tile_impl, leaf=True)


def tile(operand: Value, reps: Sequence[int]) -> Value:
    """Return copies of `operand` side by side, `reps[i]` along axis i.

    Shapes: operand [n, m], reps (r, s) -> [r * n, s * m].  Dtype: kept.
    Raises: ValueError for a negative number, or unless there is one number per axis.

    >>> import numpy as np
    >>> from calque_core.lax import tile
    >>> tile(np.array([1, 2]), (2,))
    array([1, 2, 1, 2])
    """
    reps = integers("tile", "reps", reps)
    tile_p.abstract(typeof(operand), reps=reps)
    return as_result(operand) if all(count == 1 for count in reps) else tile_p.bind(operand, reps=reps)
