"""The public functions: `bounds`, and `taylor_bounds` for Taylor series with an interval for the remainder.

One idea: by Taylor's theorem, f(x) is the sum of the coefficients at the centre c of the box, in the direction x - c,
up to a degree k - 1, and of coefficient k at a number between c and x.  The direction of all numbers is an interval,
and the last coefficient is computed with the whole box for the centre.

Source: Moore, Kearfott & Cloud, Introduction to Interval Analysis (2009), chapter 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from calque_bounds import rules_taylor as _rules_taylor  # noqa: F401  the rules of kind "taylor"
from calque_bounds.bounds_trace import BoundsTrace
from calque_bounds.interval import Interval, check_dtype, enclose, no_nan
from calque_bounds.series import instantiate, plus
from calque_bounds.taylor_trace import TaylorTrace
from calque_core import api_boundary, current_trace, is_tracer, lax, tracing, typeof
from calque_core.extend import check_callable, describe_function, integer, is_float, of_one_dtype
from calque_pytree import PyTreeDef, tree_flatten, tree_unflatten

Tree = Any
Value = Any
Function = Callable[[Any], Any]


class Taylor(NamedTuple):
    """Bounds of coefficients: for each x, f(x) is the sum of c_k (x - centre)**k with c_k between them.

    `lower` and `upper` have the bounds of c_0, ..., c_degree along axis 0.  The last one depends on x.
    """

    centre: Value
    lower: Tree
    upper: Tree


def bounds(f: Function, degree: int = 0) -> Callable[[Tree, Tree], tuple[Tree, Tree]]:
    """Return a function of two pytrees that gives bounds of f(x) for all x between them.

    `bounds(f)(lower, upper)` encloses the exact value of each operation of f for all real numbers between `lower` and
    `upper`, pytrees like the argument of f.  With a degree k > 0, it also encloses the Taylor series of this
    degree around the centre, and returns the intersection, which is narrower for small boxes.

    A value that does not exist does not count: `bounds(np.log)(-1.0, 1.0)` is -inf and about 0.  If no value exists, or
    a divisor contains zero, the bounds are infinite.
    Raises: ValueError if a lower bound exceeds the upper one, or f decides by a value that differs within the box;
    TypeError for complex numbers and other operations that have no bounds; MissingRuleError for a primitive without a
    rule.

    >>> import numpy as np
    >>> from calque_bounds import bounds
    >>> lower, upper = bounds(lambda x: x * (1.0 - x))(0.0, 1.0)
    >>> bool(lower <= 0.0 <= 0.25 <= upper)
    True
    >>> [round(float(bound), 6) for bound in bounds(lambda x: x * (1.0 - x), degree=2)(0.4, 0.6)]
    [0.24, 0.25]
    """
    count = checked_degree("bounds", f, degree, 0)

    @api_boundary
    def bounded(lower: Tree, upper: Tree) -> tuple[Tree, Tree]:
        box = box_between("bounds", lower, upper)
        with np.errstate(all="ignore"):
            with tracing(BoundsTrace(current_trace())) as trace:
                outs, treedef = tree_flatten(f(tree_unflatten(box.treedef, wrapped(trace, box.intervals))))
                forms = taylor_form(trace, f, box, count) if count else outs
                enclosures = [[trace.unwrap(x) for x in pair] for pair in zip(outs, forms)]
            ends = [result(common(*pair) if count else pair[0]) for pair in enclosures]
        return tree_unflatten(treedef, [x.lower for x in ends]), tree_unflatten(treedef, [x.upper for x in ends])

    return bounded


def taylor_bounds(f: Function, degree: int) -> Callable[[Value, Value], Taylor]:
    """Return a function of two numbers that encloses f between them by a Taylor series of a degree.

    The result has the centre c and the bounds of coefficients: f(x) = c_0 + c_1 (x - c) + ... + c_k (x - c)**k, where
    c_k depends on x.  All coefficients but c_k are those of f at c; they are as narrow as rounding allows.  f takes one
    number and returns a pytree of arrays.  At a jump, and at a kink from c_2 on, the bounds are infinite: finite bounds
    of c_1 prove that f is continuous, and bounds of one sign that it is monotone.
    Raises: as `bounds`; ValueError for a degree below one or an array.

    >>> import numpy as np
    >>> from calque_bounds import taylor_bounds
    >>> series = taylor_bounds(np.exp, degree=2)(-1.0, 1.0)
    >>> series.centre, series.lower.round(3), series.upper.round(3)
    (np.float64(0.0), array([1.   , 1.   , 0.184]), array([1.   , 1.   , 1.359]))
    """
    count = checked_degree("taylor_bounds", f, degree, 1)

    @api_boundary
    def bounded(lower: Value, upper: Value) -> Taylor:
        box = box_between("taylor_bounds", lower, upper)
        if not box.is_number:
            raise ValueError(
                f"taylor_bounds of {describe_function(f)} got bounds of type {typeof(lower)}. Give two floats; vmap "
                "handles several pairs, and bounds(f, degree) a box of several variables."
            )
        with np.errstate(all="ignore"):
            with tracing(BoundsTrace(current_trace())) as trace:
                outs, treedef = coefficients(trace, f, box, [1.0], count)
                rows = [[trace.unwrap(x) for x in series] for series in outs]
            ends = [[lax.stack([result(x)[k] for x in row]) for row in rows] for k in (0, 1)]
        return Taylor(box.centres[0], *(tree_unflatten(treedef, end) for end in ends))

    return bounded


# Arguments and results


def checked_degree(name: str, f: Function, degree: int, least: int) -> int:
    """Return the degree.  Raises: TypeError if it is no integer or f no function; ValueError if it is too small."""
    check_callable(f, name)
    count = integer(name, "degree", degree)
    if count < least:
        raise ValueError(f"{name} got the degree {count}. Give {least} or more.")
    return count


class Box(NamedTuple):
    """Intervals, their centres, and the structure of the argument that they are."""

    intervals: list[Interval]
    centres: list[Value]
    treedef: PyTreeDef

    @property
    def is_number(self) -> bool:
        """Whether the argument is one float."""
        return [(x.shape, is_float(x.dtype)) for x in map(typeof, self.centres)] == [((), True)]


def box_between(name: str, lower: Tree, upper: Tree) -> Box:
    """Return the intervals between two pytrees of arrays.

    Raises: ValueError if the structures differ or a lower bound exceeds the upper one.
    """
    (lowers, treedef), (uppers, other) = tree_flatten(lower), tree_flatten(upper)
    if treedef != other:
        raise ValueError(f"{name} got lower bounds {treedef} and upper bounds {other}. Give equal structures.")
    intervals = [interval_between(name, *pair) for pair in zip(lowers, uppers)]
    with np.errstate(all="ignore"):
        return Box(intervals, list(map(centre_of, intervals)), treedef)


def interval_between(name: str, lower: Value, upper: Value) -> Interval:
    """Return the interval between two arrays, which are broadcast; Python's integers are floats."""
    pair = [float(x) if type(x) is int else x for x in (lower, upper)]
    arrays = [lax.convert_element_type(x, typeof(x).dtype) for x in of_one_dtype(name, *pair)]
    shape = np.empty(lax.broadcast_shapes(*[typeof(x).shape for x in arrays]), bool)
    low, high = (lax.broadcast_like(x, shape) for x in arrays)
    check_dtype(low, "an argument")
    if not is_tracer(low) and not is_tracer(high) and not np.all(low <= high):
        raise ValueError(f"{name} got the lower bound {low} above the upper bound {high}, or NaN. Give lower <= upper.")
    return enclose(low, high)


def wrapped(trace: BoundsTrace, intervals: Sequence[Interval]) -> list[Value]:
    return [trace.wrap(x, typeof(x.lower)) for x in intervals]


def result(x: Interval) -> Interval:
    """Return the interval of a result, as arrays that share no memory with an argument."""
    if is_float(typeof(x.lower).dtype):
        x = Interval(no_nan(x.lower, -np.inf), no_nan(x.upper, np.inf))
    return Interval(*(end.copy() if type(end) is np.ndarray else end for end in x))


def common(x: Interval, y: Interval) -> Interval:
    """Return the numbers that are in two intervals, which both contain all values."""
    if not is_float(typeof(x.lower).dtype):
        return x
    return Interval(lax.max(x.lower, y.lower), lax.min(x.upper, y.upper))


# Taylor series


def coefficients(
    trace: BoundsTrace, f: Function, box: Box, directions: Sequence[Value], degree: int
) -> tuple[list[list[Value]], PyTreeDef]:
    """Return the coefficients of each result of f, under the trace of bounds."""
    at_centre, _ = series_of(trace, f, box, points(trace, box), directions, degree - 1)
    at_box, treedef = series_of(trace, f, box, wrapped(trace, box.intervals), directions, degree)
    return [[*low, last[degree]] for low, last in zip(at_centre, at_box)], treedef


def points(trace: BoundsTrace, box: Box) -> list[Value]:
    """Return the centres of floats, as intervals: they are constants that round.  Integers keep their intervals."""
    return wrapped(trace, [Interval(c, c) if is_float(typeof(c).dtype) else x for x, c in zip(*box[:2])])


def series_of(
    trace: BoundsTrace, f: Function, box: Box, bases: Sequence[Value], directions: Sequence[Value], degree: int
) -> tuple[list[list[Value]], PyTreeDef]:
    """Return the series of each result of f."""
    with tracing(TaylorTrace(trace, degree)) as taylor:
        moves = [d if d is None else lax.convert_element_type(d, typeof(x).dtype) for d, x in zip(directions, bases)]
        starts = [[x, d, *[None] * degree][: degree + 1] for x, d in zip(bases, moves)]
        xs = [taylor.wrap(series, typeof(series[0])) for series in starts]
        leaves, treedef = tree_flatten(f(tree_unflatten(box.treedef, xs)))
        series = [taylor.unwrap(x) for x in leaves]
    return [[instantiate(c, s[0]) for c in s] for s in series], treedef


def taylor_form(trace: BoundsTrace, f: Function, box: Box, degree: int) -> list[Value]:
    """Return the sum of the Taylor series of each result, for all numbers of the box."""
    xs, centres = wrapped(trace, box.intervals), points(trace, box)
    distances = [lax.sub(x, c) if is_float(typeof(x).dtype) else None for x, c in zip(xs, centres)]
    if box.is_number:  # the powers of one number are narrower than products of directions
        powers = [lax.integer_pow(distances[0], k) for k in range(degree + 1)]
        return [reduce(plus, map(scaled, series, powers)) for series in coefficients(trace, f, box, [1.0], degree)[0]]
    outs, _ = coefficients(trace, f, box, distances, degree)
    slopes = slope_sums(trace, f, box, centres if degree > 1 else xs, distances) or [None] * len(outs)
    return [reduce(plus, [series[0], slope, *series[2:]]) for series, slope in zip(outs, slopes)]


def scaled(x: Value, distance: Value) -> Value:
    """Return a coefficient of a result times a distance of an argument, in the dtype of the result."""
    dtype = typeof(x).dtype
    return lax.mul(x, lax.convert_element_type(distance, dtype)) if is_float(dtype) else x


def slope_sums(
    trace: BoundsTrace, f: Function, box: Box, bases: Sequence[Value], distances: Sequence[Value]
) -> list[Value]:
    """Return the sum of slopes times distances of each result.  A slope of each variable lets terms in it cancel."""
    terms = []
    for place, distance in enumerate(distances):
        for index in np.ndindex(typeof(distance).shape if distance is not None else (0,)):
            unit = np.zeros(typeof(distance).shape, typeof(distance).dtype)
            unit[index] = 1.0
            directions = [unit if k == place else None for k in range(len(bases))]
            results, _ = series_of(trace, f, box, bases, directions, 1)
            terms.append([scaled(series[1], distance[index]) for series in results])
    return [reduce(plus, column) for column in zip(*terms)]


def centre_of(x: Interval) -> Value:
    """Return a number near the middle of an interval, and inside of it; a bound of an integer interval."""
    if not is_float(typeof(x.lower).dtype):
        return x.lower
    middle = no_nan(x.lower * 0.5 + x.upper * 0.5, 0.0)
    largest = float(np.finfo(typeof(middle).dtype).max)
    return lax.clamp(-largest, lax.clamp(x.lower, middle, x.upper), largest)
