"""Uniform floats lie between their bounds, evenly; bounds and probabilities broadcast or are refused."""

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, make_jaxpr
from calque_numpy import random

KEY = random.PRNGKey(0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 6.0), (1.0, 1.0)])
def test_numbers_lie_evenly_between_the_bounds(low, high, dtype):
    x = random.uniform(KEY, (20_000,), dtype, low, high)
    assert x.dtype == dtype
    assert (low <= x).all()
    assert (x < high).all() or low == high
    counts = np.histogram(x.astype(float), 8, (low, high) if high > low else None)[0]
    assert high == low or (abs(counts / 2_500 - 1) < 0.1).all()


def test_bounds_broadcast():
    low, high = np.array([[0.0], [10.0]]), np.array([1.0, 2.0, 3.0])
    x = random.uniform(KEY, (2, 3), None, low, high + low)
    assert ((low <= x) & (x < high + low)).all()


def test_bounds_may_be_traced():
    low = np.array([0.0, 10.0])
    jaxpr = make_jaxpr(lambda k, a: random.uniform(k, (3, 2), None, a, a + 1.0))(KEY, low)
    (got,) = eval_jaxpr(jaxpr, jaxpr.consts, KEY, low)
    np.testing.assert_array_equal(got, random.uniform(KEY, (3, 2), None, low, low + 1.0))


def test_bounds_of_other_dtypes_are_converted():
    want = random.uniform(KEY, (3,), np.float32, -1.0, 2.0)
    np.testing.assert_array_equal(random.uniform(KEY, (3,), np.float32, -1, np.float64(2)), want)


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_the_share_of_true_is_the_probability(p):
    assert abs(np.mean(random.bernoulli(KEY, p, (10_000,))) - p) < 0.02


def test_probabilities_have_the_shape_of_the_result():
    p = np.array([0.0, 1.0], np.float32)
    assert random.bernoulli(KEY, p).tolist() == [False, True]
    assert random.bernoulli(KEY, p, (2, 2)).tolist() == [[False, True], [False, True]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: random.uniform(KEY, (2,), int), TypeError, "uniform at test_random_floats.py:"),
        (
            lambda: random.uniform(KEY, (2,), np.uint8),
            TypeError,
            "dtype is uint8. Use bfloat16, float16, float32 or float64.",
        ),
        (
            lambda: random.uniform(KEY, (2,), complex),
            TypeError,
            "dtype is complex128. Use bfloat16, float16, float32 or float64.",
        ),
        (lambda: random.uniform(KEY, 2), TypeError, "shape is 2. Give a sequence of integers."),
        (lambda: random.uniform(KEY, (-2,)), ValueError, "the shape (-2,) has a negative size"),
        (lambda: random.uniform(KEY, (), None, 1j), TypeError, "minval has type ~complex128[]. Give a real number."),
        (lambda: random.uniform(KEY, (), None, 0, "1"), TypeError, "'1' of type str is not an array or a scalar"),
        (
            lambda: random.uniform(KEY, (2,), None, np.zeros(3)),
            ShapeError,
            "minval has type float64[3], which does not",
        ),
        (lambda: random.uniform(KEY, (), None, 0, np.ones(3)), ShapeError, "does not broadcast to the shape ()."),
        (lambda: random.bernoulli(KEY, 1), TypeError, "p has type ~int64[]. Give a probability as a float."),
        (
            lambda: random.bernoulli(KEY, np.ones(3), (2,)),
            ShapeError,
            "p has type float64[3], which does not broadcast",
        ),
    ],
)
def test_wrong_parameters_of_a_distribution_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("draw", "of_jax"),
    [
        (lambda k, d: random.uniform(k, (6,), d), [0.4921875, 0.765625, 0.8671875, 0.1875, 0.6796875, 0.390625]),
        (lambda k, d: random.uniform(k, (6,), d, -1, 3), [0.96875, 2.0625, 2.46875, -0.25, 1.71875, 0.5625]),
        (
            lambda k, d: random.normal(k, (6,), d),
            [-0.0146484375, 0.73046875, 1.125, -0.87890625, 0.47265625, -0.271484375],
        ),
        (
            lambda k, d: random.truncated_normal(k, -2, 2, (6,), d),
            [-0.01953125, 0.6875, 1.046875, -0.828125, 0.4453125, -0.26171875],
        ),
        (lambda k, d: random.bernoulli(k, d.type(0.3), (12,)), [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1]),
    ],
    ids=["uniform", "uniform between bounds", "normal", "truncated_normal", "bernoulli"],
)
def test_numbers_in_bfloat16_are_jaxs(draw, of_jax):
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    drawn = draw(random.key(3), bfloat16)
    assert drawn.dtype in (bfloat16, bool)
    np.testing.assert_array_equal(drawn.astype(float), of_jax)


def test_a_dtype_that_is_no_float_is_refused_with_the_choices():
    with pytest.raises(TypeError, match=r"^uniform at .*: dtype is int64\. Use bfloat16, float16, float32 or float64"):
        random.uniform(KEY, (2,), int)
