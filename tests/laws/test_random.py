"""Random functions compiled, mapped and differentiated; and beside jax over random parameters.

Compiled and evaluated numbers differ in the last bits of the functions that they are made of: by up to 1e-5 of float32
and 1e-12 of float64.  Integers and choices are equal, but for a comparison that falls between two such values.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from calque_autodiff import grad, jvp
from calque_batching import vmap
from calque_core import config, lax
from calque_numpy import random
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.06)

TABLE = Path(__file__).parents[2] / "packages/numpy/tests/recorded_random.json"
CASES = json.loads(TABLE.read_text())["cases"]
DRAWS = {  # the last case of each function
    case["call"]: case
    for case in CASES
    if case["x64"] and "crc32" not in case and case["call"] not in ("key", "split", "fold_in")
}
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


def argument(recorded):
    if isinstance(recorded, dict) and "array" in recorded:
        return np.array(recorded["array"])
    if isinstance(recorded, dict):
        return np.arange(int(np.prod(recorded["arange"])), dtype=recorded["dtype"]).reshape(recorded["arange"])
    return tuple(recorded) if isinstance(recorded, list) else recorded


def close(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    tolerance = {"float16": 4e-3, "float32": 4e-5, "float64": 2e-12}.get(want.dtype.name, 0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_the_same_compiled_and_mapped(name):
    case = DRAWS[name]
    draw = lambda key: getattr(random, case["call"])(key, *map(argument, case["args"]))
    keys = random.split(random.key(case["seed"]), 3)
    want = [np.asarray(draw(key)) for key in keys]

    close(jit(draw)(keys[0]), want[0])
    close(vmap(draw)(keys), np.stack(want))


def test_keys_pass_through_transformations():
    keys = random.split(random.key(0), 4)
    children = jit(vmap(lambda key: random.split(key)))(keys)
    assert (type(children), children.shape) == (random.KeyArray, (4, 2))
    np.testing.assert_array_equal(children.words, np.stack([random.split(key).words for key in keys]))
    chosen = vmap(lambda i, key, other: np.where(i > 1, key, other))(np.arange(4), keys, children[:, 0])
    np.testing.assert_array_equal(chosen.words[:2], children[:2, 0].words)
    np.testing.assert_array_equal(chosen.words[2:], keys[2:].words)


KEY = random.key(11)
SMOOTH = {
    "uniform": lambda a: random.uniform(KEY, (3,), minval=-a, maxval=2 * a),
    "pareto": lambda a: random.pareto(KEY, a, (3,)),
    "rayleigh": lambda a: random.rayleigh(KEY, a, (3,)),
    "weibull_min": lambda a: random.weibull_min(KEY, a, 1 + a, (3,)),
    "triangular": lambda a: random.triangular(KEY, -a, 0.1, 2 * a, (3,)),
    "truncated_normal": lambda a: random.truncated_normal(KEY, -a, 2 * a, (3,)),
    "lognormal": lambda a: random.lognormal(KEY, a, (3,)),
    "double_sided_maxwell": lambda a: random.double_sided_maxwell(KEY, a, a * a, (3,)),
    "multivariate_normal": lambda a: random.multivariate_normal(KEY, a * np.ones(2), a * np.eye(2), (3,)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_in_locations_and_scales_are_differences(name):
    draw, a, step = SMOOTH[name], np.float64(1.3), 1e-6
    slope = (draw(a + step) - draw(a - step)) / (2 * step)

    np.testing.assert_allclose(jvp(draw, (a,), (1.0,))[1], slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(grad(lambda a: lax.reduce_sum(draw(a)))(a), slope.sum(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("a", [0.3, 1.0, 4.5])
@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_the_derivative_of_a_gamma_number_keeps_its_quantile(name, a):
    """The distribution function P(a, x) of the number x stays constant, so x' = -(dP / da) / (dP / dx)."""
    draw = lambda a: getattr(random, name)(KEY, a, (50,))
    x, x_dot = jvp(draw, (a,), (1.0,))
    if name == "loggamma":
        x, x_dot = np.exp(x), np.exp(x) * x_dot
    step = 1e-5
    by_a = (lax.igamma(a + step, x) - lax.igamma(a - step, x)) / (2 * step)
    density = np.exp((a - 1) * np.log(x) - x - lax.lgamma(a))

    is_clear = density > 1e-3
    np.testing.assert_allclose(x_dot[is_clear], (-by_a / density)[is_clear], rtol=1e-4)


FRACTION = 0.02  # of integers that may differ: float32 logarithms decide about their acceptance


@needs_jax
@pytest.mark.parametrize("x64", [True, False], ids=["x64", "x32"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "n_parameters"),
    [
        ("pareto", 1), ("rayleigh", 1), ("lognormal", 1), ("wald", 1), ("gamma", 1), ("loggamma", 1), ("chisquare", 1),
        ("t", 1), ("beta", 2), ("f", 2), ("poisson", 1), ("dirichlet", 1), ("binomial", 2),
    ],
)  # fmt: skip
def test_numbers_are_jaxs_for_random_parameters(name, n_parameters, seed, x64):
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    rng = np.random.default_rng(seed)
    dtype = np.float64 if x64 else np.float32
    parameters = [(4 * rng.gamma(1.0, size=(3, 4)) + 0.1).astype(dtype) for _ in range(n_parameters)]
    if name == "binomial":
        parameters = [np.ceil(20 * parameters[0]), rng.uniform(size=(3, 4)).astype(dtype)]
    with jax.enable_x64(x64), config.enable_x64(x64):
        arrays = map(jax.numpy.asarray, parameters)
        want = np.asarray(getattr(jax.random, name)(jax.random.key(seed), *arrays))
        got = getattr(random, name)(random.key(seed), *parameters)

    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if name in ("poisson", "binomial"):
        assert np.mean(got != want) <= FRACTION
    else:
        rtol = 1e-11 if x64 else 2e-4
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


@needs_jax
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("exponential", ()), ("cauchy", ()), ("laplace", ()), ("logistic", ()), ("gumbel", ()), ("maxwell", ()),
        ("pareto", (1.5,)), ("rayleigh", (1.5,)), ("weibull_min", (1.5, 0.75)), ("triangular", (0, 0.5, 2)),
        ("lognormal", (0.5,)), ("wald", (0.25,)), ("double_sided_maxwell", (0.5, 2)), ("gamma", (1.5,)),
        ("loggamma", (0.25,)), ("beta", (1.5, 0.5)), ("chisquare", (3,)), ("f", (3, 4)), ("t", (3,)),
        ("generalized_normal", (1.5,)),
    ],
)  # fmt: skip
def test_numbers_in_bfloat16_are_jaxs(name, parameters):
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    dtype = np.dtype(jax.numpy.bfloat16)
    parameters = [dtype.type(x) for x in parameters]
    draw = lambda random, key: getattr(random, name)(key, *parameters, shape=(50,), dtype=dtype)
    with jax.enable_x64(True):
        want = np.asarray(draw(jax.random, jax.random.key(3)))
    got = draw(random, random.key(3))

    assert (got.dtype, got.shape) == (dtype, want.shape)
    is_right = np.isfinite(want)  # jax's rayleigh numbers are infinite where a uniform number is 0
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got[is_right].astype(float), want[is_right].astype(float), rtol=2**-6, atol=2**-6)


@needs_jax
@pytest.mark.parametrize("name", ["gamma", "loggamma", "beta", "t", "truncated_normal"])
def test_derivatives_are_jaxs(name):
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    a = np.array([0.4, 1.0, 3.0])
    rest = (2.0 * a,) if name in ("beta", "truncated_normal") else ()
    draw = lambda random, key: lambda a: getattr(random, name)(key, a, *rest)
    with jax.enable_x64(True):
        want = jax.jvp(draw(jax.random, jax.random.key(3)), (a,), (np.ones(3),))[1]
    np.testing.assert_allclose(jvp(draw(random, random.key(3)), (a,), (np.ones(3),))[1], want, rtol=1e-8)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("geometric", [0.0, 1e-300, 1e-12, 0.5, 1.0, np.nan]), ("poisson", [np.inf, np.nan, -1.0, 0.0, 1e12, 1e30])],
)
def test_counts_beyond_the_dtype_compile_to_the_evaluated_ones(name, parameters, dtype):
    def draw(x):
        return getattr(random, name)(random.key(0), x, dtype=dtype)

    np.testing.assert_array_equal(jit(draw)(np.array(parameters)), draw(np.array(parameters)))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_each_generator_draws_the_same_compiled_and_mapped(impl):
    keys = random.split(random.key(3, impl=impl), 3)

    def draw(key):
        first, second = random.split(key)
        return random.bits(random.fold_in(first, 5), (5,), np.uint16), random.gamma(second, 0.5, (2,))

    mapped = vmap(draw)(keys)
    for n, key in enumerate(keys):
        for got, of_batch, want in zip(jit(draw)(key), mapped, draw(key), strict=True):
            close(got, want)
            close(of_batch[n], want)
