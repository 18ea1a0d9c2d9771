"""Distributions: means and variances of many numbers from fixed seeds, supports, edges, and refusals."""

import numpy as np
import pytest

from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr
from calque_numpy import random

KEY = random.key(5)
N = 20_000
EULER = np.euler_gamma
# The numbers of a distribution, its mean and its variance.
MOMENTS = {
    "rademacher": (lambda: random.rademacher(KEY, (N,)), 0, 1),
    "exponential": (lambda: random.exponential(KEY, (N,)), 1, 1),
    "laplace": (lambda: random.laplace(KEY, (N,)), 0, 2),
    "logistic": (lambda: random.logistic(KEY, (N,)), 0, np.pi**2 / 3),
    "gumbel": (lambda: random.gumbel(KEY, (N,)), EULER, np.pi**2 / 6),
    "gumbel high": (lambda: random.gumbel(KEY, (N,), mode="high"), EULER, np.pi**2 / 6),
    "gumbel highest": (lambda: random.gumbel(KEY, (N,), np.float32, "highest"), EULER, np.pi**2 / 6),
    "bernoulli high": (lambda: random.bernoulli(KEY, 0.3, (N,), "high"), 0.3, 0.21),
    "pareto": (lambda: random.pareto(KEY, 8.0, (N,)), 8 / 7, 8 / (49 * 6)),
    "rayleigh": (lambda: random.rayleigh(KEY, 2.0, (N,)), 2 * np.sqrt(np.pi / 2), 4 * (2 - np.pi / 2)),
    "weibull_min": (lambda: random.weibull_min(KEY, 3.0, 1.0, (N,)), 3, 9),
    "triangular": (lambda: random.triangular(KEY, -1.0, 0.0, 4.0, (N,)), 1, (1 + 16 + 4) / 18),
    "truncated_normal": (lambda: random.truncated_normal(KEY, -1.0, 1.0, (N,)), 0, 0.2911251),
    "lognormal": (lambda: random.lognormal(KEY, 0.5, (N,)), np.exp(0.125), (np.exp(0.25) - 1) * np.exp(0.25)),
    "maxwell": (lambda: random.maxwell(KEY, (N,)), 2 * np.sqrt(2 / np.pi), 3 - 8 / np.pi),
    "double_sided_maxwell": (lambda: random.double_sided_maxwell(KEY, 1.0, 2.0, (N,)), 1, 12),
    "wald": (lambda: random.wald(KEY, 2.0, (N,)), 2, 8),
    "gamma": (lambda: random.gamma(KEY, 2.5, (N,)), 2.5, 2.5),
    "gamma below 1": (lambda: random.gamma(KEY, 0.3, (N,)), 0.3, 0.3),
    "loggamma": (lambda: random.loggamma(KEY, 1.0, (N,)), -EULER, np.pi**2 / 6),
    "beta": (lambda: random.beta(KEY, 2.0, 3.0, (N,)), 0.4, 0.04),
    "dirichlet": (lambda: random.dirichlet(KEY, np.array([1.0, 2.0, 3.0]), (N,))[:, 1], 1 / 3, 2 / 63),
    "chisquare": (lambda: random.chisquare(KEY, 3.0, (N,)), 3, 6),
    "f": (lambda: random.f(KEY, 4.0, 20.0, (N,)), 20 / 18, 2 * 400 * 22 / (4 * 324 * 16)),
    "t": (lambda: random.t(KEY, 12.0, (N,)), 0, 1.2),
    "generalized_normal": (lambda: random.generalized_normal(KEY, 2.0, (N,)), 0, 0.5),
    "ball": (lambda: random.ball(KEY, 3, 2, (N,))[:, 0], 0, 0.2),
    "geometric": (lambda: random.geometric(KEY, 0.25, (N,)), 4, 12),
    "poisson": (lambda: random.poisson(KEY, 3.0, (N,)), 3, 3),
    "poisson of a large rate": (lambda: random.poisson(KEY, 50.0, (N,)), 50, 50),
    "binomial": (lambda: random.binomial(KEY, 10, 0.3, (N,)), 3, 2.1),
    "binomial of many": (lambda: random.binomial(KEY, 200, 0.7, (N,)), 140, 42),
    "multinomial": (lambda: random.multinomial(KEY, np.full(N, 30.0), np.full((N, 3), 1 / 3))[:, 2], 10, 20 / 3),
    "categorical": (lambda: random.categorical(KEY, np.log([0.5, 0.25, 0.25]), shape=(N,)), 0.75, 0.6875),
    "choice": (lambda: random.choice(KEY, 3, (N,), p=np.array([0.5, 0.25, 0.25])), 0.75, 0.6875),
    "choice of equal weights": (lambda: random.choice(KEY, np.array([1.0, 5.0]), (N,)), 3, 4),
    "complex normal": (lambda: np.abs(random.normal(KEY, (N,), np.complex128)) ** 2, 1, 1),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_variance_are_those_of_the_distribution(name):
    make, mean, variance = MOMENTS[name]
    numbers = np.asarray(make(), float)
    assert abs(numbers.mean() - mean) < 4.5 * np.sqrt(variance / N)
    assert abs(numbers.var() / variance - 1) < 0.12


def test_the_median_and_quartiles_of_cauchy_numbers():
    np.testing.assert_allclose(np.quantile(random.cauchy(KEY, (N,)), [0.25, 0.5, 0.75]), [-1, 0, 1], atol=0.05)


SHORT = {  # the functions that take a float dtype, but for those of `test_random_floats.py`
    "exponential": (), "cauchy": (), "laplace": (), "logistic": (), "gumbel": (), "maxwell": (), "pareto": (3.0,),
    "rayleigh": (2.0,), "weibull_min": (2.0, 3.0), "triangular": (-1.0, 0.0, 2.0), "lognormal": (0.5,), "wald": (2.0,),
    "double_sided_maxwell": (0.0, 2.0), "gamma": (0.3,), "loggamma": (1.5,), "beta": (2.0, 3.0), "chisquare": (3.0,),
    "dirichlet": ([1.0, 2.0],), "f": (3.0, 4.0), "t": (3.0,), "generalized_normal": (3.0,), "ball": (3, 2.0),
    "binomial": (40, 0.5), "multivariate_normal": ([1.0, 2.0], [[2.0, 0.6], [0.6, 0.5]]), "orthogonal": (3,),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", SHORT)
def test_every_distribution_has_numbers_of_16_bits(name, dtype):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype, dtype))
    parameters = [np.array(x) if isinstance(x, list) else x for x in SHORT[name]]
    numbers = getattr(random, name)(KEY, *parameters, shape=(50,), dtype=dtype)

    assert (numbers.dtype, numbers.shape[0]) == (dtype, 50)
    assert not np.any(np.isnan(numbers.astype(float)))
    assert len(np.unique(numbers.astype(float))) > 8


@pytest.mark.parametrize(
    ("draw", "of_jax"),
    [
        (lambda dtype: random.gamma(KEY, dtype.type(1.5), (4,), dtype), [0.75, 3.53125, 0.640625, 0.2431640625]),
        (lambda dtype: random.wald(KEY, dtype.type(1.5), (4,), dtype), [1.0, 0.90625, 2.34375, 1.015625]),
        (lambda dtype: random.geometric(KEY, dtype.type(0.25), (4,)), [3, 4, 3, 1]),
        (lambda dtype: random.choice(KEY, 3, (4,), p=np.array([0.25, 0.25, 0.5], dtype)), [1, 2, 1, 0]),
    ],
    ids=["gamma", "wald", "geometric", "choice"],
)
def test_distributions_in_bfloat16_have_jaxs_numbers(draw, of_jax):
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    np.testing.assert_array_equal(draw(dtype).astype(float), of_jax)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_vectors_matrices_and_counts_of_16_bits_are_computed_in_float32(dtype):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype, dtype))
    mean, covariance = np.array([1, -2], dtype), np.array([[2, 0.5], [0.5, 0.5]], dtype)
    for method in ("cholesky", "svd", "eigh"):
        vectors = random.multivariate_normal(KEY, mean, covariance, (3,), method=method)
        single = [x.astype(np.float32) for x in (mean, covariance)]
        np.testing.assert_array_equal(
            vectors, random.multivariate_normal(KEY, *single, (3,), method=method).astype(dtype)
        )
    counts = random.multinomial(KEY, np.array(20, dtype), np.array([0.25, 0.25, 0.5], dtype))
    assert (counts.dtype, counts.sum()) == (dtype, 20)
    assert random.binomial(KEY, np.array(20, dtype), np.array(0.25, dtype)).dtype == np.float64


def test_parameters_of_two_floats_of_16_bits_meet_in_float32():
    brain = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    mean, covariance = np.zeros(2, brain), np.eye(2, dtype=np.float16)
    assert random.multivariate_normal(KEY, mean, covariance).dtype == np.float32
    assert random.multinomial(KEY, np.array(20, np.float16), np.array([0.5, 0.5], brain)).dtype == np.float32


def test_normal_vectors_have_their_covariance_by_every_method():
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    for method in ("cholesky", "svd", "eigh"):
        vectors = random.multivariate_normal(KEY, mean, covariance, (N,), method=method)
        np.testing.assert_allclose(vectors.mean(0), mean, atol=0.06)
        np.testing.assert_allclose(np.cov(vectors.T), covariance, atol=0.08)


@pytest.mark.parametrize("dtype", [None, np.float32, np.complex128])
@pytest.mark.parametrize(("n", "m"), [(1, None), (3, None), (4, 2), (2, 4)])
def test_orthogonal_matrices_are(n, m, dtype):
    q = random.orthogonal(KEY, n, (5,), dtype, m)
    assert q.shape == (5, n, m or n)
    q = q if n >= (m or n) else np.conj(np.swapaxes(q, 1, 2))
    product = np.conj(np.swapaxes(q, 1, 2)) @ q
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(q.shape[2]), product.shape), atol=1e-5)


def test_numbers_lie_in_their_supports():
    assert np.all(np.linalg.norm(random.ball(KEY, 4, 2, (500,)), axis=-1) <= 1)
    assert np.all(np.abs(random.ball(KEY, 4, 1, (500,))).sum(-1) <= 1)
    truncated = random.truncated_normal(KEY, 8.0, 8.5, (500,), np.float32)
    assert np.all((truncated > 8) & (truncated < 8.5))
    np.testing.assert_allclose(random.dirichlet(KEY, np.full(4, 1e-3), (50,)).sum(-1), 1)
    assert np.all(random.multinomial(KEY, 30.0, np.array([0.5, 0.0, 0.5]))[1] == 0)


def test_choices_without_replacement_differ():
    for p in (None, np.array([0.3, 0.3, 0.2, 0.2, 0.0])):
        for seed in range(10):
            chosen = random.choice(random.key(seed), np.arange(5) * 10, (2, 2), replace=False, p=p)
            assert len(set(chosen.ravel().tolist())) == 4
            assert p is None or 40 not in chosen
    rows = random.categorical(KEY, np.zeros((2, 4)), shape=(4, 2), replace=False)
    np.testing.assert_array_equal(np.sort(rows, 0), np.arange(4)[:, None].repeat(2, 1))


def test_a_choice_of_nothing_is_empty():
    assert random.choice(KEY, 0, (0, 3)).shape == (0, 3)
    assert random.choice(KEY, np.ones((2, 4)), (0,), axis=1).shape == (2, 0)


def test_no_number_of_a_parameter_without_distribution_is_finite_or_positive():
    np.testing.assert_array_equal(random.poisson(KEY, np.array([0.0, -1.0, np.nan, np.inf, 1e9]))[:4], [0, -1, -1, -1])
    n, p = np.array([np.nan, -1.0, 5.0, 5.0, np.inf, 5.0, 5.0]), np.array([0.5, 0.5, -0.1, 1.1, 0.5, 0.0, 1.0])
    np.testing.assert_array_equal(random.binomial(KEY, n, p), [np.nan, np.nan, np.nan, np.nan, np.inf, 0, 5])
    assert np.isnan(random.gamma(KEY, np.nan))
    assert random.gamma(KEY, np.inf) > 1e300 or np.isnan(random.gamma(KEY, np.inf))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_counts_beyond_the_dtype_are_its_limits(dtype):
    limits = np.iinfo(dtype)
    for p, count in ((0.0, limits.max), (1e-300, limits.max), (1.0, 1), (np.nan, 0)):
        for size in (np.float32, np.float64):
            assert random.geometric(KEY, size(p), dtype=dtype) == (limits.max if size(p) == 0.0 else count)
    for rate, count in ((np.inf, -1), (np.nan, -1), (-1.0, -1), (1e30, limits.max), (0.0, 0)):
        assert random.poisson(KEY, rate, dtype=dtype) == np.array(count).astype(dtype)


def test_a_count_of_a_float_that_reaches_no_limit_is_kept():
    p = np.full(100, 1e-3, np.float16)
    counts = random.geometric(KEY, p, dtype="int32")
    np.testing.assert_array_equal(counts, counts.astype(np.float16))
    assert 100 < counts.mean() < 10000
    assert random.geometric(KEY, np.float16(0.0), dtype="int32") == 2**31 - 1


def test_sizes_zero_and_one():
    for make in (random.exponential, random.maxwell, random.rademacher):
        assert make(KEY, (0, 2)).shape == (0, 2)
    assert random.gamma(KEY, np.ones((0,))).shape == (0,)
    assert random.poisson(KEY, np.ones((1, 0))).shape == (1, 0)
    assert random.binomial(KEY, 3, 0.5, (0,)).shape == (0,)


def test_default_dtypes_follow_the_settings():
    with config.default_dtype_bits(32):
        assert random.gamma(KEY, 2.0).dtype == np.float32
        assert random.poisson(KEY, 2.0).dtype == np.int32
        assert random.binomial(KEY, 5, 0.5).dtype == np.float32
        assert random.choice(KEY, 5).dtype == np.int32


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: random.exponential(KEY, (2,), int), TypeError, "exponential.*dtype is int64. Use bfloat16, float16"),
        (lambda: random.exponential(KEY, (-1,)), ValueError, r"exponential.*shape \(-1,\) has a negative size"),
        (lambda: random.gamma(KEY, 1j), TypeError, r"gamma.*: a has type ~complex128\[\]. Give a real number"),
        (lambda: random.gamma(KEY, np.ones(3), (2,)), ShapeError, r"gamma.*a has type float64\[3\], which does not"),
        (lambda: random.beta(KEY, np.ones(3), np.ones(2)), ShapeError, r"beta.*shapes \[\(3,\), \(2,\)\] of a, b"),
        (lambda: random.dirichlet(KEY, 1.0), ValueError, r"dirichlet.*alpha has type ~float64\[\]. Give a vector"),
        (lambda: random.poisson(KEY, 1.0, (), float), TypeError, "poisson.*dtype is float64. Use an integer dtype"),
        (lambda: random.rademacher(KEY, (), bool), TypeError, "rademacher.*dtype is bool. Use a dtype of numbers"),
        (lambda: random.gumbel(KEY, mode="x"), ValueError, "gumbel.*mode is 'x'. Use 'low', 'high' or 'highest'"),
        (lambda: random.bernoulli(KEY, 0.5, (), "x"), ValueError, "bernoulli.*mode is 'x'"),
        (lambda: random.categorical(KEY, 1.0), ValueError, "categorical.*axis -1 is out of range for ndim 0"),
        (lambda: random.categorical(KEY, np.ones((2, 3)), shape=(3,)), ShapeError, r"categorical.*shape \(2,\), which"),
        (
            lambda: random.categorical(KEY, np.ones(3), shape=(4,), replace=False),
            ValueError,
            r"categorical.*shape \(4,\) asks for 4 different categories of 3",
        ),
        (lambda: random.choice(KEY, 0, (1,)), ValueError, "choice.*there are 0 elements to choose from"),
        (lambda: random.choice(KEY, 2, (3,), False), ValueError, "choice.*asks for 3 different elements of 2"),
        (lambda: random.choice(KEY, 2, p=np.ones(3)), ShapeError, r"choice.*p has type float64\[3\], for 2 elements"),
        (lambda: random.choice(KEY, 2.5), TypeError, "choice.*a is 2.5. Give an integer"),
        (lambda: random.multinomial(KEY, 3, 0.5), ValueError, r"multinomial.*p has type ~float64\[\]. Give a vector"),
        (
            lambda: random.multivariate_normal(KEY, np.ones(2), np.eye(3)),
            ShapeError,
            r"multivariate_normal.*mean has shape \(2,\), and cov has shape \(3, 3\)",
        ),
        (
            lambda: random.multivariate_normal(KEY, np.ones((3, 2)), np.eye(2), (2,)),
            ShapeError,
            r"multivariate_normal.*do not broadcast to \(2,\)",
        ),
        (lambda: random.multivariate_normal(KEY, np.ones(2), np.eye(2), method="qr"), ValueError, "method is 'qr'"),
        (lambda: random.orthogonal(KEY, 2.5), TypeError, "orthogonal.*n is 2.5. Give an integer"),
        (lambda: random.ball(KEY, 2.5), TypeError, "ball.*shape is "),
    ],
)
def test_wrong_parameters_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


NAN = np.nan
P_OF_ONE = np.eye(10)[9]
BAD_PROBABILITIES = {
    "choice of too few": (lambda p: random.choice(KEY, 10, (5,), False, p), P_OF_ONE, "asks for 5 .* but 1 in p"),
    "choice, negative": (lambda p: random.choice(KEY, 2, (3,), True, p), [1.5, -0.5], "choice.*p has the value -0.5"),
    "choice, nan": (lambda p: random.choice(KEY, 2, (3,), True, p), [1.0, NAN], "choice.*p has the value nan"),
    "choice, infinite": (lambda p: random.choice(KEY, 2, (3,), True, p), [1.0, np.inf], "choice.*p has the value inf"),
    "choice of nothing": (lambda p: random.choice(KEY, 2, (3,), True, p), [0.0, 0.0], "probabilities in p are 0"),
    "choice, half": (
        lambda p: random.choice(KEY, 3, (2,), False, p), np.array([1, 0, 0], np.float16), "asks for 2 .* but 1 in p"
    ),
    "categorical, nan": (lambda p: random.categorical(KEY, p), [0.0, NAN], "categorical.*logits has the value nan"),
    "categorical of nothing": (lambda p: random.categorical(KEY, p), [-np.inf] * 2, "1 different .*, but 0 of 2 have"),
    "categorical, a row of nothing": (
        lambda p: random.categorical(KEY, p, 0), [[0.0, -np.inf], [0.0, -np.inf]], "1 different .*, but 0 of 2 have"
    ),
    "categorical of too few": (
        lambda p: random.categorical(KEY, p, shape=(2,), replace=False), [0.0, -np.inf, -np.inf], "2 diff.*, but 1"
    ),
    "bernoulli above": (lambda p: random.bernoulli(KEY, p, (3,)), 1.5, "bernoulli.*p has the value 1.5. Give prob"),
    "bernoulli below": (lambda p: random.bernoulli(KEY, p), [0.5, -0.1], "bernoulli.*p has the value -0.1"),
    "bernoulli, nan": (lambda p: random.bernoulli(KEY, p, mode="high"), NAN, "bernoulli.*p has the value nan"),
    "multinomial, negative": (lambda p: random.multinomial(KEY, 5, p), [0.5, -0.5], "multinomial.*p has the value -"),
    "multinomial of nothing": (lambda p: random.multinomial(KEY, 5, p), [0.0, 0.0], "multinomial.*in p are 0"),
    "uniform to infinity": (lambda b: random.uniform(KEY, maxval=b), np.inf, "maxval has the value inf in f.*. Give"),
    "uniform from nan": (lambda b: random.uniform(KEY, (2,), None, b), [0.0, NAN], "minval has the value nan"),
    "uniform beyond float16": (
        lambda b: random.uniform(KEY, (2,), np.float16, 0.0, b), 1e5, "maxval has the value inf in float16"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_PROBABILITIES)
def test_known_bad_probabilities_and_bounds_are_refused_each_time(name):
    call, p, words = BAD_PROBABILITIES[name]
    for _ in range(5):
        with pytest.raises(ValueError, match=words):
            call(np.asarray(p)[()])


def test_probabilities_that_are_traced_are_taken():
    p = np.array([0.25, 0.0, 0.75])
    for draw in (
        lambda p: random.choice(KEY, 3, (5,), True, p),
        lambda p: random.choice(KEY, 3, (2,), False, p),
        lambda p: random.categorical(KEY, np.log(p), shape=(5,)),
        lambda p: random.bernoulli(KEY, p),
        lambda p: random.multinomial(KEY, 20.0, p),
    ):
        jaxpr = make_jaxpr(draw)(p)
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, p)[0], draw(p))


def test_choices_take_weights_of_any_sum():
    p = np.array([1.0, 2.0, 5.0])
    np.testing.assert_array_equal(random.choice(KEY, 3, (50,), True, p), random.choice(KEY, 3, (50,), True, p / 8))
    assert random.choice(KEY, 3, (0,), False, np.zeros(3)).shape == (0,)


def test_no_sign_of_a_parameter_gives_numbers_of_another_distribution():
    for a in (-0.5, -1.0, -1e-3):
        assert np.isnan(random.gamma(KEY, a))
        assert np.isnan(random.loggamma(KEY, a))
        assert np.isnan(random.beta(KEY, a, 1.0))
        assert np.isnan(random.chisquare(KEY, a))
        assert random.geometric(KEY, a) == random.geometric(KEY, 1.0 - a) == 0
    assert random.gamma(KEY, np.zeros(3)).tolist() == [0, 0, 0]
    assert random.loggamma(KEY, 0.0) == -np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(random.wald(KEY, -1.0))
    for bounds in ((1.0, 1.0), (2.0, 1.0), (12.0, 11.0), (np.nan, 1.0), (1.0, np.nextafter(1.0, 2.0))):
        with np.errstate(invalid="ignore"):
            assert np.isnan(random.truncated_normal(KEY, *bounds))
