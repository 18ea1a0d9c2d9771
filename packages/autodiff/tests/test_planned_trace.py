"""Eager derivatives, backward and forward: each call gives the numbers of the first, though later ones run as code."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp, vjp
from calque_core import lax

X = np.linspace(0.5, 1.6, 6).reshape(2, 3)
X_DOT = np.linspace(-1.0, 2.0, 6).reshape(2, 3)
CONSTANT = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
FUNCTIONS = {
    "a mean": lambda x: np.mean(x, axis=1, keepdims=True) * x,
    "a standard deviation": lambda x: x.std(axis=0) + x.var(),
    "one operand twice": lambda x: x * x - np.multiply(x, x) / 3.0,
    "numbers": lambda x: (2.0 * x - 1) / 3.0 + np.float32(2.0) * x,
    "powers": lambda x: x**2 + x**0.5 + x**-1.5 + 2.0**x + np.power(x, 3.0),
    "a constant array": lambda x: x * CONSTANT + np.maximum(x, CONSTANT),
    "constant arrays": lambda x: np.maximum(CONSTANT, 2.0 * x) @ CONSTANT.T @ np.dot(CONSTANT, x.T),
    "constant arrays of other types": lambda x: x * np.arange(3) + np.array(2.0) * np.hypot(CONSTANT[0] > 0, x) ** [2],
    "views": lambda x: x.reshape(3, 2).T[0] * x[:, 1:].T.ravel()[:3],
    "several results": lambda x: np.divmod(x, 0.3)[1],
    "results without tangents": lambda x: x * x.argmax(axis=1, keepdims=True) + (x > 1.0),
    "options of NumPy's functions": lambda x: np.clip(x, 0.7, 1.2) + np.sum(x, axis=0, initial=2.0),
    "the largest": lambda x: x.max(axis=0) - x.min() + np.maximum(x, 1.0),
    "primitives": lambda x: lax.sin(lax.mul(x, x)),
    "a branch on a value": lambda x: x if x[0, 0] > 10.0 else np.sin(x),
}


def total(x):
    return np.sum(x * np.linspace(1.0, 2.0, np.size(x)).reshape(np.shape(x)))


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_call_of_a_gradient_gives_the_derivative_of_differences(f):
    expected = np.empty_like(X)
    for index in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[index] = 1e-6
        expected[index] = (total(f(X + step)) - total(f(X - step))) / 2e-6
    for _ in range(5):
        gradient = grad(lambda x: total(f(x)))(X)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_call_gives_the_value_and_the_type_of_the_first(f):
    expected, _ = vjp(f, X)
    for _ in range(4):
        out, _ = vjp(f, X)
        assert (type(out), out.dtype, out.shape) == (type(expected), expected.dtype, expected.shape)
        np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_call_of_jvp_gives_the_value_and_the_derivative_of_differences(f):
    expected = (f(X + 1e-6 * X_DOT) - f(X - 1e-6 * X_DOT)) / 2e-6
    for _ in range(5):
        out, out_dot = jvp(f, (X,), (X_DOT,))
        np.testing.assert_allclose(out, f(X), rtol=1e-14)
        np.testing.assert_allclose(out_dot, expected, rtol=1e-6, atol=1e-8)
