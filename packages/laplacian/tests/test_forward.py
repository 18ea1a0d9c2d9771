"""The public functions: arguments, weights, results, and what is refused."""

import numpy as np
import pytest
from differences import laplacian_by_differences

from calque_core import lax, typeof
from calque_laplacian import ForwardLaplacian, forward_laplacian, laplacian
from calque_pytree import tree_leaves

X = np.array([0.3, -0.5, 2.0])


def energy(x):
    return lax.reduce_sum(lax.exp(lax.mul(x, lax.rev(x, (0,)))))


def test_value_gradient_and_laplacian_come_together():
    result = forward_laplacian(lambda x: lax.reduce_sum(lax.mul(x, lax.square(x))))(X)
    assert isinstance(result, ForwardLaplacian)
    np.testing.assert_allclose(result.value, np.sum(X**3))
    np.testing.assert_allclose(result.gradient, 3.0 * X**2)
    np.testing.assert_allclose(result.laplacian, 6.0 * np.sum(X))
    assert laplacian(lambda x: lax.reduce_sum(lax.mul(x, lax.square(x))))(X) == result.laplacian


def test_the_gradient_has_the_axes_of_the_result_and_then_of_the_input():
    x = np.arange(6.0).reshape(2, 3)
    result = forward_laplacian(lambda x: lax.square(lax.reshape(x, (3, 2, 1))))(x)
    assert result.gradient.shape == (3, 2, 1, 2, 3)
    np.testing.assert_array_equal(result.gradient.reshape(6, 6), np.diag(2.0 * x.ravel()))


def test_inputs_and_results_are_pytrees():
    def fun(p, q):
        return {"out": [lax.mul(lax.square(p["a"]), lax.mul(p["b"], q)), p["a"]]}

    p, q = {"a": 2.0, "b": 3.0}, 5.0
    result = forward_laplacian(fun, (0, 1))(p, q)
    assert result.laplacian == {"out": [30.0, 0.0]}
    assert result.gradient["out"][0] == ({"a": 60.0, "b": 20.0}, 12.0)
    assert forward_laplacian(fun)(p, q).gradient["out"][0] == {"a": 60.0, "b": 20.0}
    assert forward_laplacian(fun, -1)(p, q).gradient["out"] == [12.0, 0.0]
    assert laplacian(lambda x: ())(1.0) == ()
    assert forward_laplacian(lambda x: ())(1.0) == ((), (), ())


def test_other_arguments_may_be_anything_and_keywords_are_passed_on():
    fun = lambda x, power, *, scale: lax.mul(scale, lax.integer_pow(x, power))
    assert laplacian(fun)(2.0, 3, scale=10.0) == 120.0
    assert laplacian(lambda name, x: lax.square(x) if name == "square" else x, 1)("square", 2.0) == 2.0


def test_python_control_flow_reads_values():
    def fun(x):
        total = x[0]
        while total < 10.0:
            total = total * total + 1.0
        return total if x[1] > 0 else lax.mul(3.0, total)

    np.testing.assert_allclose(laplacian(fun)(X), laplacian_by_differences(fun, X), rtol=1e-6)


def test_a_constant_has_zeros():
    result = forward_laplacian(lambda x: (lax.floor(x), np.ones(2)))(X)
    np.testing.assert_array_equal(result.laplacian[0], np.zeros(3))
    np.testing.assert_array_equal(result.gradient[1], np.zeros((2, 3)))


def test_no_inputs_and_one_input():
    assert laplacian(lambda x: lax.reduce_sum(lax.square(x)))(np.zeros(0)) == 0.0
    assert laplacian(lambda x: lax.sin(x))(0.5) == -np.sin(0.5)


def test_results_share_no_memory_with_an_argument_or_with_each_other():
    x = X.copy()

    def twice(x):
        y = lax.square(x)
        return lax.reshape(x, (3, 1)), y, lax.reshape(y, (3, 1))

    arrays = [x, *tree_leaves(forward_laplacian(twice)(x))]
    assert not any(np.may_share_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    first, _, last = laplacian(twice)(x)
    assert not np.may_share_memory(first, last)


def test_complex_values_of_real_inputs():
    wave = lambda x: lax.exp(lax.mul(1j, lax.reduce_sum(lax.mul(x, np.array([1.0, 2.0, 3.0])))))
    np.testing.assert_allclose(laplacian(wave)(X), -14.0 * wave(X))
    size = lambda x: lax.square(lax.abs(lax.add(wave(x), lax.mul(2.0, lax.exp(lax.mul(-1j, x[0]))))))
    np.testing.assert_allclose(laplacian(size)(X), laplacian_by_differences(size, X), rtol=1e-6)


# Weights


def test_weights_are_a_number_or_the_diagonal_of_a_matrix():
    second = np.array([laplacian_by_differences(lambda t, i=i: energy(X + t * np.eye(3)[i]), 0.0) for i in range(3)])
    diagonal = np.array([1.0, 0.0, -2.0])
    np.testing.assert_allclose(laplacian(energy, weights=0.5)(X), 0.5 * np.sum(second), rtol=1e-6)
    np.testing.assert_allclose(laplacian(energy, weights=diagonal)(X), np.sum(diagonal * second), rtol=1e-6)


def test_weights_are_a_matrix_of_which_the_symmetric_part_counts():
    direction = np.array([1.0, -0.5, 2.0])
    skew = np.array([[0.0, 3.0, -1.0], [-3.0, 0.0, 2.0], [1.0, -2.0, 0.0]])
    along = laplacian_by_differences(lambda t: energy(X + t * direction), 0.0)
    result = forward_laplacian(energy, weights=np.outer(direction, direction) + skew)(X)
    np.testing.assert_allclose(result.laplacian, along, rtol=1e-6)
    np.testing.assert_allclose(result.gradient, forward_laplacian(energy)(X).gradient)


def test_weights_have_the_structure_of_the_inputs():
    fun = lambda p: lax.mul(lax.square(p["x"][0]), lax.square(p["y"]))
    p = {"x": np.array([2.0, 1.0]), "y": 3.0}
    assert laplacian(fun, weights={"x": np.array([1.0, 7.0]), "y": 10.0})(p) == 18.0 + 80.0
    assert laplacian(fun, weights={"x": 1.0, "y": 10.0})(p) == 98.0
    two = lambda x, y: lax.mul(lax.square(x), lax.square(y))
    assert laplacian(two, (0, 1), weights=(1.0, 10.0))(2.0, 3.0) == 98.0


def test_weights_of_another_dtype_keep_the_dtype_of_the_result():
    result = laplacian(energy, weights=np.arange(3))(X.astype(np.float32))
    assert typeof(result).dtype == np.float32


# Refusals


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda: laplacian(3.0), TypeError, "Give a function"),
        (lambda: laplacian(energy)(np.arange(3)), TypeError, r"args\[0\] is of type int.*Pass floating numbers"),
        (lambda: laplacian(energy)({"z": X + 1j}), TypeError, r"args\[0\]\['z'\] is complex.*two arguments"),
        (lambda: laplacian(energy)("x"), TypeError, r"args\[0\] is 'x' of type str"),
        (lambda: laplacian(lambda x: lax.argmax(x, 0, np.int32))(X), TypeError, "result is of type int32.*astype"),
        (lambda: laplacian(lambda x: {"a": "b"})(X), TypeError, r"the result\['a'\] is 'b'"),
        (lambda: laplacian(energy, 1)(X), ValueError, "argnums=1, but the call passes 1"),
        (lambda: laplacian(energy, (0, -1))(X), ValueError, "names an argument twice"),
        (lambda: laplacian(energy, "x")(X), TypeError, "argnums='x'. Give an int"),
        (lambda: laplacian(energy, weights=np.ones(2))(X), ValueError, r"do not fit.*shape \(3, 3\)"),
        (lambda: laplacian(energy, weights=(1.0,))(X), ValueError, "do not fit"),
    ],
)  # fmt: skip
def test_what_is_refused_in_words(run, error, words):
    with pytest.raises(error, match=words):
        run()
