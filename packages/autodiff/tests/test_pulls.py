"""Backward passes write to cotangents that nothing else refers to, and to nothing else."""

import tracemalloc

import numpy as np
import pytest

from calque_autodiff import custom_vjp, grad, value_and_grad, vjp
from calque_core import lax

SIZE = 4_096  # of 32 KiB: cotangents of this size are written to
X, CONSTANT = np.linspace(0.5, 1.5, SIZE), np.linspace(-1.0, 1.0, SIZE)
MATRIX = X.reshape(64, 64)
CALLS = 6  # the third has plans
FUNCTIONS = {
    "products": lambda x: lax.reduce_sum(lax.sin(x) * CONSTANT * 2.0 / x),
    "an operand of two operations": lambda x: lax.reduce_sum((y := lax.tanh(x)) * CONSTANT + y * y),
    "one cotangent for two operands": lambda x: lax.reduce_sum(lax.sin(x) + (y := lax.exp(x)) + y * CONSTANT),
    "a difference of one value": lambda x: lax.reduce_sum((y := lax.sin(x)) - lax.cos(y) - y),
    "a cotangent that is the argument's": lambda x: lax.reduce_sum(x + x * CONSTANT + x),
    "slices": lambda x: lax.reduce_sum((x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2),
    "slices beside the whole": lambda x: lax.reduce_sum(x * CONSTANT) + lax.reduce_sum(x[10:20] * 3.0) + x[5] * x[-5],
    "slices with steps": lambda x: lax.reduce_sum(x[::2] * x[1::2] + x[-1::-2] * 3.0),
    "elements": lambda x: sum(x[i] * x[i + 1] for i in range(5)),
    "positions": lambda x: lax.reduce_sum(x[[1, 5, 1]] * x[[2, 5, 9]]) + lax.reduce_sum(x[[0, 1]]),
    "a matrix": lambda x: lax.reduce_sum((y := lax.reshape(x, (64, 64))) @ y * MATRIX + lax.transpose(y, (1, 0))),
    "rows and columns": lambda x: lax.reduce_sum(
        (y := lax.reshape(x, (64, 64)))[2] * y[:, 3] + y[5, ::-1] + y[[2, 2], 1][0]
    ),
    "repeats": lambda x: lax.reduce_sum((y := lax.reshape(x, (64, 64))) / lax.reduce_sum(y, 1, keepdims=True) * y),
    "a choice": lambda x: lax.reduce_sum(lax.select(x > 1.0, x * x, CONSTANT * x) + lax.max(x, 0.75)),
    "a sort": lambda x: lax.reduce_sum(lax.sort(lax.sin(9.0 * x)) * CONSTANT),
    "halves": lambda x: lax.reduce_sum(lax.mul(*lax.split(x * CONSTANT, (SIZE // 2, SIZE // 2)))),
}


def directional_difference(f, x, direction, step=1e-6):
    return (f(x + step * direction) - f(x - step * direction)) / (2 * step)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_is_right_at_each_call_and_leaves_all_arrays_alone(name):
    f, x, constants = FUNCTIONS[name], X.copy(), (CONSTANT.copy(), MATRIX.copy())
    direction = np.cos(np.arange(SIZE))
    expected = directional_difference(f, X, direction)
    gradients = [grad(f)(x) for _ in range(CALLS)]
    for gradient in gradients:
        np.testing.assert_allclose(gradient @ direction, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(gradient, gradients[0], rtol=1e-13, atol=1e-13)
        assert gradient.flags.writeable
    assert (x.tobytes(), CONSTANT.tobytes(), MATRIX.tobytes()) == (X.tobytes(), *(c.tobytes() for c in constants))
    for i, gradient in enumerate(gradients):
        assert not any(np.shares_memory(gradient, other) for other in (x, CONSTANT, *gradients[:i]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_pullback_gives_the_same_cotangents_twice_and_leaves_the_users_alone(name):
    def f(x):
        return FUNCTIONS[name](x) * CONSTANT[:3], lax.sin(x) * x

    cts = np.ones(3), np.linspace(1.0, 2.0, SIZE)
    for _ in range(CALLS):
        _, pullback = vjp(f, X)
        (first,), (second,) = pullback(cts), pullback(cts)
        assert first.tobytes() == second.tobytes()
        assert not np.shares_memory(first, second)
        assert not any(np.shares_memory(first, ct) for ct in cts)
    np.testing.assert_array_equal(cts[0], np.ones(3))
    np.testing.assert_array_equal(cts[1], np.linspace(1.0, 2.0, SIZE))


def test_the_leaves_of_a_gradient_share_no_memory():
    params = {"w": X.copy(), "b": X.copy(), "c": X.copy()}
    for _ in range(CALLS):
        _, leaves = value_and_grad(lambda p: lax.reduce_sum(lax.sin(p["w"] + p["b"] - p["c"])))(params)
        assert not any(np.shares_memory(leaves[a], leaves[b]) for a, b in ["wb", "wc", "bc"])
        np.testing.assert_allclose(leaves["w"], np.cos(X), rtol=1e-12)
        np.testing.assert_allclose(leaves["c"], -np.cos(X), rtol=1e-12)


def scaled_twice(x):
    return lax.reduce_sum(lax.mul(lax.mul(x, 1e200), 1e200))


def test_an_overflow_on_the_way_back_raises_and_the_next_call_is_right():
    small = np.full(SIZE, 1e-300)
    for _ in range(CALLS):
        with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="encountered in multiply") as caught:
            grad(scaled_twice)(small)
        line = scaled_twice.__code__.co_firstlineno + 1
        assert caught.value.__notes__[0].startswith("This happened in the backward pass at ")
        assert caught.value.__notes__[0].endswith(f"test_pulls.py:{line} (scaled_twice).")
        with pytest.raises(RuntimeWarning, match="overflow encountered in multiply"):  # warnings are errors here
            grad(scaled_twice)(small)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(grad(scaled_twice)(small), np.full(SIZE, np.inf))


def test_cotangents_of_rank_0_are_added():
    for _ in range(CALLS):
        y, pullback = vjp(lambda x: x + x + x + x, 2.0)
        assert pullback(np.ones_like(y)) == (4.0,)


def test_a_sum_of_a_cotangent_that_is_an_array_of_another_library_is_not_written_to():
    """The sum of `x` begins with a read-only array, and then the one of a difference is added."""
    kept = np.full(SIZE, 0.25)
    kept.flags.writeable = False

    @custom_vjp
    def f(x):
        return lax.reduce_sum(x) * 0.25

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (kept,))

    def g(x):
        y = lax.tanh(x)
        d = x - CONSTANT
        return lax.reduce_sum(d[1:] * d[:-1]) + lax.reduce_sum(y) + f(x)

    gradients = [grad(g)(X) for _ in range(CALLS)]
    np.testing.assert_array_equal(kept, np.full(SIZE, 0.25))
    for gradient in gradients:
        np.testing.assert_allclose(gradient, gradients[0], rtol=1e-13)


def test_reads_of_lines_without_elements_have_a_gradient_without_elements():
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))

    def f(x):
        rows = lax.gather(x, np.array([[0], [0], [1]]), numbers, (1, 0), mode="clip")
        return lax.reduce_sum(rows * 2.0) + lax.reduce_sum(lax.sin(x)) + lax.reduce_sum(lax.cos(x))

    for _ in range(CALLS):
        assert grad(f)(np.ones((3, 0))).shape == (3, 0)


def peak_of_pullback(f, x):
    for _ in range(CALLS):
        _, pullback = vjp(f, x)
        pullback(1.0)
    _, pullback = vjp(f, x)
    tracemalloc.start()
    pullback(1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / x.nbytes


@pytest.mark.counts
def test_a_chain_of_operations_goes_back_in_one_array():
    def chain(x):
        for _ in range(20):
            x = 1.0 - lax.sin(x) * 1.01 + CONSTANT  # a sum passes its cotangent on
        return lax.reduce_sum(x)

    assert peak_of_pullback(chain, X) < 1.5


@pytest.mark.counts
def test_cotangents_of_slices_are_added_to_one_array():
    def flat(x):
        return sum(lax.reduce_sum(lax.sin(x[i : i + 64])) for i in range(0, SIZE, 64))

    assert peak_of_pullback(flat, X) < 1.5
