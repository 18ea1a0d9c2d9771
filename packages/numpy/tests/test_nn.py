"""Activations and normalizations: their values at the edges, their dtypes, and their refusals."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, jaxpr_as_fun, make_jaxpr
from calque_numpy import nn, random

INF = np.inf
FOLLOW_RELU = ["relu", "softplus", "silu", "mish", "gelu", "squareplus", "sparse_plus", "hard_silu"]
EXPONENTIAL = ["elu", "celu", "leaky_relu"]
BOUNDED = ["sigmoid", "tanh", "soft_sign", "hard_sigmoid", "hard_tanh", "sparse_sigmoid", "relu6"]
OVER_AN_AXIS = ["softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"]
ELEMENTWISE = [*FOLLOW_RELU, *EXPONENTIAL, *BOUNDED, "selu", "log_sigmoid", "identity", "log1mexp"]


def attend(query, key, **options):
    return nn.dot_product_attention(np.zeros(query), np.zeros(key), np.zeros(key), **options)


def close(got, want, rtol=1e-15):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=0)


@pytest.mark.parametrize("name", FOLLOW_RELU)
def test_far_from_zero_a_relative_of_relu_is_relu(name):
    x = np.array([-INF, 1e300, INF])
    close(getattr(nn, name)(x), [0.0, 1e300, INF])
    assert np.isnan(getattr(nn, name)(np.float64(np.nan)))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("sigmoid", 0, 1),
        ("tanh", -1, 1),
        ("soft_sign", -1, 1),
        ("hard_sigmoid", 0, 1),
        ("relu6", 0, 6),
        ("elu", -1, INF),
    ],
)
def test_a_function_reaches_its_bounds_at_infinity(name, low, high):
    close(getattr(nn, name)(np.array([-INF, INF])), [low, high])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", [*ELEMENTWISE, *OVER_AN_AXIS])
def test_the_dtype_of_a_float_is_kept_evaluated_and_traced(name, dtype):
    x = np.array([0.5, 1.5, 3.0], dtype)
    out = getattr(nn, name)(x)
    jaxpr = make_jaxpr(getattr(nn, name))(x)
    assert out.dtype == dtype
    assert jaxpr.out_avals[0].dtype == dtype
    close(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], out)


@pytest.mark.parametrize("name", [*FOLLOW_RELU[1:], *EXPONENTIAL, *BOUNDED, *OVER_AN_AXIS])
def test_integers_become_floats(name):
    if name == "hard_tanh":
        assert nn.hard_tanh(np.array([-2, 1])).dtype == np.int64
    else:
        assert getattr(nn, name)(np.array([1, 2, 4])).dtype == np.float64


def test_squareplus_of_negative_numbers_does_not_cancel():
    close(nn.squareplus(np.array([-1e10, -1e200])), [1e-10, 1e-200])
    assert nn.squareplus(np.float64(0.0), 0.0) == 0.0


@pytest.mark.parametrize("x", [1e-300, 1e-10, 0.5, 0.7, 40.0, 700.0])
def test_log1mexp_keeps_its_digits(x):
    want = np.log(-np.expm1(-x)) if x < 1 else np.log1p(-np.exp(-x))
    close(nn.log1mexp(np.float64(x)), want, 1e-14)


def test_softmax_of_infinite_elements_is_shared_among_the_largest():
    close(nn.softmax(np.array([[INF, 0.0, INF], [-INF, 0.0, -INF], [-INF] * 3]))[:2], [[0.5, 0, 0.5], [0, 1, 0]])
    close(nn.softmax(np.array([-INF, -INF])), [0.5, 0.5])
    close(nn.log_softmax(np.array([0.0, INF])), [-INF, 0.0])


def test_elements_outside_of_the_mask_are_not_counted():
    x, mask = np.array([[1.0, 1.0, 5000.0], [1.0, 2.0, 3.0]]), np.array([[True, True, False], [False] * 3])
    close(nn.softmax(x, where=mask), [[0.5, 0.5, 0.0], [0.0] * 3])
    close(nn.log_softmax(x, where=mask), [[-np.log(2), -np.log(2), -INF], [-INF] * 3])
    close(nn.logsumexp(x, 1, where=mask), [1.0 + np.log(2), -INF])
    close(nn.logmeanexp(x[0], where=mask[0]), 1.0)
    close(nn.standardize(np.array([1.0, 3.0, 50.0]), epsilon=0.0, where=mask[0])[:2], [-1.0, 1.0])


def test_logsumexp_with_weights_gives_the_sign_of_the_sum():
    a, b = np.array([1000.0, 1000.0, 4000.0]), np.array([1.0, -3.0, 0.0])
    size, sign = nn.logsumexp(a, b=b, return_sign=True)
    close([size, sign], [1000 + np.log(2), -1.0])
    assert np.isnan(nn.logsumexp(a, b=b))
    close(nn.logsumexp(a[:2], b=np.array([1.0, -1.0])), -INF)


def test_a_sum_of_exponentials_of_minus_infinity_is_zero_whatever_the_weights():
    a = np.array([-INF, -INF])
    for weights in (None, np.array([1.0, -2.0]), np.array([-1.0, -1.0])):
        assert nn.logsumexp(a, b=weights) == -INF
        assert nn.logsumexp(a, b=weights, return_sign=True) == (-INF, 0.0)


def test_infinite_terms_of_both_signs_have_no_sum():
    a = np.array([INF, INF, 0.0])
    assert np.isnan(nn.logsumexp(a, b=np.array([1.0, -1.0, 1.0])))
    assert np.isnan(nn.logsumexp(a, b=np.array([3.0, -1.0, 1.0]), return_sign=True)).all()
    assert nn.logsumexp(a, b=np.array([-1.0, -2.0, 1.0]), return_sign=True) == (INF, -1.0)


def test_logsumexp_of_complex_numbers_is_the_principal_logarithm_of_their_sum():
    a, b = np.array([1000.0, 1000.0 + 3.0j, 2.0]), np.array([1.0j, -2.0, 0.0])
    want = 1j - 2.0 * np.exp(3.0j)
    close(nn.logsumexp(a, b=b), np.log(want) + 1000.0)
    size, sign = nn.logsumexp(a, b=b, return_sign=True)
    close(size, np.log(abs(want)) + 1000.0)
    close(sign, want / abs(want))
    assert nn.logsumexp(np.array([-INF + 0j, 2.0]), where=np.array([True, False])) == -INF
    assert nn.logsumexp(a.astype(np.complex64)[None], axis=1, keepdims=True).dtype == np.complex64


def test_logsumexp_of_no_elements_and_of_infinite_elements():
    close(nn.logsumexp(np.zeros((2, 0)), 1), [-INF, -INF])
    close(nn.logsumexp(np.array([[INF, 1.0], [-INF, -INF], [-INF, 2.0]]), 1), [INF, -INF, 2.0])
    assert nn.logsumexp(np.zeros((2, 3)), (0, 1), keepdims=True).shape == (1, 1)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardized_rows_have_mean_zero_and_variance_one(algorithm):
    out = nn.standardize(np.random.default_rng(0).normal(size=(4, 50)), epsilon=0.0, algorithm=algorithm)
    np.testing.assert_allclose(out.mean(1), 0.0, atol=1e-14)
    np.testing.assert_allclose(out.var(1), 1.0, rtol=1e-13)


def test_one_hot_has_its_axis_and_dtype_and_zeros_for_other_integers():
    x = np.array([2, -1, 300], np.int16)
    out = nn.one_hot(x, 3, dtype=np.float32, axis=0)
    assert out.dtype == np.float32
    close(out, [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    assert nn.one_hot(np.uint8(7), 1000).sum() == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_one_hot_of_floats_compares_numbers(dtype):
    x = np.array([0.0, 2.0, 1.5, -1.0, np.nan], dtype)
    want = [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    close(nn.one_hot(x, 3), want)
    close(jaxpr_as_fun(make_jaxpr(lambda x: nn.one_hot(x, 3))(x))(x)[0], want)
    assert np.flatnonzero(nn.one_hot(np.array(2048, dtype), 3000)) == [2048]


def test_glu_gates_the_first_half():
    close(nn.glu(np.array([[1.0, 2.0], [0.0, 1000.0]]), axis=0), [[0.5, 2.0]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.glu(np.zeros(3)), ShapeError, r"glu of \S+\[3\].*axis 0 has the odd size 3\. Give two halves"),
        (lambda: nn.one_hot(np.ones(3, bool), 2), TypeError, r"one_hot of \S+\[3\].*no real numbers\. Convert them"),
        (lambda: nn.one_hot(np.array([1]), -2), ValueError, "num_classes is -2. Give zero or more"),
        (lambda: nn.one_hot(np.array([1]), 2, axis=2), ValueError, "one_hot"),
        (lambda: nn.standardize(np.zeros(3), algorithm="slow"), ValueError, "algorithm is 'slow'. Use 'fast' or"),
        (
            lambda: nn.initializers.he_normal()(np.zeros(2, np.uint32), (3,)),
            ShapeError,
            r"\(3,\) has fewer than two axes",
        ),
        (lambda: nn.initializers.variance_scaling(1, "fan", "normal"), ValueError, "mode is 'fan'. Use one of fan_in"),
        (lambda: nn.initializers.variance_scaling(1, "fan_in", "x"), ValueError, "distribution is 'x'. Use one of"),
        (lambda: attend((1, 2, 3, 4), (1, 2, 2, 4)), ShapeError, "3 heads of the query do not divide among 2"),
        (lambda: attend((1, 2, 3, 4), (1, 2, 3, 5)), ShapeError, r"query, key and value have the shapes"),
        (lambda: attend((2, 1, 4), (2, 1, 4), mask=np.ones((2, 2))), TypeError, "Give bools, or add it as bias"),
        (
            lambda: attend((2, 1, 4), (2, 1, 4), local_window_size=-1),
            ValueError,
            "local_window_size is -1. Give numbers",
        ),
        (lambda: attend((2, 1, 4), (2, 1, 4), query_seq_lengths=[1.5]), TypeError, "query_seq_lengths is .* integers"),
        (lambda: attend((2, 1, 4), (2, 1, 4), key_value_seq_lengths=[1, 2]), ShapeError, "one length for each of 1"),
        (
            lambda: attend((2, 1, 4), (2, 1, 4), implementation="cudnn"),
            ValueError,
            "implementation is 'cudnn'. Use None",
        ),
        (lambda: nn.initializers.orthogonal()(0, (3,)), ShapeError, r"orthogonal.*the shape \(3,\) has no matrices"),
        (lambda: nn.initializers.delta_orthogonal()(0, (3, 3, 2)), ShapeError, r"the shape \(3, 3, 2\) is none of"),
        (lambda: nn.softmax(np.zeros(3), 1), ValueError, "softmax.*axis"),
    ],
)
def test_wrong_arguments_are_refused_with_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_softmax_of_complex_numbers_is_its_formula():
    x = np.array([1.0 + 2.0j, 0.5 - 1.0j, 300.0])  # shifted by the largest, since the exponentials must not overflow
    want = np.exp(x - x.max())
    np.testing.assert_allclose(nn.softmax(x), want / want.sum(), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_attention_counts_more_positions_than_the_dtype_of_the_lengths_holds(dtype):
    zeros, values = np.zeros((2, 300, 1, 1)), np.broadcast_to(np.arange(300.0).reshape(300, 1, 1), (2, 300, 1, 1))
    out = nn.dot_product_attention(zeros, zeros, values, key_value_seq_lengths=np.array([3, 101], dtype))
    np.testing.assert_allclose(out[:, 0, 0, 0], [1.0, 50.0])


def test_attention_of_integers_gives_floats():
    zeros, values = np.zeros((2, 1, 1), int), np.array([1, 2]).reshape(2, 1, 1)
    np.testing.assert_array_equal(nn.dot_product_attention(zeros, zeros, values), np.full((2, 1, 1), 1.5))


def test_attention_is_computed_in_double_precision():
    q, k, v = (np.random.default_rng(i).normal(size=(5, 1, 3)) for i in range(3))
    weights = np.exp(q[:, 0] @ k[:, 0].T / np.sqrt(3))
    want = weights / weights.sum(1, keepdims=True) @ v[:, 0]
    close(nn.dot_product_attention(q, k, v)[:, 0], want, 1e-13)


def test_softmax_of_complex_numbers_is_that_of_its_formula():
    z = np.array([1 + 2j, 1 - 1j, -2])
    want = np.exp(z) / np.exp(z).sum()
    np.testing.assert_allclose(nn.softmax(z + 700), want, rtol=1e-12)  # exp(700) alone overflows in the sum
    np.testing.assert_allclose(np.exp(nn.log_softmax(z)), want, rtol=1e-12)


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal", "orthogonal", "delta_orthogonal"])
def test_a_scale_of_another_precision_keeps_the_dtype_of_the_parameters(name):
    make = getattr(nn.initializers, name)
    drawn = make(np.float64(0.5))(random.key(0), (3, 2, 2), np.float32)
    assert drawn.dtype == np.float32
    np.testing.assert_array_equal(drawn, make(0.5)(random.key(0), (3, 2, 2), np.float32))


def test_what_is_no_scale_is_refused_where_it_is_given():
    with pytest.raises(TypeError, match=r"^normal at test_nn.py:\d+ .*: stddev is 'a'\. Give a number"):
        nn.initializers.normal("a")
    for scale in ("a", -1.0):
        with pytest.raises(ValueError, match=r"^variance_scaling at .*: scale is .*\. Give a number of zero or more"):
            nn.initializers.variance_scaling(scale, "fan_in", "normal")
    with pytest.raises(TypeError, match=r"^constant at test_nn.py:\d+ .*: 'a' of type str is not an array"):
        nn.initializers.constant("a")(None, (2,))


@pytest.mark.parametrize("name", ["he_normal", "glorot_uniform", "lecun_normal", "normal", "uniform", "zeros"])
def test_parameters_are_drawn_in_bfloat16(name):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    make = getattr(nn.initializers, name)
    draw = make if name == "zeros" else make()
    assert draw(random.key(0), (3, 2), bfloat16).dtype == bfloat16
    (out,) = make_jaxpr(lambda k: draw(k, (3, 2), bfloat16))(random.key(0)).out_avals
    assert out.dtype == bfloat16


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
def test_complex_initial_parameters_have_their_variance_and_their_bound(distribution, dtype):
    draw = nn.initializers.variance_scaling(1.0, "fan_in", distribution)
    z = draw(random.key(0), (100, 500), dtype) * 10.0
    assert z.dtype == dtype
    np.testing.assert_allclose(np.mean(z.real**2), 0.5, rtol=0.03)
    np.testing.assert_allclose(np.mean(z.imag**2), 0.5, rtol=0.03)
    assert abs(np.mean(z)) < 0.02
    bound = {"normal": np.inf, "uniform": np.sqrt(2.0), "truncated_normal": 2.08}[distribution]
    assert bound * 0.97 < np.abs(z).max() < bound * 1.0001 or bound == np.inf


def test_complex_initial_parameters_of_other_initializers():
    q = nn.initializers.orthogonal()(random.key(0), (3, 3), np.complex128)
    np.testing.assert_allclose(q @ q.conj().T, np.eye(3), atol=1e-12)
    assert nn.initializers.constant(1j)(None, (2,), complex).tolist() == [1j, 1j]
    for make in (nn.initializers.uniform, nn.initializers.truncated_normal):
        with pytest.raises(TypeError, match=r"dtype is complex128\. Use"):
            make()(random.key(0), (2,), complex)
