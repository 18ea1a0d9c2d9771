"""The law of ranges: which points a function is tested at, what is right there, and how far a result may be from it.

One idea: right numbers are Taylor series in mpmath's numbers.  A row gives a function of ours and the same function of
a `Series`; the series has the value and three derivatives, from the chain rule and the slopes of a few base functions,
at a precision that is raised until two precisions agree.  None of our own formulas takes part.

A result may differ from the right number by 8 ulps and by the effect of one ulp of the argument.  An exception loosens
the number of ulps and nothing else: NaN, an infinity or zero, where the right number is a normal one, always fails.

Read next: `ranges_elementwise.py` for rows, `ranges_exceptions.py`, and `test_ranges.py`, which is the law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

Value = Any
Number = Any  # an mpf

ULPS = 8
ORDERS = 3  # the value, the first and the second derivative; the third one tells the effect of an ulp on the second


# Taylor series


class Series:
    """A truncated Taylor series: `terms[k]` is the k-th derivative, divided by k!."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Number]) -> None:
        self.terms = list(terms)

    def __add__(self, other: Series | Number) -> Series:
        return Series([x + y for x, y in zip(self.terms, self._like(other))])

    def __sub__(self, other: Series | Number) -> Series:
        return Series([x - y for x, y in zip(self.terms, self._like(other))])

    def __mul__(self, other: Series | Number) -> Series:
        x, y = self.terms, self._like(other)
        return Series([mp.fsum(x[i] * y[k - i] for i in range(k + 1)) for k in range(len(x))])

    def __truediv__(self, other: Series | Number) -> Series:
        x, y, out = self.terms, self._like(other), []
        for k in range(len(x)):
            out.append((x[k] - mp.fsum(y[i] * out[k - i] for i in range(1, k + 1))) / y[0])
        return Series(out)

    def __neg__(self) -> Series:
        return Series([-x for x in self.terms])

    def __abs__(self) -> Series:
        return -self if self.terms[0] < 0 else self

    def __pow__(self, power: Number) -> Series:
        """Return the power; of an integer, by squaring, so that negative numbers have one."""
        if power == int(power) and abs(power) < 64:
            out = constant(1, self)
            for _ in range(abs(int(power))):
                out = out * self
            return out if power >= 0 else constant(1, self) / out
        slope = lambda x: x ** (power - 1) * power
        return chain(lambda x: mp.power(x, power), slope, self)

    def __radd__(self, other: Number) -> Series:
        return self + other

    def __rsub__(self, other: Number) -> Series:
        return -self + other

    def __rmul__(self, other: Number) -> Series:
        return self * other

    def __rtruediv__(self, other: Number) -> Series:
        return constant(other, self) / self

    def _like(self, other: Series | Number) -> list[Number]:
        return other.terms if isinstance(other, Series) else constant(other, self).terms

    @property
    def value(self) -> Number:
        return self.terms[0]


def constant(x: Number, like: Series) -> Series:
    """Return the series of a number, as long as another one."""
    return Series([mp.mpf(x), *[mp.mpf(0)] * (len(like.terms) - 1)])


def chain(value: Callable[[Number], Number], slope: Callable[[Series], Series], x: Series) -> Series:
    """Return the series of a function of x from the function of numbers and its slope, a function of a series."""
    first, n = value(x.terms[0]), len(x.terms)
    if n == 1:
        return Series([first])
    speed = Series([k * x.terms[k] for k in range(1, n)])
    product = slope(Series(x.terms[:-1])) * speed
    return Series([first, *(product.terms[k] / (k + 1) for k in range(n - 1))])


def step(value: Callable[[Number], Number]) -> Callable[[Series], Series]:
    """Return the piecewise constant function of series that has these values."""
    return lambda x: constant(value(x.value), x)


# Base functions: the value is mpmath's, the slope a formula of other base functions in which nothing cancels.


def _exp_of(x: Number) -> Number:
    """Return exp(x); beyond all dtypes that of a billion, since the exponent would fill the memory."""
    return mp.exp(x) if mp.isinf(x) else mp.exp(max(min(x, 2**30), -(2**30)))


def _sinh_of(x: Number) -> Number:
    return mp.sign(x) * _exp_of(abs(x)) / 2 if abs(x) > 2**14 else mp.sinh(x)


def exp(x: Series) -> Series:
    return chain(_exp_of, exp, x)


def expm1(x: Series) -> Series:
    return chain(lambda x: _exp_of(x) - 1 if abs(x) > 2**14 else mp.expm1(x), exp, x)


def log(x: Series) -> Series:
    return chain(mp.log, lambda x: 1 / x, x)


def log1p(x: Series) -> Series:
    return chain(mp.log1p, lambda x: 1 / (x + 1), x)


def sqrt(x: Series) -> Series:
    return chain(mp.sqrt, lambda x: 0.5 / sqrt(x), x)


def cbrt(x: Series) -> Series:
    return chain(lambda x: mp.sign(x) * mp.cbrt(abs(x)), lambda x: cbrt(x) / (3 * x), x)


def sin(x: Series) -> Series:
    return chain(mp.sin, cos, x)


def cos(x: Series) -> Series:
    return chain(mp.cos, lambda x: -sin(x), x)


def tan(x: Series) -> Series:
    return chain(mp.tan, lambda x: 1 / (cos(x) * cos(x)), x)


def sinpi(x: Series) -> Series:
    """Return sin(pi x), which is 0 for each integer."""
    return chain(mp.sinpi, lambda x: cospi(x) * mp.pi, x)


def cospi(x: Series) -> Series:
    return chain(mp.cospi, lambda x: sinpi(x) * -mp.pi, x)


def hypot(x: Series, y: Number) -> Series:
    """Return sqrt(x**2 + y**2); its slope is the sine of an angle, whose own slope has no difference."""
    sine = lambda x: chain(lambda x: x / mp.hypot(x, y), lambda x: y**2 / hypot(x, y) ** 3, x)
    return chain(lambda x: mp.hypot(x, y), sine, x)


def asin(x: Series) -> Series:
    return chain(mp.asin, lambda x: 1 / sqrt((1 - x) * (1 + x)), x)


def acos(x: Series) -> Series:
    return chain(mp.acos, lambda x: -1 / sqrt((1 - x) * (1 + x)), x)


def atan(x: Series) -> Series:
    return chain(mp.atan, lambda x: 1 / (1 + x * x), x)


def sinh(x: Series) -> Series:
    return chain(_sinh_of, cosh, x)


def cosh(x: Series) -> Series:
    return chain(lambda x: abs(_sinh_of(x)) if abs(x) > 2**14 else mp.cosh(x), sinh, x)


def sech(x: Series) -> Series:
    """Return 1 / cosh(x)."""
    if abs(x.value) < 1:
        return 1 / cosh(x)
    decay = exp(-abs(x))
    return 2 * decay / (1 + decay * decay)


def tanh(x: Series) -> Series:
    return chain(lambda x: mp.sign(x) if abs(x) > 2**14 else mp.tanh(x), lambda x: sech(x) * sech(x), x)


def asinh(x: Series) -> Series:
    return chain(mp.asinh, lambda x: 1 / sqrt(1 + x * x), x)


def acosh(x: Series) -> Series:
    return chain(mp.acosh, lambda x: 1 / sqrt((x - 1) * (x + 1)), x)


def atanh(x: Series) -> Series:
    return chain(mp.atanh, lambda x: 1 / ((1 - x) * (1 + x)), x)


def logistic(x: Series) -> Series:
    """Return 1 / (1 + exp(-x))."""

    def value(x: Number) -> Number:
        decay = _exp_of(-abs(x))
        return decay / (1 + decay) if x < 0 else 1 / (1 + decay)

    return chain(value, lambda x: sech(0.5 * x) * sech(0.5 * x) * 0.25, x)


def softplus(x: Series) -> Series:
    """Return log(1 + exp(x))."""
    return chain(lambda x: max(x, 0) + mp.log1p(_exp_of(-abs(x))), logistic, x)


def erf(x: Series) -> Series:
    value = lambda x: mp.sign(x) if abs(x) > 2**7 else mp.erf(x)
    return chain(value, lambda x: 2 / mp.sqrt(mp.pi) * exp(-x * x), x)


def erfc(x: Series) -> Series:

    def value(x: Number) -> Number:
        if abs(x) < 2**7:
            return mp.erfc(x)
        return mp.mpf(2) if x < 0 else _exp_of(-x * x) / (x * mp.sqrt(mp.pi))  # of right size, and below all numbers

    return chain(value, lambda x: -2 / mp.sqrt(mp.pi) * exp(-x * x), x)


# Rows


@dataclass(frozen=True)
class Row:
    """A function of ours and the reference: the same function of series.

    `second` makes the other operand from the points: `function(x, y)` beside `reference(x, y)`.
    """

    name: str
    function: Callable[..., Value]
    reference: Callable[..., Series]
    domain: tuple[float, float] = (-np.inf, np.inf)  # NaN outside of it
    asked: tuple[float, float] = (-np.inf, np.inf)  # the function has values outside of it, of no stated accuracy
    near: tuple[float, ...] = ()  # roots, poles and ends: points lie at all distances around them
    kinks: tuple[float, ...] = ()  # no derivative there, but a convention
    second: Callable[[np.ndarray], np.ndarray] | None = None
    ends: dict[tuple[float, int], float] = field(default_factory=dict)  # limits by (point, order) that a series lacks
    derivatives: int = 2
    every: int = 1  # right results that take long: one binade of so many is asked
    is_factor: bool = False  # the derivatives are multiples of the value: not asked where it over- or underflows
    of_nan: float = np.nan

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class Points:
    """Operands, and for each order the right results and the sizes of an ulp's effect, in numbers of 15 more bits."""

    x: np.ndarray
    y: np.ndarray | None
    right: list[np.ndarray]
    effect: list[np.ndarray]
    is_judged: list[np.ndarray]


# Points


def magnitudes(dtype: np.dtype, thinning: int, offset: int) -> np.ndarray:
    """Return three numbers in each binade of a dtype, from the smallest subnormal on, or in each `thinning`-th."""
    info = np.finfo(dtype)
    low, high = int(info.minexp) - int(info.nmant), int(info.maxexp)
    binades = np.arange(low + offset % thinning, high, thinning)
    thirds = np.arange(3)
    mantissas = 1 + (np.random.default_rng(0).uniform(size=(high - low, 3)) + thirds) / 3
    numbers = np.ldexp(mantissas[binades - low].astype(np.longdouble), binades[:, None]).astype(dtype).ravel()
    return np.unique(numbers[np.isfinite(numbers) & (numbers > 0)])


def around(point: float, dtype: np.dtype, thinning: int) -> list[Any]:
    """Return the number nearest to a point, and its neighbours at 1, 2, 4, ... ulps on both sides."""
    centre = dtype.type(point)
    shifts = 2.0 ** np.arange(0, np.finfo(dtype).nmant, min(thinning, 5))
    step = np.spacing(np.abs(centre)).astype(np.longdouble)
    return [centre, *(dtype.type(np.longdouble(centre) + sign * k * step) for k in shifts for sign in (-1, 1))]


def operands(row: Row, dtype: np.dtype, thinning: int, offset: int) -> np.ndarray:
    """Return the points of a row: numbers of all sizes and both signs, the ends, and the neighbours of roots."""
    sizes = magnitudes(dtype, thinning * row.every, offset)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    near = [x for point in row.near for x in around(point, dtype, thinning)]
    x = np.concatenate([sizes, -sizes, np.array(near, dtype), special])
    return x[(x >= row.asked[0]) & (x <= row.asked[1]) | np.isnan(x)]


# Right results

PRECISIONS = (160, 480, 2400, 9600)


def terms_at(row: Row, x: Number, y: Number | None) -> list[Number]:
    """Return the value and three derivatives at a number, to a relative 2**-70.

    Raises: ArithmeticError if no two precisions agree.
    """
    before: list[Number] | None = None
    for precision in PRECISIONS:
        with mp.workprec(precision):
            start = Series([mp.mpf(x), mp.mpf(1), *[mp.mpf(0)] * (ORDERS - 1)])
            try:
                series = row.reference(start) if y is None else row.reference(start, y)
            except ZeroDivisionError:  # the distance from a pole has more digits
                continue
            now = [term * mp.factorial(k) for k, term in enumerate(series.terms)]
            is_settled = before is not None and all(map(agree, before, now))
            # A zero at few bits may stand for a small number.
            if is_settled and (precision >= PRECISIONS[2] or all(term != 0 for term in now[:ORDERS])):
                return now
        before = now
    raise ArithmeticError(f"{row.name} at {x}: no two precisions agree: {before}")


def agree(x: Number, y: Number) -> bool:
    return bool(x == y or (mp.isnan(x) and mp.isnan(y)) or abs(x - y) <= abs(y) * mp.mpf(2) ** -70)


def at_an_end(row: Row, x: float, y: Number | None) -> list[Number]:
    """Return the limits at zero, at an infinity or at an end of the domain: those of the row, or of numbers close by.

    A function that oscillates has none: NaN.
    """
    close, closer = (terms_or_nan(row, neighbour(row, x, n), y) for n in (1400, 1600))
    out = [limit(a, b) for a, b in zip(close, closer)]
    try:  # a logarithm is infinite at zero, and not large near to it
        value = row.reference(Series([mp.mpf(x)]), *[] if y is None else [y]).value
        out[0] = out[0] if mp.isnan(value) else value
    except (ZeroDivisionError, ValueError, ArithmeticError):
        pass
    return [row.ends.get((x, k), out[k]) for k in range(len(out))]


def neighbour(row: Row, x: float, n: int) -> Number:
    """Return a number close to an infinity, or at a distance of 2**-n from a number, on the side of the domain."""
    with mp.workprec(PRECISIONS[-1]):
        if np.isinf(x):
            return mp.sign(x) * mp.mpf(2) ** n
        side = 1 if x == row.domain[0] else -1 if x == row.domain[1] or np.signbit(x) else 1
        return mp.mpf(x) + side * mp.mpf(2) ** -n


def limit(close: Number, closer: Number) -> Number:
    """Return the limit of two numbers: zero, an infinity, their common value, or NaN."""
    if mp.isnan(close) or mp.isnan(closer):
        return mp.nan
    if max(abs(close), abs(closer)) < mp.mpf(2) ** -20000:
        return mp.mpf(0)
    if abs(closer) < abs(close) / 2**16 or close == closer == 0:
        return mp.mpf(0)
    if abs(close) < abs(closer) / 2**16:
        return mp.inf * mp.sign(closer) if mp.sign(close) == mp.sign(closer) else mp.nan
    return close if abs(close - closer) <= abs(close) * mp.mpf(2) ** -70 else mp.nan


def terms_or_nan(row: Row, x: Number, y: Number | None) -> list[Number]:
    try:
        return terms_at(row, x, y)
    except (ZeroDivisionError, ValueError):
        return [mp.nan] * (ORDERS + 1)


@cache
def points(row: Row, name: str, thinning: int, offset: int) -> Points:
    """Return operands and right results of a row in a dtype; results lie in arrays of long doubles."""
    dtype = np.dtype(name)
    x = operands(row, dtype, thinning, offset)
    y = None if row.second is None else row.second(x).astype(dtype)
    others = [None] * len(x) if y is None else y
    terms = [right_at(row, *pair) for pair in zip(x, others)]
    right = [np.array([wide(t[k]) for t in terms], np.longdouble) for k in range(ORDERS + 1)]
    ulp = spacing_of(x.astype(np.longdouble), dtype)
    with np.errstate(all="ignore"):
        effect = [np.abs(right[k + 1]) * ulp for k in range(ORDERS)]
    if y is not None:
        effect = [a + b for a, b in zip(effect, effect_of_second(row, x, y, right))]
    is_judged = [np.isin(x, row.kinks, invert=True) for _ in range(ORDERS)]
    is_inside = (x >= row.domain[0]) & (x <= row.domain[1])
    for k in range(ORDERS):  # of an infinity outside of the domain, C's functions have values
        is_judged[k] = (is_judged[k] & is_inside) if k else is_inside | np.isfinite(x) | np.isnan(x)
    if row.is_factor:
        info, size = np.finfo(dtype), np.abs(right[0])
        is_judged[1:] = [is_here & (size >= info.smallest_normal) & (size <= info.max) for is_here in is_judged[1:]]
    return Points(x, y, right, [np.where(np.isnan(e), 0, e) for e in effect], is_judged)


def right_at(row: Row, x: Any, y: Any) -> list[Number]:
    """Return the right value and derivatives at one point; NaN outside of the domain."""
    if np.isnan(x):
        return [mp.mpf(float(row.of_nan))] * (ORDERS + 1)
    if not row.domain[0] <= x <= row.domain[1]:
        return [mp.nan] * (ORDERS + 1)
    other = None if y is None else mp.mpf(float(y))
    if x == 0 or np.isinf(x) or x in row.domain or (float(x), 1) in row.ends:
        return at_an_end(row, float(x), other)
    return terms_or_nan(row, mp.mpf(float(x)), other)


def effect_of_second(row: Row, x: np.ndarray, y: np.ndarray, right: list[np.ndarray]) -> list[np.ndarray]:
    """Return what one ulp of the second operand changes."""
    moved = [right_at(row, a, float(np.nextafter(b, np.inf))) for a, b in zip(x, y)]
    with np.errstate(all="ignore"):
        changes = [np.array([wide(t[k]) for t in moved], np.longdouble) - right[k] for k in range(ORDERS)]
    return [np.where(np.isfinite(change), np.abs(change), 0) for change in changes]


def wide(x: Number) -> np.longdouble:
    """Return an mpf as a long double: 64 bits, and a range in which no result of a double over- or underflows."""
    if x == 0 or mp.isnan(x) or mp.isinf(x):
        return np.longdouble(float(x))
    mantissa, exponent = mpmath.frexp(mp.mpf(x))
    high = float(mantissa)
    return np.ldexp(np.longdouble(high) + np.longdouble(float(mantissa - high)), max(min(exponent, 20000), -20000))


# Judgement


def spacing_of(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the distances of a dtype's numbers near to long doubles; the least one where they are subnormal."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x) & (x != 0), x, 1))[1] - 1
    exponent = np.clip(np.where(x == 0, info.minexp, exponent), info.minexp, info.maxexp - 1)
    return np.ldexp(np.longdouble(1), exponent - int(info.nmant))


SMALL_FACTOR = 1024  # a product of an intermediate number that is flushed to zero, and of a larger one


def ulps_off(got: np.ndarray, right: np.ndarray, effect: np.ndarray, dtype: np.dtype, least: float) -> np.ndarray:
    """Return by how many ulps results are wrong, once the effect of an ulp of the argument is taken off.

    NaN for a blunder: NaN, an infinity or zero where the right result is a normal number.  Numbers below `least` count
    as zero.
    """
    info, wide_got = np.finfo(dtype), got.astype(np.longdouble)
    largest, ulp = np.longdouble(info.max), spacing_of(right, dtype)
    beyond = largest + spacing_of(largest, dtype)
    with np.errstate(all="ignore"):
        limited = np.where(np.abs(right) > largest, np.sign(right) * beyond, right)
        bounded = np.where(np.isinf(wide_got), np.sign(wide_got) * beyond, wide_got)
        distance = np.maximum(np.abs(bounded - limited) - effect, 0) / ulp
        is_small = np.abs(right) - effect < least
        distance = np.where(is_small & (np.abs(wide_got) <= 2 * least), 0, distance)
        is_normal = (np.abs(right) >= info.smallest_normal) & (np.abs(right) <= largest)
    is_blunder = is_normal & (~np.isfinite(wide_got) | (wide_got == 0)) & (distance > ULPS)
    distance = np.where(np.isnan(got) != np.isnan(right), np.inf, distance)
    distance = np.where(np.isnan(got) & np.isnan(right), 0, distance)
    return np.where(is_blunder | (is_normal & np.isnan(got)), np.nan, distance)
