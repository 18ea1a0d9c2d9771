"""Distinct elements and sets of known values that NumPy does not take as they are.

They are traced, under a derivative, or of a short dtype, whose NaN NumPy does not sort last.

One idea: NumPy says at which positions the elements of the result are, and they are taken there; so the derivative goes
to the chosen elements, of equal ones to the first.

Read next: `sets.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.engine.numpy_functions import at, ravel

Value = Any
Array = Any  # NumPy's, with the known values of an array


def distinct_of_known(ar: Value, values: Array, options: tuple[bool, bool, bool, int | None, bool]) -> Any:
    """Return the distinct elements; the numbers on request, by the options of `unique` in their order, are NumPy's."""
    return_index, return_inverse, return_counts, axis, equal_nan = options
    _, first, *extra = np.unique(values, True, return_inverse, return_counts, axis, equal_nan=equal_nan)  # type: ignore[call-overload]
    along = () if axis is None else (slice(None),) * (axis % values.ndim)
    chosen = at(ravel(ar) if axis is None else ar)[(*along, first)].get()
    results = (chosen, *([first] if return_index else []), *extra)
    return results if len(results) > 1 else results[0]


def intersection_of_known(x: Value, values: tuple[Array, Array], assume_unique: bool, return_indices: bool) -> Any:
    """Return the elements of the vector `x` that both arrays have, on request with their places in both."""
    _, *places = np.intersect1d(*values, assume_unique=assume_unique, return_indices=True)
    common = at(x)[places[0]].get()
    return (common, *places) if return_indices else common


def difference_of_known(x: Value, values: tuple[Array, Array], assume_unique: bool) -> Value:
    """Return the elements of the vector `x` that the second array does not have."""
    flat, others = values[0].ravel(), values[1]
    places = np.arange(flat.size) if assume_unique else np.unique(flat, return_index=True)[1]
    return at(x)[places[np.isin(flat[places], others, invert=True)]].get()


def exclusive_of_known(joined: Value, values: tuple[Array, Array], assume_unique: bool) -> Value:
    """Return the elements of a vector, both arrays joined, that one of them has alone."""
    distinct, first = np.unique(np.concatenate([each.ravel() for each in values]), return_index=True)
    alone = np.setxor1d(*values, assume_unique=assume_unique)
    return at(joined)[first[np.searchsorted(distinct, alone)]].get()
