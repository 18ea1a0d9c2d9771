"""Polynomials of high degree, cut into pieces of degree 5: tables for the evaluation of special functions on arrays.

One idea: a call of NumPy's costs the same for a hundred numbers as for one, so that a polynomial of 24 coefficients
costs 46 calls.  Each piece of it, shorter by a hundred, needs 6 coefficients.  An element looks up those of its own
piece, so that one Horner's rule of 10 calls serves a whole range of a function, and several polynomials.

Read next: `regions.py`, which calls the formulas that read tables.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np

from calque_core.known.run import def_joint_evaluation
from calque_core.ops.elementwise.arithmetic import sub
from calque_core.ops.elementwise.declare import FLOAT, elementwise
from calque_core.ops.elementwise.number_code import def_number_code
from calque_core.ops.elementwise.rounding import floor
from calque_core.primitives.primitive import Primitive
from calque_core.record import Record

Value = Any
Array = np.ndarray[Any, np.dtype[Any]]

DEGREE = 5
_BITS = 120  # of a fixed-point number, after the point


class Span(Record):
    """A polynomial in `slope` x + `offset`, plus a constant, for start <= x < stop.

    All numbers but the coefficients have few bits.
    """

    coefficients: Sequence[float | Fraction]
    start: float
    stop: float
    slope: float = 1.0
    offset: float = 0.0
    constant: float = 0.0


class Pieces:
    """A function of places in adjacent spans, counted from 0 in pieces; an interval of length 1 has `per_unit` pieces.

    The table is made at the first evaluation.  Places that are nan give nan; others beyond the spans have no meaning.

    >>> import numpy as np
    >>> from calque_core.engine import Pieces, Span
    >>> near, far = Span((0.0, 0.0, 1.0), 0.0, 1.0), Span((1.0, 2.0, 1.0), 1.0, 2.0, 1.0, -1.0)
    >>> square = Pieces("square_pieces", 4.0, near, far)
    >>> square(np.array([0.0, 1.0, 6.0])) ** 0.5
    array([0.  , 0.25, 1.5 ])
    """

    def __init__(self, name: str, per_unit: float, *spans: Span) -> None:
        self.primitive = Primitive(name)
        self.primitive.is_elementwise = True
        self.primitive.def_abstract_eval(elementwise(name, FLOAT), cached=True)
        self.primitive.def_impl(self._of_array, leaf=True, makes_arrays=True)
        def_number_code(self.primitive, self._of_number, 2)
        self.spans, self.per_unit = spans, per_unit

    def __call__(self, place: Value) -> Value:
        whole = floor(place)
        return self.primitive.bind(whole, sub(place, whole))

    @cached_property
    def table(self) -> Array:
        """The coefficients of all pieces, [degree, piece], the highest degree first."""
        cut = [_cut(span, 1 / self.per_unit) for span in self.spans]
        return np.ascontiguousarray(np.concatenate(cut, axis=1)[::-1])

    @cached_property
    def _rows(self) -> list[list[float]]:
        return self.table.T.tolist()  # type: ignore[no-any-return]

    def _of_array(self, whole: Array, part: Array) -> Array:
        return _evaluated(self.table, whole, part)

    def _of_number(self, whole: float, part: float) -> float:
        return reduce(lambda total, c: total * part + c, self._rows[int(whole)])


def join_pieces(first: Pieces, second: Pieces) -> Callable[[Array, Array], Array]:
    """Let code that needs two functions at one place look both up at once; they have equal numbers of pieces.

    Returns the function that gives both, of the numbers of pieces and of the places in them.

    >>> import numpy as np
    >>> from calque_core.engine import Pieces, Span, join_pieces
    >>> line = Pieces("line_pieces", 2.0, Span((0.0, 1.0), 0.0, 2.0))
    >>> square = Pieces("square_pieces", 2.0, Span((0.0, 0.0, 1.0), 0.0, 2.0))
    >>> join_pieces(line, square)(np.array([0.0, 3.0]), np.array([0.5, 0.0]))  # at 0.25 and at 1.5
    array([[0.25  , 1.5   ],
           [0.0625, 2.25  ]])
    """
    tables = cache(lambda: np.stack([first.table, second.table], axis=1))

    def both(whole: Array, part: Array) -> Array:
        return _evaluated(tables(), whole, part)

    def_joint_evaluation(first.primitive, second.primitive, both)
    return both


class _Memory(threading.local):
    """The memory of the coefficients of many places.

    Memory of a megabyte that each block takes and returns goes back to the system, and costs as much as the arithmetic.
    """

    spare: Array | None = None


_memory = _Memory()
_MANY = 2048  # places


def _evaluated(table: Array, whole: Array, part: Array) -> Array:
    """Return the values at places: `whole` is the number of the piece, `part` the place in it."""
    index = whole.astype(np.intp)
    if index.size < _MANY:
        return _horner(table.take(index, -1, None, "clip"), part)
    shape = (*table.shape[:-1], *index.shape)
    memory, _memory.spare = _memory.spare, None  # taken, lest a finalizer that runs meanwhile writes to it
    if memory is None or memory.size < math.prod(shape):
        memory = np.empty(math.prod(shape))
    out = _horner(table.take(index, -1, memory[: math.prod(shape)].reshape(shape), "clip"), part)
    _memory.spare = memory
    return out


def _horner(rows: Array, x: Array) -> Array:
    """Return the sum of rows times powers of x, the highest power first, as an array of its own."""
    total: Array = rows[0] * x
    for row in rows[1:-1]:
        total += row
        total *= x
    total += rows[-1]
    return total


def _cut(span: Span, width: float) -> Array:
    """Return the coefficients of pieces in t, 0 <= t < 1: Taylor's, less multiples of Chebyshev polynomials."""
    starts = span.start + width * np.arange(round((span.stop - span.start) / width))
    points = span.slope * starts + span.offset
    rows = _taylor(span.coefficients, points, DEGREE + 3)
    rows[0] = _exact_values(span, points)
    rows *= (span.slope * width) ** np.arange(len(rows))[:, None]
    for degree in range(len(rows) - 1, DEGREE, -1):
        chebyshev = _shifted_chebyshev(degree - 1)  # times t: the value at 0 is kept, since it may be a zero
        rows[1:degree] -= rows[degree] * (chebyshev[:-1] / chebyshev[-1])[:, None]
    return rows[: DEGREE + 1]


def _taylor(coefficients: Sequence[float | Fraction], points: Array, count: int) -> Array:
    """Return the first Taylor coefficients of a polynomial at points, by repeated synthetic division."""
    rows = np.zeros((max(len(coefficients), count), len(points)))
    rows[: len(coefficients)] = np.array(coefficients, float)[:, None]
    for lowest in range(count):
        for k in range(len(rows) - 2, lowest - 1, -1):
            rows[k] += points * rows[k + 1]
    return rows[:count]


def _exact_values(span: Span, points: Array) -> Array:
    """Return the values of the polynomial and the constant, rounded once: Horner's rule in fixed-point numbers."""
    fixed = _fixed(points.tolist())
    totals = [0] * len(fixed)
    for c in _fixed(span.coefficients[::-1]):
        totals = [(total * x >> _BITS) + c for total, x in zip(totals, fixed)]
    (constant,) = _fixed([span.constant])
    return np.array([(total + constant) / 2**_BITS for total in totals])


def _fixed(numbers: Sequence[float | Fraction]) -> list[int]:
    ratios = [x.as_integer_ratio() for x in numbers]
    return [(numerator << _BITS) // denominator for numerator, denominator in ratios]


def _shifted_chebyshev(n: int) -> Array:
    """Return the coefficients of T_n(2 t - 1) in powers of t (DLMF 18.5.11 and 18.7.19)."""
    return np.array([(-1.0) ** (n - k) * 4.0**k * n * math.comb(n + k, 2 * k) / (n + k) for k in range(n + 1)])
