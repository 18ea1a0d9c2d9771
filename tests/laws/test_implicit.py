"""Equations beside compiled and batched functions, beyond the laws of the rows in `implicit.py`."""

from __future__ import annotations

import numpy as np
import pytest
from implicit import conjugate_gradients, kepler

from calque_autodiff import custom_root, grad, linear_call, vjp
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import Array, device_put, jit


def counted_newton(counts):
    """Return Newton's method in Python, which notes how often it evaluates."""

    def newton(f, x):
        counts.append(0)
        while abs(f(x)) > 1e-12:
            counts[-1] += 1
            x = x - f(x) / grad(f)(x)
        return x

    return newton


def cube_root(a, solve):
    f = jit(lambda x: x * x * x - a)
    return custom_root(f, 1.0, solve, lambda g, y: y / g(1.0))


def test_a_solver_in_python_may_run_a_compiled_function_under_grad():
    counts = []
    first, second = (fun(8.0, counted_newton(counts)) for fun in (grad(cube_root), grad(grad(cube_root))))

    np.testing.assert_allclose([first, second], [1 / 12, -1 / 144], rtol=1e-12)
    assert len(counts) == 2
    assert min(counts) > 3


def test_a_solver_in_python_runs_on_device_arrays():
    out, pull = vjp(lambda a: cube_root(a, counted_newton([])), device_put(np.float64(8.0)))

    assert type(out) is Array
    np.testing.assert_allclose([float(out), float(pull(1.0)[0])], [2.0, 1 / 12], rtol=1e-12)


@pytest.mark.parametrize(
    "transform", [jit, lambda fun: jit(grad(fun)), lambda fun: lambda a: vmap(fun)(np.stack([a, a]))]
)
def test_where_values_are_not_known_a_solver_in_python_is_refused_with_a_hint(transform):
    run = transform(lambda a: custom_root(lambda x: x * x - a, a, counted_newton([]), lambda g, y: y / g(1.0)))

    with pytest.raises(
        TypeError, match=r"bool\(\) was asked of a traced value .*, under custom_root of newton .*lax\.cond"
    ):
        run(4.0)


def rod(conductivity, heat):
    """Return the temperature of a rod, by Poisson's equation."""

    def matvec(u):
        flow = conductivity * (np.pad(u, (0, 1)) - np.pad(u, (1, 0)))
        return flow[:-1] - flow[1:]

    return lax.custom_linear_solve(matvec, heat, conjugate_gradients, symmetric=True)


def test_the_gradient_of_a_poisson_solve_is_that_of_the_dense_system():
    conductivity, heat = np.linspace(1.0, 2.0, 6), np.linspace(0.5, 1.0, 5)

    def dense_loss(c):
        matrix = np.diag(c[:-1] + c[1:]) - np.diag(c[1:-1], 1) - np.diag(c[1:-1], -1)
        return (np.linalg.solve(matrix, heat) ** 2).sum()

    loss = lambda c, heat: (rod(c, heat) ** 2).sum()
    slopes = [(dense_loss(conductivity + d) - dense_loss(conductivity - d)) / 2e-5 for d in 1e-5 * np.eye(6)]

    np.testing.assert_allclose(grad(loss)(conductivity, heat), slopes, rtol=1e-6)
    np.testing.assert_allclose(jit(grad(loss))(conductivity, heat), slopes, rtol=1e-6)
    both = vmap(grad(loss), in_axes=(None, 0))(conductivity, np.stack([heat, 2.0 * heat]))
    np.testing.assert_allclose(both, [np.array(slopes), 4.0 * np.array(slopes)], rtol=1e-6)


def test_elements_of_a_batch_converge_each_in_its_own_time():
    heats = np.stack([np.zeros(5), np.ones(5), 1e6 * np.arange(5.0)])

    batched = vmap(rod, in_axes=(None, 0))(np.linspace(1.0, 2.0, 6), heats)

    assert np.isfinite(batched).all()
    for row, heat in zip(batched, heats):
        np.testing.assert_allclose(row, rod(np.linspace(1.0, 2.0, 6), heat), rtol=1e-12)


def test_derivatives_of_the_third_order_compile():
    third = grad(grad(grad(kepler, argnums=1), argnums=1), argnums=1)
    at = np.float64(0.7), np.float64(0.3)
    second = grad(grad(kepler, argnums=1), argnums=1)
    slope = (second(at[0], at[1] + 1e-5) - second(at[0], at[1] - 1e-5)) / 2e-5

    np.testing.assert_allclose([third(*at), jit(third)(*at)], slope, rtol=1e-7)


def test_the_transpose_of_a_call_is_compiled_and_mapped():
    """A loop of a count that is not known runs backwards, because its transpose is given."""

    def scaled(count, x):
        repeat = lambda count, x: lax.fori_loop(0, count, lambda _, x: 0.5 * x, x)
        return linear_call(repeat, repeat, count, x)

    slope = grad(scaled, argnums=1)
    counts = np.array([0, 1, 3])

    assert jit(slope)(3, 8.0) == 0.125
    np.testing.assert_array_equal(vmap(slope, in_axes=(0, None))(counts, 8.0), 0.5**counts)
