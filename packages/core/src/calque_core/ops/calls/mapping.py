"""Functions made of scans: `map`, and running reductions by a tree, `associative_scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core.calls.api_util import array_leaves, call, check_callable, leaf_names
from calque_core.errors import ShapeError
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function
from calque_core.frames.tracebacks import api_boundary
from calque_core.memory.separate import copy_shared
from calque_core.ops.calls.loops import loop_name
from calque_core.ops.calls.scan import run_scan
from calque_core.ops.shapes.axes import canonical_axis
from calque_core.ops.shapes.joining import concatenate
from calque_core.ops.shapes.shape import reshape, rev, slice
from calque_core.types.avals import typeof
from calque_pytree import tree_flatten

Value = Any
Combine = Callable[[list[Value], list[Value]], list[Value]]


@api_boundary
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Return the stacked results of `f` on the slices of `xs` along the leading axis, one slice at a time.

    `calque_batching.map` computes several at a time.
    Shapes: xs [n, *s] -> [n, *t].
    Raises: as `scan`.

    >>> import numpy as np
    >>> from calque_core.lax import map
    >>> map(lambda x: x * x, np.array([1.0, 2.0, 3.0]))
    array([1., 4., 9.])
    """
    check_callable(f, "map")

    @named_after(f)  # so that messages name the user's function
    def step(_: None, x: Any) -> tuple[None, Any]:
        return None, call(f, "map", x)

    _, ys = run_scan(loop_name("map", f), step, None, xs, None, False, 1)
    return ys


@api_boundary
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return the running combinations `e0, fn(e0, e1), fn(fn(e0, e1), e2), ...` of an associative function.

    `fn` takes two pytrees like `elems`, of any length along `axis`, and combines them slice by slice.  It is applied to
    whole arrays, in a number of rounds that grows as the logarithm of the length.  With `reverse`, the last element
    comes first, as in `fn(e2, e1)`; the results are in the order of the elements.
    Shapes: elems [.., n, ..] -> the same.
    Raises: TypeError if `fn` does not keep the structure, or returns bools for numbers; ShapeError if it does not keep
    the shape, or lengths differ;
    ValueError for a wrong axis.

    >>> import numpy as np
    >>> from calque_core.lax import add, associative_scan
    >>> associative_scan(add, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  3.,  6., 10.])
    """
    check_callable(fn, "associative_scan")
    caller = loop_name("associative_scan", fn)
    leaves, treedef = array_leaves(caller, "elems", elems)
    axes = [canonical_axis(f"associative_scan of {describe_function(fn)}", axis, typeof(x).ndim) for x in leaves]
    sizes = {typeof(x).shape[a] for x, a in zip(leaves, axes)}
    if len(sizes) > 1:
        types = ", ".join(f"{name} {typeof(x)}" for name, x in zip(leaf_names("elems", elems), leaves))
        raise ShapeError(f"{caller}: the sizes along axis {axis} differ: {types}. Give arrays of equal size along it.")

    def combine(left: list[Value], right: list[Value]) -> list[Value]:
        out, out_tree = tree_flatten(call(fn, "associative_scan", treedef.unflatten(left), treedef.unflatten(right)))
        if out_tree != treedef:
            raise TypeError(
                f"{caller}: {describe_function(fn)} returned {out_tree} for elements of {treedef}. Return the same "
                "structure."
            )
        for i, (x, y) in enumerate(zip(left, out)):
            if (typeof(x).kind == "b") != (typeof(y).kind == "b"):
                raise TypeError(
                    f"{caller}: {describe_function(fn)} returned {typeof(y)} for slices of "
                    f"{leaf_names('elems', elems)[i]} of type {typeof(x)}. Return the same dtype: a bool is no number."
                )
            if typeof(x).shape != typeof(y).shape:
                raise ShapeError(
                    f"{caller}: {describe_function(fn)} returned {typeof(y)} for slices of "
                    f"{leaf_names('elems', elems)[i]} of type {typeof(x)}. Return the same shape."
                )
        return out

    flipped = [rev(x, (a,)) for x, a in zip(leaves, axes)] if reverse else leaves
    outs = _running(combine, flipped, axes, sizes.pop() if sizes else 0)
    ordered = [rev(x, (a,)) for x, a in zip(outs, axes)] if reverse else outs
    return treedef.unflatten(copy_shared(ordered, leaves))


def _running(combine: Combine, xs: list[Value], axes: list[int], count: int) -> list[Value]:
    """Combine pairs of neighbours, recur on the pairs, and fill in the elements between."""
    if count < 2:
        return xs

    def cut(arrays: list[Value], start: int, stop: int, step: int = 1) -> list[Value]:
        return [_stride(x, a, start, stop, step) for x, a in zip(arrays, axes)]

    pairs = combine(cut(xs, 0, count - 1, 2), cut(xs, 1, count, 2))
    odd = _running(combine, pairs, axes, count // 2)
    first = cut(xs, 0, 1)
    if count == 2:
        return [concatenate([x, y], a) for x, y, a in zip(first, odd, axes)]
    even = combine(cut(odd, 0, (count - 1) // 2), cut(xs, 2, count, 2))
    even = [concatenate([x, y], a) for x, y, a in zip(first, even, axes)]
    return [_interleave(x, y, a) for x, y, a in zip(even, odd, axes)]


def _stride(x: Value, axis: int, start: int, stop: int, step: int) -> Value:
    shape = typeof(x).shape
    starts = [start if i == axis else 0 for i in range(len(shape))]
    stops = [stop if i == axis else size for i, size in enumerate(shape)]
    return slice(x, starts, stops, [step if i == axis else 1 for i in range(len(shape))])


def _interleave(even: Value, odd: Value, axis: int) -> Value:
    """Return even[0], odd[0], even[1], ...; `even` has the length of `odd`, or one element more."""
    shape = typeof(even).shape
    paired = typeof(odd).shape[axis]
    apart = (*shape[:axis], paired, 1, *shape[axis + 1 :])
    together = (*shape[:axis], 2 * paired, *shape[axis + 1 :])
    both = concatenate([reshape(_stride(even, axis, 0, paired, 1), apart), reshape(odd, apart)], axis + 1)
    mixed = reshape(both, together)
    if shape[axis] == paired:
        return mixed
    return concatenate([mixed, _stride(even, axis, paired, paired + 1, 1)], axis)
