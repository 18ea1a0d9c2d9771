"""Derivation of the coefficients in `calque_core.ops.coefficients`, in decimal arithmetic of 90 digits or more.

Run as a script, it writes that module; `test_ops_coefficients.py` compares the two.  A Chebyshev series of a function f
has the coefficients 2/N sum f(cos a) cos(k a) over the N angles a = pi (2j + 1) / 2N.  The values of f come from power
series and continued fractions that need no table.
Source of the discrete orthogonality: Mason & Handscomb, Chebyshev Polynomials (2003), section 4.6.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
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


def scaled_erfc(x: Decimal) -> Decimal:
    """Return exp(x**2) erfc(x): for x < 8 by DLMF 7.6.2, above by the continued fraction DLMF 7.9.2."""
    if x >= 8:
        tail = Decimal(0)
        for k in range(900, 0, -1):
            tail = Decimal(k) / 2 / (x + tail)
        return 1 / ((x + tail) * circle().sqrt())
    total = term = x
    n = 0
    while term > SMALLEST:
        n += 1
        term *= 2 * x * x / (2 * n + 1)
        total += term
    return (x * x).exp() - 2 / circle().sqrt() * total


def error_function(x: Decimal) -> Decimal:
    """Return erf(x) by its power series with positive terms (DLMF 7.6.2)."""
    total = term = x
    n = 0
    while abs(term) > SMALLEST:
        n += 1
        term *= 2 * x * x / (2 * n + 1)
        total += term
    return 2 / circle().sqrt() * (-x * x).exp() * total


def erfc_factor(t: Decimal) -> Decimal:
    """Return (1 + 2x) exp(x**2) erfc(x) with t = (x - 3.75) / (x + 3.75)."""
    x = Decimal("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * scaled_erfc(x)


def shifted_erfc_factor(t: Decimal) -> Decimal:
    """Return (x + 3.75) exp(x**2) erfc(x) with t = (x - 3.75) / (x + 3.75)."""
    x = Decimal("3.75") * (1 + t) / (1 - t)
    return (x + Decimal("3.75")) * scaled_erfc(x)


def tables() -> dict[str, tuple[str, list[Decimal]]]:
    """Return, by name, the comment and the coefficients of each table."""
    with localcontext() as context:
        context.prec = DIGITS + 70
        return {
            "SCALED_ERFC": (
                "(1 + 2x) exp(x**2) erfc(x) for x >= 0, a polynomial in (x - 3.75) / (x + 3.75)",
                in_powers(erfc_factor, 30),
            ),
            "SHIFTED_ERFC": (
                "(x + 3.75) exp(x**2) erfc(x) for x >= 0, a polynomial in (x - 3.75) / (x + 3.75)",
                in_powers(shifted_erfc_factor, 32),
            ),
            **{
                f"ERF_TO_{centre + 1}": (
                    f"erf(x) - {constant} for {centre - 1} <= x <= {centre + 1}, a polynomial in x - {centre}",
                    in_powers(lambda t, centre=centre, constant=constant: error_function(centre + t) - constant, 32),
                )
                for centre, constant in ((1, Decimal("0.84375")), (3, Decimal(1)), (5, Decimal(1)))
            },
        }


def module() -> str:
    """Return the text of the module of the tables."""
    summary = "Coefficients of the error functions; `tests/coefficient_tables.py` derives them and writes this file."
    lines = [f'"""{summary}"""', "", "# fmt: off"]
    for name, (comment, numbers) in tables().items():
        texts = [repr(float(x)) for x in numbers]
        rows = [", ".join(texts[i : i + 4]) for i in range(0, len(texts), 4)]
        lines += ["", f"# {comment}", f"{name} = ("] + [f"    {row}," for row in rows] + [")"]
    return "\n".join([*lines, ""])


TARGET = Path(__file__).parents[1] / "src/calque_core/ops/coefficients.py"

if __name__ == "__main__":
    TARGET.write_text(module(), encoding="utf-8")
