"""Named axes under derivatives and batching: the derivative of a program of collectives is that of the whole batch."""

import numpy as np
import pytest

from calque_autodiff import custom_jvp, custom_vjp, grad, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

X = np.array([-1.0, 0.25, 0.5, 2.0])
T = np.array([1.0, -2.0, 0.5, 3.0])
WEIGHTS = np.array([0.5, -1.0, 2.0, 0.25])
COLLECTIVES = {
    "psum": lax.psum,
    "pmean": lax.pmean,
    "pmax": lax.pmax,
    "pmin": lax.pmin,
    "all_gather": lambda x, i: lax.dot(lax.all_gather(x, i), WEIGHTS) * lax.all_gather(x, i)[1],
    "psum_scatter": lambda x, i: lax.psum_scatter(x * WEIGHTS, i),
    "all_to_all": lambda x, i: lax.dot(lax.all_to_all(x * WEIGHTS, i, 0, 0), WEIGHTS),
    "ppermute": lambda x, i: lax.ppermute(x, i, [(0, 2), (1, 0), (3, 1)]),
    "pshuffle": lambda x, i: lax.pshuffle(x, i, [3, 0, 1, 2]),
    "pbroadcast": lambda x, i: lax.pbroadcast(x, i, 1),
}


def program(name):
    """Return a function of one element that multiplies it by a collective of a nonlinear function of all."""
    return lambda x: lax.mul(x, COLLECTIVES[name](lax.sin(x), "i"))


def differences(fun, x, t, step=1e-6):
    return (fun(x + step * t) - fun(x - step * t)) / (2 * step)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_derivative_of_a_batch_agrees_with_differences(name):
    batched = vmap(program(name), axis_name="i")

    np.testing.assert_allclose(jvp(batched, (X,), (T,))[1], differences(batched, X, T), rtol=1e-8)
    np.testing.assert_allclose(linearize(batched, X)[1](T), differences(batched, X, T), rtol=1e-8)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_derivative_inside_the_batch_is_that_of_the_whole_batch(name):
    batched = vmap(program(name), axis_name="i")

    inside = vmap(lambda x, t: jvp(program(name), (x,), (t,))[1], axis_name="i")(X, T)
    linearized = vmap(lambda x, t: linearize(program(name), x)[1](t), axis_name="i")(X, T)

    np.testing.assert_allclose(inside, jvp(batched, (X,), (T,))[1])
    np.testing.assert_allclose(linearized, inside)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_cotangent_inside_the_batch_reaches_every_element(name):
    batched = vmap(program(name), axis_name="i")

    def pulled_back(x, ct):
        return vjp(program(name), x)[1](ct)[0]

    inside = vmap(pulled_back, axis_name="i")(X, T)

    np.testing.assert_allclose(inside, vjp(batched, X)[1](T)[0])
    np.testing.assert_allclose(np.vdot(T, jvp(batched, (X,), (np.cos(X),))[1]), np.vdot(inside, np.cos(X)))


@pytest.mark.parametrize("name", COLLECTIVES)
def test_second_derivatives_go_through_a_collective(name):
    def total(x):
        return lax.reduce_sum(vmap(program(name), axis_name="i")(x))

    np.testing.assert_allclose(jvp(grad(total), (X,), (T,))[1], differences(grad(total), X, T), rtol=1e-7)


def test_elements_that_share_the_maximum_share_its_derivative():
    batched = vmap(lambda x: lax.pmax(x, "i"), out_axes=None, axis_name="i")

    assert grad(batched)(np.array([1.0, 3.0, 3.0])).tolist() == [0.0, 0.5, 0.5]


def test_the_transpose_of_a_mapped_sum_is_a_sum_over_each_axis_it_names():
    def program_of_two(x):
        return lax.mul(lax.psum(lax.sin(x), ("i", "j")), lax.psum(x, "j"))

    batched = vmap(vmap(program_of_two, axis_name="j"), axis_name="i")
    x, t = np.stack([X, X[::-1] / 3]), np.stack([T, T**2])

    np.testing.assert_allclose(jvp(batched, (x,), (t,))[1], differences(batched, x, t), rtol=1e-7)
    np.testing.assert_allclose(np.vdot(t, jvp(batched, (x,), (x,))[1]), np.vdot(vjp(batched, x)[1](t)[0], x))


@pytest.mark.parametrize("axes", [("i", "j"), ("j", "i")])
def test_the_transpose_of_a_permutation_along_two_axes_sends_the_cotangents_back(axes):
    perm = [(0, 1), (1, 4), (4, 7), (7, 2), (3, 3)]

    def program_of_two(x):
        return lax.mul(x, lax.ppermute(lax.sin(x), axes, perm))

    batched = vmap(vmap(program_of_two, axis_name="j"), axis_name="i")
    x, t = np.stack([X, X[::-1] / 3]), np.stack([T, T**2])

    np.testing.assert_allclose(jvp(batched, (x,), (t,))[1], differences(batched, x, t), rtol=1e-7)
    np.testing.assert_allclose(np.vdot(t, jvp(batched, (x,), (x,))[1]), np.vdot(vjp(batched, x)[1](t)[0], x))
    inside = vmap(vmap(lambda x, ct: vjp(program_of_two, x)[1](ct)[0], axis_name="j"), axis_name="i")(x, t)
    np.testing.assert_allclose(inside, vjp(batched, x)[1](t)[0])
    np.testing.assert_allclose(jit(batched)(x), batched(x), rtol=1e-15)


# A function with a derivative rule, whose result is the same for all elements

CONVENTIONS = ["jvp", "vjp"]


def sum_of_squares(convention):
    """Return the sum over the axis with a rule: forwards, or backwards for the cotangents of all elements."""
    if convention == "jvp":
        fun = custom_jvp(lambda x: lax.psum(x * x, "i"))
        fun.defjvp(lambda primals, dots: (fun(primals[0]), lax.psum(2.0 * primals[0] * dots[0], "i")))
    else:
        fun = custom_vjp(lambda x: lax.psum(x * x, "i"))
        fun.defvjp(lambda x: (fun(x), x), lambda x, ct: (2.0 * x * lax.psum(ct, "i"),))
    return fun


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("place", ["inside", "outside"])
def test_a_staged_function_with_rules_that_reduces_over_the_axis_has_an_unmapped_result(convention, place):
    fun = sum_of_squares(convention)
    batched = (
        vmap(jit(fun), axis_name="i", out_axes=None)
        if place == "inside"
        else jit(vmap(fun, axis_name="i", out_axes=None))
    )
    np.testing.assert_allclose(batched(X), (X * X).sum())
    np.testing.assert_allclose(vmap(batched)(np.stack([X, T])), [(X * X).sum(), (T * T).sum()])


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("out_axes", [None, 0])
def test_its_derivative_is_that_of_the_sum(convention, out_axes):
    fun = sum_of_squares(convention)
    count = 1 if out_axes is None else len(X)

    def total(x):
        outs = vmap(jit(fun), axis_name="i", out_axes=out_axes)(x)
        return outs if out_axes is None else lax.reduce_sum(outs)

    np.testing.assert_allclose(grad(total)(X), 2.0 * X * count)
    np.testing.assert_allclose(jit(grad(jit(total)))(X), 2.0 * X * count)
