"""The exceptions of the law of ranges, in one table; the page `docs/ranges.md` shows it.

An exception says how many ulps a function may be off in a region.  It cannot allow NaN, an infinity or zero where the
right result is a normal number: `ranges.ulps_off` counts these as infinitely many.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

EVALUATED, COMPILED, KNOWN = "evaluated", "compiled", "known"
WAYS = (EVALUATED, COMPILED, KNOWN)


@dataclass(frozen=True)
class Allowance:
    """`ulps` for the rows whose names match `names`, where `low <= |x| <= high`; of numbers of at least the size `of`.

    `only_at_ends` is the region of zeros, infinities and ends of the domain, in any operand.
    """

    names: tuple[str, ...]
    orders: tuple[int, ...]
    ulps: float
    reason: str
    ways: tuple[str, ...] = WAYS
    dtypes: tuple[str, ...] = ("float32", "float64")
    low: float = 0.0
    high: float = np.inf
    of: float = 0.0
    only_at_ends: bool = False

    @property
    def region(self) -> str:
        """The region in words, for the page."""
        if self.only_at_ends:
            return "zeros, infinities, ends of the domain, if the right derivative is no normal number"
        low, high = f"{self.low:g} <= " * (self.low > 0), f" <= {self.high:g}" * (self.high < np.inf)
        size = f", in ulps of {self.of:g} for smaller results" * (self.of > 0)
        return (f"{low}|x|{high}" if low or high else "everywhere") + size


IN_PROGRAMS = (COMPILED, KNOWN)
ELEMENTWISE = [
    Allowance(
        ("*",), (1, 2), np.inf,
        "a product of zero and infinity in the formula of the derivative: NaN for an infinite or vanishing one",
        only_at_ends=True,
    ),
    Allowance(
        ("lax.atan2*",), (2,), np.inf, "the sum of two infinities: NaN for an infinity", WAYS,
        ("float64",), high=1e-150,
    ),
    Allowance(
        ("lax.atan2*",), (2,), np.inf, "the sum of two infinities: NaN for an infinity", WAYS,
        ("float32",), high=1e-18,
    ),
    Allowance(
        ("numpy.hypot(x, similar)",), (2,), 64, "1 / h - x**2 / h**3 cancels by a factor 10 for y = x / 3",
    ),
    Allowance(("lax.tanh_slope", "lax.logistic_slope"), (2,), 16, "the errors of a product add up", IN_PROGRAMS),
    Allowance(("lax.cbrt",), (1, 2), 24, "the cube root is raised to the fifth power"),
    Allowance(
        ("lax.pow*", "lax.integer_pow*"), (1, 2), 4096, "a lower power is subnormal, and loses digits",
        high=1e-3,
    ),
    Allowance(
        ("numpy.sinc",), (0,), np.inf, "NumPy's pi x overflows: NaN for zero", (EVALUATED,), low=1e38,
    ),
    Allowance(
        ("numpy.sinc",), (0,), 8, "NumPy rounds pi x before the sine", (EVALUATED,), low=0.5, of=0.5,
    ),
    Allowance(
        ("nn.silu", "nn.mish", "nn.gelu*"), (1, 2), 16,
        "the derivative is a sum of two terms, which cancel there", low=0.1, high=6.0, of=0.25,
    ),
    Allowance(
        ("nn.gelu*",), (0, 1, 2), 1024, "x / sqrt(2) is rounded, and the exponent is its square",
        low=3.0, high=40.0,
    ),
    Allowance(
        ("nn.gelu*",), (0, 1, 2), 2.0**23, "the tail of the distribution is subnormal",
        IN_PROGRAMS, ("float32",), low=12.0, high=15.0,
    ),
]  # fmt: skip

# The special functions
DIFFERENCE = "a difference of two functions: its terms cancel by less than two digits"
SUM_NEAR_ROOT = "the derivative is a sum beside its own root: the error is of the terms"
DENSITY = "exp(-x**2 / 2) has the relative error x**2 ulps of its exponent"
POWER_BY_LOGARITHM = "exp(p log(x)) has the relative error p log(x) ulps of its exponent"
RECURRENCE = "a product of up to 8 factors, and a power"

SPECIAL = [
    Allowance(("special.i0e", "special.i1e"), (1, 2), 64, DIFFERENCE, low=0.25, high=64.0),
    Allowance(("special.i1e",), (1,), 32, SUM_NEAR_ROOT, low=1.0, high=2.2, of=0.25),
    Allowance(("special.dawsn",), (1,), 16, SUM_NEAR_ROOT, low=0.6, high=2.1, of=0.5),
    Allowance(("special.dawsn",), (1,), 512, DIFFERENCE, low=0.6, high=7.5),
    Allowance(("special.dawsn",), (2,), 256, SUM_NEAR_ROOT, low=1.0, high=7.5, of=0.25),
    Allowance(("special.erfcx",), (1, 2), 32, DIFFERENCE, low=0.5, high=8.0),
    Allowance(("special.ndtr", "special.log_ndtr"), (0, 1, 2), 512, DENSITY, low=4.0, high=16.0),
    Allowance(("special.ndtr", "special.log_ndtr"), (0, 1, 2), 3200, DENSITY, low=16.0, high=40.0),
    Allowance(("special.log_ndtr",), (2,), 16, DIFFERENCE, high=1e300),
    Allowance(("special.polygamma of order *",), (0, 1, 2), 32, RECURRENCE),
    Allowance(("special.gammaln",), (0, 1), 16, SUM_NEAR_ROOT, low=0.25, high=64.0, of=4.0),
    Allowance(("special.gamma",), (1,), 32, SUM_NEAR_ROOT, low=0.25, high=3.0, of=4.0),
    Allowance(("special.gamma",), (0, 1, 2), 64, RECURRENCE),
    Allowance(
        tuple(f"special.{name} of power {p}" for name in ("boxcox", "boxcox1p") for p in (-1.5, 0.5, 3)),
        (0, 1, 2),
        1600,
        POWER_BY_LOGARITHM,
    ),
]
# Functions of several operands
GAMMAS = "exp of a sum of logarithms of gamma functions has the relative error of its largest term, in ulps"
UNDERFLOW = "a factor of the second derivative underflows, where the derivative is a normal number"
OF_INFINITIES = "a product or sum of infinities: NaN for an infinity"
PARAMETERS = [
    Allowance(("special.gammainc*", "lax.igamma_grad_a*"), (0, 1, 2), 256, "a power of a quotient that is rounded"),
    Allowance(("special.betainc*",), (0, 1, 2), 8192, GAMMAS),
    Allowance(("lax.igamma_grad_a*",), (2,), 2.0**54, UNDERFLOW, high=1e-200, dtypes=("float64",)),
    Allowance(("lax.igamma_grad_a*",), (2,), 2.0**25, UNDERFLOW, high=1e-18, dtypes=("float32",)),
    Allowance(("special.betaln*",), (0,), 64, "a sum beside its root", of=1.0),
    Allowance(("special.betaln*",), (0, 1, 2), 256, DIFFERENCE, low=0.5, high=10.0),
    Allowance(("special.beta of*", "special.poch*", "special.comb*"), (0, 1, 2), 1024, GAMMAS),
    Allowance(("special.poch of (x, 160)",), (0, 1, 2), 2048, GAMMAS),
    Allowance(("special.beta of*",), (1, 2), np.inf, OF_INFINITIES, dtypes=("float64",), high=1e-100),
    Allowance(("special.beta of*",), (1, 2), np.inf, OF_INFINITIES, dtypes=("float32",), high=1e-12),
    Allowance(("special.beta of*",), (2,), 2.0**22, UNDERFLOW, IN_PROGRAMS, ("float32",), low=7.0, high=9.0),
    Allowance(("special.poch of (x, *",), (2,), 2.0**55, UNDERFLOW, dtypes=("float64",), low=1e150),
    Allowance(("special.poch of (x, *",), (2,), 2.0**26, UNDERFLOW, dtypes=("float32",), low=1e18),
    Allowance(("special.zeta of (7.5, x)",), (0,), 1024, "a power is subnormal", (EVALUATED,), ("float32",), low=1e6),
    Allowance(("special.hyp1f1*", "special.hyp2f1*"), (0, 1, 2), 128, "a sum of many rounded terms, and a power"),
    Allowance(("special.owens_t*",), (0,), 24, DENSITY, low=1.0),
    Allowance(("special.sici[[]1]",), (0,), 32, "a sum of waves beside its roots", low=0.5),
    Allowance(("special.sph_harm_y*",), (0, 1, 2), 32, "a sum beside its roots", of=0.25),
]

ALLOWANCES: list[Allowance] = [*ELEMENTWISE, *SPECIAL, *PARAMETERS]

PAGE = Path(__file__).parents[2] / "docs" / "ranges.md"
START = "<!-- made by tests/laws/ranges_exceptions.py -->\n"


def table() -> str:
    """Return the exceptions as a table of the page."""
    lines = ["| function | derivative | region | ulps | where | reason |", "| --- | --- | --- | --- | --- | --- |"]
    for case in ALLOWANCES:
        names = "all" if case.names == ("*",) else ", ".join(f"`{name}`" for name in case.names)
        orders = ", ".join(map(str, case.orders))
        ulps = "any number" if np.isinf(case.ulps) else f"{case.ulps:g}"
        ways = "everywhere" if case.ways == WAYS else ", ".join(case.ways)
        dtypes = "" if len(case.dtypes) == 2 else f", {', '.join(case.dtypes)}"
        lines.append(f"| {names} | {orders} | {case.region} | {ulps} | {ways}{dtypes} | {case.reason} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the text of the page with the present table."""
    return PAGE.read_text().partition(START)[0] + START + "\n" + table().replace("|x|", "\\|x\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
