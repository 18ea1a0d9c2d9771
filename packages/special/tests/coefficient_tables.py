"""Derivation of the coefficients in `calque_special.ops.coefficients`, in decimal arithmetic of 90 digits or more.

Run as a script, it writes that module; `test_coefficients.py` compares the two.  A Chebyshev series of a function f
has the coefficients 2/N sum f(cos a) cos(k a) over the N angles a = pi (2j + 1) / 2N.  The values of f come from power
series, continued fractions and recurrences that need no table.
Source of the discrete orthogonality: Mason & Handscomb, Chebyshev Polynomials (2003), section 4.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

DIGITS = 90
SMALLEST = Decimal(10) ** -(DIGITS + 20)
Function = Callable[[Decimal], Decimal]


def inverse_tangent(n: int) -> Decimal:
    """Return atan(1 / n) by its power series."""
    total = term = Decimal(1) / n
    k = 1
    while abs(term) > SMALLEST:
        term, k = -term / (n * n), k + 2
        total += term / k
    return total


def circle() -> Decimal:
    """Return pi by Machin's formula."""
    return 4 * (4 * inverse_tangent(5) - inverse_tangent(239))


def cosine(x: Decimal) -> Decimal:
    """Return cos(x) by its power series."""
    total = term = Decimal(1)
    k = 0
    while abs(term) > SMALLEST:
        k += 2
        term *= -x * x / (k * (k - 1))
        total += term
    return total


def chebyshev_series(f: Function, count: int, nodes: int = 64) -> list[Decimal]:
    """Return the first coefficients of the Chebyshev series of f on [-1, 1]; the first is halved."""
    points = [cosine(circle() * (2 * j + 1) / (2 * nodes)) for j in range(nodes)]
    values = [f(t) for t in points]
    before, now = [Decimal(1)] * nodes, points
    coefficients = [sum(values) / nodes]
    for _ in range(count - 1):
        coefficients.append(2 * sum(a * b for a, b in zip(values, now)) / nodes)
        before, now = now, [2 * t * b - a for t, a, b in zip(points, before, now)]
    return coefficients


def in_powers(f: Function, count: int) -> list[Decimal]:
    """Return the first terms of the Chebyshev series of f on [-1, 1] in powers, of which Horner's rule takes the sum.

    The series of this module decrease so fast that the powers cancel no digit.
    """
    total = [Decimal(0)] * count
    before, now = [0] * count, [1] + [0] * (count - 1)  # the powers in T_k; T_-1 = T_1
    for k, c in enumerate(chebyshev_series(f, count)):
        total = [a + c * b for a, b in zip(total, now)]
        factor = 2 if k else 1
        before, now = now, [factor * b - a for a, b in zip(before, [0, *now[:-1]])]
    return total


def bernoulli(count: int) -> list[Fraction]:
    """Return the Bernoulli numbers B_0 to B_count by their recurrence (DLMF 24.5.3)."""
    numbers = [Fraction(1)]
    for m in range(1, count + 1):
        numbers.append(-sum(math.comb(m + 1, k) * numbers[k] for k in range(m)) / (m + 1))
    return numbers


BERNOULLI = bernoulli(80)


def decimal(x: Fraction) -> Decimal:
    """Return a fraction in decimal digits."""
    return Decimal(x.numerator) / x.denominator


def log_gamma(x: Decimal) -> Decimal:
    """Return log(gamma(x)): the recurrence to x > 60, then DLMF 5.11.1."""
    product = Decimal(1)
    while x < 60:
        product, x = product * x, x + 1
    total = (x - Decimal("0.5")) * x.ln() - x + (2 * circle()).ln() / 2
    total += sum(decimal(BERNOULLI[2 * k]) / (2 * k * (2 * k - 1) * x ** (2 * k - 1)) for k in range(1, 38))
    return total - product.ln()


def digamma(x: Decimal) -> Decimal:
    """Return the derivative of `log_gamma`: the recurrence to x > 60, then DLMF 5.11.2."""
    total = Decimal(0)
    while x < 60:
        total, x = total - 1 / x, x + 1
    total += x.ln() - 1 / (2 * x)
    return total - sum(decimal(BERNOULLI[2 * k]) / (2 * k * x ** (2 * k)) for k in range(1, 38))


def trigamma(x: Decimal) -> Decimal:
    """Return the derivative of `digamma`: the recurrence to x > 60, then DLMF 5.15.8."""
    total = Decimal(0)
    while x < 60:
        total, x = total + 1 / (x * x), x + 1
    total += 1 / x + 1 / (2 * x * x)
    return total + sum(decimal(BERNOULLI[2 * k]) / x ** (2 * k + 1) for k in range(1, 38))


def digamma_root() -> Decimal:
    """Return the positive zero of digamma by the secant method."""
    low, high = Decimal("1.46"), Decimal("1.47")
    while abs(high - low) > Decimal(10) ** -60:
        low, high = high, high - digamma(high) * (high - low) / (digamma(high) - digamma(low))
    return high


def scaled_bessel(order: int) -> Function:
    """Return exp(-x) I_n(x) as a function, by the power series DLMF 10.25.2."""

    def function(x: Decimal) -> Decimal:
        total = term = (x / 2) ** order if order else Decimal(1)
        k = 0
        while term > SMALLEST * total or k < x:
            k += 1
            term *= x * x / (4 * k * (k + order))
            total += term
        return total * (-x).exp()

    return function


def large(order: int) -> Function:
    """Return sqrt(x) exp(-x) I_n(x) as a function of t = 16 / x - 1, with the limit at x = inf by DLMF 10.40.1."""
    bessel = scaled_bessel(order)

    def function(t: Decimal) -> Decimal:
        x = 16 / (1 + t)
        if x < 400:
            return x.sqrt() * bessel(x)
        total = term = Decimal(1)
        for k in range(1, 200):
            term *= -Decimal(4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
            total += term
            if abs(term) < SMALLEST:
                break
        return total / (2 * circle()).sqrt()

    return function


def zeta_without_pole(x: Decimal) -> Decimal:
    """Return zeta(x) - 1 / (x - 1) by Euler-Maclaurin summation after 60 terms (DLMF 25.2.9)."""
    logarithm = Decimal(60).ln()
    last = (-x * logarithm).exp()
    total = sum((-x * Decimal(k).ln()).exp() for k in range(1, 60)) + last / 2
    total += (60 * last - 1) / (x - 1)
    factor = x * last / 60
    for k in range(1, 38):
        total += decimal(BERNOULLI[2 * k] / math.factorial(2 * k)) * factor
        factor *= (x + 2 * k - 1) * (x + 2 * k) / 3600
    return total


def bessel_decay(t: Decimal) -> Decimal:
    """Return x**2 exp(-x) (I_0(x) - I_1(x)) with t = (x - 5) / 3."""
    x = 5 + 3 * t
    return x * x * (scaled_bessel(0)(x) - scaled_bessel(1)(x))


def large_bessel_decay(t: Decimal) -> Decimal:
    """Return x**1.5 exp(-x) (I_0(x) - I_1(x)) with t = 16 / x - 1."""
    return 16 / (1 + t) * (large(0)(t) - large(1)(t))


def tables() -> dict[str, tuple[str, list[Decimal]]]:
    """Return, by name, the comment and the coefficients of each table."""
    with localcontext() as context:
        context.prec = DIGITS + 70
        root = digamma_root()
        on_unit = lambda f: lambda t: f((t + 3) / 2)
        return {
            "LOG_GAMMA": (
                "log(gamma(x)) / ((x - 1) (x - 2)) for 1 <= x <= 2, a polynomial in 2x - 3",
                in_powers(on_unit(lambda x: log_gamma(x) / ((x - 1) * (x - 2))), 23),
            ),
            "LOG_GAMMA_ABOVE": (
                "log(gamma(x)) / (x - 2) for 2 <= x <= 3, a polynomial in 2x - 5",
                in_powers(lambda t: log_gamma((t + 5) / 2) / ((t + 1) / 2), 19),
            ),
            "LOG_GAMMA_TO_4": (
                "log(gamma(x)) / ((x - 1) (x - 2)) for 2 <= x <= 4, a polynomial in x - 3",
                in_powers(lambda t: log_gamma(t + 3) / ((t + 2) * (t + 1)), 24),
            ),
            "LOG_GAMMA_TO_8": (
                "log(gamma(x)) / ((x - 1) (x - 2)) for 4 <= x <= 8, a polynomial in x / 2 - 3",
                in_powers(lambda t: log_gamma(2 * t + 6) / ((2 * t + 5) * (2 * t + 4)), 24),
            ),
            "DIGAMMA": (
                "digamma(x) / (x - r) for 1 <= x <= 2, with the zero r, a polynomial in 2x - 3",
                in_powers(on_unit(lambda x: digamma(x) / (x - root)), 24),
            ),
            "DIGAMMA_TO_4": (
                "digamma(x) / (x - r) for 2 <= x <= 4, a polynomial in x - 3",
                in_powers(lambda t: digamma(t + 3) / (t + 3 - root), 24),
            ),
            "DIGAMMA_TO_8": (
                "digamma(x) / (x - r) for 4 <= x <= 8, a polynomial in x / 2 - 3",
                in_powers(lambda t: digamma(2 * t + 6) / (2 * t + 6 - root), 24),
            ),
            "DIGAMMA_ROOT": ("r - 1 in two pieces, the first of 20 bits, for 1.4616... = r", pieces(root - 1, 20)),
            "TRIGAMMA": (
                "the derivative of digamma for 1 <= x <= 2, a polynomial in 2x - 3",
                in_powers(on_unit(trigamma), 25),
            ),
            "TRIGAMMA_TO_4": (
                "the derivative of digamma for 2 <= x <= 4, a polynomial in x - 3",
                in_powers(lambda t: trigamma(t + 3), 25),
            ),
            "TRIGAMMA_TO_8": (
                "the derivative of digamma for 4 <= x <= 8, a polynomial in x / 2 - 3",
                in_powers(lambda t: trigamma(2 * t + 6), 25),
            ),
            "BERNOULLI": ("B_2k, DLMF 5.15.8", [decimal(BERNOULLI[2 * k]) for k in range(1, 13)]),
            "GAMMA": (
                "gamma(x) for 1 <= x <= 2, a polynomial in 2x - 3",
                in_powers(on_unit(lambda x: log_gamma(x).exp()), 25),
            ),
            "STIRLING": (
                "B_2k / (2k (2k - 1)), DLMF 5.11.1",
                [decimal(BERNOULLI[2 * k]) / (2 * k * (2 * k - 1)) for k in range(1, 12)],
            ),
            "TEMME": (
                "d_kn of c_k(eta) = sum of d_kn eta**n, DLMF 8.12.10 and 8.12.11: rows k = 0 to 6, columns n = 0 to 17",
                [decimal(d) for row in uniform_coefficients(7, 18) for d in row],
            ),
            "HARMONIC": ("B_2k / 2k, DLMF 5.11.2", [decimal(BERNOULLI[2 * k]) / (2 * k) for k in range(1, 13)]),
            "EULER_MACLAURIN": (
                "B_2k / (2k)!, DLMF 25.11.7",
                [decimal(BERNOULLI[2 * k] / math.factorial(2 * k)) for k in range(1, 13)],
            ),
            "ZETA": (
                "zeta(x) - 1 / (x - 1) for -1 <= x <= 1, a polynomial in x",
                in_powers(zeta_without_pole, 18),
            ),
            "BESSEL_I0_LARGE": (
                "sqrt(x) exp(-x) I_0(x) for x >= 8, a polynomial in 16 / x - 1",
                in_powers(large(0), 26),
            ),
            "BESSEL_I1_LARGE": (
                "sqrt(x) exp(-x) I_1(x) for x >= 8, a polynomial in 16 / x - 1",
                in_powers(large(1), 26),
            ),
            "BESSEL_DECAY": (
                "x**2 exp(-x) (I_0(x) - I_1(x)) for 2 <= x <= 8, a polynomial in (x - 5) / 3",
                in_powers(bessel_decay, 27),
            ),
            "BESSEL_DECAY_LARGE": (
                "x**1.5 exp(-x) (I_0(x) - I_1(x)) for x >= 8, a polynomial in 16 / x - 1",
                in_powers(large_bessel_decay, 28),
            ),
        }


def stirling_factors(count: int) -> list[Fraction]:
    """Return g_0, g_1, ... of gamma(z) ~ exp(-z) z**z sqrt(2 pi / z) sum g_k / z**k: the exponential of DLMF 5.11.1."""
    exponent = [Fraction(0)] * (count + 1)
    for k in range(1, count + 1, 2):
        exponent[k] = BERNOULLI[k + 1] / (k * (k + 1))
    factors = [Fraction(1)]
    for n in range(1, count + 1):
        factors.append(sum(k * exponent[k] * factors[n - k] for k in range(1, n + 1)) / n)
    return factors


def uniform_coefficients(rows: int, columns: int) -> list[list[Fraction]]:
    """Return d_kn by DLMF 8.12.10 and 8.12.11, with mu as a power series of eta, from mu mu' = eta (1 + mu)."""
    count = columns + 2 * rows + 2
    mu = [Fraction(0), Fraction(1)]
    for m in range(2, count + 1):
        inner = sum(mu[i] * mu[m + 1 - i] for i in range(2, m))
        mu.append((2 * mu[m - 1] / (m + 1) - inner) / 2)
    inverse = [Fraction(1)]  # of mu / eta; so 1 / mu is this series over eta
    for n in range(1, count):
        inverse.append(-sum(mu[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    factors = stirling_factors(rows)
    c = inverse[1:]
    table = [c[:columns]]
    for k in range(1, rows):
        sign = (-1) ** k * factors[k]
        slope = [n * c[n] for n in range(1, len(c))]
        assert slope[0] + sign * inverse[0] == 0, "the pole cancels"
        c = [slope[n + 1] + sign * inverse[n + 1] for n in range(len(slope) - 1)]
        table.append(c[:columns])
    return table


def pieces(x: Decimal, bits: int) -> list[Decimal]:
    """Return `x` to a number of bits, which is exact in each float dtype from 32 bits, and the remainder."""
    head = (x * 2**bits).to_integral_value() / 2**bits
    return [head, x - head]


def module() -> str:
    """Return the text of the module of the tables."""
    summary = "Coefficients of the special functions; `tests/coefficient_tables.py` derives them and writes this file."
    lines = [f'"""{summary}"""', "", "# fmt: off"]
    for name, (comment, numbers) in tables().items():
        texts = [repr(float(x)) for x in numbers]
        rows = [", ".join(texts[i : i + 4]) for i in range(0, len(texts), 4)]
        lines += ["", f"# {comment}", f"{name} = ("] + [f"    {row}," for row in rows] + [")"]
    return "\n".join([*lines, ""])


TARGET = Path(__file__).parents[1] / "src/calque_special/ops/coefficients.py"

if __name__ == "__main__":
    TARGET.write_text(module(), encoding="utf-8")
