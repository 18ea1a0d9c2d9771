"""`map`: a loop over elements, or over batches of them.

Read next: `pieces.py`, the loop over batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_batching.verbs.vmap import vmap
from calque_core import api_boundary, lax, typeof
from calque_core.engine import array_leaves, leaf_names, loop_name
from calque_core.extend import check_callable, integer


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
    _check_length(caller, xs)
    return vmap(f, batch_size=size)(xs)


def _check_length(caller: str, xs: Any) -> None:
    """Check that the leaves have a common leading size.  Raises: TypeError or ValueError, naming a leaf."""
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
