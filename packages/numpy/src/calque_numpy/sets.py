"""Distinct elements, and sets: results whose shape depends on values.

One idea: of known values NumPy computes; under a derivative, it says at which positions the elements of the result are,
and the derivative goes to them.  Of other traced values the caller says the size, `size=`, since a program has fixed
shapes.  Then the result has the first `size` elements, and `fill_value` after the last one.

Read next: `searching.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from calque_core import canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.engine.numpy_functions import any as any_of
from calque_core.engine.numpy_functions import as_dtype, at, broadcast_to, canonical_axis, isnan, ravel
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate
from calque_numpy.known_sets import (
    difference_of_known,
    distinct_of_known,
    exclusive_of_known,
    intersection_of_known,
)
from calque_numpy.places import elements_at, first_places, is_known, known_arrays, require_size
from calque_numpy.searching import bincount, searchsorted
from calque_numpy.shapes import moveaxis

Value = Any


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
    size = require_size(name, ar, size)
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
    size, axis = require_size("unique", ar, size), canonical_axis("unique", axis, typeof(ar).ndim)
    rows = moveaxis(ar, axis, 0)
    n, *row_shape = typeof(rows).shape
    columns = lax.unstack(lax.reshape(rows, (n, math.prod(row_shape))), 1)
    *_, order = lax.sort((*columns, lax.iota(canonicalize_dtype(np.intp), n)), 0, num_keys=max(len(columns), 1))
    ordered = at(rows)[order].get()
    differs = any_of(lax.ne(ordered[1:], ordered[:-1]), tuple(range(1, len(row_shape) + 1)))
    distinct = _at_first_places(ordered, order, differs, size, fill_value)
    return distinct._replace(values=moveaxis(distinct.values, 0, axis))


def _at_first_places(ordered: Value, order: Value, differs: Value, size: int, fill_value: Value) -> UniqueAllResult:
    """Return the elements of a sorted array that differ from the one before, and their places before sorting."""
    n, *row_shape = typeof(ordered).shape
    dtype, index = typeof(ordered).dtype, typeof(order).dtype
    is_new = lax.concatenate([lax.full((min(n, 1),), True), differs], 0)
    position = lax.sub(lax.cumsum(as_dtype(is_new, index), 0), 1)
    fill = ordered[0] if fill_value is None and n else as_dtype(asarray(0 if fill_value is None else fill_value), dtype)
    blank = broadcast_to(fill, (size + 1, *row_shape))  # the last element takes repetitions
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
    Raises: NumpyRuleError for a traced array of unknown values without `size`; ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import unique
    >>> unique(np.array([3, 1, 3]), return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    ar = asarray(ar)
    if size is None and is_known(ar):
        chosen = return_index, return_inverse, return_counts
        return np.unique(ar, *chosen, axis, equal_nan=equal_nan)  # type: ignore[call-overload]
    if size is None and (values := known_arrays(ar)):
        return distinct_of_known(ar, values[0], (return_index, return_inverse, return_counts, axis, equal_nan))
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
    if size is None and is_known(x):
        return np.unique(x, equal_nan=False)
    if size is None and (values := known_arrays(x)):
        return distinct_of_known(x, values[0], (False, False, False, None, False))
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
    if size is None and is_known(x):
        return UniqueAllResult(*np.unique(x, True, True, True, equal_nan=False))
    if size is None and (values := known_arrays(x)):
        return UniqueAllResult(*distinct_of_known(x, values[0], (True, True, True, None, False)))
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

_METHODS = ("auto", "binary_search", "compare_all", "sort")  # of JAX's isin


@implements(np.isin)
def isin(
    element: Value,
    test_elements: Value,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
    method: str | None = None,
) -> Value:
    """Return which elements are among the test elements; with `invert`, which are not.  NaN is not.

    JAX's `method` may be any of its names, and changes nothing.
    Shapes: element [*s], test_elements of any shape -> [*s].
    Raises: ValueError for another method or kind.

    >>> import numpy as np
    >>> from calque_numpy import isin
    >>> isin(np.array([1, 2, 3]), [1, 3])
    array([ True, False,  True])
    """
    if method not in (None, *_METHODS):
        raise ValueError(f"isin{place()}: the method is {method!r}. Leave it out; JAX's are {', '.join(_METHODS)}.")
    if kind not in (None, "sort", "table"):
        raise ValueError(f"isin{place()}: the kind is {kind!r}. Leave it out; NumPy's are 'sort' and 'table'.")
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


def _flat(ar1: Value, ar2: Value) -> tuple[Value, Value]:
    """Return both arrays flat, in one dtype."""
    dtype = result_type(ar1, ar2)
    return as_dtype(ravel(ar1), dtype), as_dtype(ravel(ar2), dtype)


def _members(name: str, x: Value) -> tuple[Value, Value]:
    """Return the distinct elements of a vector in increasing order, and where they are: repetitions come after."""
    distinct = _distinct(name, x, typeof(x).size)
    return distinct.values, lax.gt(distinct.counts, 0)


def _chosen(values: Value, mask: Value, size: int, fill_value: Value) -> Value:
    """Return the first `size` elements of a mask; the first, or 0 of none, stands for a `fill_value` of None."""
    places, exists = first_places(mask, size)
    if fill_value is None:
        fill_value = elements_at(values, places[:1], exists[:1], 0) if size else 0
    return elements_at(values, places, exists, fill_value)


@implements(np.intersect1d)
def intersect1d(
    ar1: Value,
    ar2: Value,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Value = None,
) -> Any:
    """Return the distinct elements of both arrays, on request with their places in the flat arrays.

    Shapes: [k], or [size]: `fill_value`, by default the least element, comes after the last, and the size of the array
    after the last place.
    Raises: NumpyRuleError for a traced array of unknown values without `size`.

    >>> import numpy as np
    >>> from calque_numpy import intersect1d
    >>> intersect1d(np.array([1, 2]), np.array([2, 3]))
    array([2])
    """
    x, y = asarray(ar1), asarray(ar2)
    if size is None and is_known(x, y):
        return np.intersect1d(x, y, assume_unique, return_indices)  # type: ignore[call-overload]
    if size is None and (values := known_arrays(x, y)):
        return intersection_of_known(_flat(x, y)[0], values, assume_unique, return_indices)
    size = require_size("intersect1d", x, size)
    x, y = _flat(x, y)
    values, exists = _members("intersect1d", x)
    is_common = lax.bitwise_and(exists, isin(values, y))
    out = _chosen(values, is_common, size, fill_value)
    if not return_indices:
        return out
    _, exists = first_places(is_common, size)
    return out, _first_occurrences(x, out, exists), _first_occurrences(y, out, exists)


def _first_occurrences(x: Value, values: Value, exists: Value) -> Value:
    """Return where each value is first in a vector, or the vector's size where it does not exist."""
    ordered, order = lax.sort((x, lax.iota(canonicalize_dtype(np.intp), typeof(x).size)), 0)
    return elements_at(order, searchsorted(ordered, values), exists, typeof(x).size)


@implements(np.setdiff1d)
def setdiff1d(
    ar1: Value, ar2: Value, assume_unique: bool = False, *, size: int | None = None, fill_value: Value = None
) -> Value:
    """Return the distinct elements of the first array that are not in the second.

    With `assume_unique`, the elements stay in their order, otherwise they increase.
    Shapes: [k], or [size]: `fill_value`, by default 0, comes after the last.
    Raises: NumpyRuleError for a traced array of unknown values without `size`.

    >>> import numpy as np
    >>> from calque_numpy import setdiff1d
    >>> setdiff1d(np.array([1, 2]), np.array([2, 3]))
    array([1])
    """
    x, y = asarray(ar1), asarray(ar2)
    if size is None and is_known(x, y):
        return np.setdiff1d(x, y, assume_unique)
    if size is None and (values := known_arrays(x, y)):
        return difference_of_known(ravel(x), values, assume_unique)
    size = require_size("setdiff1d", x, size)
    x = ravel(x)
    values, exists = (x, lax.full(typeof(x).shape, True)) if assume_unique else _members("setdiff1d", x)
    is_alone = lax.bitwise_and(exists, isin(values, y, invert=True))
    return _chosen(values, is_alone, size, 0 if fill_value is None else fill_value)


@implements(np.setxor1d)
def setxor1d(
    ar1: Value, ar2: Value, assume_unique: bool = False, *, size: int | None = None, fill_value: Value = None
) -> Value:
    """Return the distinct elements of one array alone.

    Shapes: [k], or [size]: `fill_value`, by default the least element, comes after the last.
    Raises: NumpyRuleError for a traced array of unknown values without `size`.

    >>> import numpy as np
    >>> from calque_numpy import setxor1d
    >>> setxor1d(np.array([1, 2]), np.array([2, 3]))
    array([1, 3])
    """
    x, y = asarray(ar1), asarray(ar2)
    if size is None and is_known(x, y):
        return np.setxor1d(x, y, assume_unique)
    if size is None and (values := known_arrays(x, y)):
        return exclusive_of_known(lax.concatenate(_flat(x, y), 0), values, assume_unique)
    size = require_size("setxor1d", x, size)
    x, y = _flat(x, y)
    (x_values, x_exists), (y_values, y_exists) = (_members("setxor1d", each) for each in (x, y))
    values = lax.concatenate([x_values, y_values], 0)
    exists = lax.concatenate([x_exists, y_exists], 0)
    is_alone = lax.concatenate([isin(x_values, y, invert=True), isin(y_values, x, invert=True)], 0)
    is_absent = lax.bitwise_not(lax.bitwise_and(exists, is_alone))
    is_absent, values = lax.sort((is_absent, values), 0, num_keys=2)
    return _chosen(values, lax.bitwise_not(is_absent), size, fill_value)


@implements(np.union1d)
def union1d(ar1: Value, ar2: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the distinct elements of both arrays; `size` and `fill_value` as for `unique`.

    Raises: NumpyRuleError for a traced array of unknown values without `size`.

    >>> import numpy as np
    >>> from calque_numpy import union1d
    >>> union1d(np.array([1, 2]), np.array([2, 3]))
    array([1, 2, 3])
    """
    joined = concatenate([ar1, ar2], axis=None)
    if size is None and is_known(joined):
        return np.unique(joined)
    if size is None and (values := known_arrays(joined)):
        return distinct_of_known(joined, values[0], (False, False, False, None, True))
    return _distinct("union1d", joined, size, fill_value, equal_nan=True).values
