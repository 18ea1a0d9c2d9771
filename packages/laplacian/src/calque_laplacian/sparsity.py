"""Jacobians of few rows: a value that depends on few inputs has rows for these inputs only.

One idea: each row of a Jacobian belongs to one input; in an array of particles, row 0 of the first particle belongs to
another input than row 0 of the second.  `inputs` [m, *s] names the input of each element of each row, -1 for none, and
has size 1 along axes where it is constant.  It is known while a program is traced.  Where an operation combines
elements, their Jacobians first get rows for the inputs of all of them; if these are many, rows for all n inputs.

Read next: `laplacian_trace.py`, which applies the rules to such triples as to others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import Primitive, eval_context, is_tracer, lax, typeof
from calque_core.extend import is_float
from calque_laplacian.linear import Params
from calque_laplacian.triple import Shape, Triple, Value, in_each_direction, plus, spread

Rows = Any  # an array of integers
Apply = Callable[[Sequence[Triple]], list[Triple]]

# Operations that move elements, drop or repeat them
MOVES = (
    lax.broadcast_in_dim_p, lax.reshape_p, lax.transpose_p, lax.rev_p, lax.squeeze_p, lax.slice_p, lax.concatenate_p,
    lax.split_p, lax.stack_p, lax.unstack_p, lax.tile_p, lax.gather_p, lax.dynamic_slice_p,
)  # fmt: skip
REDUCTIONS = (lax.reduce_sum_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p)


def sparse_results(
    primitive: Primitive, operands: Sequence[Triple], params: Params, n: int, apply: Apply
) -> list[Triple]:
    """Return the results of an operation on triples of which some have few rows; `apply` computes with given rows."""
    moving = [x for x in operands if x.jacobian is not None]
    results = None
    if all(x.inputs is not None and x.inputs.size for x in moving):
        if primitive.is_elementwise:
            shape = np.broadcast_shapes(*[typeof(x.value).shape for x in operands])
            rows = union([with_rank(x.inputs, len(shape)) for x in moving])
            results = on_rows_of(rows, rows, [spread(x, shape) for x in operands], n, apply)
        elif primitive in REDUCTIONS:
            axes = tuple(params["axes"])
            rows = union([moving[0].inputs], axes)
            if 2 * len(rows) > n and primitive is lax.reduce_sum_p and not params.get("keepdims"):
                return [summed(moving[0], axes, n)]
            kept = rows if params.get("keepdims") else np.squeeze(rows, tuple([axis + 1 for axis in axes]))
            results = on_rows_of(rows, kept, operands, n, apply)
        elif primitive is lax.dot_general_p and len(moving) == 1:
            results = product_results(operands, params, n, apply)
        elif primitive in MOVES and not any(is_tracer(x.value) for x in operands if x.jacobian is None):
            results = moved_results(primitive, operands, params, apply)
    return apply([dense(x, n) for x in operands]) if results is None else results


def dense(x: Triple, n: int) -> Triple:
    """Return the triple with a row for each of the n inputs."""
    if x.inputs is None:
        return x
    return on_rows(x, np.arange(n).reshape(n, *[1] * (x.inputs.ndim - 1)))._replace(inputs=None)


def on_rows_of(rows: Rows, out_rows: Rows, operands: Sequence[Triple], n: int, apply: Apply) -> list[Triple] | None:
    """Return results, computed with the same rows for all operands; None where these are more than half of all."""
    if 2 * len(rows) > n:
        return None
    outs = apply([on_rows(x, rows) for x in operands])
    return outs if outs is NotImplemented else [with_inputs(out, out_rows) for out in outs]


def with_inputs(x: Triple, rows: Rows) -> Triple:
    """Return the triple with the names of its rows, which a constant has not."""
    return x if x.jacobian is None else x._replace(inputs=compressed(rows))


def on_rows(x: Triple, rows: Rows) -> Triple:
    """Return the triple with a Jacobian of these rows, zero where it does not depend on their input."""
    if x.jacobian is None or np.array_equal(x.inputs, rows):
        return x
    inputs = with_rank(x.inputs, rows.ndim - 1)
    is_own = [[bool(np.any((row == own) & (row >= 0))) for own in inputs] for row in rows]
    jacobian = None
    for k in range(max(map(sum, is_own), default=0)):
        # The k-th row of `x` that holds elements of each new row; most new rows are made from one row or two.
        sources = [([i for i, is_source in enumerate(each) if is_source] + [0] * (k + 1))[k] for each in is_own]
        mask = (rows == inputs[sources]) & (rows >= 0)
        mask &= np.array([k < sum(each) for each in is_own]).reshape(-1, *[1] * (rows.ndim - 1))
        jacobian = plus(jacobian, kept(x.jacobian[np.array(sources)], mask))
    if jacobian is None:
        jacobian = in_each_direction(lax.zeros_like(x.laplacian), len(rows))
    return x._replace(jacobian=jacobian, inputs=rows)


def kept(part: Value, mask: Value) -> Value:
    """Return the rows of a Jacobian where a mask is True, and zeros elsewhere."""
    if mask.all():
        return part
    mask = lax.broadcast_in_dim(mask, typeof(part).shape, tuple(range(mask.ndim)))
    return lax.select(mask, part, lax.zeros_like(part))


def summed(x: Triple, axes: Shape, n: int) -> Triple:
    """Return the sum along axes with a row for each input: a product of the rows with a matrix of zeros and ones.

    It adds m elements for each; with all n rows first, most terms would be zeros.
    """
    aval = typeof(x.value)
    varied = [axis for axis in range(aval.ndim) if axis in axes or x.inputs.shape[axis + 1] > 1]
    sizes = [aval.shape[axis] if axis in varied else 1 for axis in range(aval.ndim)]
    inputs = np.broadcast_to(x.inputs, (len(x.inputs), *sizes)).reshape(-1, *[aval.shape[axis] for axis in varied])
    everything = lax.broadcasted_iota(inputs.dtype, (n, *inputs.shape), 0)  # made by the program, in which it is small
    is_own = lax.convert_element_type(lax.eq(everything, in_each_direction(inputs, n)), aval.dtype)
    own = [axis for axis in varied if axis not in axes]
    left: list[Any] = ["input", "row", *varied]
    right: list[Any] = ["row", *range(aval.ndim)]
    contracted, batch = ((places(left, pair), places(right, pair)) for pair in (["row", *axes], own))
    product = lax.dot_general(is_own, x.jacobian, (contracted, batch), lax.Precision.HIGHEST)
    labels = [*own, "input", *[axis for axis in range(aval.ndim) if axis not in varied]]
    order = ["input", *[axis for axis in range(aval.ndim) if axis not in axes]]
    jacobian = lax.transpose(product, places(labels, order))
    return Triple(lax.reduce_sum(x.value, axes), jacobian, lax.reduce_sum(x.laplacian, axes))


def places(labels: Sequence[Any], chosen: Sequence[Any]) -> Shape:
    """Return the axes with the chosen labels."""
    return tuple([labels.index(label) for label in chosen])


def union(inputs: Sequence[Rows], axes: Shape = ()) -> Rows:
    """Return rows for the inputs of all operands, and of all elements along the axes of the operand."""
    if len(inputs) > 1 and all(np.array_equal(rows, inputs[0]) for rows in inputs):
        inputs = inputs[:1]
    shape = np.broadcast_shapes(*[rows.shape[1:] for rows in inputs])
    rows = np.concatenate([np.broadcast_to(rows, (len(rows), *shape)) for rows in inputs])
    for axis in axes:
        rows = np.concatenate(np.split(rows, rows.shape[axis + 1], axis + 1)) if rows.shape[axis + 1] else rows
    if len(inputs) == 1 and len(rows) == len(inputs[0]):
        return rows
    rows = -np.sort(-rows, axis=0)
    rows[1:][rows[1:] == rows[:-1]] = -1
    rows = -np.sort(-rows, axis=0)
    return rows[: (rows >= 0).reshape(len(rows), -1).any(1).sum()]


def with_rank(rows: Rows, rank: int) -> Rows:
    """Return the rows of an operand of rank 0 as rows of an array."""
    return rows.reshape(len(rows), *[1] * (rank - rows.ndim + 1), *rows.shape[1:])


def compressed(rows: Rows) -> Rows:
    """Return the rows with size 1 along the axes where they are constant."""
    for axis in range(1, rows.ndim):
        first = rows.take([0], axis) if rows.shape[axis] > 1 else rows
        rows = first if (rows == first).all() else rows
    return rows


def product_results(operands: Sequence[Triple], params: Params, n: int, apply: Apply) -> list[Triple] | None:
    """Return the product of a triple and a constant, in either order; its axes are the batch axes and the free ones."""
    is_right = operands[0].jacobian is None
    x, other = operands[::-1] if is_right else operands
    contracted, batch = (pair[is_right] for pair in params["dimension_numbers"])
    rows = union([x.inputs], tuple(contracted))
    free = [axis for axis in range(typeof(x.value).ndim) if axis not in (*contracted, *batch)]
    ones = [1] * (typeof(other.value).ndim - len(contracted) - len(batch))
    moved = rows.transpose([0, *[axis + 1 for axis in (*batch, *free, *contracted)]])
    first, rest = moved.shape[1 : len(batch) + 1], moved.shape[len(batch) + 1 : len(batch) + len(free) + 1]
    shape = (*first, *ones, *rest) if is_right else (*first, *rest, *ones)
    return on_rows_of(rows, moved.reshape(len(rows), *shape), operands, n, apply)


def moved_results(primitive: Primitive, operands: Sequence[Triple], params: Params, apply: Apply) -> list[Triple]:
    """Return the results of a move: the inputs of the elements move as the elements do."""
    m = max(len(x.inputs) for x in operands if x.jacobian is not None)
    with eval_context():
        names = [positions_of(x, m) for x in operands]
        outs = primitive.adapted["laplacian"](None, *names, **params)
    moved = outs if primitive.multiple_results else [outs]
    return [
        with_inputs(out, np.asarray(name.jacobian) - 1)
        for out, name in zip(apply([with_count(x, m) for x in operands]), moved)
    ]


def positions_of(x: Triple, m: int) -> Triple:
    """Return integers in place of `x`: the Jacobian has the inputs of its rows, numbered from 1, and 0 for none."""
    shape = typeof(x.value).shape
    zeros = np.zeros(shape, np.intp)
    if x.jacobian is None:
        return Triple(zeros, np.zeros((m, *shape), np.intp), zeros) if is_float(typeof(x.value).dtype) else x
    names = np.concatenate([x.inputs + 1, np.zeros((m - len(x.inputs), *x.inputs.shape[1:]), np.intp)])
    return Triple(zeros, np.broadcast_to(names, (m, *shape)), zeros)


def with_count(x: Triple, m: int) -> Triple:
    """Return the triple with m rows, the last ones zero."""
    missing = 0 if x.jacobian is None else m - typeof(x.jacobian).shape[0]
    if not missing:
        return x
    zeros = in_each_direction(lax.zeros_like(x.value), missing)
    return x._replace(jacobian=lax.concatenate([x.jacobian, zeros], 0))
