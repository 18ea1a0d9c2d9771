"""Random programs in boxes of all widths: no exact value lies outside, for any degree, compiled and mapped, too."""

from __future__ import annotations

import numpy as np
import pytest
from bounded_programs import random_box, random_point, random_program
from exact_programs import UndefinedError, exactly
from mpmath import mp

from calque_batching import vmap
from calque_bounds import bounds, taylor_bounds
from calque_xla_backend import jit

BOXES, POINTS = 3, 3


def assert_inside(low, high, right):
    """Check that no number of an array of mpmath's lies outside; a right value has some 100 digits."""
    for a, b, value in zip(np.ravel(low), np.ravel(high), np.ravel(right)):
        slack = abs(value) * mp.mpf(2) ** -100
        assert mp.mpf(float(a)) - slack <= value <= mp.mpf(float(b)) + slack


def exact_values(f, lower, upper, rng):
    """Return the exact values at points of a box, where there are any."""
    values = []
    for _ in range(POINTS):
        try:
            values.append(exactly(f, random_point(rng, lower, upper)))
        except UndefinedError:
            continue
    return values


@pytest.mark.sampled(keep=0.01)
@pytest.mark.parametrize("seed", range(300))
def test_no_value_of_a_random_program_lies_outside(seed):
    rng = np.random.default_rng(seed)
    f = random_program(rng, int(rng.integers(1, 7)))
    functions = [bounds(f), bounds(f, 1), bounds(f, 2)]
    if seed % 4 == 0:
        functions += [jit(bounds(f)), bounds(jit(f)), jit(bounds(f, 1))]
    for lower, upper in [random_box(rng) for _ in range(BOXES)]:
        values = exact_values(f, lower, upper, rng)
        for bounded in functions:
            low, high = bounded(lower, upper)
            for value in values:
                assert_inside(low, high, value)


@pytest.mark.sampled(keep=0.01)
@pytest.mark.parametrize("seed", range(300, 400))
def test_mapped_bounds_are_bounds(seed):
    rng = np.random.default_rng(seed)
    f = random_program(rng, 4)
    lower, upper = map(np.stack, zip(*[random_box(rng) for _ in range(4)]))
    for degree in (0, 1):
        low, high = vmap(bounds(f, degree))(lower, upper)
        for k in range(4):
            for value in exact_values(f, lower[k], upper[k], rng):
                assert_inside(low[k], high[k], value)


@pytest.mark.sampled(keep=0.01)
@pytest.mark.parametrize("seed", range(400, 500))
def test_no_value_of_a_random_program_lies_outside_of_its_taylor_series(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng, 4)
    f = lambda x: program(np.array([1.0, 0.5, -2.0]) * x)
    lower, upper = (end[0] for end in random_box(rng))
    series = taylor_bounds(f, 2)(lower, upper)
    for x in np.clip(lower + np.array([0.0, 0.3, 1.0]) * (upper - lower), lower, upper):
        try:
            right = exactly(f, x)
        except UndefinedError:
            continue
        with mp.workprec(300):
            powers = [(mp.mpf(float(x)) - mp.mpf(float(series.centre))) ** k for k in range(3)]
            for k, value in enumerate(right):
                products = [[end[j][k] for end in (series.lower, series.upper)] for j in range(3)]
                if np.isfinite(products).all():
                    sides = [sorted(mp.mpf(float(c)) * p for c in pair) for pair, p in zip(products, powers)]
                    assert sum(low for low, _ in sides) <= value <= sum(high for _, high in sides)
