"""The error function of complex numbers, times exp(z**2), and its relatives on lines of the complex plane.

One idea: w(z) = exp(-z**2) erfc(-i z) is an integral over the real line, for which the trapezoidal rule with 24 points
has all digits once the residue of the pole at z is added.  Of the rule and the midpoint rule, each element takes the
one whose nodes are far from z.  Sums of squares have no cancellation: each part of w has its own digits.
Source: Al Azah & Chandler-Wilde (2021), Computation of the complex error function using modified trapezoidal rules,
SIAM Journal on Numerical Analysis 59.

Read next: `slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.engine import polynomial, scaled_erfc
from calque_core.engine.numpy_functions import array_of, as_dtype, implements_by_name
from calque_numpy.scipy.floats import complex_dtype, elementwise, float_dtype
from calque_numpy.scipy.slopes import declare
from calque_special.kit import SCALED_ERFC_REGIONS, scaled_erfc_slope

Value = Any

_ROOT_PI = math.sqrt(math.pi)
_COUNT = 12  # of the nodes at or above zero
_STEP = math.sqrt(math.pi / _COUNT)
_VANISHED = 30.0  # exp(-x**2) is 0 before
_FAR = 1e8  # from here on, one term of the asymptotic series has all digits


def _phase(x: Value) -> tuple[Value, Value]:
    """Return x in steps from the nearest multiple, and where the nodes between are too near: the whole ones serve."""
    steps = x / _STEP
    phase = steps - lax.round(steps, lax.RoundingMethod.TO_NEAREST_EVEN)
    return phase, abs(phase) > 0.25


def _nodes(is_whole: Value, dtype: np.dtype[Any]) -> list[tuple[Value, Value]]:
    """Return the nodes at or above zero with their weights: whole multiples of the step, or those between."""

    def choose(x: float, y: float) -> Value:
        return lax.select(is_whole, np.asarray(x, dtype)[()], np.asarray(y, dtype)[()])

    pairs = []
    for k in range(_COUNT):
        whole, half = k * _STEP, (k + 0.5) * _STEP
        weight = math.exp(-whole * whole) * (1.0 if k else 0.5)  # the rule counts the node 0 twice
        pairs.append((choose(whole, half), choose(weight, math.exp(-half * half))))
    return pairs


def _sums(x: Value, y: Value, is_whole: Value) -> tuple[Value, Value]:
    """Return the rule for w(x + iy): the sum over the nodes t of i / (z - t) + i / (z + t), with their weights.

    Both fractions together, so that neither part cancels for small x.
    """
    real = imag = 0.0
    size = x * x + y * y
    for node, weight in _nodes(is_whole, typeof(x).dtype):
        left, right, square = x - node, x + node, node * node
        both = weight / ((left * left + y * y) * (right * right + y * y))
        real, imag = real + both * (size + square), imag + both * (size - square)
    scale = 2 * _STEP / math.pi
    return scale * y * real, scale * x * imag


def _residue(x: Value, y: Value, is_whole: Value, phase: Value) -> tuple[Value, Value]:
    """Return 2 exp(-z**2) p / (1 + p), where p is exp(2 pi i z / h) or, for the whole nodes, its negative."""
    decay, angle = lax.exp(y * (-2 * math.pi / _STEP)), phase * (2 * math.pi)
    size = lax.select(is_whole, -decay, decay)
    p, q = size * lax.cos(angle), size * lax.sin(angle)
    divisor = (1.0 + p) * (1.0 + p) + q * q
    p, q = (p + size * size) / divisor, q / divisor
    cosine, sine = _exponential(x, y)
    return cosine * p + sine * q, cosine * q - sine * p


def _exponential(x: Value, y: Value) -> tuple[Value, Value]:
    """Return 2 exp(y**2 - x**2) cos(2 x y) and the same with the sine."""
    size, angle = 2.0 * lax.exp((y - x) * (y + x)), 2.0 * x * y
    return size * lax.cos(angle), size * lax.sin(angle)


def _first_quadrant(x: Value, y: Value) -> tuple[Value, Value]:
    """Return the parts of w(x + iy) for x, y >= 0."""
    largest = lax.max(x, y)
    is_far = largest > _FAR
    a, b = lax.select(is_far, 1.0, x), lax.select(is_far, 1.0, y)
    is_high = (b >= a) & (b >= math.pi / _STEP)
    phase, is_whole = _phase(lax.min(a, _VANISHED))
    is_whole = is_whole & (b < a)
    real, imag = _sums(a, b, is_whole)
    inner = lax.min(lax.select(is_high, 0.0, b), _VANISHED)
    more, most = _residue(lax.min(a, _VANISHED), inner, is_whole, phase)
    real, imag = real + lax.select(is_high, 0.0, more), imag + lax.select(is_high, 0.0, most)
    u, v = x / largest, y / largest
    scale = (1 / _ROOT_PI) / (largest * (u * u + v * v))
    is_infinite = largest == math.inf
    far_real, far_imag = (lax.select(is_infinite, 0.0, part * scale) for part in (v, u))
    return lax.select(is_far, far_real, real), lax.select(is_far, far_imag, imag)


def _wofz_formula(z: Value) -> Value:
    """Return w(z) by symmetry: w(-conj(z)) = conj(w(z)), and w(z) + w(-z) = 2 exp(-z**2) (DLMF 7.4.3)."""
    x, y = lax.real(z), lax.imag(z)
    real, imag = _first_quadrant(abs(x), abs(y))
    is_low = y < 0.0
    cosine, sine = _exponential(x, lax.select(is_low, y, 0.0))
    sine = lax.select(x == 0.0, 0.0, sine)
    real = lax.select(is_low, cosine - real, real)
    imag = lax.select(x < 0.0, -imag, imag)
    return lax.complex(real, lax.select(is_low, imag - sine, imag))


# Far from zero the derivative is the sum of an asymptotic series; near zero a difference has enough digits.

_BOUND = 7.0
_SLOPES = [math.prod(range(1, 2 * k + 2, 2)) / (2 * _BOUND**2) ** k for k in range(28)]  # DLMF 7.12.1


def _far_slope(x: Value, is_far: Value, sign: float) -> Value:
    """Return the sum of (2k + 1)!! (sign / 2)**k / x**(2k + 2), for an x far from zero."""
    inverse = 1.0 / lax.select(is_far, x, lax.full_like(x, _BOUND))
    square = inverse * inverse
    return polynomial(square * (sign * _BOUND**2), _SLOPES) * square


def _wofz_slope(out: Value, z: Value) -> Value:
    x, y = lax.real(z), lax.imag(z)
    is_far = (abs(x) > _BOUND) | (abs(y) > _BOUND)
    near = -2.0 * z * out + 2j / _ROOT_PI
    far = _far_slope(z, is_far, 1.0) * (-1j / _ROOT_PI)
    below = lax.select(y < 0.0, -4.0 * z * lax.exp(-z * z), lax.zeros_like(z))
    return lax.select(is_far, far + below, near)


wofz_p = declare("wofz", _wofz_formula, _wofz_slope, kinds="c")


@implements_by_name("scipy.special", "wofz")
def wofz(z: Value, /) -> Value:
    """Return the Faddeeva function exp(-z**2) erfc(-i z), of real and complex numbers.

    Shapes: z [*s] -> [*s].  Dtype: complex, of z's precision; complex128 for integers.  Accuracy: 16 ulp of each part
    for Im(z) >= 0; where exp(-z**2) counts, |z|**2 ulp more.

    >>> from calque_numpy.scipy.special import wofz
    >>> wofz(0.0)
    np.complex128(1+0j)
    """
    z = array_of(z) if isinstance(z, (list, tuple)) else z
    dtype = float_dtype("wofz", z, takes_complex=True)
    with np.errstate(all="ignore"):
        return wofz_p.bind(as_dtype(z, complex_dtype(dtype)))


# exp(x**2) erfc(x)


def _erfcx_formula(x: Value) -> Value:
    """Return exp(x**2) erfc(x); exp(x**2) is split where x is a multiple of 1/16, so that its square is exact."""
    size = abs(x)
    tail = scaled_erfc(size)
    whole = lax.floor(lax.min(size, _OVERFLOW) * 16.0) / 16.0
    fraction = lax.min(size, _OVERFLOW) - whole
    power = lax.exp(whole * whole)
    power = power * (1.0 + lax.expm1(fraction * (fraction + 2.0 * whole)))  # XLA would join two exponentials
    return lax.select(x < 0.0, 2.0 * power - tail, tail)


def _erfcx_slope(out: Value, x: Value) -> Value:
    is_far, is_near = x > _BOUND, x < 1.0
    far = _far_slope(x, is_far, -1.0) * (-1 / _ROOT_PI)
    middle = scaled_erfc_slope(lax.select(is_near, lax.full_like(x, 1.0), x))
    near = 2.0 * lax.select(is_near, x, 0.0) * out - 2 / _ROOT_PI
    return lax.select(is_far, far, lax.select(is_near, near, middle))


_OVERFLOW = 64.0  # exp(x**2) overflows before
erfcx_p = declare("erfcx", _erfcx_formula, _erfcx_slope, regions={(): SCALED_ERFC_REGIONS})


@elementwise(takes_complex=True)
def erfcx(x: Value, /) -> Value:
    """Return exp(x**2) erfc(x), where erfc alone underflows; of complex numbers, too.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 8 ulp; of complex numbers as wofz.

    >>> from calque_numpy.scipy.special import erfcx
    >>> round(float(erfcx(1e10) * 1e10), 9)
    0.564189584
    """
    return wofz_p.bind(x * 1j) if typeof(x).kind == "c" else erfcx_p.bind(x)


# Dawson's integral


def _dawsn_formula(x: Value) -> Value:
    """Return sqrt(pi) / 2 times the imaginary part of w(x), near zero by its power series (DLMF 7.6.3)."""
    size = abs(x)
    is_near, is_far = size < 0.7, size > _FAR
    square = lax.select(is_near, x * x, 0.0)
    series = x * polynomial(square, _DAWSON_SERIES)
    a = lax.select(is_near | is_far, 1.0, size)
    phase, is_whole = _phase(lax.min(a, _VANISHED))
    total = 0.0
    for node, weight in _nodes(is_whole, typeof(x).dtype):
        total = total + weight / ((a - node) * (a + node))
    turn = lax.select(is_whole, lax.select(phase > 0.0, phase - 0.5, phase + 0.5), phase)
    residue = lax.exp(-a * a) * lax.tan(turn * math.pi)
    far = lax.select(is_far, 0.5 / size, a * total * (_STEP / _ROOT_PI) + residue * (_ROOT_PI / 2))
    return lax.select(is_near, series, lax.select(x < 0.0, -far, far))


_DAWSON_SERIES = [(-2.0) ** k / math.prod(range(1, 2 * k + 2, 2)) for k in range(17)]


def _dawsn_slope(out: Value, x: Value) -> Value:
    """Return 1 - 2 x D(x) near zero; where this cancels, the derivative of the rule, or the asymptotic series."""
    size = abs(x)
    is_near, is_far = size < 2.0, size > _BOUND
    near = 1.0 - 2.0 * lax.select(is_near, x, 0.0) * out
    a = lax.select(is_near | is_far, 2.0, size)
    phase, is_whole = _phase(a)
    total = slope = 0.0
    for node, weight in _nodes(is_whole, typeof(x).dtype):
        term = weight / ((a - node) * (a + node))
        total, slope = total + term, slope + term / ((a - node) * (a + node))
    turn = lax.select(is_whole, lax.select(phase > 0.0, phase - 0.5, phase + 0.5), phase)
    tangent = lax.tan(turn * math.pi)
    residue = lax.exp(-a * a) * ((1.0 + tangent * tangent) * (math.pi / _STEP) - 2.0 * a * tangent)
    middle = (total - 2.0 * a * a * slope) * (_STEP / _ROOT_PI) + residue * (_ROOT_PI / 2)
    return lax.select(is_far, -0.5 * _far_slope(x, is_far, 1.0), lax.select(is_near, near, middle))


dawsn_p = declare("dawsn", _dawsn_formula, _dawsn_slope)


@elementwise()
def dawsn(x: Value, /) -> Value:
    """Return Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x.  Accuracy: 8 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import dawsn
    >>> round(float(dawsn(1.0)), 12)
    0.538079506913
    """
    return dawsn_p.bind(x)


# Fresnel's integrals

_FRESNEL_NEAR = 1.2
_SERIES_C = [(-((math.pi / 2) ** 2)) ** k / (math.factorial(2 * k) * (4 * k + 1)) for k in range(13)]
_SERIES_S = [math.pi / 2 * (-((math.pi / 2) ** 2)) ** k / (math.factorial(2 * k + 1) * (4 * k + 3)) for k in range(13)]


def _half_square(x: Value) -> Value:
    """Return pi x**2 / 2 up to whole turns: for x = 2 m + r, x**2 / 4 is m**2 + m r + r**2 / 4, and m r is exact."""
    m = lax.round(0.5 * x, lax.RoundingMethod.TO_NEAREST_EVEN)
    r = x - 2.0 * m
    product = m * r
    return (product - lax.floor(product) + 0.25 * r * r) * (2 * math.pi)


def _fresnel_parts(x: Value) -> tuple[Value, Value]:
    """Return the parts of (1 + i) exp(i pi x**2 / 2) w(sqrt(pi) (1 + i) x / 2) / 2 for x >= 1 (DLMF 7.5.8)."""
    side = lax.max(x, 1.0) * (_ROOT_PI / 2)
    real, imag = _first_quadrant(side, side)
    angle = _half_square(x)
    cosine, sine = lax.cos(angle), lax.sin(angle)
    real, imag = real * cosine - imag * sine, real * sine + imag * cosine
    return 0.5 * (real - imag), 0.5 * (real + imag)


def _signed(size: Value, x: Value) -> Value:
    return lax.select(x < 0.0, -size, size)


def _fresnel_c_formula(x: Value) -> Value:
    """Return C(x): near zero by its power series (DLMF 7.6.4)."""
    size = abs(x)
    near = lax.min(size, _FRESNEL_NEAR)
    square = near * near
    far = lax.select(size == math.inf, 0.5, 0.5 - _fresnel_parts(size)[0])
    return lax.select(size < _FRESNEL_NEAR, x * polynomial(square * square, _SERIES_C), _signed(far, x))


def _fresnel_s_formula(x: Value) -> Value:
    """Return S(x): near zero by its power series (DLMF 7.6.6)."""
    size = abs(x)
    near = lax.min(size, _FRESNEL_NEAR)
    square = near * near
    far = lax.select(size == math.inf, 0.5, 0.5 - _fresnel_parts(size)[1])
    return lax.select(size < _FRESNEL_NEAR, x * square * polynomial(square * square, _SERIES_S), _signed(far, x))


fresnel_c_p = declare("fresnel_c", _fresnel_c_formula, lambda out, x: lax.cos(_half_square(x)))
fresnel_s_p = declare("fresnel_s", _fresnel_s_formula, lambda out, x: lax.sin(_half_square(x)))


@elementwise()
def fresnel(x: Value, /) -> tuple[Value, Value]:
    """Return Fresnel's integrals S and C, of sin(pi t**2 / 2) and of cos(pi t**2 / 2) from 0 to x.  Accuracy: 8 ulp.

    Shapes: x [*s] -> a pair of [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import fresnel
    >>> s, c = fresnel(1.0)
    >>> round(float(s), 12), round(float(c), 12)
    (0.43825914739, 0.779893400377)
    """
    return fresnel_s_p.bind(x), fresnel_c_p.bind(x)
