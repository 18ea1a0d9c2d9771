"""Short forms of batching rules; most rules are written with them.

A file of rules reads like a table: `defvectorized(sin_p, cos_p)`, `defbroadcasting(add_p)`, `defreducer(reduce_sum_p)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.ops.shapes.batch_axes import matchaxis, moveaxis
from calque_core.ops.shapes.broadcast import broadcast_in_dim
from calque_core.primitives.primitive import Primitive, results_of
from calque_core.primitives.rule_results import gives_lists
from calque_core.types.avals import typeof

Value = Any
Dims = Sequence[int | None]
Rule = Callable[..., Any]


def defbatch(primitive: Primitive, rule: Rule) -> None:
    """Define the batching rule: `rule(args, dims, **params) -> (out, dim)`; dims are positions, or None if unmapped.

    Raises: ValueError if the primitive already has a batching rule.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defbatch
    >>> double_p = Primitive("double")
    >>> _ = double_p.def_impl(lambda x: np.add(x, x))
    >>> defbatch(double_p, lambda args, dims: (double_p.bind(*args), dims[0]))
    >>> rules("batch")[double_p]((np.array([1.0, 2.0]),), (0,))
    (array([2., 4.]), 0)
    """
    primitive.def_rule("batch", rule)


def defvectorized(*primitives: Primitive) -> None:
    """Define rules of primitives of one operand that act on each element alone: the batch axis stays in place.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defvectorized
    >>> double_p = Primitive("double")
    >>> _ = double_p.def_impl(lambda x: x + x)
    >>> defvectorized(double_p)
    >>> rules("batch")[double_p]((np.array([[1.0, 2.0]]),), (1,))
    ([array([[2., 4.]])], (1,))
    """
    for primitive in primitives:
        primitive.def_rule("batch", _vectorize(primitive))


def _vectorize(primitive: Primitive) -> Rule:
    @gives_lists
    def batch(args: Sequence[Value], dims: Dims, **params: Any) -> tuple[list[Value], Dims]:
        return [primitive.bind(args[0], **params)], dims

    return batch


def defbroadcasting(*primitives: Primitive) -> None:
    """Define rules of primitives that are elementwise in several operands of equal shape or rank 0.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defbroadcasting
    >>> hypotenuse_p = Primitive("hypotenuse")
    >>> _ = hypotenuse_p.def_impl(np.hypot)
    >>> defbroadcasting(hypotenuse_p)
    >>> rules("batch")[hypotenuse_p]((np.array([3.0, 0.0]), 4.0), (0, None))
    ([array([5., 4.])], [0])
    """
    for primitive in primitives:
        primitive.def_rule("batch", _broadcasting(primitive))


def _broadcasting(primitive: Primitive) -> Rule:
    @gives_lists
    def batch(args: Sequence[Value], dims: Dims, **params: Any) -> tuple[list[Value], list[int | None]]:
        args, dim = align_operands(args, dims)
        return [primitive.bind(*args, **params)], [dim]

    return batch


def align_operands(args: Sequence[Value], dims: Dims) -> tuple[list[Value], int]:
    """Return elementwise operands with equal shapes and one batch dimension; unmapped scalars stay scalars.

    The operand with the most axes decides the dimension; other operands get the missing axes, the batch axis included.
    """
    shapes = [typeof(x).shape for x in args]
    common = _common_dim(shapes, dims)
    if common is not None:
        return list(args), common
    mapped = [(shape, d) for shape, d in zip(shapes, dims) if d is not None]
    shape, dim = max(mapped, key=lambda pair: len(pair[0]))
    if len(shape) == 1:  # each mapped operand is a scalar per element: an unmapped operand may have axes
        shape = (shape[0], *max((s for s, d in zip(shapes, dims) if d is None), key=len, default=()))
    return [_fit(x, s, d, shape, dim) for x, s, d in zip(args, shapes, dims)], dim


def _common_dim(shapes: Sequence[tuple[int, ...]], dims: Dims) -> int | None:
    """Return the batch dimension of operands that are aligned as they are; None if one must change.

    It is the usual case, and a loop takes 2 us less than generators.
    """
    shape, dim = None, None
    for x_shape, x_dim in zip(shapes, dims):
        if x_dim is None:
            if x_shape:
                return None
        elif dim is None:
            shape, dim = x_shape, x_dim
        elif x_dim != dim or x_shape != shape:
            return None
    return dim


def batch_size(args: Sequence[Value], dims: Dims) -> int:
    """Return the size of the batch axis, which every mapped operand has."""
    size: int = next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)
    return size


def align_batch_axes(args: Sequence[Value], dims: Dims, bdim: int | None = None) -> tuple[list[Value], int]:
    """Return the operands with the batch axis at one dimension, and this: `bdim`, or the first mapped operand's.

    >>> import numpy as np
    >>> from calque_core.extend import align_batch_axes
    >>> x, y = align_batch_axes([np.ones(2), np.zeros((2, 3))], [None, 1])[0]
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    size = batch_size(args, dims)
    if bdim is None:
        bdim = next(d for d in dims if d is not None)
    return [matchaxis(x, d, bdim, size) for x, d in zip(args, dims)], bdim


def _fit(x: Value, x_shape: tuple[int, ...], x_dim: int | None, shape: tuple[int, ...], dim: int) -> Value:
    """Return one operand with the batch axis at `dim` of `shape`."""
    if x_dim is None:
        return x if x_shape == () else broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != dim])
    return moveaxis(x, x_dim, dim) if len(x_shape) == len(shape) else broadcast_in_dim(x, shape, (dim,))


def defreducer(*primitives: Primitive) -> None:
    """Define rules of primitives of one operand that reduce the axes of their parameter `axes`.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defreducer
    >>> range_p = Primitive("range")
    >>> _ = range_p.def_impl(lambda x, *, axes: np.ptp(x, axis=axes))
    >>> defreducer(range_p)
    >>> rules("batch")[range_p]((np.array([[1.0, 4.0], [2.0, 2.0]]),), (0,), axes=(0,))
    ([array([3., 0.])], [0])
    """
    for primitive in primitives:
        primitive.def_rule("batch", _reducer(primitive))


def _reducer(primitive: Primitive) -> Rule:
    @gives_lists
    def batch(
        args: Sequence[Value], dims: Sequence[int], *, axes: tuple[int, ...], **params: Any
    ) -> tuple[list[Value], list[int]]:
        (x,), (dim,) = args, dims
        moved = axes_in_batch(axes, dim)
        dropped = 0 if params.get("keepdims") else sum(axis < dim for axis in moved)
        return [primitive.bind(x, axes=moved, **params)], [dim - dropped]

    return batch


def defleading(*primitives: Primitive) -> None:
    """Define rules of primitives whose leading axes count elements: the batch axis becomes the first of them.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defleading
    >>> trace_p = Primitive("trace")
    >>> _ = trace_p.def_impl(lambda x: np.trace(x, axis1=-2, axis2=-1))
    >>> defleading(trace_p)
    >>> rules("batch")[trace_p]((np.ones((2, 2, 3)),), (2,))
    ([array([2., 2., 2.])], [0])
    """
    for primitive in primitives:
        primitive.def_rule("batch", _leading(primitive))


def _leading(primitive: Primitive) -> Rule:
    @gives_lists
    def batch(args: Sequence[Value], dims: Dims, **params: Any) -> tuple[list[Value], list[int]]:
        operands, _ = align_batch_axes(args, dims, 0)
        outs = results_of(primitive, operands, params)
        return outs, [0] * len(outs)

    return batch


def axes_in_batch(axes: Sequence[int], bdim: int) -> tuple[int, ...]:
    """Return the positions of one element's axes in the whole array, which has its batch axis at `bdim`.

    >>> from calque_core.engine import axes_in_batch
    >>> axes_in_batch((0, 2), 1)
    (0, 3)
    """
    return tuple(axis + (bdim <= axis) for axis in axes)


def with_entry(values: Sequence[Any], bdim: int, entry: Any) -> tuple[Any, ...]:
    """Return values that belong to the axes of one element, with `entry` for the batch axis at `bdim`.

    >>> from calque_core.engine import with_entry
    >>> with_entry((3, 5), 1, 4)
    (3, 4, 5)
    """
    return (*values[:bdim], entry, *values[bdim:])
