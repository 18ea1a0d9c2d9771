"""Places of nonzero elements, distinct elements, and sets: results whose shape depends on values.

One idea: of known values NumPy computes; of traced values the caller says the size, `size=`, since a program has fixed
shapes.  Then the result has the first `size` elements, and `fill_value` after the last one.

Read next: `searching.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from calque_core import NumpyRuleError, canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.extend import where as place
from calque_core.extend.numpy_functions import any as any_of
from calque_core.extend.numpy_functions import as_dtype, at, broadcast_to, canonical_axis, isnan, ravel
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate
from calque_numpy.searching import bincount, searchsorted
from calque_numpy.shapes import moveaxis

Value = Any


def _is_known(*arrays: Value) -> bool:
    return all(isinstance(x, (np.ndarray, np.generic)) for x in arrays)


def _require_size(name: str, x: Value, size: int | None) -> int:
    """Return the size that the caller says.

    Raises: NumpyRuleError without a size.
    """
    if size is None:
        raise NumpyRuleError(
            f"{name} of {typeof(x)}{place()}: the shape of the result depends on the values of a traced array. "
            f"Use calque_numpy.{name}(.., size=n), which returns the first n elements."
        )
    return size


# Places of nonzero elements


@implements(np.nonzero)
def nonzero(a: Value, *, size: int | None = None, fill_value: Value = None) -> tuple[Value, ...]:
    """Return the places of the nonzero elements in the order of the flat array, one vector of indices for each axis.

    Shapes: a [n, m] -> [k], [k] for k nonzero elements, or [size]; `fill_value`, by default 0, comes after the last.
    Raises: NumpyRuleError for a traced array without `size`; ValueError for a scalar.

    >>> import numpy as np
    >>> from calque_numpy import nonzero
    >>> nonzero(np.array([0, 3, 0, 5]), size=3)
    (array([1, 3, 0]),)
    """
    return _nonzero("nonzero", asarray(a), size, fill_value)


def _nonzero(name: str, a: Value, size: int | None, fill_value: Value) -> tuple[Value, ...]:
    """Return the places of the nonzero elements for the function `name`."""
    shape = typeof(a).shape
    if not shape:
        raise ValueError(f"{name} of {typeof(a)}{place()}: a scalar has no axes. Use numpy.atleast_1d.")
    if size is None and _is_known(a):
        return tuple(np.nonzero(a))
    size = _require_size(name, a, size)
    is_nonzero = ravel(lax.ne(a, 0))
    flat, exists = _first_places(is_nonzero, size)
    fill = as_dtype(0 if fill_value is None else fill_value, typeof(flat).dtype)
    indices = []
    for d, n in enumerate(shape):
        stride = math.prod(shape[d + 1 :])
        index = lax.rem(lax.div(flat, max(stride, 1)), max(n, 1))
        indices.append(lax.select(exists, index, fill))
    return tuple(indices)


def _first_places(mask: Value, size: int) -> tuple[Value, Value]:
    """Return the first `size` places where a vector of bools is true, and which of them exist."""
    index = canonicalize_dtype(np.intp)
    counts = lax.cumsum(as_dtype(mask, index), 0)
    target = lax.select(mask, lax.sub(counts, 1), size)
    blank = lax.full((size + 1,), 0, index)  # the last row takes the places of zeros
    places = at(blank)[target].set(lax.iota(index, typeof(mask).shape[0]), mode="drop")[:size]
    total = counts[-1] if typeof(mask).shape[0] else lax.full((), 0, index)
    return places, lax.lt(lax.iota(index, size), total)


@implements(np.flatnonzero)
def flatnonzero(a: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the places of the nonzero elements in the flat array; `size` and `fill_value` as for `nonzero`.

    >>> import numpy as np
    >>> from calque_numpy import flatnonzero
    >>> flatnonzero(np.array([[0, 3], [0, 5]]))
    array([1, 3])
    """
    return _nonzero("flatnonzero", ravel(asarray(a)), size, fill_value)[0]


@implements(np.argwhere)
def argwhere(a: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the places of the nonzero elements as rows; `size` and `fill_value` as for `nonzero`.

    Shapes: a of n axes -> [k, n].

    >>> import numpy as np
    >>> from calque_numpy import argwhere
    >>> argwhere(np.array([[0, 3], [5, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    a = asarray(a)
    if not typeof(a).ndim:
        rows = argwhere(lax.expand_dims(a, (0,)), size=size, fill_value=fill_value)
        return lax.slice_in_dim(rows, 0, 0, axis=1)
    return lax.stack(_nonzero("argwhere", a, size, fill_value), 1)


# Distinct elements


class UniqueAllResult(NamedTuple):
    """The distinct elements, the places of their first occurrences, the inverse, and their counts."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class UniqueCountsResult(NamedTuple):
    """The distinct elements and their counts."""

    values: Value
    counts: Value


class UniqueInverseResult(NamedTuple):
    """The distinct elements, and the place of each element of the array among them."""

    values: Value
    inverse_indices: Value


def _distinct(
    name: str, ar: Value, size: int | None, fill_value: Value = None, equal_nan: bool = False
) -> UniqueAllResult:
    """Return the distinct elements of an array in increasing order, to a size that the caller says."""
    size = _require_size(name, ar, size)
    x = ravel(ar)
    ordered, order = lax.sort((x, lax.iota(canonicalize_dtype(np.intp), typeof(x).size)), 0)
    differs = lax.ne(ordered[1:], ordered[:-1])
    if equal_nan and typeof(x).kind in "fc":
        both_nan = lax.bitwise_and(isnan(ordered[1:]), isnan(ordered[:-1]))
        differs = lax.bitwise_and(differs, lax.bitwise_not(both_nan))
    distinct = _at_first_places(ordered, order, differs, size, fill_value)
    return distinct._replace(inverse_indices=lax.reshape(distinct.inverse_indices, typeof(ar).shape))


def _distinct_rows(ar: Value, axis: int, size: int | None, fill_value: Value) -> UniqueAllResult:
    """Return the distinct slices along an axis, ordered by their first elements that differ."""
    size, axis = _require_size("unique", ar, size), canonical_axis("unique", axis, typeof(ar).ndim)
    rows = moveaxis(ar, axis, 0)
    n, *rest = typeof(rows).shape
    columns = lax.unstack(lax.reshape(rows, (n, math.prod(rest))), 1)
    *_, order = lax.sort((*columns, lax.iota(canonicalize_dtype(np.intp), n)), 0, num_keys=max(len(columns), 1))
    ordered = at(rows)[order].get()
    differs = any_of(lax.ne(ordered[1:], ordered[:-1]), tuple(range(1, len(rest) + 1)))
    distinct = _at_first_places(ordered, order, differs, size, fill_value)
    return distinct._replace(values=moveaxis(distinct.values, 0, axis))


def _at_first_places(ordered: Value, order: Value, differs: Value, size: int, fill_value: Value) -> UniqueAllResult:
    """Return the elements of a sorted array that differ from the one before, and their places before sorting."""
    n, *rest = typeof(ordered).shape
    dtype, index = typeof(ordered).dtype, typeof(order).dtype
    is_new = lax.concatenate([lax.full((min(n, 1),), True), differs], 0)
    position = lax.sub(lax.cumsum(as_dtype(is_new, index), 0), 1)
    fill = ordered[0] if fill_value is None and n else as_dtype(asarray(0 if fill_value is None else fill_value), dtype)
    blank = broadcast_to(fill, (size + 1, *rest))  # the last element takes repetitions
    values = at(blank)[lax.select(is_new, position, size)].set(ordered, mode="drop")[:size]
    first = at(lax.full((size + 1,), max(n - 1, 0), index))[position].min(order, mode="drop")[:size]
    inverse = at(lax.full((n,), 0, index))[order].set(position)
    counts = bincount(position, length=size + 1)[:size]
    index_of_fill = lax.broadcast_in_dim(first[0], (size,), ()) if size else first
    first = lax.select(lax.gt(counts, 0), first, index_of_fill)
    return UniqueAllResult(values, first, inverse, counts)


@implements(np.unique)
def unique(  # noqa: PLR0913  (NumPy's signature, and JAX's size)
    ar: Value,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: int | None = None,
    fill_value: Value = None,
) -> Any:
    """Return the distinct elements in increasing order; on request also first places, the inverse, and counts.

    Shapes: ar [*s] -> [k] for k distinct elements, or [size]; `fill_value`, by default the least element, comes after
    the last.  The inverse has the shape of `ar`.  By an axis, the distinct slices along it, in which NaN are distinct.
    Raises: NumpyRuleError for a traced array without `size`; ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import unique
    >>> unique(np.array([3, 1, 3]), return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    ar = asarray(ar)
    if size is None and _is_known(ar):
        chosen = return_index, return_inverse, return_counts
        return np.unique(ar, *chosen, axis, equal_nan=equal_nan)  # type: ignore[call-overload]
    if axis is None:
        distinct = _distinct("unique", ar, size, fill_value, equal_nan)
    else:
        distinct = _distinct_rows(ar, axis, size, fill_value)
    extra = (
        (return_index, distinct.indices),
        (return_inverse, distinct.inverse_indices),
        (return_counts, distinct.counts),
    )
    results = (distinct.values, *(result for is_chosen, result in extra if is_chosen))
    return results if len(results) > 1 else results[0]


@implements(np.unique_values)
def unique_values(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the distinct elements in increasing order; NaN are distinct.  `size` and `fill_value` as for `unique`.

    >>> import numpy as np
    >>> from calque_numpy import unique_values
    >>> unique_values(np.array([1, 1]))
    array([1])
    """
    x = asarray(x)
    if size is None and _is_known(x):
        return np.unique(x, equal_nan=False)
    return _distinct("unique_values", x, size, fill_value).values


@implements(np.unique_all)
def unique_all(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> UniqueAllResult:
    """Return the distinct elements, their first places in the flat array, the inverse with the shape of x, and counts.

    NaN are distinct.  `size`, `fill_value` and errors as for `unique`.

    >>> import numpy as np
    >>> from calque_numpy import unique_all
    >>> unique_all(np.array([3, 1, 3])).indices
    array([1, 0])
    """
    return _unique_all("unique_all", x, size, fill_value)


def _unique_all(name: str, x: Value, size: int | None, fill_value: Value) -> UniqueAllResult:
    x = asarray(x)
    if size is None and _is_known(x):
        return UniqueAllResult(*np.unique(x, True, True, True, equal_nan=False))
    return _distinct(name, x, size, fill_value)


@implements(np.unique_counts)
def unique_counts(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> UniqueCountsResult:
    """Return the distinct elements and how often each occurs; as `unique_all`.

    >>> import numpy as np
    >>> from calque_numpy import unique_counts
    >>> unique_counts(np.array([3, 1, 3])).counts
    array([1, 2])
    """
    distinct = _unique_all("unique_counts", x, size, fill_value)
    return UniqueCountsResult(distinct.values, distinct.counts)


@implements(np.unique_inverse)
def unique_inverse(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> UniqueInverseResult:
    """Return the distinct elements, and the place of each element of `x` among them; as `unique_all`.

    >>> import numpy as np
    >>> from calque_numpy import unique_inverse
    >>> unique_inverse(np.array([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    distinct = _unique_all("unique_inverse", x, size, fill_value)
    return UniqueInverseResult(distinct.values, distinct.inverse_indices)


# Sets


@implements(np.isin)
def isin(
    element: Value,
    test_elements: Value,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Value:
    """Return which elements are among the test elements; with `invert`, which are not.  NaN is not.

    Shapes: element [*s], test_elements of any shape -> [*s].

    >>> import numpy as np
    >>> from calque_numpy import isin
    >>> isin(np.array([1, 2, 3]), [1, 3])
    array([ True, False,  True])
    """
    element, tests = asarray(element), ravel(asarray(test_elements))
    dtype = result_type(element, tests)
    element, tests = as_dtype(element, dtype), as_dtype(tests, dtype)
    if not typeof(tests).size:
        is_in = lax.full(typeof(element).shape, False)
    elif typeof(tests).size <= 16 or dtype.kind in "cb":
        is_in = any_of(lax.eq(lax.expand_dims(element, (typeof(element).ndim,)), tests), -1)
    else:
        ordered = lax.sort(tests, 0)
        is_in = lax.eq(at(ordered)[searchsorted(ordered, element)].get(mode="clip"), element)
    return lax.bitwise_not(is_in) if invert else is_in


def _both(name: str, ar1: Value, ar2: Value) -> tuple[Value, Value]:
    ar1, ar2 = ravel(asarray(ar1)), ravel(asarray(ar2))
    if not _is_known(ar1, ar2):
        raise NumpyRuleError(
            f"{name} of {typeof(ar1)} and {typeof(ar2)}{place()}: the shape of the result depends on the values of a "
            "traced array. Use calque_numpy.isin, which gives a mask."
        )
    return ar1, ar2


@implements(np.intersect1d)
def intersect1d(ar1: Value, ar2: Value, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the distinct elements of both arrays, whose values are known.

    Raises: NumpyRuleError for a traced array.

    >>> import numpy as np
    >>> from calque_numpy import intersect1d
    >>> intersect1d(np.array([1, 2]), np.array([2, 3]))
    array([2])
    """
    x, y = _both("intersect1d", ar1, ar2)
    return np.intersect1d(x, y, assume_unique, return_indices)  # type: ignore[call-overload]


@implements(np.setdiff1d)
def setdiff1d(ar1: Value, ar2: Value, assume_unique: bool = False) -> Value:
    """Return the distinct elements of the first array that are not in the second; both are known.

    Raises: NumpyRuleError for a traced array.

    >>> import numpy as np
    >>> from calque_numpy import setdiff1d
    >>> setdiff1d(np.array([1, 2]), np.array([2, 3]))
    array([1])
    """
    return np.setdiff1d(*_both("setdiff1d", ar1, ar2), assume_unique)


@implements(np.setxor1d)
def setxor1d(ar1: Value, ar2: Value, assume_unique: bool = False) -> Value:
    """Return the distinct elements of one array alone; both are known.

    Raises: NumpyRuleError for a traced array.

    >>> import numpy as np
    >>> from calque_numpy import setxor1d
    >>> setxor1d(np.array([1, 2]), np.array([2, 3]))
    array([1, 3])
    """
    return np.setxor1d(*_both("setxor1d", ar1, ar2), assume_unique)


@implements(np.union1d)
def union1d(ar1: Value, ar2: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the distinct elements of both arrays; `size` and `fill_value` as for `unique`.

    Raises: NumpyRuleError for a traced array without `size`.

    >>> import numpy as np
    >>> from calque_numpy import union1d
    >>> union1d(np.array([1, 2]), np.array([2, 3]))
    array([1, 2, 3])
    """
    joined = concatenate([ar1, ar2], axis=None)
    if size is None and _is_known(joined):
        return np.unique(joined)
    return _distinct("union1d", joined, size, fill_value, equal_nan=True).values
