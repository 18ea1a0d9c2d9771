"""`map` in batches: a compromise between a loop over elements and one operation for all elements.

One idea: `vmap` computes a batch of elements at once, and `scan` computes the batches one after the other: so it needs
the memory of one batch, and one step per batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_batching.verbs.vmap import vmap
from calque_core import api_boundary, lax, typeof
from calque_core.engine import array_leaves, leaf_names, loop_name
from calque_core.extend import check_callable, integer
from calque_pytree import tree_map

Value = Any


@api_boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Return the results of `f` on the slices of `xs` along the leading axis, stacked; `batch_size` slices at a time.

    Without `batch_size`, one slice at a time, as in `lax.map`.  If the length is no multiple of `batch_size`, the last
    slices are a smaller batch, and `f` is traced once more for it.
    Shapes: xs [n, *s] -> [n, *t].
    Raises: TypeError if a leaf of `xs` has no axis; ValueError if lengths differ, or `batch_size` is not positive.

    >>> import numpy as np
    >>> from calque_batching import map
    >>> map(lambda x: x * x, np.arange(5.0), batch_size=2)
    array([ 0.,  1.,  4.,  9., 16.])
    """
    check_callable(f, "map")
    if batch_size is None:
        return lax.map(f, xs)
    caller = loop_name("map", f)
    size = integer("map", "batch_size", batch_size)
    if size < 1:
        raise ValueError(f"{caller} got batch_size={batch_size}. Give 1 or more.")
    length = _length(caller, xs)
    count, remainder = divmod(length, size)
    if not count:
        return vmap(f)(xs)
    ys = tree_map(_join_batches, lax.map(vmap(f), tree_map(lambda x: _batches(x, count, size), xs)))
    if not remainder:
        return ys
    last = vmap(f)(tree_map(lambda x: _rows(x, length - remainder, length), xs))
    return tree_map(lambda y, z: lax.concatenate([y, z], 0), ys, last)


def _length(caller: str, xs: Any) -> int:
    """Return the common leading size of the leaves.

    Raises: TypeError or ValueError, naming a leaf, if there is none.
    """
    leaves, _ = array_leaves(caller, "xs", xs)
    names = leaf_names("xs", xs)
    shapes = {name: typeof(leaf).shape for name, leaf in zip(names, leaves)}
    for name, shape in shapes.items():
        if not shape:
            raise TypeError(f"{caller}: {name} is a scalar, which has no axis to map. Close over it.")
        if shape[0] != shapes[names[0]][0]:
            raise ValueError(
                f"{caller}: the leading axis of {name} has size {shape[0]}, but the leading axis of {names[0]} has "
                f"size {shapes[names[0]][0]}. All inputs must have one leading size."
            )
    if not names:
        raise ValueError(f"{caller} got no inputs. Give xs with at least one array.")
    return int(shapes[names[0]][0])


def _rows(x: Value, start: int, stop: int) -> Value:
    row_shape = typeof(x).shape[1:]
    return lax.slice(x, [start, *[0] * len(row_shape)], [stop, *row_shape])


def _batches(x: Value, count: int, size: int) -> Value:
    """Return the first `count * size` rows as an array of batches of rows."""
    return lax.reshape(_rows(x, 0, count * size), (count, size, *typeof(x).shape[1:]))


def _join_batches(y: Value) -> Value:
    """Return rows in batches as one array of rows."""
    count, size, *row_shape = typeof(y).shape
    return lax.reshape(y, (count * size, *row_shape))
