"""Each rule, against second differences, with core alone."""

from functools import partial

import numpy as np
import pytest
from differences import laplacian_by_differences

from calque_core import lax, typeof
from calque_laplacian import forward_laplacian, laplacian

RNG = np.random.default_rng(0)
SMALL = RNG.uniform(0.15, 0.85, (2, 3))
ABOVE_ONE = SMALL + 1.0
SIGNED = np.array([[0.7, -1.3, 0.4], [-0.6, 1.1, -0.2]])

ELEMENTWISE = {
    "square": SIGNED, "sqrt": SMALL, "rsqrt": SMALL, "cbrt": SMALL, "exp": SIGNED, "exp2": SIGNED, "expm1": SIGNED,
    "log": SMALL, "log1p": SMALL, "sin": SIGNED, "cos": SIGNED, "tan": SMALL, "asin": SMALL, "acos": SMALL,
    "atan": SIGNED, "sinh": SIGNED, "cosh": SIGNED, "tanh": SIGNED, "tanh_slope": SIGNED, "asinh": SIGNED,
    "acosh": ABOVE_ONE, "atanh": SMALL, "logistic": SIGNED, "logistic_slope": SIGNED, "erf": SIGNED, "erfc": SIGNED,
    "erf_inv": SMALL, "neg": SIGNED, "abs": SIGNED, "sign": SIGNED, "floor": SIGNED,
}  # fmt: skip


def check(fun, x):
    """Compare value, gradient and Laplacian of a function of one array."""
    result = forward_laplacian(fun)(x)
    np.testing.assert_allclose(result.value, fun(x), rtol=1e-12)
    np.testing.assert_allclose(result.laplacian, laplacian_by_differences(fun, x), rtol=1e-6, atol=1e-6)
    dense = forward_laplacian(fun, weights=1.0)(x)
    for part, other in zip(result, dense):
        np.testing.assert_allclose(part, other, rtol=1e-11, atol=1e-11)
    direction = np.cos(np.arange(np.size(x))).reshape(np.shape(x))
    slope = (np.asarray(fun(x + 1e-6 * direction)) - np.asarray(fun(x - 1e-6 * direction))) / 2e-6
    along = np.tensordot(result.gradient, direction, np.ndim(x))
    np.testing.assert_allclose(along, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_function_of_each_element(name):
    fun = getattr(lax, name)
    check(lambda x: fun(lax.mul(x, lax.rev(x, (1,)))) if name == "square" else fun(x), ELEMENTWISE[name])
    check(lambda x: lax.reduce_sum(fun(x)), ELEMENTWISE[name])


BINARY = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "max": lax.max, "min": lax.min, "pow": lax.pow,
    "atan2": lax.atan2, "rem": lambda x, y: lax.rem(lax.add(x, 4.3), lax.add(y, 1.1)),
    "complex": lambda x, y: lax.abs(lax.complex(x, lax.square(y))),
    "complex sign": lambda x, y: lax.imag(lax.sign(lax.complex(x, y))),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_numbers_in_both_in_one_and_of_a_scalar(name):
    fun, other = BINARY[name], np.array([[0.31, 0.72, 0.93], [1.4, 0.55, 1.2]])
    turned = lambda x: lax.add(0.05, lax.square(lax.rev(x, (0,))))
    check(lambda x: fun(lax.sin(x), turned(x)), SMALL)
    check(lambda x: fun(x, other), SMALL)
    check(lambda x: fun(other, x), SMALL)
    check(lambda x: fun(lax.index_in_dim(lax.index_in_dim(x, 0, 0, False), 1, 0, False), turned(x)), SMALL)
    check(lambda x: fun(turned(x), lax.reduce_sum(x)), SMALL)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2])
def test_whole_powers_also_of_zero(exponent):
    check(lambda x: lax.reduce_sum(lax.integer_pow(x, exponent)), SMALL)
    if exponent >= 0:
        second = exponent * (exponent - 1) * (0.0 ** max(exponent - 2, 0))
        assert laplacian(lambda x: lax.integer_pow(x, exponent))(0.0) == second
        assert laplacian(lambda x: lax.pow(x, float(exponent)))(0.0) == second


def test_the_greater_of_equal_numbers_has_the_mean_of_their_derivatives():
    result = forward_laplacian(lambda x: lax.max(lax.square(x), lax.mul(3.0, x)))(3.0)
    assert result == (9.0, 4.5, 1.0)


ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
MOVES = {
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)),
    "reshape": lambda x: lax.reshape(x, (3, 2)),
    "transpose": lambda x: lax.transpose(x, (1, 0)),
    "rev": lambda x: lax.rev(x, (0, 1)),
    "squeeze": lambda x: lax.squeeze(lax.slice(x, (1, 0), (2, 3)), (0,)),
    "slice": lambda x: lax.slice(x, (0, 1), (2, 3), (1, 2)),
    "pad": lambda x: lax.pad(x, 2.0, ((1, 0, 1), (0, -1, 0))),
    "pad with a value": lambda x: lax.pad(x, lax.reduce_sum(x), ((1, 0, 1), (0, 2, 0))),
    "pad of a constant": lambda x: lax.pad(np.ones((2, 2)), lax.reduce_sum(lax.square(x)), ((1, 0, 0), (0, 2, 0))),
    "concatenate": lambda x: lax.concatenate([x, np.ones((1, 3)), lax.sin(x)], 0),
    "split": lambda x: lax.split(x, (1, 2), 1)[1],
    "stack": lambda x: lax.stack([x, lax.exp(x)], 1),
    "unstack": lambda x: lax.unstack(x, 1)[2],
    "tile": lambda x: lax.tile(x, (2, 1)),
    "indices": lambda x: x[np.array([1, 0, 1]), np.array([2, 2, 0])],
    "rows": lambda x: x[:, np.array([2, 0])],
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (1, 1), (1, 2)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, lax.square(x[:1, :2]), (1, 1)),
    "scatter": lambda x: lax.scatter(x, np.array([[1]]), lax.reshape(x[0] * x[1], (1, 3)), ROWS),
    "scatter_add": lambda x: lax.scatter_add(x, np.array([[1], [0], [1]]), lax.square(x)[np.array([1, 1, 0])], ROWS),
    "real and imag": lambda x: lax.real(lax.exp(lax.complex(x, x))) + lax.imag(lax.conj(lax.complex(x, x * x))),
    "reduce_precision": lambda x: lax.reduce_precision(lax.square(x), 11, 52),
    "convert": lambda x: lax.convert_element_type(lax.convert_element_type(x, "complex128") * x, "float64"),
    "to integers": lambda x: lax.mul(x, lax.convert_element_type(lax.convert_element_type(x, "int32"), "float64")),
    "cumsum": lambda x: lax.cumsum(lax.square(x), 1),
    "select": lambda x: lax.select(x > 0.5, lax.square(x), lax.sin(x)),
    "select by a scalar": lambda x: lax.select_n(x[0, 0] > 0.5, lax.square(x), lax.full_like(x, 1.0)),
    "select a constant": lambda x: lax.select_n(np.array(True), np.ones((2, 3)), lax.square(x)),
    "clamp": lambda x: lax.clamp(0.3, lax.square(x), lax.sin(x)),
    "sort": lambda x: lax.mul(lax.sort(lax.square(x), 1), np.array([1.0, 2.0, 5.0])),
    "sort by keys": lambda x: lax.sort_key_val(lax.sin(x), lax.square(x))[1],
}


@pytest.mark.parametrize("name", MOVES)
def test_elements_that_move(name):
    check(MOVES[name], SMALL)
    check(lambda x: lax.reduce_sum(lax.square(MOVES[name](lax.mul(x, lax.rev(x, (1,)))))), SMALL)


VECTOR = np.array([0.2, -0.7, 0.9])
SUMS = {
    "sum": lambda x: lax.reduce_sum(lax.square(x), 1),
    "sum with keepdims": lambda x: lax.div(lax.exp(x), lax.reduce_sum(lax.exp(x), 1, keepdims=True)),
    "product": lambda x: lax.reduce_prod(x, 1),
    "product of all": lambda x: lax.reduce_prod(lax.sin(x)),
    "product with a zero": lambda x: lax.reduce_prod(lax.sub(x, float(SMALL[0, 1])), 1),
    "max": lambda x: lax.reduce_max(lax.square(x), 0),
    "min": lambda x: lax.reduce_min(lax.square(x), 0),
    "argmax": lambda x: lax.mul(x[0], lax.convert_element_type(lax.argmax(x, 1, np.int32)[0], "float64")),
    "dot with a constant": lambda x: lax.dot(x, VECTOR),
    "dot of a constant": lambda x: lax.dot(np.ones((4, 2)), lax.sin(x)),
    "gram": lambda x: lax.dot(lax.sin(x), lax.transpose(x, (1, 0))),
    "batches": lambda x: lax.dot_general(x, lax.exp(x), (((1,), (1,)), ((0,), (0,)))),
    "batches of a constant": lambda x: lax.dot_general(np.ones((2, 4, 3)), lax.exp(x), (((2,), (1,)), ((0,), (0,)))),
    "sum of nothing": lambda x: lax.reduce_sum(x[:, :0], 1) + lax.reduce_prod(x[:, :0], 1),
    "logsumexp": lambda x: lax.log(lax.reduce_sum(lax.exp(x - lax.reduce_max(x))) + lax.reduce_max(x)),
}


@pytest.mark.parametrize("name", SUMS)
def test_elements_that_are_combined(name):
    check(SUMS[name], SMALL)
    check(lambda x: lax.reduce_sum(lax.square(SUMS[name](lax.mul(x, lax.rev(x, (1,)))))), SMALL)


def test_attention():
    weights = [RNG.normal(size=(3, 4)) for _ in range(3)]

    def attention(x):
        query, key, value = (lax.dot(x, w) for w in weights)
        scores = lax.div(lax.dot(query, lax.transpose(key, (1, 0))), 2.0)
        scores = lax.exp(scores - lax.expand_dims(lax.reduce_max(scores, 1), (1,)))
        return lax.dot(scores / lax.expand_dims(lax.reduce_sum(scores, 1), (1,)), value)

    check(attention, SIGNED)


def test_the_type_of_the_input_is_kept():
    x = SMALL.astype(np.float32)
    for part in forward_laplacian(lambda x: lax.reduce_sum(lax.sin(x) * lax.exp(x) / lax.sqrt(x), 1))(x):
        assert typeof(part).dtype == np.float32


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_far_from_zero_all_derivatives_are_zero(name):
    fun = partial(lambda f, x: f(x), getattr(lax, name))
    assert forward_laplacian(fun)(1e4)[1:] == (0.0, 0.0)
