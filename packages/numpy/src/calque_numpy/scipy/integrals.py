"""Integrals of an exponential, a sine, a cosine or a logarithm over its argument.

One idea: near zero a logarithm plus a power series, factored where the function has a zero, so that its digits remain
there; elsewhere a polynomial times the function's decay.
Source of the regions: Cody & Thacher (1968, 1969), Rational Chebyshev approximations for the exponential integral,
Mathematics of Computation 22 and 23.

Read next: `slopes.py`; `coefficients.py`, and the script that derives them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calque_special
from calque_core import Primitive, lax
from calque_core.engine import polynomial
from calque_numpy.scipy import coefficients as tables
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.slopes import declare
from calque_special.kit import gamma_of, summed

Value = Any
Values = tuple[Value, ...]

_TERMS = 20
_E1_SERIES = [-((-1.0) ** k) / (k * math.factorial(k)) for k in range(1, _TERMS)]


def _from_root(x: Value, root: tuple[float, ...], mask: Value) -> tuple[Value, Value]:
    """Return x - r and log(x / r) for a zero r of a function, given in two pieces.

    The second piece depends on x for XLA, which would otherwise round the sum of both before it subtracts.
    """
    r = sum(root)
    distance = (x - root[0]) - lax.select(mask, lax.full_like(x, root[1]), x)
    is_near = abs(distance) < r / 2
    near = lax.log1p(lax.select(is_near, distance, 0.0) / r)
    return distance, lax.select(is_near, near, lax.log(x) - math.log(r))


# Exponential integrals


def _exp1_formula(x: Value) -> Value:
    is_near = x <= 1.0
    near, far = lax.select(is_near, x, 1.0), lax.select(is_near, 1.0, x)
    series = near * polynomial(near, _E1_SERIES) - np.euler_gamma - lax.log(near)  # DLMF 6.6.2
    far = lax.min(far, _EXPONENT)
    tail = lax.exp(-far) * polynomial((far - 4.0) / (far + 2.0), tables.E1_SCALED) / (far + 1.0)
    return lax.select(is_near, series, tail)


def _expi_formula(x: Value) -> Value:
    is_near = x <= 6.0
    near = lax.select(is_near & (x >= 0.0), x, 3.0)
    distance, logarithm = _from_root(near, tables.EI_ROOT, is_near)
    series = logarithm + distance * polynomial(near / 3.0 - 1.0, tables.EI_NEAR)
    far = lax.min(lax.max(x, 6.0), _EXPONENT)
    low = polynomial((96.0 / lax.min(far, 16.0) - 11.0) / 5.0, tables.EI_LOW)
    middle = polynomial((160.0 / lax.clamp(16.0, far, 40.0) - 7.0) / 3.0, tables.EI_MIDDLE)
    large = polynomial(80.0 / lax.max(far, 40.0) - 1.0, tables.EI_LARGE)
    scaled = lax.select(far < 16.0, low, lax.select(far < 40.0, middle, large))
    half = lax.exp(0.5 * far)  # exp(x) overflows before exp(x) / x
    positive = lax.select(is_near, series, half * (scaled / far) * half)
    return lax.select(x < 0.0, -_exp1_formula(lax.select(x < 0.0, -x, 1.0)), positive)


_EXPONENT = 1500.0  # exp overflows and underflows before
exp1_p = declare("exp1", _exp1_formula, lambda out, x: -lax.exp(-x) / x)


def _exp_over_x(x: Value) -> Value:
    half = lax.exp(0.5 * x)  # exp(x) overflows before exp(x) / x
    return lax.select(x == math.inf, math.inf, half / x * half)


exp_over_x_p = declare("exp_over_x", _exp_over_x, lambda out, x: out * (1.0 - 1.0 / x))
expi_p = declare("expi", _expi_formula, lambda out, x: exp_over_x_p.bind(x))


@elementwise()
def exp1(x: Value, /) -> Value:
    """Return the exponential integral E1, of exp(-t) / t from x to infinity: infinite at 0, NaN below.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import exp1
    >>> round(float(exp1(1.0)), 12)
    0.219383934396
    """
    return exp1_p.bind(x)


@elementwise()
def expi(x: Value, /) -> Value:
    """Return the exponential integral Ei, the principal value for positive x: minus infinity at 0.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import expi
    >>> round(float(expi(1.0)), 12)
    1.895117816356
    """
    return expi_p.bind(x)


def _expn_series(n: Value, x: Value) -> Value:
    """Return E_n(x) for n >= 1 and 0 < x <= 1 (DLMF 8.19.8)."""
    term, total = lax.full_like(x, 1.0), lax.full_like(x, 0.0)
    for k in range(_TERMS):
        shift = (k + 1.0) - n
        is_pole = shift == 0.0
        total = total - lax.select(is_pole, 0.0, term / lax.select(is_pole, 1.0, shift))
        term = term * (x * (-1.0 / (k + 1.0)))
    is_odd = lax.floor(n * 0.5) * 2.0 != n
    power = lax.pow(x, n - 1.0) / gamma_of(lax.min(n, _LARGEST_ORDER))
    return lax.select(is_odd, power, -power) * (calque_special.digamma(n) - lax.log(x)) + total


_LARGEST_ORDER = 30.0  # from here on the power is not counted beside the sum, and gamma would overflow


def _expn_fraction(n: Value, x: Value) -> Value:
    """Return E_n(x) for x > 1 by its continued fraction (DLMF 8.19.17), which Steed's method sums."""

    def step(k: Value, values: Values) -> Values:
        d, term, total = values
        numerator = (1.0 - n - k) * k * d
        d_next = 1.0 / (x + n + 2.0 * k + numerator)
        term = -(numerator * d_next) * term
        return d_next, term, total + term

    d = 1.0 / (x + n)
    return lax.exp(-x) * summed(step, (d, d, d))[-1]


def _expn_formula(n: Value, x: Value) -> Value:
    n, is_near = lax.select(n < 0.0, lax.ceil(n), lax.floor(n)), x <= 1.0
    is_number = (x > 0.0) & (x < math.inf) & (n >= 1.0) & (n < math.inf)
    near = _expn_series(lax.select(is_number, n, 1.0), lax.select(is_near & is_number, x, 1.0))
    is_far = is_number & ~is_near
    far = _expn_fraction(lax.select(is_number, n, 1.0), lax.select(is_far, x, 1000.0))
    out = lax.select(is_near, near, far)
    out = lax.select(
        x == 0.0, 1.0 / lax.select(n > 1.0, n - 1.0, 0.0), lax.select(n < 1.0, _expn_of_derivative(n, x), out)
    )
    out = lax.select(x == math.inf, 0.0, lax.select(n == math.inf, 0.0, out))
    return lax.select((n >= _LOWEST_ORDER) & (x >= 0.0), out, math.nan)


_LOWEST_ORDER = -8.0


def _expn_of_derivative(n: Value, x: Value) -> Value:
    """Return E_n(x) for n = 0, -1, ...: x E_n is exp(-x) - n E_(n+1) (DLMF 8.19.12)."""
    decay = lax.exp(-x)
    out = now = decay / x
    for k in range(1, 1 - int(_LOWEST_ORDER)):
        now = (decay + float(k) * now) / x
        out = lax.select(n == float(-k), now, out)
    return out


expn_p: Primitive = declare(
    "expn", _expn_formula, "the order n", lambda out, n, x: -expn_p.bind(n - 1.0, x)
)  # DLMF 8.19.13


@elementwise()
def expn(n: Value, x: Value, /) -> Value:
    """Return the exponential integral of order n, of exp(-x t) / t**n from 1 to infinity; only x has a derivative.

    The order counts without its fraction.  NaN where n or x is negative.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 16 ulp.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import expn
    >>> expn(np.array([0, 1, 2]), 1.0)
    array([0.36787944, 0.21938393, 0.14849551])
    """
    return expn_p.bind(lax.select(n < 0.0, math.nan, n), x)  # negative orders are for derivatives


# Sine and cosine integrals

_SINC = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(11)]


def _sinc(out: Value, x: Value) -> Value:
    """Return sin(x) / x; near zero by its power series, so that all derivatives are right."""
    is_near = abs(x) < 1.0
    near, far = lax.select(is_near, x, 0.0), lax.select(is_near, 1.0, x)
    return lax.select(is_near, polynomial(near * near, _SINC), lax.sin(far) / far)


def _auxiliary(x: Value) -> tuple[Value, Value]:
    """Return f(x) and g(x) for x >= 6 (DLMF 6.2.17 and 6.2.18)."""
    x = lax.max(x, 6.0)
    t = 1.0 - 24.0 / (x + 6.0)
    return polynomial(t, tables.AUXILIARY_F) / x, polynomial(t, tables.AUXILIARY_G) / x / x


def _si_formula(x: Value) -> Value:
    size = abs(x)
    near = lax.min(size, 6.0)
    f, g = _auxiliary(size)
    far = math.pi / 2 - lax.select(size == math.inf, 0.0, f * lax.cos(size) + g * lax.sin(size))
    series = x * polynomial(near * near / 18.0 - 1.0, tables.SI_NEAR)
    return lax.select(size <= 6.0, series, lax.select(x < 0.0, -far, far))


def _ci_formula(x: Value) -> Value:
    size = abs(x)
    near = lax.min(size, 6.0)
    distance, logarithm = _from_root(near, tables.CI_ROOT, size <= 6.0)
    series = logarithm + distance * (near + sum(tables.CI_ROOT)) * polynomial(near * near / 18.0 - 1.0, tables.CI_NEAR)
    f, g = _auxiliary(size)
    far = lax.select(x == math.inf, 0.0, f * lax.sin(size) - g * lax.cos(size))
    return lax.select(size <= 6.0, series, far)


si_p = declare("si", _si_formula, _sinc)
ci_p = declare("ci", _ci_formula, lambda out, x: lax.cos(x) / x)


@elementwise()
def sici(x: Value, /) -> tuple[Value, Value]:
    """Return the sine integral and the cosine integral; that of a negative x is the one of -x, minus infinity at 0.

    Shapes: x [*s] -> a pair of [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 ulp; of the cosine integral
    beyond its first zero, 16 ulp of 1 / x.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import sici
    >>> si, ci = sici(1.0)
    >>> round(float(si), 12), round(float(ci), 12)
    (0.946083070367, 0.337403922901)
    """
    return si_p.bind(x), ci_p.bind(x)


# Spence's function

_DILOGARITHM = [1.0, -1 / 4, 1 / 36, 0.0, -1 / 3600, 0.0, 1 / 211680, 0.0, -1 / 10886400, 0.0, 1 / 526901760, 0.0]
_DILOGARITHM += [-691 / 16999766784000, 0.0, 1 / 1120863744000, 0.0, -3617 / 181400588328960000]


def _spence_formula(x: Value) -> Value:
    """Return the sum of B_n u**(n + 1) / (n + 1)! with u = -log(x), between 1/2 and 2 (Lewin (1981), 1.4).

    Larger x become smaller by inversion, and smaller ones larger by reflection (DLMF 25.12.4 and 25.12.6).
    """
    is_large = x > 2.0
    y = lax.select(is_large, 1.0 / lax.select(is_large, x, 1.0), x)
    is_small = y < 0.5
    logarithm, complement_log = lax.log(y), lax.log1p(-lax.select(is_small, y, 0.0))
    u = 0.0 - lax.select(is_small, complement_log, logarithm)  # 0.0, not -0.0, for x = 1
    series = u * polynomial(u, _DILOGARITHM)
    product = lax.select(y == 0.0, 0.0, logarithm * complement_log)
    small = lax.select(is_small, math.pi**2 / 6 - product - series, series)
    power = lax.log(lax.select(is_large, x, 1.0))
    out = lax.select(is_large, -0.5 * power * power - small, small)
    return lax.select(x == math.inf, math.nan, out)  # as SciPy's


_LOG1P = [1 / (2 * k + 1) for k in range(12)]


def _spence_slope(out: Value, x: Value) -> Value:
    """Return log(x) / (1 - x); near 1 the series of 2 atanh(v), v = (x - 1) / (x + 1)."""
    excess = x - 1.0
    is_near = abs(excess) < 0.25
    v = lax.select(is_near, excess, 0.0) / (x + 1.0)
    near = -2.0 * polynomial(v * v, _LOG1P) / (x + 1.0)
    return lax.select(is_near, near, -lax.log(x) / lax.select(is_near, 1.0, excess))


spence_p = declare("spence", _spence_formula, _spence_slope)


@elementwise()
def spence(z: Value, /) -> Value:
    """Return Spence's function, the integral of log(t) / (1 - t) from 1 to z: the dilogarithm of 1 - z.

    NaN where z is negative, and where it is infinite, as SciPy's; the limit is -inf.
    Shapes: z [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import spence
    >>> round(float(spence(0.0)), 12)
    1.644934066848
    """
    return spence_p.bind(z)
