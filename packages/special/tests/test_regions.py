"""Arrays are evaluated by the formulas of the regions that occur in them, in blocks, with the bits of one number."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import calque_special as special
from calque_core import make_jaxpr
from calque_core.engine import StraightLine
from calque_core.ops.elementwise import regions
from calque_core.ops.elementwise.regions import BLOCK, MOST_NUMBERS

FUNCTIONS = {
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "trigamma": lambda x: special.polygamma(1.0, x),
    "bessel_i0e": special.bessel_i0e,
    "bessel_i1e": special.bessel_i1e,
}
MIXED = [0.0, -0.0, 5e-324, 0.5, 1.0, np.nextafter(8.0, 0.0), 8.0, 1e300, np.inf, -np.inf, np.nan, -0.5, -3.0, -7.25]


def numbers(count):
    x = np.random.default_rng(4).uniform(-3.0, 20.0, count)
    return np.concatenate([MIXED, x])[:count]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", [300, 2 * BLOCK + 5])
def test_an_element_has_the_same_bits_alone_and_among_others(name, count):
    f, x = FUNCTIONS[name], numbers(count)
    many = f(x)
    np.testing.assert_array_equal([f(v) for v in x[:300]], many[:300])
    np.testing.assert_array_equal(np.signbit([f(v) for v in x[:4]]), np.signbit(many[:4]))
    np.testing.assert_array_equal(f(x[::-1]), many[::-1])
    np.testing.assert_array_equal(f(x[None, :, None]), many[None, :, None])
    positive = x[(x > 0.0) & (x < 8.0)]
    np.testing.assert_array_equal(f(positive), many[(x > 0.0) & (x < 8.0)])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_narrow_numbers_are_the_doubles_rounded_once(name, dtype):
    x = np.random.default_rng(5).uniform(0.1, 30.0, 500).astype(dtype)
    out = FUNCTIONS[name](x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, FUNCTIONS[name](x.astype(float)).astype(dtype))


def test_an_array_in_one_region_runs_one_formula(monkeypatch):
    met = []
    find = regions._code_of
    monkeypatch.setattr(regions, "_code_of", lambda region: met.append(region.highest) or find(region))
    special.lgamma(np.linspace(0.1, 7.9, MOST_NUMBERS + 1))
    special.lgamma(np.linspace(8.0, 99.0, MOST_NUMBERS + 1))
    assert met == [np.nextafter(8.0, 0.0), np.inf]


def test_an_empty_array_stays_empty():
    for f in FUNCTIONS.values():
        assert f(np.zeros((0, 3))).shape == (0, 3)


PAIRS = [(special.lgamma, special.digamma), (special.bessel_i0e, special.bessel_i1e)]


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


@pytest.mark.parametrize("orders", [1.0, np.ones(1), np.ones(40)])
def test_the_order_of_a_derivative_may_be_a_number_or_an_array_of_one(orders):
    x = np.linspace(0.5, 9.0, np.size(orders))
    want = special.polygamma(1.0, x)
    np.testing.assert_array_equal(special.polygamma(orders, x), want)
    assert special.polygamma(orders, 2.5).shape == np.shape(orders)
    mixed = special.polygamma(np.where(np.arange(x.size) % 2, 1.0, 2.0), x)
    np.testing.assert_allclose(mixed[1::2], want[1::2], rtol=1e-14)
    assert (mixed[::2] < 0.0).all()


def test_threads_evaluate_blocks_apart():
    xs = [np.random.default_rng(k).uniform(0.1, 7.9, 2 * BLOCK) for k in range(4)]
    want = [special.lgamma(x) for x in xs]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            for got, alone in zip(threads.map(special.lgamma, xs), want, strict=True):
                np.testing.assert_array_equal(got, alone)
