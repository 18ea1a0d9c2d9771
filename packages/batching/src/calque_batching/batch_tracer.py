"""Values with a batch axis.

One idea: a tracer is an array with one more axis than its type says.  All that a rule depends on besides the numbers in
the array is one object, its `Element`: two tracers are alike if their elements are identical.

Read next: `batch_trace.py`, the trace that applies batching rules to tracers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from calque_core import Trace, Tracer, typeof
from calque_core.engine import (
    ArrayOperations,
    Position,
    own_tracer_class,
    own_types,
    traced_type,
    without_axis_at,
)

Value = Any
AxisNames = frozenset[Any]
_NO_AXES: AxisNames = frozenset()


class Element:
    """The type `aval` of one element of an array, the position `bdim` of its batch axis, and the class of the array."""

    __slots__ = ("array_class", "aval", "bdim")

    def __init__(self, array_class: type, aval: Any, bdim: int) -> None:
        self.array_class, self.aval, self.bdim = array_class, aval, bdim


@lru_cache(maxsize=1 << 14)
def element_of(
    array_class: type, shape: tuple[int, ...], dtype: Any, bdim: int, is_weak: bool, vma: AxisNames = _NO_AXES
) -> Element:
    """Return the element of an array of this class, shape and dtype, one object for arrays of equal size.

    >>> import numpy as np
    >>> element = element_of(np.ndarray, (2, 3), np.dtype("float32"), 0, False)
    >>> element.aval, element.bdim
    (float32[3], 0)
    >>> element is element_of(np.ndarray, (2, 3), np.dtype("float32"), 0, False)
    True
    """
    return Element(array_class, traced_type(shape[:bdim] + shape[bdim + 1 :], dtype, is_weak).varying(vma), bdim)


class BatchTracer(ArrayOperations, Tracer):
    """An element of a batch, in place of each element: the whole array and the position of its batch axis.

    An element may be weak: for one element alone, the function would have a Python scalar.  An array of such elements
    is not weak.
    """

    __slots__ = ("_element", "aval", "val")

    def __init__(self, trace: Trace, val: Value, bdim: int, is_weak: bool = False) -> None:
        self._trace, self.val = trace, val
        vma = typeof(val).vma if trace.is_in_mesh else _NO_AXES  # type: ignore[attr-defined]
        self._element = element_of(type(val), val.shape, val.dtype, bdim, is_weak, vma)  # type: ignore[arg-type]
        self.aval = self._element.aval  # the type of one element

    @property
    def bdim(self) -> int:
        """The position of the batch axis in the whole array."""
        return self._element.bdim

    @property
    def inner_values(self) -> tuple[Value, ...]:
        """The whole array."""
        return (self.val,)

    @property
    def origin(self) -> Position | None:
        """The line that made the value, as recorded by the array in this tracer."""
        return self.val.origin if isinstance(self.val, Tracer) else self._trace.position

    def __repr__(self) -> str:
        return f"{type(self).__name__}(aval={self.aval!r}, batched={typeof(self.val)!r})"


def element(trace: Trace, val: Value, bdim: int, is_weak: bool = False) -> BatchTracer:
    """Return the tracer of an element of a batch of arrays, or of values of an own type."""
    if type(val) not in own_types:
        return BatchTracer(trace, val, bdim, is_weak)
    aval = without_axis_at(typeof(val), bdim)
    out: BatchTracer = object.__new__(own_tracer_class(BatchTracer, aval))
    out._trace, out.val, out.aval, out._element = trace, val, aval, Element(type(val), aval, bdim)
    return out
