"""`r_` and `c_`: arrays, numbers and ranges joined by an index expression.

One idea: each item becomes an array with as many axes as the result, and `concatenate` joins them.  Items that NumPy
knows are NumPy's own: a slice of numbers is a range.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from calque_core import is_tracer, result_type, typeof
from calque_core.engine.numpy_functions import as_dtype, reshape, swapaxes, transpose
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate

__all__ = ["c_", "r_"]

Value = Any


@final
class AxisConcatenator:
    """Joins the items of an index along `axis`, each with at least `ndmin` axes.

    A slice is a range, `start:stop:step`, or of as many elements as an imaginary step says.  An item of fewer axes gets
    axes of size 1: its own axes stand last for a `trans1d` of -1, and otherwise from that axis on.  A string as the
    first item gives other numbers: "axis,ndmin,trans1d".

    >>> import numpy as np
    >>> from calque_numpy import c_, r_
    >>> r_[np.array([1.0, 2.0]), 0, 4:6]
    array([1., 2., 0., 4., 5.])
    >>> c_[np.array([1, 2]), np.array([3, 4])]
    array([[1, 3],
           [2, 4]])
    """

    __slots__ = ("axis", "name", "ndmin", "trans1d")

    def __init__(self, name: str, axis: int, ndmin: int, trans1d: int) -> None:
        self.name, self.axis, self.ndmin, self.trans1d = name, axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Value:
        """Return the joined array.

        Raises: TypeError for a slice with traced bounds; ValueError for the directives "r" and "c", which make
        matrices, and for a string that is no list of one to three integers.
        """
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = self.directive(items[0])
            items = items[1:]
        values = [_range(x) for x in items]
        dtype = result_type(*values)
        return concatenate(
            [_with_axes(as_dtype(asarray(x), dtype), i, ndmin, trans1d) for i, x in zip(items, values)], axis
        )

    def directive(self, text: str) -> tuple[int, int, int]:
        """Return the axis, the least number of axes and the place of the first axis, from "axis,ndmin,place"."""
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise ValueError(
                f"{self.name}[{text!r}, ...]{place()}: the string must be one to three integers, 'axis,ndmin,place'. "
                "Matrices, 'r' and 'c', are not supported."
            )
        axis, ndmin, trans1d = [*numbers, *(self.ndmin, self.trans1d)[len(numbers) - 1 :]]
        return axis, ndmin, trans1d


def _range(x: Value) -> Value:
    """Return the range of a slice, the array of a list, and any other item unchanged."""
    if not isinstance(x, slice):
        return asarray(x) if isinstance(x, (list, tuple)) else x
    for bound in (x.start, x.stop, x.step):
        if is_tracer(bound):
            raise TypeError(
                f"a slice in r_ or c_{place()} has a traced bound, so its size is not known. Use linspace with a known "
                "number of elements."
            )
    return np.r_[x]


def _with_axes(x: Value, item: Value, ndmin: int, trans1d: int) -> Value:
    """Return an item with at least `ndmin` axes; its own axes stand last, or from `trans1d` on."""
    own = typeof(x).ndim
    if own >= ndmin:
        return x
    x = reshape(x, (1,) * (ndmin - own) + typeof(x).shape)
    if trans1d == -1 or own == 0:
        return x
    if isinstance(item, slice):
        return swapaxes(x, -1, trans1d)
    added = ndmin - own
    start = trans1d + added + 1 if trans1d < 0 else trans1d
    order = list(range(ndmin))
    return transpose(x, order[:start] + order[added:] + order[start:added])


r_ = AxisConcatenator("r_", 0, 1, -1)
c_ = AxisConcatenator("c_", -1, 2, 0)
