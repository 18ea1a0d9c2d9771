"""Statistics of a sample: the most frequent number, ranks, the standard error of the mean.

One idea: equal numbers are neighbours in the sorted sample, and a running maximum of their first positions tells how
many there are.

Read next: `stats.py`, for distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calque_core import canonicalize_dtype, lax, typeof
from calque_core.engine.numpy_functions import any as any_of
from calque_core.engine.numpy_functions import argmax, as_dtype, broadcast_to, canonical_axis, isnan, std
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.nan_reductions import nanstd
from calque_numpy.shapes import moveaxis
from calque_numpy.sorting import argsort, sort
from calque_numpy.taking import take_along_axis

Value = Any


class ModeResult(NamedTuple):
    """The most frequent numbers and how often they occur."""

    mode: Value
    count: Value


def _check_policy(name: str, nan_policy: str, *policies: str) -> None:
    if nan_policy not in policies:
        choices = " or ".join(map(repr, policies))
        raise ValueError(f"{name}{place()}: nan_policy is {nan_policy!r}. Use {choices}, or remove NaN first.")


def _positions(x: Value) -> Value:
    """Return the position of each element in its row."""
    aval = typeof(x)
    return lax.broadcasted_iota(canonicalize_dtype(np.intp), aval.shape, aval.ndim - 1)


def _shifted(x: Value, fill: Value) -> Value:
    """Return the rows with each element moved to the next place, and `fill` at the first."""
    last = typeof(x).ndim - 1
    return lax.pad(x, fill, [(0, 0, 0)] * last + [(1, -1, 0)])


def _begins(ordered: Value) -> Value:
    """Tell where a number of sorted rows differs from the one before, as the first one does; NaN equals NaN."""
    before = _shifted(ordered, typeof(ordered).dtype.type(0))
    is_other = lax.ne(ordered, before) & ~(isnan(ordered) & isnan(before))
    return is_other | lax.eq(_positions(ordered), 0)


def _first_places(is_new: Value) -> Value:
    """Return for each element of sorted rows the position of the first equal one."""
    return lax.cummax(lax.select(is_new, _positions(is_new), 0), axis=typeof(is_new).ndim - 1)


def _rows(name: str, a: Value, axis: int | None) -> tuple[Value, int | None]:
    """Return the array and the axis; for None the vector of all elements."""
    a = asarray(a)
    if axis is None:
        return lax.reshape(a, (typeof(a).size,)), None
    return a, canonical_axis(name, axis, typeof(a).ndim)


def mode(a: Value, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """Return the most frequent number along the axis, the least of several, and how often it occurs.

    NaN counts as one number, the largest.
    Shapes: a [*s] -> [*s] without the axis, or with size 1 for `keepdims`; of all elements for `axis=None`.  Dtypes:
    a's, and an integer.
    Raises: ValueError for an axis out of range, no elements, and another `nan_policy` than "propagate".

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import mode
    >>> mode(np.array([3, 1, 3, 2, 1]))
    ModeResult(mode=np.int64(1), count=np.int64(2))
    """
    _check_policy("mode", nan_policy, "propagate")
    x, along = _rows("mode", a, axis)
    along = 0 if along is None else along
    if not typeof(x).shape[along]:
        raise ValueError(f"mode of {typeof(x)}{place()}: there are no elements along the axis {along}. Give some.")
    ordered = sort(moveaxis(x, along, -1))
    counts = _positions(ordered) + 1 - _first_places(_begins(ordered))  # up to each element
    best = argmax(counts, -1, keepdims=True)
    numbers, counts = (take_along_axis(each, best, -1) for each in (ordered, counts))
    return ModeResult(*(_reduced(each, asarray(a), axis, along, keepdims) for each in (numbers, counts)))


def _reduced(x: Value, a: Value, axis: int | None, along: int, keepdims: bool) -> Value:
    """Return the result, whose last axis has size 1, in the shape of a reduction of a."""
    if not keepdims:
        return lax.squeeze(x, (typeof(x).ndim - 1,))
    return lax.reshape(x, (1,) * typeof(a).ndim) if axis is None else moveaxis(x, -1, along)


def rankdata(a: Value, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Value:
    """Return the ranks of the elements, from 1 on; equal numbers have one rank, and NaN makes all ranks NaN.

    Equal numbers get the average, the least or the greatest of their positions by the methods "average", "min" and
    "max"; "dense" counts different numbers, and "ordinal" gives each element its position.
    Shapes: a [*s] -> [n] for `axis=None`, the ranks of all n elements; otherwise [*s].  Dtype: float64.
    Raises: ValueError for another method, an axis out of range, or another `nan_policy` than "propagate".

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import rankdata
    >>> rankdata(np.array([30, 10, 10]))
    array([3. , 1.5, 1.5])
    """
    _check_policy("rankdata", nan_policy, "propagate")
    if method not in _METHODS:
        raise ValueError(f"rankdata{place()}: method is {method!r}. Use one of {', '.join(map(repr, _METHODS))}.")
    x, along = _rows("rankdata", a, axis)
    along = 0 if along is None else along
    rows = moveaxis(x, along, -1)
    order = argsort(rows, stable=True)
    ranks = _METHODS[method](_begins(take_along_axis(rows, order, -1)))
    ranks = as_dtype(take_along_axis(ranks, argsort(order), -1), canonicalize_dtype(np.float64))
    return moveaxis(
        lax.select(broadcast_to(any_of(isnan(rows), -1, keepdims=True), typeof(rows).shape), np.nan, ranks), -1, along
    )


def _last_ranks(is_new: Value) -> Value:
    """Return the rank of the last equal number: those of sorted rows, from the reversed rows."""
    last = typeof(is_new).ndim - 1
    is_last = lax.rev(_shifted(lax.rev(is_new, (last,)), np.bool_(True)), (last,))
    ends = lax.select(is_last, _positions(is_new) + 1, np.iinfo(canonicalize_dtype(np.intp)).max)
    return lax.cummin(ends, axis=last, reverse=True)


_METHODS: dict[str, Callable[[Value], Value]] = {
    "average": lambda is_new: (_first_places(is_new) + 1 + _last_ranks(is_new)) / 2,
    "min": lambda is_new: _first_places(is_new) + 1,
    "max": _last_ranks,
    "dense": lambda is_new: lax.cumsum(as_dtype(is_new, canonicalize_dtype(np.intp)), axis=typeof(is_new).ndim - 1),
    "ordinal": lambda is_new: _positions(is_new) + 1,
}


def sem(
    a: Value, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Value:
    """Return the standard error of the mean: the standard deviation over the root of the number of elements.

    With `nan_policy="omit"` NaN does not count.
    Shapes: a [*s] -> [*s] without the axis, or with size 1 for `keepdims`.  Dtype: as `calque_numpy.std`.
    Raises: ValueError for an axis out of range and another `nan_policy`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import sem
    >>> sem(np.array([1.0, 2.0, 3.0, 4.0]))
    np.float64(0.6454972243679028)
    """
    _check_policy("sem", nan_policy, "propagate", "omit")
    x, along = _rows("sem", a, axis)
    along = 0 if along is None else along
    deviation = (std if nan_policy == "propagate" else nanstd)(x, along, ddof=ddof, keepdims=True)
    real = typeof(lax.real(deviation) if typeof(deviation).kind == "c" else deviation).dtype
    present = ~isnan(x) if nan_policy == "omit" else lax.full_like(x, True, np.bool_)
    out = deviation / lax.sqrt(total(present, along, real, keepdims=True))
    if not keepdims:
        return lax.squeeze(out, (along,))
    return lax.reshape(out, (1,) * typeof(asarray(a)).ndim) if axis is None else out
