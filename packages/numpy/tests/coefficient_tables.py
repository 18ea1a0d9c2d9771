"""Derivation of the coefficients in `calque_numpy.scipy.coefficients`, in decimal arithmetic.

Run as a script, it writes that module; `test_scipy_coefficients.py` compares the two.  The values of a function come
from power series where these converge with few terms, from a continued fraction or an asymptotic series elsewhere.
Source of the discrete orthogonality: Mason & Handscomb, Chebyshev Polynomials (2003), section 4.6.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

DIGITS = 110
SMALLEST = Decimal(10) ** -DIGITS
Function = Callable[[Decimal], Decimal]


@cache
def circle() -> Decimal:
    """Return pi by the iteration of Gauss and Legendre (DLMF 19.8.5)."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), 1
    while abs(a - b) > SMALLEST:
        mean = (a + b) / 2
        a, b, t, p = mean, (a * b).sqrt(), t - p * (a - mean) ** 2, 2 * p
    return (a + b) ** 2 / (4 * t)


@cache
def euler_constant() -> Decimal:
    """Return Euler's constant: Brent & McMillan (1980), Some new algorithms for high-precision computation."""
    n = 70
    b = total = Decimal(1)
    weighted = harmonic = Decimal(0)
    for k in range(1, 5 * n):
        harmonic += Decimal(1) / k
        b = b * n * n / (k * k)
        total, weighted = total + b, weighted + b * harmonic
    return weighted / total - Decimal(n).ln()


def series(term: Decimal, ratio: Callable[[int], Decimal], weight: Callable[[int], int]) -> Decimal:
    """Return the sum of term_k / weight(k) for term_k = term_(k-1) ratio(k), from `term` for k = 0."""
    total, k = term / weight(0), 0
    while abs(term) > SMALLEST or k < 4:
        k += 1
        term *= ratio(k)
        total += term / weight(k)
    return total


def cosine(x: Decimal) -> Decimal:
    """Return cos(x) by its power series."""
    return series(Decimal(1), lambda k: -x * x / (2 * k * (2 * k - 1)), lambda k: 1)


def sine(x: Decimal) -> Decimal:
    """Return sin(x) by its power series."""
    return series(x, lambda k: -x * x / (2 * k * (2 * k + 1)), lambda k: 1)


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


def root_of(f: Function, low: Decimal, high: Decimal) -> Decimal:
    """Return a zero of f by the secant method."""
    while abs(high - low) > Decimal(10) ** -60:
        low, high = high, high - f(high) * (high - low) / (f(high) - f(low))
    return high


# Exponential integrals


def entire(x: Decimal) -> Decimal:
    """Return Ei(x) - log(|x|) - gamma (DLMF 6.6.1 and 6.6.2)."""
    return x * series(Decimal(1), lambda k: x / (k + 1), lambda k: k + 1)


def ei(x: Decimal) -> Decimal:
    """Return Ei(x) for x > 0: by its asymptotic series from 200 on (DLMF 6.12.2)."""
    if x < 200:
        return euler_constant() + x.ln() + entire(x)
    total = term = Decimal(1)
    for k in range(1, 200):
        term *= k / x
        total += term
    return x.exp() / x * total


def scaled_ei(place: Function) -> Function:
    """Return x exp(-x) Ei(x) with x = place(t), as a function of t."""
    return lambda t: place(t) * (-place(t)).exp() * ei(place(t))


def scaled_e1(x: Decimal) -> Decimal:
    """Return exp(x) E1(x): from 8 on by its continued fraction (DLMF 6.9.1)."""
    if x < 8:
        return -x.exp() * (euler_constant() + x.ln() + entire(-x))
    tail = Decimal(0)
    for k in range(900, 0, -1):
        tail = k / (1 + k / (x + tail))
    return 1 / (x + tail)


# Trigonometric integrals


def sine_integral(x: Decimal) -> Decimal:
    """Return Si(x) (DLMF 6.6.5)."""
    return series(x, lambda k: -x * x / (2 * k * (2 * k + 1)), lambda k: 2 * k + 1)


def cosine_integral(x: Decimal) -> Decimal:
    """Return Ci(x) (DLMF 6.6.6)."""
    start, ratio = -x * x / 2, lambda k: -x * x / ((2 * k + 1) * (2 * k + 2))
    return euler_constant() + x.ln() + series(start, ratio, lambda k: 2 * k + 2)


def auxiliary(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return x f(x) and x**2 g(x) (DLMF 6.2.17 and 6.2.18); from 90 on by 6.12.3 and 6.12.4."""
    if x < 90:
        si, ci = circle() / 2 - sine_integral(x), cosine_integral(x)
        return x * (ci * sine(x) + si * cosine(x)), x * x * (si * sine(x) - ci * cosine(x))
    f = g = term = Decimal(1)
    for k in range(1, 40):
        term *= -Decimal(2 * k * (2 * k - 1)) / (x * x)
        f, g = f + term, g + term * (2 * k + 1)
    return f, g


# Gauss-Legendre quadrature


def legendre(n: int, x: Decimal) -> tuple[Decimal, Decimal]:
    """Return P_n(x) and its derivative (DLMF 18.9.1 and 18.9.17)."""
    before, now = Decimal(1), x
    for k in range(2, n + 1):
        before, now = now, ((2 * k - 1) * x * now - (k - 1) * before) / k
    return now, n * (before - x * now) / (1 - x * x)


def positive_nodes(n: int) -> list[tuple[Decimal, Decimal]]:
    """Return the positive nodes of the rule with n points, and their weights (DLMF 3.5.24)."""
    pairs = []
    for i in range(1, n // 2 + 1):
        x = cosine(circle() * (4 * i - 1) / (4 * n + 2))
        for _ in range(8):
            p, slope = legendre(n, x)
            x -= p / slope
        pairs.append((x, 2 / ((1 - x * x) * legendre(n, x)[1] ** 2)))
    return pairs


def tables() -> dict[str, tuple[str, list[Decimal]]]:
    """Return, by name, the comment and the coefficients of each table."""
    with localcontext() as context:
        context.prec = 2 * DIGITS
        ei_root = root_of(ei, Decimal("0.37"), Decimal("0.38"))
        ci_root = root_of(cosine_integral, Decimal("0.61"), Decimal("0.62"))
        beyond = lambda t: 24 / (1 - t) - 6
        near = lambda t: (18 * (1 + t)).sqrt()
        nodes = positive_nodes(40)
        return {
            "E1_SCALED": (
                "(x + 1) exp(x) E1(x) for x >= 1, a polynomial in (x - 4) / (x + 2)",
                in_powers(lambda t: (6 / (1 - t) - 1) * scaled_e1(6 / (1 - t) - 2), 30),
            ),
            "EI_NEAR": (
                "(Ei(x) - log(x / r)) / (x - r) for 0 <= x <= 6, with the zero r, a polynomial in x / 3 - 1",
                in_powers(lambda t: (ei(3 + 3 * t) - ((3 + 3 * t) / ei_root).ln()) / (3 + 3 * t - ei_root), 22),
            ),
            "EI_ROOT": ("r in two pieces, the first of 20 bits", pieces(ei_root, 20)),
            "EI_LOW": (
                "x exp(-x) Ei(x) for 6 <= x <= 16, a polynomial in (96 / x - 11) / 5",
                in_powers(scaled_ei(lambda t: 96 / (11 + 5 * t)), 26),
            ),
            "EI_MIDDLE": (
                "x exp(-x) Ei(x) for 16 <= x <= 40, a polynomial in (160 / x - 7) / 3",
                in_powers(scaled_ei(lambda t: 160 / (7 + 3 * t)), 20),
            ),
            "EI_LARGE": (
                "x exp(-x) Ei(x) for x >= 40, a polynomial in 80 / x - 1",
                in_powers(scaled_ei(lambda t: 80 / (1 + t)), 14),
            ),
            "SI_NEAR": (
                "Si(x) / x for 0 <= x <= 6, a polynomial in x**2 / 18 - 1",
                in_powers(lambda t: sine_integral(near(t)) / near(t), 18),
            ),
            "CI_NEAR": (
                "(Ci(x) - log(x / r)) / (x**2 - r**2) for 0 <= x <= 6, with the zero r, a polynomial as the last one",
                in_powers(
                    lambda t: (cosine_integral(near(t)) - (near(t) / ci_root).ln()) / (near(t) ** 2 - ci_root**2), 18
                ),
            ),
            "CI_ROOT": ("r in two pieces, the first of 20 bits", pieces(ci_root, 20)),
            "AUXILIARY_F": (
                "x f(x) for x >= 6, DLMF 6.2.17, a polynomial in (x - 18) / (x + 6)",
                in_powers(lambda t: auxiliary(beyond(t))[0], 20),
            ),
            "AUXILIARY_G": (
                "x**2 g(x) for x >= 6, DLMF 6.2.18, a polynomial in (x - 18) / (x + 6)",
                in_powers(lambda t: auxiliary(beyond(t))[1], 22),
            ),
            "GAUSS_NODES": ("the positive nodes of Gauss and Legendre's rule with 40 points", [x for x, _ in nodes]),
            "GAUSS_WEIGHTS": ("their weights", [w for _, w in nodes]),
        }


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


TARGET = Path(__file__).parents[1] / "src/calque_numpy/scipy/coefficients.py"

if __name__ == "__main__":
    TARGET.write_text(module(), encoding="utf-8")
