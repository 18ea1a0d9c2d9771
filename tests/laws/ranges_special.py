"""Rows of the law of ranges: special functions of `lax` and `scipy.special`.

One idea: a reference is the function and three derivatives, each by a formula of mpmath's functions in which nothing
cancels; far from zero, the terms of the asymptotic series and their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import ranges as r
from mpmath import mp
from ranges import Row, Series

from calque_core import lax
from calque_numpy.scipy import special

Number = Any
Derivatives = Callable[[Number], Sequence[Number]]
Options = dict[str, Any]
INF = np.inf
NOTHING = [mp.nan] * 4
OUTSIDE = [mp.inf, 0, 0, 0]
HUGE = 2**14  # exp of it overflows, and of its negative underflows, by far


def given(derivatives: Derivatives) -> Callable[[Series], Series]:
    """Return the reference that `derivatives(x)` lists: the value and three derivatives."""

    def reference(x: Series) -> Series:
        values = derivatives(x.value)
        return Series([values[k] / mp.factorial(k) for k in range(len(x.terms))])

    return reference


def asymptotic(first: Number, power: Number, ratio: Callable[[int], Number], x: Number) -> list[Number]:
    """Return the sum of terms c_k x**-(power + k step), with its derivatives; `ratio(k)` is c_k / c_(k - 1).

    The step is 1; a series in 1 / x**2 has the ratio 0 after each odd k, and is given by pairs.
    """
    out, c = [mp.mpf(0)] * 4, mp.mpf(first)
    for k in range(400):
        size = c * x ** -(power + k)
        for order in range(4):
            out[order] += size * mp.fprod(-(power + k + i) for i in range(order)) / x**order
        c *= ratio(k + 1)
        if c == 0 or abs(c * x ** -(k + 1)) < mp.mpf(2) ** -(mp.prec + 20) * abs(first):
            break
    return out


def even_asymptotic(first: Number, power: Number, ratio: Callable[[int], Number], x: Number) -> list[Number]:
    """Return the sum of c_k x**-(power + 2 k) with its derivatives."""
    out, c = [mp.mpf(0)] * 4, mp.mpf(first)
    for k in range(400):
        size, exponent = c * x ** -(power + 2 * k), power + 2 * k
        for order in range(4):
            out[order] += size * mp.fprod(-(exponent + i) for i in range(order)) / x**order
        c *= ratio(k + 1)
        if abs(c) * abs(x) ** (-2 * k - 2) < mp.mpf(2) ** -(mp.prec + 20) * abs(first):
            break
    return out


# Modified Bessel functions: the derivative of I_n is (I_(n-1) + I_(n+1)) / 2, DLMF 10.29.1


def bessel(n: int, x: Number) -> Number:
    return mp.sign(x) ** n * mp.mpf(2) ** 30000 if abs(x) > HUGE else mp.besseli(n, x)


def orders(n: int, count: int) -> dict[int, Number]:
    """Return the derivative of order `count` of I_n as factors of I_0, I_1, ..."""
    out: dict[int, Number] = {n: mp.mpf(1)}
    for _ in range(count):
        spread: dict[int, Number] = {}
        for k, factor in out.items():
            for other in (abs(k - 1), k + 1):
                spread[other] = spread.get(other, 0) + factor / 2
        out = spread
    return out


def i_(n: int) -> Derivatives:
    return lambda x: [mp.fsum(c * bessel(k, x) for k, c in orders(n, order).items()) for order in range(4)]


def i_e(n: int) -> Derivatives:
    """Return exp(-|x|) I_n(x): by DLMF 10.40.1 from 400 on."""

    def derivatives(x: Number) -> list[Number]:
        size, side = abs(x), mp.sign(x) or 1
        if size > 400:
            ratio = lambda k: -(mp.mpf(4 * n * n) - (2 * k - 1) ** 2) / (8 * k)
            out = asymptotic(1 / mp.sqrt(2 * mp.pi), mp.mpf(0.5), ratio, size)
        else:
            with mp.workprec(2 * mp.prec):
                parts = [d * mp.exp(-size) for d in i_(n)(size)]
                out = [mp.fsum(mp.binomial(k, j) * (-1) ** (k - j) * parts[j] for j in range(k + 1)) for k in range(4)]
        return [side ** (n + k) * d for k, d in enumerate(out)]

    return derivatives


# The error function and its relatives


def erfcx(x: Number) -> list[Number]:
    if x > 64:
        return even_asymptotic(1 / mp.sqrt(mp.pi), 1, lambda k: -mp.mpf(2 * k - 1) / 2, x)
    if x < -HUGE:
        return [mp.mpf(2) ** 30000 * (-1) ** k for k in range(4)]
    with mp.workprec(mp.prec + 200):
        y = mp.exp(x * x) * mp.erfc(x)
    return from_slopes(y, lambda y: 2 * x * y - 2 / mp.sqrt(mp.pi), lambda a, b: 2 * a + 2 * x * b, 2)


def from_slopes(y: Number, first: Callable[[Number], Number], rest: Callable[..., Number], factor: int) -> list[Number]:
    """Return derivatives of y by y' = first(y), y'' = rest(y, y') and y''' = 2 `factor` y' + ... in the same form."""
    one = first(y)
    two = rest(y, one)
    return [y, one, two, rest(2 * one, two)]


def dawsn(x: Number) -> list[Number]:
    if abs(x) > 64:
        return even_asymptotic(mp.mpf(0.5), 1, lambda k: mp.mpf(2 * k - 1) / 2, x)
    if abs(x) < mp.mpf(2) ** -100:
        return [x, mp.mpf(1), -4 * x, mp.mpf(-4)]
    with mp.workprec(mp.prec + 200):
        y = x * mp.hyp1f1(1, mp.mpf(1.5), -x * x)
    return from_slopes(y, lambda y: 1 - 2 * x * y, lambda a, b: -2 * a - 2 * x * b, -2)


def erfinv(x: Number) -> list[Number]:
    size = mp.erfinv(x) if abs(x) > mp.mpf(2) ** -100 else mp.sqrt(mp.pi) / 2 * x
    slope = mp.sqrt(mp.pi) / 2 * mp.exp(size * size)
    return [size, slope, 2 * size * slope**2, slope**3 * (2 + 8 * size * size)]


def density(x: Number) -> Number:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) if abs(x) < HUGE else mp.mpf(0)


def area(x: Number) -> Number:
    """Return the area under the normal density; far in the tail a number of the right size."""
    return density(x) / -x if x < -HUGE else mp.erfc(-x / mp.sqrt(2)) / 2


def ndtr(x: Number) -> list[Number]:
    return [area(x), density(x), -x * density(x), (x * x - 1) * density(x)]


def log_ndtr(x: Number) -> list[Number]:
    if x > 64:
        return [-area(-x), density(x), -x * density(x), (x * x - 1) * density(x)]
    scaled = erfcx(-x / mp.sqrt(2)) if x < 0 else None
    with mp.workprec(mp.prec + 400):
        value = mp.log(scaled[0] / 2) - x * x / 2 if scaled else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)
    if scaled is None:
        slope = density(x) / area(x)
        return [value, slope, -slope * (x + slope), slope * ((x + slope) * (x + 2 * slope) - 1)]
    series = Series([d / mp.factorial(k) * (-1 / mp.sqrt(2)) ** k for k, d in enumerate(scaled)])
    slopes = mp.sqrt(2 / mp.pi) / series
    return [value, *(slopes.terms[k] * mp.factorial(k) for k in range(3))]


def ndtri(p: Number) -> list[Number]:
    y = quantile(p)
    slope = 1 / density(y)
    return [y, slope, y * slope**2, slope**3 * (1 + 2 * y * y)]


def quantile(p: Number) -> Number:
    """Return the quantile by Newton's method for the logarithm of the area."""
    if p >= 0.5:
        return -quantile(1 - p) if p > 0.5 else mp.mpf(0)
    if p <= 0:
        return mp.nan
    y = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else (p - mp.mpf(0.5)) * mp.sqrt(2 * mp.pi)
    for _ in range(60):
        change = (mp.log(area(y)) - mp.log(p)) * area(y) / density(y)
        y -= change
        if abs(change) <= abs(y) * mp.mpf(2) ** -(mp.prec // 2 + 8):
            return y
    raise ArithmeticError(f"no quantile of {p}")


# Integrals of exponentials and of angles


def exponential(x: Number) -> Number:
    return r.exp(Series([x])).value


def exp1(x: Number) -> list[Number]:
    if x < 0:
        return NOTHING
    tail = exponential(-x)
    value = tail / x if x > HUGE else mp.e1(x) if x > mp.mpf(2) ** -200 else -mp.euler - mp.log(x)
    return [value, -tail / x, tail * (x + 1) / x**2, -tail * (x * x + 2 * x + 2) / x**3]


def expi(x: Number) -> list[Number]:
    grown = exponential(x)
    value = grown / x if abs(x) > HUGE else mp.ei(x) if abs(x) > mp.mpf(2) ** -200 else mp.euler + mp.log(abs(x))
    return [value, grown / x, grown * (x - 1) / x**2, grown * (x * x - 2 * x + 2) / x**3]


def expn(n: int) -> Derivatives:
    def value(m: int, x: Number) -> Number:
        if m < 1:
            return exponential(-x) * mp.fsum(
                mp.factorial(-m) / mp.factorial(k) * x ** (k + m - 1) for k in range(1 - m)
            )
        if x < mp.mpf(2) ** -600:
            return -mp.euler - mp.log(x) if m == 1 else mp.mpf(1) / (m - 1)
        return exponential(-x) / x if x > HUGE else mp.expint(m, x)

    return lambda x: [(-1) ** k * value(n - k, x) for k in range(4)] if x >= 0 else NOTHING


def spence(z: Number) -> list[Number]:
    if z < 0:
        return NOTHING
    u, logarithm = 1 - z, mp.log(z)
    if abs(u) < mp.mpf(2) ** -40:
        series = lambda power: mp.fsum(mp.mpf(power(n)) * u ** (n - 1) for n in range(1, 30))
        by_z = [-series(lambda n: mp.mpf(1) / n), series(lambda n: mp.mpf(n) / (n + 1)), None]
        third = -mp.fsum(mp.mpf((n + 1) * n) / (n + 2) * u ** (n - 1) for n in range(1, 30))
        return [mp.fsum(u**n / mp.mpf(n) ** 2 for n in range(1, 30)), by_z[0], by_z[1], third]
    far = z > 2**10
    w = 1 / z if far else z
    small = mp.pi**2 / 6 - mp.log(w) * mp.log1p(-w) - mp.polylog(2, w).real if w < 0.5 else mp.polylog(2, 1 - w).real
    value = -logarithm * logarithm / 2 - small if far else small
    slope = logarithm / u
    second = (1 / z + slope) / u
    return [value, slope, second, (2 * second - 1 / z**2) / u]


# The gamma function


def psi(n: int, x: Number) -> Number:
    """Return the derivative of order n of digamma; for x < 0 by reflection."""
    if x <= 0 and x == mp.floor(x):
        return mp.inf if n % 2 else mp.nan
    if 0 < abs(x) < mp.mpf(2) ** -300:
        return (-1) ** (n + 1) * mp.factorial(n) / x ** (n + 1) - (mp.euler if n == 0 else 0)
    if x > mp.mpf(2) ** 60:
        if n == 0:
            return mp.log(x) - 1 / (2 * x)
        return (-1) ** (n + 1) * mp.factorial(n - 1) / x**n * (1 + mp.mpf(n) / (2 * x) + n * (n + 1) / (12 * x * x))
    if x > 0:
        with mp.workprec(mp.prec + 40 * n + 400):  # mpmath's function loses digits of high orders
            return mp.psi(n, x) if n < 4 else (-1) ** (n + 1) * mp.factorial(n) * mp.zeta(n + 1, x)
    return (-1) ** n * psi(n, 1 - x) - cotangent(n, mp.cospi(x) / mp.sinpi(x))


def cotangent(n: int, c: Number) -> Number:
    """Return the derivative of order n of pi cot(pi x), a polynomial in c = cot(pi x): c' is -pi (1 + c**2)."""
    powers = [0, 1]
    for _ in range(n):
        slope = [k * a for k, a in enumerate(powers)][1:]
        powers = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope])]
    return mp.pi ** (n + 1) * mp.fsum(a * c**k for k, a in enumerate(powers))


def log_gamma(x: Number) -> Number:
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    if 0 < abs(x) < mp.mpf(2) ** -300:
        return -mp.log(abs(x))
    if x > mp.mpf(2) ** 100:
        return (x - mp.mpf(0.5)) * mp.log(x) - x + mp.log(2 * mp.pi) / 2
    if x < 0:
        return mp.log(mp.pi / abs(mp.sinpi(x))) - log_gamma(1 - x)
    return mp.loggamma(x).real


def gammaln(x: Number) -> list[Number]:
    return [log_gamma(x), *(psi(k, x) for k in range(3))]


def digamma(x: Number) -> list[Number]:
    return [psi(k, x) for k in range(4)]


def gamma(x: Number) -> list[Number]:
    if x <= 0 and x == mp.floor(x):
        return NOTHING
    value = mp.mpf(2) ** 30000 if x > 4000 else mp.gamma(x)
    p, q, s = (psi(k, x) for k in range(3))
    return [value, value * p, value * (p * p + q), value * (p**3 + 3 * p * q + s)]


def polygamma(n: int) -> Derivatives:
    return lambda x: [psi(n + k, x) for k in range(4)]


def loggamma(x: Number) -> list[Number]:
    return gammaln(x) if x > 0 else NOTHING


# Entropies and powers


def entr(x: Number) -> list[Number]:
    if x < -(mp.mpf(2) ** -2000):  # zero of both signs has the limit from above
        return [-mp.inf, mp.mpf(0), mp.mpf(0), mp.mpf(0)]
    return [-x * mp.log(x) if x else mp.mpf(0), -mp.log(x) - 1, -1 / x, 1 / x**2]


def rel_entr(y: Number) -> Derivatives:
    return lambda x: [x * mp.log(x / y), mp.log(x / y) + 1, 1 / x, -1 / x**2] if x >= 0 else OUTSIDE


def rel_entr_of(x: Number) -> Derivatives:
    return lambda y: [x * mp.log(x / y), -x / y, x / y**2, -2 * x / y**3] if y >= 0 else OUTSIDE


def kl_div(y: Number) -> Derivatives:
    return lambda x: [x * mp.log(x / y) - x + y, mp.log(x / y), 1 / x, -1 / x**2] if x >= 0 else OUTSIDE


def kl_div_of(x: Number) -> Derivatives:
    return lambda y: [x * mp.log(x / y) - x + y, 1 - x / y, x / y**2, -2 * x / y**3] if y >= 0 else OUTSIDE


def logit(x: Number) -> list[Number]:
    product = x * (1 - x)
    return [mp.log(x / (1 - x)), 1 / product, (2 * x - 1) / product**2, 2 * (1 - 3 * product) / product**3]


def boxcox(power: float, shift: int) -> Callable[[Series], Series]:
    logarithm = r.log1p if shift else r.log
    return lambda x: r.expm1(logarithm(x) * mp.mpf(power)) / mp.mpf(power) if power else logarithm(x)


# Rows


def with_numbers(name: str, numbers: Iterable[float], row: Callable[[float], Row]) -> Iterable[Row]:
    """Return rows named by a number, which is the other operand."""
    for y in numbers:
        made = row(y)
        yield replace(made, name=f"special.{name} {made.name} {y}")


POSITIVE: Options = {"domain": (0.0, INF), "kinks": (0.0,)}
FROM_LOG: Options = {**POSITIVE, "ends": {(0.0, 0): -INF}}
LOGARITHM = {(0.0, 0): INF, (INF, 0): INF, (INF, 1): INF}
GROWING = {(INF, 0): INF, (INF, 1): INF, (INF, 2): INF}
OTHERS = (0.375, 7.0)


def two(name: str, first: Any, second: Any, function: Any, at_zero: Callable[[float], float]) -> Iterable[Row]:
    """Return rows of a divergence in each of its operands; `at_zero(y)` is its value for x = 0."""
    typed = lambda x, y: np.asarray(y, np.dtype(x.dtype))[()]

    def in_x(y: float) -> Row:
        ends = {(0.0, 0): at_zero(y)}
        return Row(
            "in x", lambda x: function(x, typed(x, y)), given(first(mp.mpf(y))), near=(y,), kinks=(0.0, INF), ends=ends
        )

    def in_y(x: float) -> Row:
        ends = {(0.0, 0): INF}
        return Row(
            "in y", lambda y: function(typed(y, x), y), given(second(mp.mpf(x))), near=(x,), kinks=(0.0, INF), ends=ends
        )

    yield from with_numbers(name, OTHERS, in_x)
    yield from with_numbers(name, OTHERS, in_y)


ROWS = [
    Row("lax.erf", lax.erf, r.erf),
    Row("lax.erfc", lax.erfc, r.erfc),
    Row("special.i0", special.i0, given(i_(0)), near=(0.0, 709.0, -713.0, 88.0, 2.0, 8.0)),
    Row("special.i1", special.i1, given(i_(1)), near=(0.0, 709.0, -713.0, 88.0, 1.0)),
    Row("special.i0e", special.i0e, given(i_e(0)), near=(2.0, 8.0, -8.0), kinks=(0.0,)),
    Row("special.i1e", special.i1e, given(i_e(1)), near=(2.0, 8.0, -8.0, 1.5450988715735), kinks=(0.0,)),
    Row("special.erfcx", special.erfcx, given(erfcx), near=(1.0, 7.0, -26.0, -9.0)),
    Row("special.dawsn", special.dawsn, given(dawsn), near=(0.7, 2.0, 7.0, 0.9241388730045916)),
    Row("special.erfinv", special.erfinv, given(erfinv), (-1 + 2**-24, 1 - 2**-24), near=(0.85, -0.85)),
    Row("special.ndtr", special.ndtr, given(ndtr), near=(0.0, -5.0, -13.0, -37.0)),
    Row("special.log_ndtr", special.log_ndtr, given(log_ndtr), near=(0.0, -1.0, -10.0, -20.0, 13.0, 37.0)),
    Row(
        "special.ndtri",
        special.ndtri,
        given(ndtri),
        (0.0, 1 - 2**-24),
        near=(0.5, 0.075, 0.925),
        kinks=(0.0,),
        ends={(0.0, 0): -INF},
    ),
    Row("special.exp1", special.exp1, given(exp1), **POSITIVE, near=(1.0, 87.0, 700.0), ends={(0.0, 0): INF}),
    Row(
        "special.expi",
        special.expi,
        given(expi),
        near=(0.3725074107813666, 6.0, 16.0, 40.0, 90.0, 711.0),
        kinks=(0.0,),
        ends={(0.0, 0): -INF, **GROWING},
    ),
    Row(
        "special.spence",
        special.spence,
        given(spence),
        (0.0, 1.79e308),
        near=(0.5, 1.0, 2.0),
        kinks=(0.0, INF),
        ends={(0.0, 0): np.pi**2 / 6},
    ),
    Row(
        "special.gammaln",
        special.gammaln,
        given(gammaln),
        near=(1.0, 2.0, 8.0, -0.5, -2.457024738220801),
        kinks=(0.0,),
        ends=LOGARITHM,
    ),
    Row("special.loggamma", special.loggamma, given(loggamma), **POSITIVE, near=(1.0, 2.0, 8.0), ends=LOGARITHM),
    Row(
        "special.digamma",
        special.digamma,
        given(digamma),
        near=(1.4616321449683622, 8.0, -0.504083008264455),
        kinks=(0.0,),
    ),
    Row(
        "special.gamma",
        special.gamma,
        given(gamma),
        near=(1.0, 2.0, 35.0, 171.5, -0.5, -33.5),
        kinks=(0.0, INF),
        ends=GROWING,
    ),
    Row(
        "special.entr",
        special.entr,
        given(entr),
        near=(1.0, 0.36787944117144233),
        kinks=(0.0,),
        ends={(0.0, 0): 0.0, (INF, 1): -INF},
    ),
    Row(
        "special.logit",
        special.logit,
        given(logit),
        (0.0, 1 - 2**-24),
        near=(0.5, 0.25, 0.75),
        kinks=(0.0,),
        ends={(0.0, 0): -INF},
    ),
    Row("special.expit", special.expit, r.logistic, near=(38.0, -38.0, -709.0, -87.0)),
    *with_numbers(
        "polygamma",
        (1, 2, 7, 30),
        lambda n: Row(
            "of order",
            lambda x: special.polygamma(float(n), x),
            given(polygamma(int(n))),
            kinks=(0.0,),
            ends={(-INF, k): np.nan for k in range(3)},
            every=8 if n == 30 else 3,
        ),
    ),
    *with_numbers(
        "expn",
        (0, 1, 2, 5, 2000),
        lambda n: Row(
            "of order",
            lambda x: special.expn(n, x),
            given(expn(int(n))),
            **POSITIVE,
            ends={(0.0, 0): INF if n < 2 else 1 / (n - 1)},
            every=8 if n == 2000 else 1,
        ),
    ),
    *two("rel_entr", rel_entr, rel_entr_of, special.rel_entr, lambda y: 0.0),
    *two("kl_div", kl_div, kl_div_of, special.kl_div, lambda y: y),
    *with_numbers(
        "xlogy",
        OTHERS,
        lambda y: Row(
            "in y", lambda x: special.xlogy(np.asarray(y, x.dtype)[()], x), lambda x: r.log(x) * y, **POSITIVE
        ),
    ),
    *with_numbers(
        "boxcox",
        (-1.5, 0, 0.5, 3),
        lambda p: Row("of power", lambda x: special.boxcox(x, np.asarray(p, x.dtype)[()]), boxcox(p, 0), **POSITIVE),
    ),
    *with_numbers(
        "boxcox1p",
        (-1.5, 0, 0.5, 3),
        lambda p: Row(
            "of power",
            lambda x: special.boxcox1p(x, np.asarray(p, x.dtype)[()]),
            boxcox(p, 1),
            (-1.0, INF),
            kinks=(-1.0,),
        ),
    ),
]


# Names without a row

COMPOSED = "a sum of exponentials of several elements: `test_special_ends.py` and `test_nn.py` test its derivatives"
SAME_FUNCTION = "another name, or a sum, of functions that have rows"
WITHOUT_ROW = {
    **dict.fromkeys(("logsumexp", "softmax", "log_softmax"), COMPOSED),
    **dict.fromkeys(("erf", "erfc", "psi", "multigammaln", "factorial", "gammasgn", "bernoulli"), SAME_FUNCTION),
    "wofz": "of complex numbers: `test_scipy_special.py` compares it with SciPy's",
}
