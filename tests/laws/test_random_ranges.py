"""Random functions at both ends of their parameters: every sampler, every float dtype, small and large parameters.

The table `CASES` says for each sampler its parameters, the numbers that it may return, and where they may be infinite.
Derivatives are compared with differences; those of gamma-distributed numbers, whose draws are loops, with differences
of the distribution function at the number, which mpmath computes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from calque_autodiff import grad, jvp
from calque_core import lax
from calque_numpy import random
from calque_xla_backend import jit

bfloat16 = pytest.importorskip("ml_dtypes", reason="the table has bfloat16").bfloat16
KEY = random.key(17)
N = 2000
DTYPES = {"bfloat16": bfloat16, "float16": np.float16, "float32": np.float32, "float64": np.float64}
EVERYWHERE = lambda x, *_: x == x


class Case(NamedTuple):
    """A sampler with parameters, and where its numbers lie.

    Numbers may be infinite where the distribution reaches beyond the dtypes.
    """

    name: str
    parameters: tuple[Any, ...]
    holds: Callable[..., Any] = EVERYWHERE
    may_be_infinite: bool = False
    least_width: int = 2  # of the dtypes that can hold the parameters, in bytes
    slopes: bool = True

    def __repr__(self) -> str:
        return f"{self.name}{self.parameters}"

    def draw(self, dtype: Any, *parameters: Any, count: int = N) -> Any:
        """Return the numbers, also those of a sampler without the argument `dtype`."""
        args = parameters or [np.asarray(x, dtype)[()] for x in self.parameters]
        if self.name == "uniform":
            return random.uniform(KEY, (count,), dtype, *args)
        if self.name == "ball":
            return random.ball(KEY, 3, *args, (count,), dtype)
        if self.name == "double_sided_maxwell":
            return random.double_sided_maxwell(KEY, *args, (count,), dtype)
        return getattr(random, self.name)(KEY, *args, shape=(count,), dtype=dtype)


positive = lambda x, *_: x > 0
not_negative = lambda x, *_: x >= 0
from_0_to_1 = lambda x, *_: (x >= 0) & (x <= 1)
half_open = lambda x, low, high: (x >= low) & (x < high)
inside = lambda x, low, high: (x > low) & (x < high)
CASES = [
    *(Case("uniform", bounds, half_open) for bounds in [(0, 1), (-3, 5), (1, 1.0625), (-0.25, 1e-3)]),
    Case("uniform", (1, 1.000001), half_open, least_width=4),
    Case("uniform", (-3e38, 3e38), half_open, least_width=4),
    Case("uniform", (-1.7e308, 1.7e308), half_open, least_width=8),
    Case("uniform", (-6e4, 6e4), half_open),
    Case("exponential", (), not_negative), Case("cauchy", ()), Case("laplace", ()), Case("logistic", ()),
    Case("gumbel", ()), Case("maxwell", (), not_negative), Case("normal", ()),
    *(Case("pareto", (b,), lambda x, b: x >= 1, b < 1) for b in (0.01, 3.0, 1e3)),
    *(Case("rayleigh", (scale,), not_negative) for scale in (1e-3, 2.0, 100.0)),
    *(Case("weibull_min", p, not_negative, p[1] < 1) for p in [(2.0, 3.0), (1e-2, 0.01), (3.0, 500.0)]),
    *(
        Case("triangular", p, lambda x, left, mode, right: (left <= x) & (x <= right))
        for p in [(-1.0, 0.5, 2.0), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (-100.0, 0.0, 100.0)]
    ),
    Case("triangular", (0.0, 5e-200, 1e-199), lambda x, left, mode, right: (x > 0) & (x < right), least_width=8),
    Case("triangular", (0.0, 5e-30, 1e-29), lambda x, left, mode, right: (x > 0) & (x < right), least_width=4),
    Case("triangular", (3.0, 3.0, 3.0), lambda x, *_: x == 3, slopes=False),
    *(
        Case("truncated_normal", bounds, inside)
        for bounds in [
            (-2, 2), (-1, 9), (4, 5), (-5, -4), (10, 11), (-60, -50), (3.5, np.inf), (-np.inf, -40), (-np.inf, np.inf),
        ]
    ),
    *(Case("truncated_normal", bounds, inside, least_width=4) for bounds in [(1e4, 2e4), (-1e19, -1e18), (6, 6.001)]),
    *(Case("lognormal", (sigma,), not_negative, sigma > 3) for sigma in (1e-3, 0.5, 30.0)),
    *(Case("double_sided_maxwell", p) for p in [(0.5, 2.0), (0.0, 1e-3), (-50.0, 10.0)]),
    *(Case("wald", (mean,), positive) for mean in (1e-2, 1.0, 30.0)),
    *(Case("wald", (mean,), positive, mean > 1e8, 4) for mean in (1e-6, 1e5, 1e12)),
    *(Case("gamma", (a,), not_negative) for a in (1e-3, 0.1, 1.0, 5.0, 1e3)),
    *(Case("gamma", (a,), not_negative, least_width=4) for a in (1e-30, 1e6)),
    *(Case("loggamma", (a,)) for a in (1e-2, 0.1, 1.0, 5.0, 1e3)),
    *(Case("loggamma", (a,), least_width=4) for a in (1e-30, 1e6)),
    *(Case("beta", p, from_0_to_1) for p in [(1e-4, 1e-4), (1e-2, 5.0), (0.5, 0.5), (100.0, 200.0), (1e-7, 1e3)]),
    *(Case("beta", p, from_0_to_1, least_width=4) for p in [(1e-38, 1e-38), (1e-20, 1.0), (1e8, 1e8)]),
    *(Case("chisquare", (df,), not_negative) for df in (1e-3, 1.0, 1e3)),
    *(Case("f", p, not_negative, min(p) < 5) for p in [(1e-3, 1e-3), (3.0, 4.0), (1e-2, 50.0), (200.0, 300.0)]),
    *(Case("t", (df,), EVERYWHERE, df < 5) for df in (1e-2, 1.0, 6.0, 1e3)),
    *(
        Case("generalized_normal", (p,), lambda x, p: np.abs(x) <= 20 if p >= 1 else x == x, p < 0.5)
        for p in (0.05, 0.5, 1.0, 2.0, 30.0, 1e3)
    ),
    *(
        Case("ball", (p,), lambda x, p: np.sum(np.abs(x) ** p, -1) <= 1 + 0.05 * p if p < 100 else np.abs(x) <= 1.01)
        for p in (0.25, 1.0, 2.0, 1e3)
    ),
]  # fmt: skip
OF_GAMMAS = {"ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t"}
cases = pytest.mark.parametrize("case", CASES, ids=repr)
widths = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)


def parameters_of(case: Case, dtype: Any) -> Any:
    """Return the parameters as the dtype holds them, as doubles; the test is skipped where it does not hold them."""
    if np.dtype(dtype).itemsize < case.least_width:
        pytest.skip("the dtype does not hold the parameters, by the table")
    return [float(np.asarray(x, dtype)) for x in case.parameters]


@pytest.mark.sampled(keep=0.15)
@widths
@cases
def test_numbers_lie_where_they_may(case, dtype):
    parameters = parameters_of(case, dtype)
    with np.errstate(over="ignore"):
        numbers = case.draw(dtype)
    assert numbers.dtype == np.dtype(dtype)
    x = numbers.astype(np.float64)
    assert not np.isnan(x).any()
    assert np.isfinite(x).all() or case.may_be_infinite
    assert np.all(case.holds(x, *parameters))


@pytest.mark.sampled(keep=0.004)
@widths
@cases
def test_numbers_are_the_same_compiled(case, dtype, request):
    parameters_of(case, dtype)
    if case.name in OF_GAMMAS and not request.config.getoption("full"):
        pytest.skip("numbers made of gamma-distributed ones compile for minutes under jaxlib 0.12: a full run has them")
    args = [np.asarray(x, dtype)[()] for x in case.parameters]
    with np.errstate(over="ignore"):
        want = case.draw(dtype, count=300).astype(np.float64)
    compiled = jit(lambda *args: case.draw(dtype, *args, count=300))
    for got in [np.asarray(compiled(*args)), *([np.asarray(jit(lambda: case.draw(dtype, count=300))())] * (not args))]:
        assert got.dtype == np.dtype(dtype)
        got = got.astype(np.float64)
        if case == CASES[0]:
            np.testing.assert_array_equal(got, want)
        assert np.all(case.holds(got, *parameters_of(case, dtype)))
        tolerance = {2: 0.1, 4: 4e-4, 8: 2e-11}[np.dtype(dtype).itemsize]
        is_alike = np.isclose(
            got, want, rtol=tolerance, atol=tolerance * np.nanmax(np.abs(want), initial=1.0, where=np.isfinite(want))
        )
        assert np.mean(is_alike) >= 0.97  # a loop or a comparison may end otherwise after another rounding


IMPLICIT = {"gamma", "loggamma", "beta", "chisquare", "f", "t", "generalized_normal", "ball", "wald"}
FORMULAS = [case for case in CASES if case.parameters and case.slopes and case.name not in IMPLICIT]


@pytest.mark.sampled(keep=0.15)
@pytest.mark.parametrize("case", FORMULAS, ids=repr)
def test_slopes_of_formulas_are_differences(case):
    args = [np.float64(x) for x in case.parameters]
    for i in np.flatnonzero(np.isfinite(args)):
        check_slope(case, args, args[i], in_place(lambda *args: case.draw(np.float64, *args, count=200), args, i))


def in_place(f: Callable[..., Any], args: Any, i: int) -> Callable[[Any], Any]:
    """Return `f` as a function of argument `i`."""
    return lambda y: f(*args[:i], y, *args[i + 1 :])


def check_slope(case: Case, args: Any, x: Any, draw: Callable[[Any], Any]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite numbers, and of sums of large ones
        numbers, slope = jvp(draw, (x,), (np.float64(1),))
        step = np.float64((abs(x) or min(abs(y) for y in args if y)) * 1e-6)
        if case.name in ("uniform", "truncated_normal") and abs(args[1] - args[0]) < 0.1:
            step = (args[1] - args[0]) * 1e-3
        is_clear = np.isfinite(draw(x + step)) & np.isfinite(draw(x - step)) & np.isfinite(slope)
        wanted = (draw(x + step)[is_clear] - draw(x - step)[is_clear]) / (2 * step)
        total = grad(lambda y: lax.reduce_sum(draw(y)))(x)
    assert is_clear.mean() > 0.5 or case.may_be_infinite
    scale = np.spacing(np.abs(numbers[is_clear])) / step
    distance = np.abs(slope[is_clear] - wanted)
    assert np.mean(distance <= 1e-4 * np.abs(wanted) + 50 * scale + 1e-7) > 0.98  # differences cross a kink
    if is_clear.all():
        np.testing.assert_allclose(total, slope.sum(), rtol=1e-8)


# Gamma-distributed numbers


def log_slope(a: Any, z: Any) -> Any:
    """Return -(dP / da) / (dP / dz) for P(a, exp(z)), by differences of mpmath's distribution function."""
    mp = pytest.importorskip("mpmath", reason="mpmath is the reference")
    with mp.workdps(60):
        a, z = mp.mpf(float(a)), mp.mpf(float(z))
        if a < 1 and z < -100:  # there P is x**a / gamma(a + 1) to 40 digits
            log_p = lambda a, z: a * z - mp.loggamma(a + 1)
        else:
            log_p = lambda a, z: mp.log(mp.gammainc(a, 0, mp.exp(z), regularized=True))
        h, k = a * mp.mpf(10) ** -20, mp.mpf(10) ** -20
        by_a, by_z = ((log_p(a + s, z + t) - log_p(a - s, z - t)) / (2 * (s + t)) for s, t in ((h, 0), (0, k)))
        return -by_a / by_z


def close(got, want, dtype):
    rtol = 2e-4 if dtype is np.float32 else 1e-10
    np.testing.assert_allclose(got, np.array(want, float), rtol=rtol, atol=1e-12)


single_and_double = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
ORDERS = [1e-12, 1e-6, 1e-3, 1e-2, 0.3, 0.999, 1.0, 1.5, 10.0, 150.0, 250.0, 3e3]


@pytest.mark.sampled(keep=0.15)
@single_and_double
@pytest.mark.parametrize("a", ORDERS)
def test_slopes_of_gamma_numbers_keep_their_quantiles(a, dtype):
    a = dtype(a)
    z, z_dot = jvp(lambda a: random.loggamma(KEY, a, (6,), dtype), (a,), (dtype(1),))
    wanted = [log_slope(a, x) for x in z]
    close(z_dot, wanted, dtype)
    x, x_dot = jvp(lambda a: random.gamma(KEY, a, (6,), dtype), (a,), (dtype(1),))
    is_normal = x > np.finfo(dtype).tiny
    close(x_dot[is_normal], (x * np.array(wanted, float))[is_normal], dtype)
    assert np.isfinite(x_dot).all()


def test_the_slope_of_a_tiny_gamma_number_is_the_published_limit():
    z, slope = jvp(lambda a: random.loggamma(random.key(0), a), (1e-3,), (1.0,))
    mp = pytest.importorskip("mpmath", reason="mpmath is the reference")
    assert abs(float(-(mp.mpf(float(z)) - mp.digamma(1.001)) / mp.mpf(1e-3)) / slope - 1) < 1e-12


# For each sampler: the parameters of its gamma-distributed numbers, their keys, and the sampler as a formula of their
# logarithms and of numbers without parameters.
COMPOSED = {
    "chisquare": (lambda df: [df / 2], lambda mp, z, df, _: 2 * mp.exp(z[0])),
    "beta": (lambda a, b: [a, b], lambda mp, z, a, b, _: 1 / (1 + mp.exp(z[1] - z[0]))),
    "f": (lambda n, d: [d / 2, n / 2], lambda mp, z, n, d, _: mp.exp(z[1] - z[0]) * d / n),
    "t": (lambda df: [df / 2], lambda mp, z, df, n: n * mp.sqrt(df / 2 / mp.exp(z[0]))),
    "generalized_normal": (lambda p: [1 / p], lambda mp, z, p, sign: sign * mp.exp(z[0] / p)),
}
POINTS = {
    "chisquare": [(1e-2,), (0.5,), (4.0,), (700.0,)],
    "beta": [(1e-2, 2e-2), (0.5, 2.0), (3.0, 1e-3), (300.0, 50.0)],
    "f": [(0.05, 0.1), (3.0, 4.0), (0.1, 300.0)],
    "t": [(0.05,), (3.0,), (400.0,)],
    "generalized_normal": [(0.5,), (2.0,), (50.0,), (1e4,)],
}


@pytest.mark.sampled(keep=0.15)
@single_and_double
@pytest.mark.parametrize(("name", "point"), [(name, point) for name, points in POINTS.items() for point in points])
def test_slopes_of_formulas_of_gamma_numbers_are_differences(name, point, dtype):
    mp = pytest.importorskip("mpmath", reason="mpmath is the reference")
    orders_of, formula = COMPOSED[name]
    point, keys, count = [dtype(x) for x in point], random.split(KEY), 5
    draw = lambda *args: getattr(random, name)(KEY, *args, shape=(count,), dtype=dtype)
    places = [1] if name == "t" else [0] if name == "generalized_normal" else [0, 1][: len(point)]
    keys = [KEY] if name == "chisquare" else keys
    orders = [dtype(a) for a in orders_of(*point)]
    logs = [random.loggamma(keys[i], a, (count,), dtype) for i, a in zip(places, orders)]
    other = {
        "t": lambda: random.normal(keys[0], (count,), dtype),
        "generalized_normal": lambda: random.rademacher(keys[1], (count,), dtype),
    }
    others = other[name]() if name in other else np.zeros(count)
    for i in range(len(point)):
        numbers, slopes = jvp(in_place(draw, point, i), (point[i],), (dtype(1),))
        for k in range(count):
            number_and_slope = partial(moved, mp, formula, orders_of, point, i, [log[k] for log in logs], others[k])
            check_moved(number_and_slope, numbers[k], slopes[k], point[i], dtype)


def moved(mp: Any, formula: Any, orders_of: Any, point: Any, i: int, logs: Any, other: Any) -> tuple[float, float]:
    """Return a formula of gamma-distributed numbers and its slope, when parameter `i` moves them along quantiles."""
    with mp.workdps(50):
        at, z = [mp.mpf(float(y)) for y in point], [mp.mpf(float(y)) for y in logs]
        orders = orders_of(*at)
        rates = [log_slope(a, y) for a, y in zip(orders, z)]

        def number(h: Any) -> Any:
            new = [y + h * (j == i) for j, y in enumerate(at)]
            logs = [y + rate * (b - a) for y, rate, a, b in zip(z, rates, orders, orders_of(*new))]
            return formula(mp, logs, *new, mp.mpf(float(other)))

        h = at[i] * mp.mpf(10) ** -20
        return float(number(0)), float((number(h) - number(-h)) / (2 * h))


def check_moved(wanted: Callable[[], tuple[float, float]], number: Any, slope: Any, parameter: Any, dtype: Any) -> None:
    if np.isfinite(number) and abs(number) > np.finfo(dtype).tiny:
        value, wanted_slope = wanted()
        rtol = 1e-3 if dtype is np.float32 else 1e-9
        np.testing.assert_allclose(number, value, rtol=rtol)
        np.testing.assert_allclose(slope, wanted_slope, rtol=rtol, atol=rtol * 1e-2 * abs(value / parameter))


@pytest.mark.parametrize(
    "draw",
    [
        lambda a: random.beta(KEY, a, a, (50,), np.float32),
        lambda a: random.dirichlet(KEY, lax.broadcast(a, (3,)), (50,), np.float32),
        lambda a: random.chisquare(KEY, a, (50,), np.float32),
    ],
    ids=["beta", "dirichlet", "chisquare"],
)
@pytest.mark.parametrize("a", [1e-38, 1e-30, 1e-20, 1e-4])
def test_slopes_are_numbers_where_the_slope_of_a_logarithm_overflows(draw, a):
    numbers, slopes = jvp(draw, (np.float32(a),), (np.float32(1),))
    assert np.isfinite(numbers).all()
    assert np.isfinite(slopes).all()
    assert np.isfinite(grad(lambda a: lax.reduce_sum(draw(a)))(np.float32(a)))


# Wald numbers


@pytest.mark.parametrize("mean", [1e-2, 0.2, 1.0, 7.0, 300.0])
def test_the_slope_of_a_wald_number_keeps_its_quantile(mean):
    mp = pytest.importorskip("mpmath", reason="mpmath is the reference")

    def cdf(x, m):
        root = mp.sqrt(1 / x)
        return mp.ncdf(root * (x / m - 1)) + mp.exp(2 / m) * mp.ncdf(-root * (x / m + 1))

    numbers, slopes = jvp(lambda m: random.wald(KEY, m, (5,)), (np.float64(mean),), (1.0,))
    with mp.workdps(200 if mean < 0.1 else 60):
        for x, slope in zip(numbers, slopes):
            x, m, h = mp.mpf(float(x)), mp.mpf(mean), mp.mpf(10) ** -20
            by_m = (cdf(x, m * (1 + h)) - cdf(x, m * (1 - h))) / (2 * m * h)
            by_x = (cdf(x * (1 + h), m) - cdf(x * (1 - h), m)) / (2 * x * h)
            np.testing.assert_allclose(slope, float(-by_m / by_x), rtol=1e-10)


def test_the_mean_slope_of_wald_numbers_is_that_of_their_mean():
    for mean in (0.1, 1.0, 10.0):
        slopes = jvp(lambda m: random.wald(KEY, m, (100_000,)), (mean,), (1.0,))[1]
        assert abs(slopes.mean() - 1) < 5 * slopes.std() / np.sqrt(slopes.size)


# Distributions

truncated = lambda low, high: (
    lambda d: random.truncated_normal(KEY, low, high, (N,), d),
    lambda s: s.truncnorm(low, high).cdf,
)
largest = lambda d: d(np.finfo(d).max)
DISTRIBUTIONS = {
    "truncated_normal right": truncated(10.0, 11.0),
    "truncated_normal left": truncated(-8.0, -6.5),
    "truncated_normal open": truncated(7.0, np.inf),
    "truncated_normal near": truncated(2.9, 5.0),
    "wald": (lambda d: random.wald(KEY, d(50.0), (N,), d), lambda s: s.invgauss(50.0).cdf),
    "wald of a large mean": (lambda d: random.wald(KEY, d(1e8), (N,), d), lambda s: s.levy().cdf),
    "generalized_normal": (
        lambda d: random.generalized_normal(KEY, d(1e5), (N,), d),
        lambda s: s.uniform(-1, 2).cdf,
    ),
    "t of few degrees": (
        lambda d: np.log(np.abs(random.t(KEY, d(0.05), (N,), d))),
        lambda s: lambda y: 2 * s.t(0.05).cdf(np.exp(y)) - 1,
    ),
    "f": (lambda d: np.log(random.f(KEY, d(0.2), d(0.4), (N,), d)), lambda s: lambda y: s.f(0.2, 0.4).cdf(np.exp(y))),
    "beta": (lambda d: random.beta(KEY, d(0.05), d(0.2), (N,), d), lambda s: s.beta(0.05, 0.2).cdf),
    "triangular": (
        lambda d: 1e25 * random.triangular(KEY, 0.0, d(3e-26), d(1e-25), (N,), d),
        lambda s: s.triang(0.3).cdf,
    ),
    "rayleigh": (lambda d: random.rayleigh(KEY, d(2.0), (N,), d), lambda s: s.rayleigh(scale=2.0).cdf),
    "uniform": (
        lambda d: random.uniform(KEY, (N,), d, -largest(d), largest(d)) / largest(d),
        lambda s: s.uniform(-1, 2).cdf,
    ),
}


@single_and_double
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_have_their_distribution(name, dtype):
    stats = pytest.importorskip("scipy.stats", reason="SciPy is the reference")
    draw, cdf_of = DISTRIBUTIONS[name]
    with np.errstate(over="ignore", divide="ignore"):
        numbers = np.sort(draw(dtype).astype(float))
    numbers = np.where(np.isposinf(numbers), np.finfo(float).max, numbers)
    with np.errstate(over="ignore"):
        p = np.asarray(cdf_of(stats)(numbers), float)
    share = np.arange(N + 1) / N
    distance = np.maximum(np.abs(p - share[1:]), np.abs(p - share[:-1]))
    is_distinct = np.abs(p) < 1 - 1e-6  # numbers that round to 1 or overflow stand together
    assert distance[is_distinct].max() < 1.95 / np.sqrt(N)  # exceeded with probability 0.001


def test_a_narrow_interval_has_all_its_floats_but_the_last():
    numbers = random.uniform(KEY, (100_000,), np.float32, 1.0, 1.000001)
    floats = np.float32(1) + np.arange(8, dtype=np.float32) * np.float32(2**-23)
    values, counts = np.unique(numbers, return_counts=True)
    np.testing.assert_array_equal(values, floats)
    assert counts.min() > 5_000


@pytest.mark.parametrize("bounds", [(1.0, 1.000001), (0.0, 1.0), (-5.0, 3.0), (-3e38, 3e38)])
def test_the_slopes_of_uniform_numbers_are_their_shares(bounds):
    low, high = map(np.float32, bounds)
    by_low = jvp(lambda a: random.uniform(KEY, (1000,), np.float32, a, high), (low,), (np.float32(1),))[1]
    by_high = jvp(lambda b: random.uniform(KEY, (1000,), np.float32, low, b), (high,), (np.float32(1),))[1]
    u = random.uniform(KEY, (1000,), np.float32)
    is_moved = random.uniform(KEY, (1000,), np.float32, low, high) == np.nextafter(high, low)
    np.testing.assert_allclose(by_low[~is_moved], (1 - u)[~is_moved], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_high[~is_moved], u[~is_moved], rtol=1e-6, atol=1e-7)
    is_share = np.isclose(by_high, u, rtol=1e-6)
    assert np.all(is_share | (by_high == 1))  # of a number that rounding had moved to the end, the end's
