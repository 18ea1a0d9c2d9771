"""Jacobians, Hessians and their products, against differences."""

import numpy as np
import pytest

import calque
from calque import hessian, hvp, jacfwd, jacobian, jacrev

X = np.array([0.3, -1.2, 0.7])


def vector_function(x):
    return np.stack([np.sin(x[0]) * x[1], x[1] * x[2] + x[0], np.exp(x[2]), x[0] * x[0]])


def scalar_function(x):
    return np.sin(x[0]) * x[1] * x[2] + np.exp(x[1] * x[2])


def differences(fun, x, step=1e-6):
    columns = []
    for i in range(x.size):
        shift = np.zeros_like(x)
        shift.flat[i] = step
        columns.append((np.asarray(fun(x + shift)) - np.asarray(fun(x - shift))) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("transform", [jacfwd, jacrev, jacobian])
def test_a_jacobian_agrees_with_differences(transform):
    jacobian_of = transform(vector_function)(X)
    assert jacobian_of.shape == (4, 3)
    np.testing.assert_allclose(jacobian_of, differences(vector_function, X), atol=1e-8)


def test_a_hessian_agrees_with_differences_of_the_gradient():
    found = hessian(scalar_function)(X)
    assert found.shape == (3, 3)
    np.testing.assert_allclose(found, differences(calque.grad(scalar_function), X), atol=1e-7)


def test_both_modes_give_the_same_structure_for_pytrees():
    def fun(params, y):
        return {"a": params["w"] @ y, "b": (np.sum(params["w"]) * params["s"],)}

    params = {"w": np.arange(6.0).reshape(2, 3), "s": np.float64(2.0)}
    forward, reverse = jacfwd(fun)(params, X), jacrev(fun)(params, X)
    assert calque.tree.structure(forward) == calque.tree.structure(reverse)
    assert forward["a"]["w"].shape == (2, 2, 3)
    assert forward["b"][0]["s"].shape == ()
    for left, right in zip(calque.tree.leaves(forward), calque.tree.leaves(reverse)):
        np.testing.assert_allclose(left, right, atol=1e-12)


def test_a_sequence_of_argnums_gives_a_tuple():
    def fun(x, y):
        return x * y

    for transform in (jacfwd, jacrev):
        by_x, by_y = transform(fun, argnums=(0, -1))(X, 2.0)
        np.testing.assert_allclose(by_x, 2.0 * np.eye(3))
        np.testing.assert_allclose(by_y, X)
        (alone,) = transform(fun, argnums=[1])(X, 2.0)
        np.testing.assert_allclose(alone, X)


def test_aux_is_passed_through():
    def fun(x):
        return x * x, {"norm": np.sum(x), "name": 3}

    for transform in (jacfwd, jacrev):
        found, aux = transform(fun, has_aux=True)(X)
        np.testing.assert_allclose(found, np.diag(2 * X))
        assert aux["norm"] == np.sum(X)
        assert aux["name"] == 3


def test_hvp_is_the_product_with_the_hessian():
    direction = np.array([1.0, 2.0, -0.5])
    (product,) = hvp(scalar_function, (X,), (direction,))
    np.testing.assert_allclose(product, hessian(scalar_function)(X) @ direction, atol=1e-12)


def test_hvp_of_two_arguments_has_their_structure():
    first, second = hvp(lambda x, p: np.sum(x * x * p["s"]), (X, {"s": 2.0}), (np.ones(3), {"s": 1.0}))
    np.testing.assert_allclose(first, 2 * 2.0 + 2 * X)
    np.testing.assert_allclose(second["s"], np.sum(2 * X))


def test_empty_and_scalar_inputs_have_jacobians():
    assert jacrev(lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)
    assert jacfwd(lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)
    assert jacfwd(lambda x: x * 3.0)(2.0) == 3.0


@pytest.mark.parametrize("transform", [jacfwd, jacrev])
def test_integer_arguments_are_refused_by_type(transform):
    with pytest.raises(TypeError, match=r"jac(fwd|rev) of .* got i64\[\], which has no derivative\. Pass floats\."):
        transform(lambda x: x * 1.0)(3)


def test_an_output_without_derivative_is_refused():
    with pytest.raises(TypeError, match=r"an output is bool\[3\]\. Return real floating arrays\."):
        jacrev(lambda x: x > 0)(X)


def test_complex_arguments_ask_for_holomorphic():
    with pytest.raises(TypeError, match=r"got c128\[\]\. Set holomorphic=True if the function is\."):
        jacfwd(lambda z: z * z)(1.0 + 2.0j)
    found = jacfwd(lambda z: z * z, holomorphic=True)(1.0 + 2.0j)
    assert found == 2.0 + 4.0j


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match=r"jacfwd got 3 of type int"):
        jacfwd(3)
