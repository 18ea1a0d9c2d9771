"""Arrays are evaluated by the formulas of the regions that occur in them, in blocks, with the bits of one number."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_core.known.run import StraightLine
from calque_core.ops import regions
from calque_core.ops.approximate import declare_formula, evaluate_together
from calque_core.ops.regions import BLOCK, MOST_NUMBERS, Regions, odd, region

HALF = np.nextafter(2.0, 0.0)


def declare_root(name, power):
    """Return a primitive of (n, x), a root of n |x| with the sign of x; for n = 1 it has two regions."""
    root = lambda x: lax.exp(lax.mul(power, lax.log(x)))
    parts = Regions([region(0.0, HALF, root), region(2.0, np.inf, lambda x: lax.mul(root(2.0), root(lax.div(x, 2.0))))])
    formula = lambda n, x: lax.mul(lax.sign(x), root(lax.mul(n, lax.abs(x))))
    return declare_formula(name, formula, regions={(1.0,): parts._replace(mirrors=[odd])})


def declare_of_one(name, power):
    """Return a primitive of x with two regions; the formula serves negative numbers and nan."""
    parts = Regions([region(0.0, HALF, lambda x: lax.add(x, power)), region(2.0, np.inf, lambda x: lax.mul(x, power))])
    return declare_formula(name, lambda x: lax.sub(power, x), regions={(): parts})


root_p = declare_root("root_of", 0.5)
steps_p, slope_p = declare_of_one("steps_of", 3.0), declare_of_one("slope_of", 5.0)
evaluate_together(steps_p, slope_p)
FUNCTIONS = {
    "root": lambda x: root_p.bind(np.ones_like(x), x),
    "steps": steps_p.bind,
    "slope": slope_p.bind,
    "erf": lax.erf,
    "erfc": lax.erfc,
}
OF_C = {"erf", "erfc"}  # a few numbers are left to the functions of C
MIXED = [0.0, -0.0, 5e-324, 0.5, 1.0, HALF, 2.0, 1e300, np.inf, -np.inf, np.nan, -0.5, -3.0, -7.25]


def numbers(count):
    x = np.random.default_rng(4).uniform(-3.0, 20.0, count)
    return np.concatenate([MIXED, x])[:count]


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OF_C))
@pytest.mark.parametrize("count", [300, 2 * BLOCK + 5])
def test_an_element_has_the_same_bits_alone_and_among_others(name, count):
    f, x = FUNCTIONS[name], numbers(count)
    many = f(x)
    np.testing.assert_array_equal([f(v) for v in x[:300]], many[:300])
    np.testing.assert_array_equal(np.signbit([f(v) for v in x[:4]]), np.signbit(many[:4]))
    np.testing.assert_array_equal(f(x[::-1]), many[::-1])
    np.testing.assert_array_equal(f(x[None, :, None]), many[None, :, None])
    positive = x[(x > 0.0) & (x < 2.0)]
    np.testing.assert_array_equal(f(positive), many[(x > 0.0) & (x < 2.0)])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_narrow_numbers_are_the_doubles_rounded_once(name, dtype):
    x = np.random.default_rng(5).uniform(0.1, 30.0, 500).astype(dtype)
    out = FUNCTIONS[name](x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, FUNCTIONS[name](x.astype(float)).astype(dtype))


def test_each_element_is_evaluated_by_the_formula_of_its_region():
    x = np.array([0.0, 0.5, 2.0, 7.0, -1.0, np.nan] * 9)
    np.testing.assert_array_equal(steps_p.bind(x), np.array([3.0, 3.5, 6.0, 21.0, 4.0, np.nan] * 9))


def test_an_array_in_one_region_runs_one_formula(monkeypatch):
    met = []
    find = regions._code_of
    monkeypatch.setattr(regions, "_code_of", lambda region: met.append(region.highest) or find(region))
    steps_p.bind(np.linspace(0.1, 1.9, MOST_NUMBERS + 1))
    steps_p.bind(np.linspace(2.0, 99.0, MOST_NUMBERS + 1))
    assert met == [HALF, np.inf]


def test_an_empty_array_stays_empty():
    for f in FUNCTIONS.values():
        assert f(np.zeros((0, 3))).shape == (0, 3)


PAIRS = [(steps_p.bind, slope_p.bind), (lax.logistic, lax.logistic_slope)]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("count", [3, 400])
def test_a_function_and_its_derivative_are_one_call_with_the_bits_of_two(count, pair):
    x = numbers(count)
    program, code = make_jaxpr(lambda x: [pair[1](x), pair[0](x)])(x), StraightLine()
    arguments = code.arguments(program.invars)
    results = code.results(program)
    calls = [line for line in code.lines if not line.startswith("del")]
    assert len(calls) == 1
    slope, value = code.function(arguments, f"[{', '.join(results)}]")(x)
    np.testing.assert_array_equal(value, pair[0](x))
    np.testing.assert_array_equal(slope, pair[1](x))


def test_the_error_function_stays_within_one_and_keeps_the_sign_of_zero():
    x = np.concatenate([np.linspace(5.0, 7.0, 4001), [np.inf, 1e300]])
    assert lax.erf(x).max() == 1.0
    assert (np.diff(lax.erf(np.linspace(5.0, 7.0, 401))) >= 0.0).all()
    np.testing.assert_array_equal(lax.erf(-x), -lax.erf(x))
    zeros = np.tile([0.0, -0.0], BLOCK)
    np.testing.assert_array_equal(np.signbit(lax.erf(zeros)), np.signbit(zeros))


def test_an_operand_before_the_last_may_be_a_number_or_an_array_of_one(monkeypatch):
    met = []
    find = regions._code_of
    monkeypatch.setattr(regions, "_code_of", lambda region: met.append(region.highest) or find(region))
    x = np.linspace(0.5, 1.5, 40)
    for first in (np.float64(1.0), np.ones(40)):
        np.testing.assert_allclose(root_p.bind(first, x), np.sqrt(x), rtol=1e-15)
    assert met == [HALF, HALF]
    np.testing.assert_allclose(root_p.bind(np.where(np.arange(40) % 2, 1.0, 4.0), x)[::2], 2.0 * np.sqrt(x[::2]))
    assert met == [HALF, HALF]  # several numbers have no regions


def test_threads_evaluate_blocks_apart():
    xs = [np.random.default_rng(k).uniform(0.1, 7.9, 2 * BLOCK) for k in range(4)]
    want = [lax.erfc(x) for x in xs]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            for got, alone in zip(threads.map(lax.erfc, xs), want, strict=True):
                np.testing.assert_array_equal(got, alone)
