"""Linear operations: how parameters and operands change when the axis of the directions comes in front.

Read next: `linear.py`, which applies each to all directions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core import Primitive, lax, typeof
from calque_laplacian.linear import Operands, Params, deflinear
from calque_laplacian.triple import InnerProduct, Triple, Value

Change = Callable[[Any, int], Any]


def deflinear_by(primitive: Primitive, **changes: Change) -> None:
    """Give the rule of a linear primitive by the parameters that change: `changes[name](value, n)`."""

    def with_axis(n: int, operands: list[Value], params: Params) -> tuple[Operands, Params]:
        return operands, params | {name: change(params[name], n) for name, change in changes.items()}

    deflinear(primitive, with_axis)


def behind(axes: Any, n: int = 1) -> Any:
    """Return the same axis, or the same axes, behind one more."""
    return axes + 1 if isinstance(axes, int) else tuple([axis + 1 for axis in axes])


def with_size(sizes: Sequence[int], n: int) -> tuple[int, ...]:
    """Return a shape with an axis of size n in front."""
    return (n, *sizes)


def with_first(axes: Sequence[int], n: int) -> tuple[int, ...]:
    """Return the same axes behind one more, which is the first of them."""
    return (0, *behind(axes, n))


# Elements that stay in place

for _primitive in (lax.neg_p, lax.real_p, lax.imag_p, lax.conj_p, lax.reduce_precision_p):
    deflinear(_primitive)

# Elements that move

deflinear_by(lax.broadcast_in_dim_p, shape=with_size, broadcast_dimensions=with_first)
deflinear_by(lax.reshape_p, new_sizes=with_size)
deflinear_by(lax.transpose_p, permutation=with_first)
deflinear_by(lax.rev_p, dimensions=behind)
deflinear_by(lax.squeeze_p, dimensions=behind)
deflinear_by(
    lax.slice_p,
    start_indices=lambda starts, n: (0, *starts),
    limit_indices=with_size,
    strides=lambda strides, n: None if strides is None else (1, *strides),
)
deflinear_by(lax.concatenate_p, dimension=behind)
deflinear_by(lax.split_p, axis=behind)
deflinear_by(lax.stack_p, axis=behind)
deflinear_by(lax.unstack_p, axis=behind)
deflinear_by(lax.tile_p, reps=lambda reps, n: (1, *reps))


@lax.pad_p.def_rule("laplacian")
def pad_rule(inner: InnerProduct, x: Triple, fill: Triple, *, padding_config: Any) -> Triple:
    """Pad the derivatives with zeros; those of the fill value go where it does."""

    def padded(array: Value, value: Value, axes: int = 0) -> Value:
        return lax.pad_p.bind(array, value, padding_config=(*[(0, 0, 0)] * axes, *padding_config))

    out, zero = padded(x.value, fill.value), lax.zeros_like(fill.value)
    jacobian = None if x.jacobian is None else padded(x.jacobian, zero, 1)
    laplacian = None if x.laplacian is None else padded(x.laplacian, zero)
    if fill.jacobian is None:
        return Triple(out, jacobian, laplacian)
    mask = padded(lax.zeros_like(x.value), lax.ones_like(fill.value))
    rows = lax.mul(lax.expand_dims(fill.jacobian, tuple(range(1, typeof(out).ndim + 1))), mask)
    if x.jacobian is None:
        return Triple(out, rows, lax.mul(fill.laplacian, mask))
    return Triple(out, lax.add(jacobian, rows), lax.add(laplacian, lax.mul(fill.laplacian, mask)))


# Sums

deflinear_by(lax.reduce_sum_p, axes=behind)
deflinear_by(lax.cumsum_p, axis=behind)

# Elements at positions


def starts_with_axis(count: int, n: int, operands: list[Value], params: Params) -> tuple[Operands, Params]:
    """Put a start at 0 in front of the starts, which follow `count` arrays."""
    arrays, starts = operands[:count], operands[count:]
    zero = typeof(starts[0]).dtype.type(0) if starts else 0
    sizes = {"slice_sizes": (n, *params["slice_sizes"])} if "slice_sizes" in params else {}
    return [*arrays, zero, *starts], params | sizes


def windows_with_axis(numbers: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the numbers of a gather or scatter whose windows have one more axis, the first."""
    window, collapsed, mapped, batching, rows = numbers
    return [with_first(window, 0), behind(collapsed, 0), behind(mapped, 0), behind(batching, 0), rows]


def scatter_with_axis(n: int, operands: list[Value], params: Params) -> tuple[Operands, Params]:
    numbers = lax.ScatterDimensionNumbers(*windows_with_axis(params["dimension_numbers"]))
    return operands, params | {"dimension_numbers": numbers}


@lax.gather_p.def_rule("laplacian")
def gather_rule(inner: InnerProduct, x: Triple, indices: Triple, **params: Any) -> Triple:
    """Read the derivatives at the same positions; values outside of the array are constants."""
    out, constant = lax.gather_p.bind(x.value, indices.value, **params), params | {"fill_value": 0}
    numbers = lax.GatherDimensionNumbers(*windows_with_axis(params["dimension_numbers"]))
    sizes = (typeof(x.jacobian).shape[0], *params["slice_sizes"])
    rows = constant | {"dimension_numbers": numbers, "slice_sizes": sizes}
    laplacian = lax.gather_p.bind(x.laplacian, indices.value, **constant)
    return Triple(out, lax.gather_p.bind(x.jacobian, indices.value, **rows), laplacian)


deflinear(lax.dynamic_slice_p, partial(starts_with_axis, 1))
deflinear(lax.dynamic_update_slice_p, partial(starts_with_axis, 2))
deflinear(lax.scatter_p, scatter_with_axis)
deflinear(lax.scatter_add_p, scatter_with_axis)
