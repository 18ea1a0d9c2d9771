"""The coefficients are those that their derivation gives; the functions have the accuracy that they state."""

from __future__ import annotations

import math
import runpy
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from calque_numpy.scipy import special

tables = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("coefficient_tables.py"))))


def test_the_tables_are_what_their_derivation_writes():
    assert tables.TARGET.read_text(encoding="utf-8") == tables.module()


def e1(x):
    return tables.scaled_e1(x) * (-x).exp()


def dawson(x):
    return tables.series(x, lambda k: -2 * x * x / (2 * k + 1), lambda k: 1)


def dilogarithm(x):
    """Return Spence's function for 0 < x < 2 by the power series of DLMF 25.12.1."""
    return (1 - x) * tables.series(Decimal(1), lambda k: 1 - x, lambda k: (k + 1) ** 2)


def fresnel_s(x):
    a = (tables.circle() / 2 * x * x) ** 2
    return (
        x**3
        * tables.circle()
        / 2
        * tables.series(Decimal(1), lambda k: -a / (2 * k * (2 * k + 1)), lambda k: 4 * k + 3)
    )


def fresnel_c(x):
    a = (tables.circle() / 2 * x * x) ** 2
    return x * tables.series(Decimal(1), lambda k: -a / (2 * k * (2 * k - 1)), lambda k: 4 * k + 1)


def owens(x):
    """Return T(x, x / 2) as a power series in the slope, term by term the series of DLMF 7.4 (Owen (1956), 3.2)."""
    slope, half, total, term, partial = x / 2, x * x / 2, Decimal(0), Decimal(1), Decimal(1)
    for j in range(600):
        total += (-1) ** j * slope ** (2 * j + 1) / (2 * j + 1) * (1 - (-half).exp() * partial)
        term = term * half / (j + 1)
        partial += term
    angle = tables.series(slope, lambda k: -slope * slope, lambda k: 2 * k + 1)
    return (angle - total) / (2 * tables.circle())


# name -> function, exact function, points, bound in ulp
CASES = {
    "exp1": (special.exp1, e1, [1e-30, 1e-3, 0.5, 0.99, 1.01, 1.7, 4.0, 9.0, 33.0, 80.0], 16),
    "expi": (special.expi, tables.ei, [1e-30, 0.3, 0.3725, 0.3726, 2.0, 5.9, 6.1, 15.0, 17.0, 39.0, 41.0, 87.0], 16),
    "si": (lambda x: special.sici(x)[0], tables.sine_integral, [1e-30, 0.1, 3.3, 5.9, 6.1, 12.0, 33.0], 8),
    "ci": (lambda x: special.sici(x)[1], tables.cosine_integral, [1e-30, 0.1, 0.6165, 0.6166, 2.0, 7.5, 33.0], 16),
    "spence": (special.spence, dilogarithm, [0.1, 0.3, 0.49, 0.51, 0.999, 1.001, 1.5, 1.9], 16),
    "dawsn": (special.dawsn, dawson, [1e-30, 0.1, 0.69, 0.71, 0.9, 1.7, 3.0, 5.0, 7.3], 8),
    "fresnel s": (lambda x: special.fresnel(x)[0], fresnel_s, [1e-3, 0.3, 1.19, 1.21, 2.0, 3.3, 5.0], 8),
    "fresnel c": (lambda x: special.fresnel(x)[1], fresnel_c, [1e-3, 0.3, 1.19, 1.21, 2.0, 3.3, 5.0], 8),
    "owens_t": (lambda x: special.owens_t(x, x / 2), owens, [0.01, 0.5, 1.3, 1.9], 24),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_functions_are_as_accurate_as_they_say(name, dtype):
    function, reference, points, bound = CASES[name]
    x = np.array(points, dtype)
    out = function(x)
    assert out.dtype == dtype
    with localcontext() as context:
        context.prec = 2 * tables.DIGITS
        wants = [reference(Decimal(p)) for p in x.tolist()]
    for point, got, want in zip(points, out.tolist(), wants):
        ulp = float(np.spacing(np.dtype(dtype).type(abs(float(want)))))
        assert abs(float(Decimal(got) - want)) <= bound * ulp, point


@pytest.mark.parametrize("x", [1e3, 100000.3, 123456789.123, 1e12 + 0.7, 1e17])
def test_fresnel_integrals_of_large_numbers_have_their_phase(x):
    s, c = special.fresnel(x)
    quarter = Fraction(x) ** 2 / 4
    phase = 2 * math.pi * float(quarter - math.floor(quarter))
    size = 1 / (math.pi * x)  # the first term of the asymptotic series; the next is a billion times smaller, or more
    np.testing.assert_allclose((s, c), (0.5 - math.cos(phase) * size, 0.5 + math.sin(phase) * size), atol=size**2)


def test_binomial_coefficients_of_whole_numbers_are_exact():
    n, k = (x.ravel() for x in np.meshgrid(np.arange(50), np.arange(50), indexing="ij"))
    np.testing.assert_array_equal(special.comb(n, k), [float(math.comb(a, b)) for a, b in zip(n.tolist(), k.tolist())])
    np.testing.assert_allclose(special.comb(1000, 500), float(math.comb(1000, 500)), rtol=1e-12)
    np.testing.assert_allclose(special.comb(np.float32(207), np.float32(33)), float(math.comb(207, 33)), rtol=1e-4)


def test_bernoulli_numbers_are_the_fractions():
    numbers = special.bernoulli(300)
    np.testing.assert_array_equal(numbers[[0, 1, 2, 3, 4, 12]], [1.0, -0.5, 1 / 6, 0.0, -1 / 30, -691 / 2730])
    assert np.isfinite(numbers[:260]).all()
    assert numbers[260] == -math.inf
    assert [len(special.bernoulli(n)) for n in range(4)] == [1, 2, 3, 4]
