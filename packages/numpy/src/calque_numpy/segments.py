"""Reductions of segments: the elements whose segment numbers are equal become one element of the result.

One idea: a segment's reduction is a scatter into an array of neutral elements, so its derivatives, its batches and its
compiled form are those of the scatter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import ConcretizationTypeError, ShapeError, is_tracer, lax, typeof
from calque_core.engine import highest, lowest
from calque_numpy.creation import asarray

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

Value = Any
Mode = str | lax.GatherScatterMode | None


def segment_sum(
    data: Value,
    segment_ids: Value,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    *,
    mode: Mode = None,
) -> Value:
    """Return the sum of each segment of `data`; an empty segment has the sum 0.

    Shapes: data [*i, *s], segment_ids [*i] -> [num_segments, *s].  Dtype: that of `data`.
    An element whose number is outside [0, num_segments) is left out.  `num_segments=None` means the greatest number
    plus 1, which has to be known; so a traced `segment_ids` needs `num_segments`.  The two promises and `mode` are
    those of `lax.scatter_add`.
    Raises: TypeError if `segment_ids` are no integers; ShapeError if the shape of `data` does not begin with that of
    `segment_ids`; ConcretizationTypeError for traced `segment_ids` without `num_segments`.

    >>> import numpy as np
    >>> from calque_numpy.segments import segment_sum
    >>> segment_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2]))
    array([3., 0., 4.])
    """
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    return _reduced("segment_sum", lax.scatter_add, _zero, data, segment_ids, num_segments, promises)


def segment_prod(
    data: Value,
    segment_ids: Value,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    *,
    mode: Mode = None,
) -> Value:
    """Return the product of each segment of `data`, as `segment_sum` does; an empty segment has the product 1.

    >>> import numpy as np
    >>> from calque_numpy.segments import segment_prod
    >>> segment_prod(np.array([3.0, 2.0, 4.0]), np.array([0, 0, 2]))
    array([6., 1., 4.])
    """
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    return _reduced("segment_prod", lax.scatter_mul, _one, data, segment_ids, num_segments, promises)


def segment_max(
    data: Value,
    segment_ids: Value,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    *,
    mode: Mode = None,
) -> Value:
    """Return the greatest element of each segment of `data`, as `segment_sum` does.

    An empty segment has the least number of the dtype, -inf for floats.

    >>> import numpy as np
    >>> from calque_numpy.segments import segment_max
    >>> segment_max(np.array([3.0, 2.0, 4.0]), np.array([0, 0, 2]))
    array([  3., -inf,   4.])
    """
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    return _reduced("segment_max", lax.scatter_max, lowest, data, segment_ids, num_segments, promises)


def segment_min(
    data: Value,
    segment_ids: Value,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    *,
    mode: Mode = None,
) -> Value:
    """Return the least element of each segment of `data`, as `segment_sum` does.

    An empty segment has the greatest number of the dtype, inf for floats.

    >>> import numpy as np
    >>> from calque_numpy.segments import segment_min
    >>> segment_min(np.array([3.0, 2.0, 4.0]), np.array([0, 0, 2]))
    array([ 2., inf,  4.])
    """
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    return _reduced("segment_min", lax.scatter_min, highest, data, segment_ids, num_segments, promises)


def _zero(dtype: np.dtype[Any]) -> Value:
    return dtype.type(0)


def _one(dtype: np.dtype[Any]) -> Value:
    return dtype.type(1)


def _reduced(
    name: str,
    scatter: Callable[..., Value],
    neutral: Callable[[np.dtype[Any]], Value],
    data: Value,
    segment_ids: Value,
    num_segments: int | None,
    promises: dict[str, Any],
) -> Value:
    """Return an array of neutral elements with `data` scattered into it."""
    data, segment_ids = asarray(data), asarray(segment_ids)
    aval, ids_aval = typeof(data), typeof(segment_ids)
    if ids_aval.kind not in "iu":
        raise TypeError(f"{name} got segment_ids of type {ids_aval}. Segment numbers must be integers.")
    if aval.shape[: ids_aval.ndim] != ids_aval.shape:
        raise ShapeError(
            f"{name} got data of shape {aval.shape} and segment_ids of shape {ids_aval.shape}. "
            "Each element along the leading axes of data needs one segment number."
        )
    if num_segments is None:
        num_segments = _count(name, segment_ids)
    start = lax.full((num_segments, *aval.shape[ids_aval.ndim :]), neutral(aval.dtype), aval.dtype)
    if num_segments == 0:  # a scatter needs an element
        return start
    windows = lax.ScatterDimensionNumbers(
        tuple(range(ids_aval.ndim, aval.ndim)), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    return scatter(start, lax.expand_dims(segment_ids, (ids_aval.ndim,)), data, windows, **promises)


def _count(name: str, segment_ids: Value) -> int:
    """Return the greatest segment number plus 1."""
    if is_tracer(segment_ids):
        raise ConcretizationTypeError(
            f"{name} got traced segment_ids, {typeof(segment_ids)}, and no num_segments, so the shape of the result "
            "would depend on their values. Pass num_segments=, an int."
        )
    return int(np.max(np.asarray(segment_ids), initial=-1)) + 1
