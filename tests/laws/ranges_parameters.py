"""Rows of the law of ranges: special functions of several operands, and pairs of integrals.

One idea: a row asks one operand over all sizes while the others are known numbers, a few that span their range.  A
reference is the value by mpmath and the slope as a series: a density, or a difference of digamma functions.

Read next: `ranges_special.py`, for functions of one operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import ranges as r
from mpmath import mp
from ranges import Row, Series
from ranges_incomplete import INF, OF_GAMMA, SMALL, TINY, bits, by_differences, known, row
from ranges_special import HUGE, area, log_gamma

from calque_core import lax
from calque_numpy.scipy import special

Number = Any
Reference = Callable[[Series], Series]
# Beta functions, rising factorials, binomial coefficients


def gamma_sign(x: Number) -> int:
    return -1 if x < 0 and int(mp.floor(x)) % 2 else 1


def betaln(b: Number) -> Reference:
    return by_differences(lambda a: log_gamma(a) + log_gamma(b) - log_gamma(a + b), bits)


def beta(b: Number) -> Reference:
    return lambda a: r.exp(betaln(b)(a)) * (gamma_sign(a.value) * gamma_sign(b) * gamma_sign(a.value + b))


def beta_inc(a: Number, b: Number) -> Reference:
    log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    slope = lambda x: r.exp(r.log(x) * (a - 1) + r.log1p(-x) * (b - 1) - log_beta)

    def value(x: Number) -> Number:
        if x < SMALL:
            return r.exp(Series([a * mp.log(x) - mp.log(a) - log_beta])).value
        return mp.betainc(a, b, 0, x, regularized=True)

    return lambda x: r.chain(value, slope, x)


def poch_in_first(m: Number) -> Reference:
    log_rising = by_differences(lambda z: log_gamma(z + m) - log_gamma(z), bits)
    after = by_differences(lambda z: log_gamma(z + m) - log_gamma(z + 1), lambda z: 300)
    near_zero = lambda z: z * r.exp(after(Series([max(z.value, TINY), *z.terms[1:]])))
    return lambda z: near_zero(z) if z.value < 1 else r.exp(log_rising(z))


def poch_in_second(z: Number) -> Reference:
    log_rising = by_differences(lambda m: log_gamma(m + z) - log_gamma(z), bits, 0.125)
    return lambda m: r.exp(log_rising(m)) * (gamma_sign(m.value + z) * gamma_sign(z))


def comb_in_first(k: Number) -> Reference:
    def reference(n: Series) -> Series:
        if n.value < k:
            return r.constant(0, n)
        if k == int(k):
            return product((n - j) / (j + 1) for j in range(int(k)))
        return r.exp(log_rising(n) - log_gamma(k + 1))

    log_rising = by_differences(lambda n: log_gamma(n + 1) - log_gamma(n - k + 1), bits)
    return reference


def product(factors: Iterable[Series]) -> Series:
    out: Any = 1
    for factor in factors:
        out = factor * out
    return out


def comb_in_second(n: Number) -> Reference:
    def reference(k: Series) -> Series:
        if not 0 <= k.value <= n:
            return r.constant(0, k)
        return r.exp(log_count(k))

    log_count = by_differences(lambda k: log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1), least=0.125)
    return reference


def hurwitz(s: Number) -> Reference:
    """Return zeta(s, q) for s > 1: far from zero by the Euler-Maclaurin terms of DLMF 25.11.43."""

    def value(q: Number) -> Number:
        if q < 0:
            return mp.nan
        if q < SMALL:
            return q**-s + mp.zeta(s)
        if q > mp.mpf(2) ** 60:
            return q ** (1 - s) * (1 / (s - 1) + (1 / q) / 2 + s / (12 * q**2))
        return mp.zeta(s, q)

    return lambda q: r.chain(value, lambda q: hurwitz(s + 1)(q) * -s, q)


def riemann(s: Number) -> list[Number]:
    """Return zeta(s) and its slope; far to the left by reflection (DLMF 25.4.1), where it is large or a root."""
    if s > 2**12:
        return [1 + r.exp(Series([-s * mp.log(2)])).value, mp.mpf(0)]
    if s < -(2**9):
        size, sine = mp.mpf(2) ** 30000, mp.sinpi(s / 2)
        return [size * mp.sign(sine), size * mp.sign(mp.cospi(s / 2)) if sine else mp.mpf(0)]
    return [mp.zeta(s), mp.zeta(s, 1, 1)]


OF_BETA = [
    *[
        row(f"special.{name}", function, (..., b), reference(mp.mpf(b)), asked=(0.0, INF), kinks=(0.0,),
            near=(1.0, 8.0), is_factor=name == "beta", ends={(0.0, 0): INF, (INF, 0): end})
        for name, function, reference, end in (
            ("betaln", special.betaln, betaln, -INF), ("beta", special.beta, beta, 0.0),
        )
        for b in (0.125, 2.5, 30.0, 1e5)
    ],
    *[
        row("special.betainc", special.betainc, (a, b, ...), beta_inc(mp.mpf(a), mp.mpf(b)), domain=(0.0, 1 - 2**-24),
            kinks=(0.0,), near=(0.5,))
        for a, b in ((0.125, 0.5), (1.0, 1.0), (2.5, 30.0), (400.0, 600.0), (1e5, 0.75))
    ],
    *[
        row("special.poch", special.poch, (..., m), poch_in_first(mp.mpf(m)), kinks=(0.0,),
            asked=(max(0.0, -m), INF), is_factor=True)
        for m in (0.5, 3.0, -2.5, 20.0, 34.0, 160.0)
    ],
    *[
        row("special.poch", special.poch, (z, ...), poch_in_second(mp.mpf(z)), kinks=(0.0, -z),
            asked=(-z, INF), is_factor=True)
        for z in (0.375, 3.0, 1e3)
    ],
    *[
        row("special.comb", special.comb, (..., k), comb_in_first(mp.mpf(k)), kinks=(0.0, k), near=(k,),
            is_factor=True, of_nan=0.0)
        for k in (3.0, 30.0, 2.5, 100.0)
    ],
    *[
        row("special.comb", special.comb, (n, ...), comb_in_second(mp.mpf(n)), kinks=(0.0, n),
            is_factor=True, of_nan=0.0)
        for n in (10.0, 0.75, 1000.5)
    ],
    *[
        row("special.zeta", special.zeta, (s, ...), hurwitz(mp.mpf(s)), domain=(0.0, INF), kinks=(0.0,), near=(1.0,))
        for s in (1.0009765625, 2.0, 7.5, 60.0)
    ],
    row("special.zeta", special.zeta, (..., 1.0), known(riemann), derivatives=0, near=(1.0, -3.0),
        ends={(1.0, 0): INF, (1.0, 1): np.nan, (-INF, 0): np.nan}),
]  # fmt: skip


# Owen's function and products


def owen_sum(h: Number, a: Number) -> Number:
    """Return T(h, a) for |a| <= 1 by Owen's series, in tails of the exponential series of h**2 / 2."""
    half = h * h / 2
    term, total, power, out = mp.exp(-half), mp.exp(-half), a, mp.mpf(0)
    for j in range(20000):
        change = (1 - total) * power / (2 * j + 1)
        out += -change if j % 2 else change
        if abs(change) <= abs(a) * mp.eps / 16:
            break
        term *= half / (j + 1)
        total += term
        power *= a * a
    return (mp.atan(a) - out) / (2 * mp.pi)


def owens_t(h: Number, a: Number) -> Number:
    """Return T(h, a): for h beyond all numbers one of the right size."""
    h, size = abs(h), abs(a)
    if h > 40 and size > 0.25:
        out = area(-h) / 2
    elif size <= 1:
        out = owen_sum(h, size) if size > SMALL else size * mp.exp(-h * h / 2) / (2 * mp.pi)
    else:
        first, second = mp.erfc(h / mp.sqrt(2)) / 2, area(-h * size)
        inner = owen_sum(h * size, 1 / size) if h * size < 40 else area(-h * size) / 2
        out = (first + second) / 2 - first * second - inner
    return -out if a < 0 else out


def normal(x: Series) -> Series:
    return r.exp(x * x * -0.5) / mp.sqrt(2 * mp.pi)


def owens_t_in_h(a: Number) -> Reference:
    return lambda h: r.chain(lambda h: owens_t(h, a), lambda h: normal(h) * r.erf(h * (a / mp.sqrt(2))) * -0.5, h)


def owens_t_in_a(h: Number) -> Reference:
    slope = lambda a: r.exp((a * a + 1) * (-h * h / 2)) / (a * a + 1) / (2 * mp.pi)
    return lambda a: r.chain(lambda a: owens_t(h, a), slope, a)


OF_PRODUCTS = [
    *[row("special.owens_t", special.owens_t, (..., a), owens_t_in_h(mp.mpf(a))) for a in (0.5, -1.0, 3.0)],
    *[row("special.owens_t", special.owens_t, (h, ...), owens_t_in_a(mp.mpf(h)), near=(1.0,)) for h in (0.25, 4.0)],
    *[
        row("special.xlog1py", special.xlog1py, (x, ...), lambda y, x=x: r.log1p(y) * x, domain=(-1.0, INF),
            kinks=(-1.0,), near=(-0.25, -0.5))
        for x in (0.375, -7.0)
    ],
    row("special.xlog1py", special.xlog1py, (..., 0.25), lambda x: x * mp.log1p(mp.mpf(0.25))),
]  # fmt: skip


# Hypergeometric functions: each derivative is a function with larger parameters


def kummer(a: Number, b: Number) -> Reference:
    def value(x: Number) -> Number:
        if x > HUGE:
            return mp.mpf(2) ** 30000 * mp.sign(mp.rgamma(a) * mp.gamma(b))
        if x < -(2**40) and mp.rgamma(b - a):
            first = 1 + a * (a - b + 1) / -x + a * (a + 1) * (a - b + 1) * (a - b + 2) / (2 * x * x)
            return mp.gamma(b) * mp.rgamma(b - a) * (-x) ** -a * first
        return mp.hyp1f1(a, b, x) if x > -HUGE or mp.rgamma(b - a) else mp.mpf(0)

    return lambda x: r.chain(value, lambda x: kummer(a + 1, b + 1)(x) * (a / b), x)


def gauss(a: Number, b: Number, c: Number) -> Reference:
    value = lambda x: mp.hyp2f1(a, b, c, x)
    return lambda x: r.chain(value, lambda x: gauss(a + 1, b + 1, c + 1)(x) * (a * b / c), x)


OF_SERIES = [
    *[
        row("special.hyp1f1", special.hyp1f1, (a, b, ...), kummer(mp.mpf(a), mp.mpf(b)), near=(80.0, -80.0, 1.0))
        for a, b in ((0.5, 1.5), (1.25, 4.0), (3.0, 3.5), (5.0, 8.0))
    ],
    row("special.hyp1f1", special.hyp1f1, (12.0, 20.0, ...), kummer(mp.mpf(12), mp.mpf(20)), near=(-170.0, -210.0),
        asked=(-INF, 80.0)),
    *[
        row("special.hyp2f1", special.hyp2f1, (a, b, c, ...), gauss(mp.mpf(a), mp.mpf(b), mp.mpf(c)), near=(0.9, -0.9),
            asked=(-INF, 1 - 2**-24))
        for a, b, c in ((0.5, 0.75, 1.5), (1.25, 2.0, 4.5), (1.0, 1.0, 2.0))
    ],
]  # fmt: skip


# Waves: Bessel functions, integrals of sines, spherical harmonics


def bessel_j(n: int) -> Reference:
    """Return J_n, whose derivative is (J_(n-1) - J_(n+1)) / 2."""
    value = lambda x: mp.besselj(n, x) if abs(x) > SMALL else (x / 2) ** n / mp.factorial(n)
    if n == 0:
        return lambda x: r.chain(value, lambda x: -bessel_j(1)(x), x)
    return lambda x: r.chain(value, lambda x: (bessel_j(n - 1)(x) - bessel_j(n + 1)(x)) * 0.5, x)


def sine_over(x: Series) -> Series:
    """Return sin(x) / x; near zero by its power series."""
    if abs(x.value) > mp.mpf(2) ** -30:
        return r.sin(x) / x
    out = r.constant(0, x)
    for n in range(24, -1, -1):
        out = out * x * x + mp.mpf(-1) ** n / mp.factorial(2 * n + 1)
    return out


def fresnel(start: int) -> Callable[[Number], Number]:
    """Return S for 0 and C for 1: far from zero from DLMF 7.5.3 and 7.12.2."""

    def value(x: Number) -> Number:
        if abs(x) < mp.mpf(2) ** 60:
            return (mp.fresnels, mp.fresnelc)[start](x)
        size = abs(x)
        f, g = 1 / (mp.pi * size), 1 / (mp.pi**2 * size**3)
        sine, cosine = mp.sinpi(size * size / 2), mp.cospi(size * size / 2)
        return mp.sign(x) * (mp.mpf(0.5) + (f * sine - g * cosine if start else -f * cosine - g * sine))

    return value


def harmonic(n: int, m: int) -> Reference:
    """Return Y_n^m(x, 0): of the polynomial (x**2 - 1)**n the derivative of order n + m, by Rodrigues' formula."""
    terms = {2 * k: mp.binomial(n, k) * (-1) ** (n - k) for k in range(n + 1)}
    for _ in range(n + m):
        terms = {k - 1: c * k for k, c in terms.items() if k}

    def reference(x: Series) -> Series:
        with mp.workprec(2 * mp.prec):
            scale = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.factorial(n - m) / mp.factorial(n + m))
        cosine, out = r.cos(x), r.constant(0, x)
        for k in range(n - m, -1, -1):
            out = out * cosine + terms.get(k, 0)
        sine = abs(r.sin(x)) if m % 2 else r.sin(x)
        return out * sine**m * ((-1) ** m * scale / (2**n * mp.factorial(n)))

    return reference


def real_part(n: int, m: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return lax.real(special.sph_harm_y(np.int32(n), np.int32(m), x, np.dtype(x.dtype).type(0)))

    return function


OF_WAVES = [
    *[
        Row(f"special.bessel_jn of order {n}", lambda x, n=n: special.bessel_jn(x, v=n)[n], bessel_j(n),
            near=(2.404825557695773, 25.0, 1e-8))
        for n in (0, 1, 4)
    ],
    Row("special.sici[0]", lambda x: special.sici(x)[0], lambda x: r.chain(mp.si, sine_over, x), near=(6.0,)),
    Row("special.sici[1]", lambda x: special.sici(x)[1],
        lambda x: r.chain(lambda x: mp.ci(abs(x)).real, lambda x: r.cos(x) / x, x),
        near=(0.6165054856207162, 6.0), kinks=(0.0,), ends={(0.0, 0): -INF, (-INF, 0): np.nan}),
    Row("special.fresnel[0]", lambda x: special.fresnel(x)[0],
        lambda x: r.chain(fresnel(0), lambda x: r.sinpi(x * x * 0.5), x), near=(1.0, 2.0)),
    Row("special.fresnel[1]", lambda x: special.fresnel(x)[1],
        lambda x: r.chain(fresnel(1), lambda x: r.cospi(x * x * 0.5), x), near=(1.0, 2.0),
        ends={(side, k): np.nan for side in (-INF, INF) for k in (1, 2)}),
    *[
        Row(f"special.sph_harm_y of degree {n} and order {m}", real_part(n, m), harmonic(n, m),
            near=(1.5707963267948966, 3.141592653589793), kinks=(0.0,) if m % 2 else (),
            of_nan=np.nan if n else np.sqrt(0.25 / np.pi))
        for n, m in ((0, 0), (2, 1), (9, 2))
    ],
]  # fmt: skip

ROWS = [replace(each, every=6) for each in [*OF_GAMMA, *OF_BETA, *OF_PRODUCTS, *OF_SERIES, *OF_WAVES]]
