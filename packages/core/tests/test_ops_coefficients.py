"""The coefficients are those that their derivation gives; the functions have the accuracy that they state."""

from __future__ import annotations

import runpy
from decimal import Decimal, localcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from calque_core import lax

coefficient_tables = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("coefficient_tables.py"))))


def test_the_tables_are_what_their_derivation_writes():
    assert coefficient_tables.TARGET.read_text(encoding="utf-8") == coefficient_tables.module()


def exact(function, points):
    with localcontext() as context:
        context.prec = coefficient_tables.DIGITS + 70
        return [function(Decimal(x)) for x in points]


def ulps_apart(got, want, dtype):
    """Return distances in ulp; `want` is decimal, so that no rounding of the reference counts."""
    ulps = np.spacing(np.abs(np.array([float(w) for w in want])).astype(dtype)).astype(float)
    return np.array([float(Decimal(float(g)) - w) for g, w in zip(got, want)]) / ulps


def erfc(x):
    return coefficient_tables.scaled_erfc(x) * (-x * x).exp() if x > 0 else 2 - erfc(-x)


CASES = {
    "erfc": (erfc, [-3.0, -0.6, 0.5, 0.7501, 1.3, 2.9, 5.1, 8.7], 8),
    "erf": (lambda x: 1 - erfc(x), [1e-3, 0.2, 0.6, 0.7499, 0.7501, 1.3, 2.9, 5.1], 4),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_functions_are_as_accurate_as_they_say(name, dtype):
    reference, points, bound = CASES[name]
    x = np.array(points, dtype)
    distances = ulps_apart(getattr(lax, name)(x), exact(reference, x.tolist()), dtype)
    assert np.abs(distances).max() <= bound, dict(zip(points, distances))


@pytest.mark.parametrize(
    ("name", "points", "values"),
    [
        ("erf", [0.0, np.inf, -np.inf, np.nan], [0.0, 1.0, -1.0, np.nan]),
        ("erfc", [0.0, np.inf, -np.inf, np.nan, 1e300], [1.0, 0.0, 2.0, np.nan, 0.0]),
    ],
)
def test_limits_and_poles(name, points, values):
    out = getattr(lax, name)(np.array(points))
    np.testing.assert_array_equal(out, values)
    is_number = ~np.isnan(values)
    np.testing.assert_array_equal(np.signbit(out)[is_number], np.signbit(values)[is_number])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int64"])
def test_bits_are_counted_in_two_s_complement(dtype):
    info = np.iinfo(dtype)
    x = np.array([0, 1, 6, 100, info.max, info.min], dtype)
    texts = [np.binary_repr(int(v), info.bits) if v >= 0 else np.binary_repr(int(v), width=info.bits) for v in x]
    np.testing.assert_array_equal(lax.population_count(x), [t.count("1") for t in texts])
    np.testing.assert_array_equal(lax.clz(x), [len(t) - len(t.lstrip("0")) for t in texts])
