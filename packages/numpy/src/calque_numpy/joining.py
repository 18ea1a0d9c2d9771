"""Arrays joined, and split into sections.

One idea: `stack` gives its operands a new axis and joins them along it; every other function is `concatenate`, or one
slice per section.

Read next: `shapes.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.engine import is_array_like, short_repr
from calque_core.engine.numpy_functions import (
    astype,
    canonical_axis,
    copy,
    dtype_argument,
    integers,
    promoted_dtype,
    ravel,
    refuse,
)
from calque_core.extend import integer, types_decide, where
from calque_numpy.creation import asarray
from calque_numpy.releases import of_numpy
from calque_numpy.shapes import atleast_1d, atleast_2d, atleast_3d

Value = Any
DType = Any

_PYTHON_SCALARS = (bool, int, float, complex)


def _operands(name: str, arrays: Any, dtype: DType, options: dict[str, Any]) -> list[Value]:
    """Return the operands as arrays, each in `dtype` if that is not None and `casting` allows it."""
    casting = options.pop("casting", "same_kind")
    refuse(name, **options)
    _check_several(name, arrays)
    operands = [asarray(x) for x in arrays]
    if not operands:
        raise ValueError(f"{name}{where()} got no arrays. Give at least one array.")
    if dtype is None and casting == "same_kind":
        return operands
    out_dtype = promoted_dtype(name, *operands) if dtype is None else dtype_argument(dtype)
    return [astype(x, out_dtype, casting=casting) for x in operands]


def _check_several(name: str, arrays: Any) -> None:
    if not np.iterable(arrays):
        raise TypeError(f"{name}{where()}: the arrays are {short_repr(arrays)}. Give a list of arrays.")


@implements(np.concatenate)
@types_decide
def concatenate(
    arrays: Sequence[Value], axis: int | None = 0, out: None = None, *, dtype: DType = None, casting: str = "same_kind"
) -> Value:
    """Return the arrays joined along an existing axis, or flattened and joined for `axis=None`.

    Shapes: [*a, n, *b] and [*a, m, *b] -> [*a, n + m, *b].  Dtype: promoted, or `dtype`.
    Raises: ShapeError if other axes differ in size; ValueError without arrays, for an axis out of range, or for rank 0.

    >>> import numpy as np
    >>> from calque_numpy import concatenate
    >>> concatenate([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    if axis is not None:
        return copy(lax.concatenate(_operands("concatenate", arrays, dtype, {"out": out, "casting": casting}), axis))
    operands = _operands("concatenate", _strong_scalars(arrays), dtype, {"out": out, "casting": casting})
    return copy(lax.concatenate([ravel(x) for x in operands], 0))


def _strong_scalars(arrays: Iterable[Value]) -> list[Value]:
    """Return the operands; Python scalars get the dtype of the arrays, since NumPy joins them so with `axis=None`."""
    _check_several("concatenate", arrays)
    operands = [x if type(x) in _PYTHON_SCALARS else asarray(x) for x in arrays]
    dtype = promoted_dtype("concatenate", *operands) if operands else None
    return [asarray(x, dtype) if type(x) in _PYTHON_SCALARS else x for x in operands]


@implements(np.stack)
@types_decide
def stack(
    arrays: Sequence[Value], axis: int = 0, out: None = None, *, dtype: DType = None, casting: str = "same_kind"
) -> Value:
    """Return arrays of one shape joined along a new axis.

    Shapes: n times [*a, *b] -> [*a, n, *b].  Dtype: promoted, or `dtype`.
    Raises: ShapeError if the shapes differ; ValueError without arrays, or for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import stack
    >>> stack([np.array([1, 2]), np.array([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    return lax.stack(_operands("stack", arrays, dtype, {"out": out, "casting": casting}), axis)


@implements(np.vstack)
@types_decide
def vstack(tup: Sequence[Value], *, dtype: DType = None, casting: str = "same_kind") -> Value:
    """Return the arrays one below the other, vectors as rows.

    >>> import numpy as np
    >>> from calque_numpy import vstack
    >>> vstack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    operands = _operands("vstack", tup, dtype, {"casting": casting})
    return copy(lax.concatenate([atleast_2d(x) for x in operands], 0))


@implements(np.hstack)
@types_decide
def hstack(tup: Sequence[Value], *, dtype: DType = None, casting: str = "same_kind") -> Value:
    """Return the arrays side by side: joined along the second axis, vectors along their only axis.

    >>> import numpy as np
    >>> from calque_numpy import hstack
    >>> hstack([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    operands = [atleast_1d(x) for x in _operands("hstack", tup, dtype, {"casting": casting})]
    return copy(lax.concatenate(operands, 0 if typeof(operands[0]).ndim == 1 else 1))


@implements(np.dstack)
@types_decide
def dstack(tup: Sequence[Value]) -> Value:
    """Return the arrays one behind the other: joined along the third axis.

    >>> import numpy as np
    >>> from calque_numpy import dstack
    >>> dstack([np.array([1, 2]), np.array([3, 4])]).shape
    (1, 2, 2)
    """
    return copy(lax.concatenate([atleast_3d(x) for x in _operands("dstack", tup, None, {})], 2))


@implements(np.column_stack)
@types_decide
def column_stack(tup: Sequence[Value]) -> Value:
    """Return the arrays side by side, vectors as columns.

    >>> import numpy as np
    >>> from calque_numpy import column_stack
    >>> column_stack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 3],
           [2, 4]])
    """
    operands = _operands("column_stack", tup, None, {})
    columns = [x if typeof(x).ndim > 1 else lax.reshape(x, (typeof(x).size, 1)) for x in operands]
    return copy(lax.concatenate(columns, 1))


# Sections


@implements(np.array_split)
def array_split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Return the sections of an array: a number of nearly equal sections, or the slices between indices.

    Raises: ValueError for a number below 1, or for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import array_split
    >>> array_split(np.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def _split(name: str, ary: Value, indices_or_sections: Any, axis: int) -> list[Value]:
    aval = typeof(ary)
    position = canonical_axis(name, axis, aval.ndim)
    size = aval.shape[position]
    edges = _edges(name, indices_or_sections, size)
    bounds = [slice(start, stop).indices(size)[:2] for start, stop in pairwise(edges)]
    sizes = [stop - start for start, stop in bounds]
    if min(sizes) >= 0 and sum(sizes) == size:  # increasing indices: the sections are the whole array
        return lax.split(ary, sizes, position)
    return [_section(ary, position, start, stop) for start, stop in bounds]


def _edges(name: str, indices_or_sections: Any, size: int) -> list[int | None]:
    if not is_array_like(indices_or_sections) or typeof(indices_or_sections).ndim:
        return [0, *integers(name, "indices_or_sections", indices_or_sections), None]
    sections = _section_count(name, indices_or_sections)
    each, extra = divmod(size, sections)
    return [i * each + min(i, extra) for i in range(sections + 1)]


def _section_count(name: str, sections: Any) -> int:
    count = integer(name, "indices_or_sections", sections)
    if count < 1:
        raise ValueError(f"{name}{where()}: the number of sections is {count}. Give at least 1.")
    return count


def _section(x: Value, axis: int, start: int, stop: int) -> Value:
    shape = typeof(x).shape
    starts = [start if d == axis else 0 for d in range(len(shape))]
    stops = [max(start, stop) if d == axis else n for d, n in enumerate(shape)]
    return lax.slice(x, starts, stops)


@implements(np.split)
def split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Return the sections of an array: a number of equal sections, or the slices between indices.

    Raises: ValueError if the axis does not divide into equal sections, or is out of range.

    >>> import numpy as np
    >>> from calque_numpy import split
    >>> split(np.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    return _split_evenly("split", ary, indices_or_sections, axis)


def _split_evenly(name: str, ary: Value, indices_or_sections: Any, axis: int) -> list[Value]:
    aval = typeof(ary)
    if not hasattr(indices_or_sections, "__len__"):
        size = aval.shape[canonical_axis(name, axis, aval.ndim)]
        if size % _section_count(name, indices_or_sections):
            raise ValueError(
                f"{name} of {aval}{where()}: axis {axis} of size {size} does not divide into "
                f"{indices_or_sections} equal sections. Use array_split."
            )
    return _split(name, ary, indices_or_sections, axis)


@implements(np.vsplit)
def vsplit(ary: Value, indices_or_sections: Any) -> list[Value]:
    """Return the sections along the first axis of an array with two axes or more; as `split`.

    >>> import numpy as np
    >>> from calque_numpy import vsplit
    >>> [x.shape for x in vsplit(np.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_evenly("vsplit", _with_axes("vsplit", ary, 2), indices_or_sections, 0)


@implements(np.hsplit)
def hsplit(ary: Value, indices_or_sections: Any) -> list[Value]:
    """Return the sections along the second axis, or along the only axis of a vector; as `split`.

    >>> import numpy as np
    >>> from calque_numpy import hsplit
    >>> [x.shape for x in hsplit(np.zeros((4, 2)), 2)]
    [(4, 1), (4, 1)]
    """
    ary = _with_axes("hsplit", ary, 1)
    return _split_evenly("hsplit", ary, indices_or_sections, min(typeof(ary).ndim - 1, 1))


@implements(np.dsplit)
def dsplit(ary: Value, indices_or_sections: Any) -> list[Value]:
    """Return the sections along the third axis; as `split`.

    >>> import numpy as np
    >>> from calque_numpy import dsplit
    >>> [x.shape for x in dsplit(np.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split_evenly("dsplit", _with_axes("dsplit", ary, 3), indices_or_sections, 2)


def _with_axes(name: str, x: Value, least: int) -> Value:
    aval = typeof(x)
    if aval.ndim < least:
        raise ValueError(f"{name} of {aval}{where()}: the array must have at least {least} axes. Use split.")
    return x


@implements(*of_numpy("unstack"))
def unstack(x: Value, /, *, axis: int = 0) -> tuple[Value, ...]:
    """Return the slices of an array along `axis`, without that axis.

    Raises: ValueError for a scalar, or an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import unstack
    >>> unstack(np.array([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    if not typeof(x).ndim:
        raise ValueError(f"unstack of {typeof(x)}{where()}: a scalar has no axes. Give an array.")
    return tuple(lax.unstack(x, axis))


@implements(np.block)
@types_decide
def block(arrays: Any) -> Value:
    """Return an array made of blocks: the innermost lists are joined along the last axis, lists of them along the next.

    Arrays of lower rank get leading axes of size 1.
    Dtype: promoted.
    Raises: ValueError for an empty list, or lists that are not equally deep; TypeError for a tuple; ShapeError if the
    sizes of the blocks do not fit.

    >>> import numpy as np
    >>> from calque_numpy import block
    >>> block([[np.ones((1, 2)), np.zeros((1, 1))], [np.zeros((1, 3))]])
    array([[1., 1., 0.],
           [0., 0., 0.]])
    """
    depths = set(_depths(arrays, 0))
    if len(depths) > 1:
        raise ValueError(f"block{where()}: the lists are {sorted(depths)} deep. Use lists of one depth.")
    (depth,) = depths
    ndim = max(depth, *(typeof(x).ndim for x in _blocks(arrays)))
    return _joined(arrays, -depth, ndim)


def _depths(arrays: Any, depth: int) -> Iterator[int]:
    """Return the depth of each block.  Raises: ValueError for an empty list; TypeError for a tuple."""
    if isinstance(arrays, tuple):
        raise TypeError(f"block{where()} got a tuple of blocks. Use lists.")
    if not isinstance(arrays, list):
        yield depth
    elif not arrays:
        raise ValueError(f"block{where()} got an empty list. Give at least one array.")
    for item in arrays if isinstance(arrays, list) else ():
        yield from _depths(item, depth + 1)


def _blocks(arrays: Any) -> Iterator[Value]:
    if isinstance(arrays, list):
        for item in arrays:
            yield from _blocks(item)
    else:
        yield arrays


def _joined(arrays: Any, axis: int, ndim: int) -> Value:
    if isinstance(arrays, list):
        return concatenate([_joined(item, axis + 1, ndim) for item in arrays], axis)
    x = asarray(arrays)
    return lax.expand_dims(x, range(ndim - typeof(x).ndim))
