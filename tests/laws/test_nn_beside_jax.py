"""`calque.nn` beside `jax.nn`: values and gradients, in single and double precision."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import calque

pytestmark = [pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")]

X = np.array([-30.0, -7.3, -3.5, -2.9, -1.2, -0.8, -1e-3, 1e-3, 0.3, 0.9, 1.7, 2.8, 4.4, 5.9, 6.2, 40.0])
MASK = (np.arange(16) % 3 > 0).reshape(4, 4)
ELEMENTWISE = [
    "relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_silu", "hard_tanh", "sparse_plus", "sparse_sigmoid",
    "identity", "sigmoid", "tanh", "softplus", "log_sigmoid", "silu", "mish", "gelu", "squareplus", "soft_sign", "elu",
    "celu", "selu", "glu",
]  # fmt: skip
CASES = {
    **{name: lambda nn, x, name=name: getattr(nn, name)(x) for name in ELEMENTWISE},
    "log1mexp": lambda nn, x: nn.log1mexp(abs(x)),
    "gelu by erfc": lambda nn, x: nn.gelu(x, approximate=False),
    "slopes": lambda nn, x: nn.leaky_relu(x, 0.3) + nn.elu(x, 2.0) + nn.celu(x, 2.0) + nn.squareplus(x, 1.5),
    "softmax": lambda nn, x: nn.softmax(x.reshape(4, 4), 0),
    "softmax where": lambda nn, x: nn.softmax(x.reshape(4, 4), where=MASK),
    "log_softmax": lambda nn, x: nn.log_softmax(x.reshape(4, 4)),
    "logsumexp": lambda nn, x: nn.logsumexp(x.reshape(4, 4), 1),
    "logsumexp of weights": lambda nn, x: nn.logsumexp(x.reshape(4, 4), 0, b=MASK, keepdims=True),
    "logmeanexp": lambda nn, x: nn.logmeanexp(x.reshape(4, 4), 1, where=MASK),
    "standardize": lambda nn, x: nn.standardize(x.reshape(4, 4), 0),
    "standardize where": lambda nn, x: nn.standardize(x.reshape(4, 4), axis=(0, 1), where=MASK, algorithm="stable"),
}


@pytest.fixture
def theirs():
    """Return jax, with 64 bits for the test."""
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    with jax.enable_x64(True):
        yield jax


def agree(got, want, dtype):
    want = np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, want, rtol=64 * eps, atol=512 * eps)  # jax's gelu: x**2 (1 + tanh)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, dtype, theirs):
    x, f = X.astype(dtype), CASES[name]
    agree(np.asarray(f(calque.nn, x)), f(theirs.nn, theirs.numpy.asarray(x)), dtype)
    agree(np.asarray(calque.jit(lambda x: f(calque.nn, x))(x)), f(theirs.nn, theirs.numpy.asarray(x)), dtype)
    ours = calque.grad(lambda x: (f(calque.nn, x) * calque.numpy.cos(f(calque.nn, x))).sum())(x)
    peers = theirs.grad(lambda x: (f(theirs.nn, x) * theirs.numpy.cos(f(theirs.nn, x))).sum())(x)
    agree(np.asarray(ours), peers, dtype)


def test_one_hot(theirs):
    for axis in (0, 1, -1):
        ours, peers = (m.one_hot(np.array([[1, 5], [-1, 0]]), 3, axis=axis) for m in (calque.nn, theirs.nn))
        agree(ours, peers, np.float64)


LIKE_RELU = ["relu", "softplus", "silu", "mish", "gelu", "squareplus", "sparse_plus", "hard_silu", "elu", "celu"]
ENDS = {
    **dict.fromkeys(LIKE_RELU, (0, 1)),
    **dict.fromkeys(["sigmoid", "soft_sign", "tanh", "relu6"], (0, 0)),
    "selu": (0, 1.0507009873554805),
    "log_sigmoid": (1, 0),
    "leaky_relu": (0.01, 1),
}


@pytest.mark.parametrize("name", ENDS)
def test_derivatives_at_infinity_are_the_limits(name):
    slope = calque.vmap(calque.grad(getattr(calque.nn, name)))(np.array([-np.inf, np.inf]))
    np.testing.assert_allclose(slope, ENDS[name], rtol=1e-15)


@pytest.mark.parametrize("name", LIKE_RELU)
def test_derivatives_in_half_precision_are_finite_for_large_numbers(name):
    x = np.array([-6e4, -700.0, -300.0, -88.0, -26.0, 26.0, 88.0, 300.0, 700.0, 6e4], np.float16)
    slope = calque.grad(getattr(calque.nn, name))
    np.testing.assert_allclose(calque.vmap(slope)(x), x > 0, atol=2e-3)
    assert np.isfinite(calque.vmap(calque.grad(slope))(x)).all()


def test_derivatives_at_kinks_and_ties():
    slopes = [calque.grad(f)(x) for f, x in [(calque.nn.relu, 0.0), (calque.nn.relu6, 6.0), (calque.nn.hard_tanh, 1.0)]]
    assert slopes == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(calque.grad(calque.nn.logsumexp)(np.zeros(4)), 0.25)
    np.testing.assert_allclose(calque.grad(calque.nn.logsumexp)(np.array([np.inf, 0.0])), [1.0, 0.0])
    np.testing.assert_allclose(calque.jacrev(calque.nn.softmax)(np.array([np.inf, 0.0])), 0.0)


INITIALIZERS = {
    "uniform": lambda i: i.uniform(3.0),
    "normal": lambda i: i.normal(3.0),
    "truncated_normal": lambda i: i.truncated_normal(3.0, lower=-1.0),
    "constant": lambda i: i.constant(3.0),
    "ones": lambda i: i.ones,
    "geometric": lambda i: i.variance_scaling(3.0, "fan_geo_avg", "normal", in_axis=(0, 1), out_axis=2),
    "batch": lambda i: i.variance_scaling(3.0, "fan_out", "uniform", batch_axis=0),
    "orthogonal": lambda i: i.orthogonal(2.0),
    "orthogonal rows": lambda i: i.orthogonal(column_axis=0),
    "delta_orthogonal": lambda i: i.delta_orthogonal(0.5),
    **{
        f"{author}_{law}": lambda i, name=f"{author}_{law}": getattr(i, name)()
        for author in ("glorot", "lecun", "he")
        for law in ("normal", "uniform")
    },
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers(name, dtype, theirs):
    make = INITIALIZERS[name]
    ours = make(calque.nn.initializers)(calque.random.key(3), (3, 4, 5), dtype)
    agree(np.asarray(ours), make(theirs.nn.initializers)(theirs.random.key(3), (3, 4, 5), dtype), dtype)


OPTIONS = [{}, {"is_causal": True}, {"scale": 0.3}, {"masked": True}, {"biased": True}]
OPTIONS += [{"local_window_size": 2}, {"local_window_size": (1, 0), "is_causal": True}]
OPTIONS += [{"query_seq_lengths": np.array([5, 2], np.int32), "key_value_seq_lengths": np.array([3, 6], np.int32)}]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", OPTIONS)
def test_attention(options, dtype, theirs):
    """The tolerance is that of float32, in which jax computes the scores of float64, too."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=shape).astype(dtype) for shape in [(2, 5, 4, 3), (2, 6, 2, 3), (2, 6, 2, 3)])
    mask, bias = rng.random((2, 1, 5, 6)) < 0.6, rng.normal(size=(4, 5, 6)).astype(dtype)[None]
    mask[0, 0, 1] = False
    options = {name: option for name, option in options.items() if name not in ("masked", "biased")} | (
        {"mask": mask} if "masked" in options else {"bias": bias} if "biased" in options else {}
    )
    attend = lambda m: lambda q, k, v: m.nn.dot_product_attention(q, k, v, **options)
    agree(np.asarray(calque.jit(attend(calque))(q, k, v)), attend(theirs)(q, k, v), np.float32)
    ours = calque.grad(lambda *x: (attend(calque)(*x) ** 2).sum(), (0, 1, 2))(q, k, v)
    peers = theirs.grad(lambda *x: (attend(theirs)(*x) ** 2).sum(), (0, 1, 2))(q, k, v)
    for mine, their in zip(ours, peers, strict=True):
        agree(np.asarray(mine), their, np.float32)


def test_the_residual_of_attention(theirs):
    q, k, v = (np.random.default_rng(i).normal(size=(2, 4, 2, 3)).astype(np.float32) for i in range(3))
    call = lambda m: m.nn.dot_product_attention(q, k, v, is_causal=True, return_residual=True)
    for mine, their in zip(call(calque), call(theirs), strict=True):
        agree(mine, their, np.float32)


def test_attention_without_a_batch_is_that_of_one_row():
    q, k, v = (np.random.default_rng(i).normal(size=(1, 4, 2, 3)) for i in range(3))
    np.testing.assert_array_equal(
        calque.nn.dot_product_attention(q[0], k[0], v[0]), calque.nn.dot_product_attention(q, k, v)[0]
    )
