"""Rearranging, slicing and padding an array; no element is computed.

One idea: the public functions bring axes and sizes into canonical form (`axes.py`) and check them by the type rule of
the primitive, so that evaluation and staging raise the same errors.

Read next: `joining.py`, the operations that join and cut arrays.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.elementwise.operands import promoted_dtype
from calque_core.ops.shapes.axes import Axes, canonical_axes, integers
from calque_core.ops.shapes.paddings import PaddingConfig, pad_plan, padded_size
from calque_core.primitives.primitive import Primitive
from calque_core.types.array_methods import in_every_size
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import dtype_name

Value = Any


def of_one_dtype(name: str, *operands: Value) -> Sequence[Value]:
    """Return the operands of `name`, made strong and converted to their promoted dtype; the shapes may differ.

    >>> import numpy as np
    >>> from calque_core.extend import of_one_dtype
    >>> of_one_dtype("dot", np.float32(1), 2)
    [np.float32(1.0), np.float32(2.0)]
    """
    avals = [typeof(x) for x in operands]
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype is not first or aval.weak_type:
            dtype = promoted_dtype(name, *operands)
            return [convert_element_type(x, dtype) for x in operands]
    return operands


# The same elements in other positions

reshape_p = Primitive("reshape", linearity="linear")


@reshape_p.def_abstract_eval(cached=True)
def reshape_abstract_eval(x_aval: ShapedArray, *, new_sizes: Shape) -> ShapedArray:
    out_aval = shaped_array(new_sizes, x_aval.dtype) if all(size >= 0 for size in new_sizes) else None
    if out_aval is None or out_aval.size != x_aval.size:
        raise ShapeError(
            f"reshape of {x_aval} to {new_sizes}{where()}: the operand has {x_aval.size} elements. The sizes must be "
            f"zero or more, and their product must be {x_aval.size}."
        )
    return out_aval


def reshape_impl(x: Value, *, new_sizes: Shape) -> Value:
    return np.reshape(x, new_sizes)[()]


def reshape_impl_for_types(x_aval: ShapedArray, *, new_sizes: Shape) -> Callable[[Value], Value] | None:
    """Call the method: NumPy's function takes 0.5 us more, also below."""
    if not x_aval.shape:
        return partial(np.array, dtype=x_aval.dtype, ndmin=len(new_sizes)) if new_sizes else None
    return methodcaller("reshape", new_sizes) if new_sizes else None


reshape_p.def_impl(reshape_impl, leaf=True, for_types=reshape_impl_for_types)


def reshape(operand: Value, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Value:
    """Return the elements of `operand`, in row-major order, with the shape `new_sizes`.

    With `dimensions`, a permutation of the axes, the operand is transposed first.
    Shapes: operand [*s] -> new_sizes.  Dtype: kept.
    Raises: ShapeError if the numbers of elements differ, or a size is negative; ValueError if `dimensions` is no
    permutation of the axes.

    >>> import numpy as np
    >>> from calque_core.lax import reshape
    >>> reshape(np.arange(4), (2, 2))
    array([[0, 1],
           [2, 3]])
    """
    operand = operand if dimensions is None else transpose(operand, dimensions)
    new_sizes, aval = integers("reshape", "new_sizes", new_sizes), typeof(operand)
    if aval.shape == new_sizes:
        return as_result(operand)
    reshape_p.abstract(aval, new_sizes=new_sizes)
    return reshape_p.bind(operand, new_sizes=new_sizes)


def collapse(operand: Value, start_dimension: int, stop_dimension: int | None = None) -> Value:
    """Return `operand` with the axes from `start_dimension` to before `stop_dimension`, or to the last, as one axis.

    A range without axes is a new axis of size 1.  Negative positions count from the end.
    Shapes: operand [*a, n, m, *b] -> [*a, n * m, *b].  Dtype: kept.
    Raises: ValueError if the range is out of range or ends before it starts.

    >>> import numpy as np
    >>> from calque_core.lax import collapse
    >>> collapse(np.zeros((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    shape = typeof(operand).shape
    stated = start_dimension, len(shape) if stop_dimension is None else stop_dimension
    start, stop = (d + len(shape) if d < 0 else d for d in integers("collapse", "the range of axes", stated))
    if not 0 <= start <= stop <= len(shape):
        raise ValueError(
            f"collapse of {typeof(operand)}{where()}: there are no axes from {stated[0]} to {stated[1]}. Use "
            f"0 <= start <= stop <= {len(shape)}."
        )
    return reshape(operand, (*shape[:start], prod(shape[start:stop]), *shape[stop:]))


transpose_p = in_every_size("code")(Primitive("transpose", linearity="linear"))


@transpose_p.def_abstract_eval(cached=True)
def transpose_abstract_eval(x_aval: ShapedArray, *, permutation: Shape) -> ShapedArray:
    if sorted(permutation) != list(range(x_aval.ndim)):
        raise ValueError(
            f"transpose of {x_aval}{where()}: {permutation} is not a permutation of its axes. Name each of the axes 0, "
            f"..., ndim - 1 once; ndim is {x_aval.ndim}."
        )
    return shaped_array(tuple(x_aval.shape[axis] for axis in permutation), x_aval.dtype)


def transpose_impl(x: Value, *, permutation: Shape) -> Value:
    return np.transpose(x, permutation)[()]


def transpose_impl_for_types(x_aval: ShapedArray, *, permutation: Shape) -> Callable[[Value], Value] | None:
    return methodcaller("transpose", permutation) if permutation else None


transpose_p.def_impl(transpose_impl, leaf=True, for_types=transpose_impl_for_types)


def transpose(operand: Value, permutation: Sequence[int]) -> Value:
    """Return `operand` with its axes in another order: axis i of the result is axis `permutation[i]` of `operand`.

    Shapes: operand [*s] -> [s[p] for p in permutation].  Dtype: kept.
    Raises: ValueError if `permutation` does not name each axis once.

    >>> import numpy as np
    >>> from calque_core.lax import transpose
    >>> transpose(np.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    permutation, aval = integers("transpose", "permutation", permutation), typeof(operand)
    transpose_p.abstract(aval, permutation=permutation)
    if permutation == tuple(range(aval.ndim)):
        return as_result(operand)
    return transpose_p.bind(operand, permutation=permutation)


rev_p = Primitive("rev", linearity="linear")


@rev_p.def_abstract_eval
def rev_abstract_eval(x_aval: ShapedArray, *, dimensions: Shape) -> ShapedArray:
    return x_aval.strip_weak_type()


def rev_impl(x: Value, *, dimensions: Shape) -> Value:
    return np.flip(x, dimensions)[()]


rev_p.def_impl(rev_impl, leaf=True)


def rev(operand: Value, dimensions: Axes) -> Value:
    """Return `operand` with the order of its elements reversed along the axes `dimensions`.

    Shapes: operand [*s] -> [*s].  Dtype: kept.
    Raises: ValueError if an axis is out of range or named twice.

    >>> import numpy as np
    >>> from calque_core.lax import rev
    >>> rev(np.array([1, 2, 3]), (0,))
    array([3, 2, 1])
    """
    aval = typeof(operand)
    dims = canonical_axes("rev", dimensions, aval.ndim)
    return rev_p.bind(operand, dimensions=dims) if dims else as_result(operand)


squeeze_p = Primitive("squeeze", linearity="linear")


@squeeze_p.def_abstract_eval(cached=True)
def squeeze_abstract_eval(x_aval: ShapedArray, *, dimensions: Shape) -> ShapedArray:
    for axis in dimensions:
        if x_aval.shape[axis] != 1:
            raise ValueError(
                f"squeeze of {x_aval}{where()}: axis {axis} has size {x_aval.shape[axis]}. Name axes of size 1 only."
            )
    return shaped_array(tuple(n for axis, n in enumerate(x_aval.shape) if axis not in dimensions), x_aval.dtype)


def squeeze_impl(x: Value, *, dimensions: Shape) -> Value:
    return np.squeeze(x, dimensions)[()]


def squeeze_impl_for_types(x_aval: ShapedArray, *, dimensions: Shape) -> Callable[[Value], Value] | None:
    if len(dimensions) < x_aval.ndim:
        return methodcaller("squeeze", dimensions)
    return itemgetter((0,) * x_aval.ndim) if dimensions else None


squeeze_p.def_impl(squeeze_impl, leaf=True, for_types=squeeze_impl_for_types)


def squeeze(array: Value, dimensions: Axes) -> Value:
    """Return `array` without the axes `dimensions`, which must have size 1.

    Shapes: array [*s with ones] -> [*s].  Dtype: kept.
    Raises: ValueError if an axis is out of range, named twice, or does not have size 1.

    >>> import numpy as np
    >>> from calque_core.lax import squeeze
    >>> squeeze(np.zeros((1, 3)), (0,)).shape
    (3,)
    """
    aval = typeof(array)
    dims = canonical_axes("squeeze", dimensions, aval.ndim)
    squeeze_p.abstract(aval, dimensions=dims)
    return squeeze_p.bind(array, dimensions=dims) if dims else as_result(array)


# Slices

slice_p = Primitive("slice", linearity="linear")


@slice_p.def_abstract_eval(cached=True)
def slice_abstract_eval(
    x_aval: ShapedArray, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> ShapedArray:
    steps = (1,) * x_aval.ndim if strides is None else strides
    if not len(start_indices) == len(limit_indices) == len(steps) == x_aval.ndim:
        raise ValueError(
            f"slice of {x_aval}{where()} from {start_indices} to {limit_indices} by {strides}: each must have "
            f"{x_aval.ndim} numbers, one per axis."
        )
    for axis, (start, limit, step, size) in enumerate(zip(start_indices, limit_indices, steps, x_aval.shape)):
        if not 0 <= start <= limit <= size or step < 1:
            raise ValueError(
                f"slice of {x_aval}{where()}: axis {axis} of size {size} is cut from {start} to {limit} "
                f"by {step}. Use 0 <= start <= limit <= size and steps of 1 or more."
            )
    shape = [-((start - limit) // step) for start, limit, step in zip(start_indices, limit_indices, steps)]
    return shaped_array(tuple(shape), x_aval.dtype)


def slice_impl(x: Value, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None) -> Value:
    return np.asarray(x)[_slices(start_indices, limit_indices, strides)][()]


def slice_impl_for_types(
    x_aval: ShapedArray, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> Callable[[Value], Value] | None:
    return itemgetter(_slices(start_indices, limit_indices, strides)) if x_aval.shape else None


def _slices(starts: Shape, limits: Shape, strides: Shape | None) -> tuple[builtins.slice, ...]:
    return tuple(map(builtins.slice, starts, limits, (None,) * len(starts) if strides is None else strides))


slice_p.def_impl(slice_impl, leaf=True, for_types=slice_impl_for_types)


def slice(
    operand: Value, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Value:
    """Return the part of `operand` between two corners, every `strides[i]`-th element along axis i.

    Shapes: operand [*s] -> [ceil((limit - start) / stride) per axis].  Dtype: kept.
    Raises: ValueError unless 0 <= start <= limit <= size and stride >= 1 for each axis, with one number per axis.

    >>> import numpy as np
    >>> from calque_core.lax import slice
    >>> slice(np.arange(10), (1,), (8,), (3,))
    array([1, 4, 7])
    """
    starts, limits = (
        integers("slice", "start_indices", start_indices),
        integers("slice", "limit_indices", limit_indices),
    )
    steps = None if strides is None else integers("slice", "strides", strides)
    if steps is not None and all(step == 1 for step in steps) and len(steps) == len(starts):
        steps = None
    aval = typeof(operand)
    (out_aval,) = slice_p.abstract(aval, start_indices=starts, limit_indices=limits, strides=steps)
    if out_aval.shape == aval.shape:
        return as_result(operand)
    return slice_p.bind(operand, start_indices=starts, limit_indices=limits, strides=steps)


# More elements

pad_p = Primitive("pad", linearity="linear")


@pad_p.def_abstract_eval(cached=True)
def pad_abstract_eval(x_aval: ShapedArray, value_aval: ShapedArray, *, padding_config: PaddingConfig) -> ShapedArray:
    if value_aval.shape or value_aval.dtype != x_aval.dtype:
        kind = dtype_name(x_aval.dtype)
        raise ShapeError(
            f"{_pad_call(x_aval, value_aval)}: the padding value is not one {kind}. Give a scalar of this dtype."
        )
    if len(padding_config) != x_aval.ndim:
        raise ValueError(
            f"{_pad_call(x_aval, value_aval)}: padding_config has {len(padding_config)} entries. "
            f"Give (low, high, interior) for each of {x_aval.ndim} axes."
        )
    shape = tuple([padded_size(n, *entry) for n, entry in zip(x_aval.shape, padding_config)])
    if min(shape, default=0) < 0 or any(inner < 0 for _, _, inner in padding_config):
        raise ValueError(
            f"{_pad_call(x_aval, value_aval)}: {padding_config} removes more than the size of an axis, or has negative "
            "interior padding. Remove at most the size of the axis, and use interior padding of zero or more."
        )
    return shaped_array(shape, x_aval.dtype)


def _pad_call(x_aval: ShapedArray, value_aval: ShapedArray) -> str:
    return f"pad of {x_aval} with {value_aval}{where()}"


def pad_impl(x: Value, padding_value: Value, *, padding_config: PaddingConfig) -> Value:
    x = np.asarray(x)
    shape, old, new = pad_plan(x.shape, padding_config)
    out = np.empty(shape, x.dtype)
    out.fill(padding_value)
    out[new] = x[old]
    return out[()]


def pad_adder_for_types(
    x_aval: ShapedArray, zero_aval: ShapedArray, *, padding_config: PaddingConfig
) -> Callable[[Value, Value], Value] | None:
    if any(low < 0 or high < 0 for low, high, _ in padding_config):
        return None
    place = pad_plan(x_aval.shape, padding_config)[2]

    def add(total: Value, x: Value) -> None:
        part = total[place]
        np.add(part, x, part)

    return add


pad_p.def_impl(pad_impl, leaf=True, makes_arrays=True)
pad_p.def_adder(1, pad_adder_for_types)


def pad(operand: Value, padding_value: Value, padding_config: Iterable[tuple[int, int, int]]) -> Value:
    """Return `operand` with `padding_value` around and between its elements.

    `padding_config` has one (low, high, interior) per axis; negative low and high padding cuts elements off.
    Shapes: operand [*s] -> [low + high + n + max(n - 1, 0) * interior per axis n].  Dtype: promoted.
    Raises: ValueError if an axis loses more elements than it has, for negative interior padding, or for a wrong number
    of entries; ShapeError if `padding_value` is not a scalar.

    >>> import numpy as np
    >>> from calque_core.lax import pad
    >>> pad(np.array([1, 2, 3]), 0, [(2, -1, 1)])
    array([0, 0, 1, 0, 2, 0])
    """
    config = tuple([integers("pad", "an entry of padding_config", entry) for entry in padding_config])
    if not {3}.issuperset(map(len, config)):
        raise ValueError(
            f"pad{where()}: padding_config is {config}. Give three integers, (low, high, interior), per axis."
        )
    operand, padding_value = of_one_dtype("pad", operand, padding_value)
    pad_p.abstract(typeof(operand), typeof(padding_value), padding_config=config)
    return pad_p.bind(operand, padding_value, padding_config=config)
