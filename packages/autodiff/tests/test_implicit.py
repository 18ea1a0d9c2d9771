"""`custom_root`, on equations that people solve."""

import re

import numpy as np
import pytest

from calque_autodiff import (
    check_grads,
    custom_linear_solve,
    custom_root,
    grad,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from calque_core import UnexpectedTracerError, check_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.traces.tracer import Tracer
from calque_pytree import tree_leaves

HERE = "test_implicit.py"


def scalar_solve(g, y):
    return y / g(1.0)


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


# Kepler's equation


def anomaly(mean, eccentricity, find):
    return custom_root(lambda x: x - eccentricity * np.sin(x) - mean, mean, find(eccentricity), scalar_solve)


def newton_of_loops(eccentricity):
    step = lambda f, x: x - f(x) / (1.0 - eccentricity * lax.cos(x))
    return lambda f, x: lax.fori_loop(0, 8, lambda _, x: step(f, x), x)


def newton_in_python(eccentricity):
    def solve(f, x):
        while abs(f(x)) > 1e-13:
            x = x - f(x) / (1.0 - eccentricity * np.cos(x))
        return x

    return solve


@pytest.mark.parametrize("find", [newton_of_loops, newton_in_python])
def test_keplers_equation_has_derivatives_of_any_order(find):
    solve = lambda mean, eccentricity: anomaly(mean, eccentricity, find)
    x = solve(0.7, 0.3)

    np.testing.assert_allclose(x - 0.3 * np.sin(x), 0.7)
    check_grads(solve, (0.7, 0.3), 4)


def test_staged_and_in_python_a_root_has_the_same_derivatives():
    def derivatives(find):
        return lambda m, e: [
            *value_and_grad(lambda m: anomaly(m, e, find))(m),
            grad(grad(lambda e: anomaly(m, e, find)))(e),
        ]

    jaxpr = make_jaxpr(derivatives(newton_of_loops))(0.7, 0.3)
    check_jaxpr(jaxpr)

    np.testing.assert_allclose(derivatives(newton_in_python)(0.7, 0.3), eval_jaxpr(jaxpr, (), 0.7, 0.3), 1e-12)


def test_the_laws_hold_in_loops_and_branches(laws):
    def orbit(mean, eccentricity):
        step = lambda x, m: (anomaly(x + m, eccentricity, newton_of_loops), x)
        return lax.scan(step, mean, np.array([0.5, 1.0]))

    laws(orbit, 0.7, 0.3)
    laws(lambda m, e: lax.cond(e > 0.1, lambda: anomaly(m, e, newton_of_loops), lambda: m), 0.7, 0.3)


# Fixed points


def iterated(f, x):
    """Find the fixed point of x - f(x) by following it."""
    return lax.while_loop(lambda x: lax.reduce_max(lax.abs(f(x))) > 1e-14, lambda x: x - f(x), x)


def iterated_both_ways(g, y):
    """Solve the linearized equation in the same way."""

    def solve(g, y):
        residual = lambda x: g(x) - y
        return lax.while_loop(lambda x: lax.reduce_max(lax.abs(residual(x))) > 1e-14, lambda x: x - residual(x), y)

    return custom_linear_solve(g, y, solve, solve)


def rest_state(weights, drive):
    return custom_root(lambda x: x - lax.tanh(weights @ x + drive), np.zeros(3), iterated, iterated_both_ways)


def test_the_fixed_point_of_a_contraction(laws, spaced):
    weights, drive = spaced((3, 3), -0.3, 0.3), spaced((3,))
    x = rest_state(weights, drive)

    np.testing.assert_allclose(x, np.tanh(weights @ x + drive))
    laws(rest_state, weights, drive)


def test_an_iteration_in_the_tangent_solver_must_know_its_transpose(spaced):
    weights, drive = spaced((3, 3), -0.3, 0.3), spaced((3,))

    def tangent_solve(g, y):
        return iterated(lambda x: g(x) - y, y)

    fun = lambda drive: custom_root(lambda x: x - lax.tanh(weights @ x + drive), drive, iterated, tangent_solve)

    np.testing.assert_allclose(
        jvp(fun, (drive,), (drive,))[1], jvp(lambda d: rest_state(weights, d), (drive,), (drive,))[1]
    )
    with pytest.raises(
        NotImplementedError, match=r"cannot be transposed: .*for custom_root, call custom_linear_solve in tangent_"
    ):
        vjp(fun, drive)[1](drive)


# Other equations


def test_the_gradient_with_respect_to_the_penalty_of_a_ridge_regression(spaced):
    features, targets, held_out = spaced((4, 3)), spaced((4,)), spaced((2, 3), seed=1)

    def weights(penalty):
        gradient = lambda w: features.T @ (features @ w - targets) + lax.exp(penalty) * w
        return custom_root(gradient, np.zeros(3), affine_root, conjugate_gradients)

    def loss(penalty):
        return lax.reduce_sum((held_out @ weights(penalty)) ** 2)

    exact = lambda p: np.linalg.solve(features.T @ features + np.exp(p) * np.eye(3), features.T @ targets)
    h = 1e-5
    slope = (((held_out @ exact(h - 1.0)) ** 2).sum() - ((held_out @ exact(-h - 1.0)) ** 2).sum()) / (2 * h)

    np.testing.assert_allclose(weights(-1.0), exact(-1.0))
    np.testing.assert_allclose(grad(loss)(-1.0), slope, 1e-7)


def affine_root(f, x):
    """Find the root of an affine function with NumPy's solver, which no transformation knows."""
    return np.linalg.solve(np.stack([f(unit) - f(0.0 * x) for unit in np.eye(x.size)], 1), -f(0.0 * x))


def conjugate_gradients(g, y):
    """Solve a symmetric positive definite equation by conjugate gradients."""

    def solve(g, y):
        def step(state):
            x, r, p, size = state
            image = g(p)
            length = size / (p @ image)
            r = r - length * image
            return x + length * p, r, r + (r @ r / size) * p, r @ r

        return lax.while_loop(lambda s: s[3] > 1e-26, step, (0.0 * y, y, y, y @ y))[0]

    return custom_linear_solve(g, y, solve, symmetric=True)


def test_guesses_and_roots_are_trees(laws):
    def sphere(radius, slope):
        """Return where a line through the origin meets a circle."""

        def f(at):
            return {"x": at["x"] * at["x"] + at["y"] * at["y"] - radius * radius, "y": at["y"] - slope * at["x"]}

        def solve(f, at):
            x = radius / lax.sqrt(1.0 + slope * slope)
            return {"x": x, "y": slope * x}

        def tangent_solve(g, y):
            along_x, along_y = g({"x": 1.0, "y": 0.0}), g({"x": 0.0, "y": 1.0})
            det = along_x["x"] * along_y["y"] - along_x["y"] * along_y["x"]
            return {
                "x": (y["x"] * along_y["y"] - y["y"] * along_y["x"]) / det,
                "y": (along_x["x"] * y["y"] - along_x["y"] * y["x"]) / det,
            }

        return custom_root(f, {"x": 1.0, "y": 1.0}, solve, tangent_solve)

    assert sphere(5.0, 0.75) == {"x": 4.0, "y": 3.0}
    laws(sphere, 5.0, 0.75)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_roots_keep_the_dtype_of_the_guess(dtype):
    fun = lambda a: custom_root(lambda x: x * x - a, dtype(1.0), lambda f, x: lax.sqrt(a), scalar_solve)

    assert [x.dtype for x in value_and_grad(fun)(dtype(4.0))] == [dtype, dtype]


def test_the_hessian_of_an_implicit_function_is_symmetric():
    gradient = grad(lambda v: anomaly(v[0], v[1], newton_in_python))
    at = np.array([0.7, 0.3])
    rows = [jvp(gradient, (at,), (unit,))[1] for unit in np.eye(2)]

    np.testing.assert_allclose(rows, np.transpose(rows), 1e-12)


# Aux


def counted(f, x):
    steps = 0
    while abs(f(x)) > 1e-13:
        x, steps = x - f(x) / (2.0 * x), steps + 1
    return x, {"steps": steps, "residual": f(x)}


def test_aux_is_returned_and_has_no_derivative():
    def fun(a):
        return custom_root(lambda x: x * x - a, 1.0, counted, scalar_solve, has_aux=True)

    (x, aux), (x_dot, aux_dot) = jvp(fun, (4.0,), (1.0,))

    assert (x, x_dot) == pytest.approx((2.0, 0.25))
    assert aux["steps"] == fun(4.0)[1]["steps"] == 5
    assert aux_dot["residual"] == 0.0
    assert grad(fun, has_aux=True)(4.0) == (pytest.approx(0.25), aux)


def test_aux_is_returned_where_the_solver_is_traced():
    def fun(a):
        solve = lambda f, x: (lax.sqrt(a), (f(x), None))
        return custom_root(lambda x: x * x - a, 1.0, solve, scalar_solve, has_aux=True)

    jaxpr = make_jaxpr(fun)(4.0)

    assert eval_jaxpr(jaxpr, (), 4.0) == [2.0, -3.0]
    assert eval_jaxpr(jaxpr, (), 4.0) == tree_leaves(fun(4.0))


# Solvers in Python


@pytest.mark.parametrize(
    "transform",
    [
        lambda fun, a: jvp(fun, (a,), (1.0,)),
        lambda fun, a: linearize(fun, a),
        lambda fun, a: grad(fun)(a),
        lambda fun, a: grad(grad(fun))(a),
        lambda fun, a: jvp(grad(fun), (a,), (1.0,)),
    ],
)
def test_a_solver_sees_values_wherever_they_are_known(transform):
    seen = []

    def solve(f, x):
        seen.extend([x, f(x), f(2.0 * x)])
        return np.sqrt(float(f(0.0) * -1.0))

    def fun(a):
        return custom_root(lambda x: x * x - a, a, solve, scalar_solve)

    transform(fun, 4.0)

    assert len(seen) == 3
    assert not any(isinstance(x, Tracer) for x in seen)


def test_a_solver_that_is_traced_sees_no_values():
    with pytest.raises(
        TypeError, match=rf"bool\(\) was asked of a traced value .*, under custom_root of {at(counted)}"
    ):
        make_jaxpr(lambda a: custom_root(lambda x: x * x - a, 1.0, counted, scalar_solve, has_aux=True))(4.0)


def test_a_solver_may_take_derivatives_of_the_equation():
    def newton(f, x):
        for _ in range(6):
            x = x - f(x) / grad(f)(x)
        return x

    check_grads(lambda a: custom_root(lambda x: x * x - a, 1.0, newton, scalar_solve), (4.0,), 3)


def test_a_buffer_that_the_solver_uses_again_does_not_change_a_pending_derivative():
    buffer = np.zeros(2)

    def solve(f, x):
        buffer[:] = np.sqrt(-f(np.zeros(2)))
        return buffer

    def fun(a):
        return custom_root(lambda x: x * x - a, np.ones(2), solve, lambda g, y: y / g(np.ones(2)))

    first, f_lin = linearize(fun, np.array([4.0, 9.0]))
    fun(np.array([16.0, 25.0]))

    assert first.tolist() == [2.0, 3.0]
    np.testing.assert_allclose(f_lin(np.ones(2)), [1 / 4, 1 / 6])


def test_a_tracer_that_escaped_into_a_solver_is_refused():
    leaked = []
    grad(lambda a: leaked.append(a) or a)(1.0)

    with pytest.raises(UnexpectedTracerError, match="an escaped tracer"):
        grad(lambda a: custom_root(lambda x: x - a, a, lambda f, x: x + leaked[0], scalar_solve))(1.0)


# What is refused


@pytest.mark.parametrize("guess", [1, np.arange(2)])
def test_guesses_that_are_not_floating_are_refused(guess):
    f = lambda x: x
    with pytest.raises(
        TypeError, match=rf"^custom_root of {at(f)} at {HERE}.*: initial_guess is int64.*, not of a floating"
    ):
        custom_root(f, guess, lambda f, x: x, scalar_solve)


@pytest.mark.parametrize("role", ["f", "solve", "tangent_solve"])
def test_functions_that_leave_the_space_of_the_guess_are_refused(role):
    functions = {"f": lambda x: x, "solve": lambda f, x: x, "tangent_solve": lambda g, y: y}
    wrong = functions[role] = lambda *args: np.ones(2)
    run = lambda x: custom_root(functions["f"], x, functions["solve"], functions["tangent_solve"])
    message = rf"^custom_root of .*: {role} {at(wrong)} returned float64\[2\] for initial_guess, which is float64\[3\]"

    with pytest.raises(TypeError, match=message):
        make_jaxpr(run)(np.ones(3))
    with pytest.raises(TypeError, match=message):
        vjp(run, np.ones(3))


def test_an_equation_of_another_structure_is_refused_where_nobody_differentiates_too():
    message = r"custom_root of .*: f .* returned the structure .*, but initial_guess has the structure .*Return the"
    for f in (lambda x: (x * x - 2.0,), lambda x: {"x": x}):
        with pytest.raises(TypeError, match=message):
            custom_root(f, 1.0, lambda f, x: (f(x), x)[1], lambda g, y: y / g(1.0))


@pytest.mark.parametrize("position", [0, 2, 3])
def test_what_is_not_a_function_is_refused(position):
    args = [lambda x: x, 1.0, lambda f, x: x, scalar_solve]
    args[position] = None
    with pytest.raises(TypeError, match=r"^custom_root got None of type NoneType.*Give a function\."):
        custom_root(*args)


def test_a_vector_of_other_types_is_refused_by_the_linearized_function():
    with pytest.raises(
        TypeError, match=r"the linear function of .*: the leaf \[0\] of the tangents is float64\[3\], but float64"
    ):
        grad(lambda a: custom_root(lambda x: x - a, 1.0, lambda f, x: a, lambda g, y: g(np.ones(3))))(1.0)


@pytest.mark.parametrize("f", [lambda x: (x, x), lambda x: [x], lambda x: None, lambda x: np.stack([x, x])])
@pytest.mark.parametrize("solve", [lambda f, x: x, lambda f, x: [f(x), x][1]], ids=["ignores", "calls"])
def test_a_function_that_leaves_the_space_of_the_guess_is_refused_in_evaluation_too(f, solve):
    words = r"^custom_root of <lambda> .*: f <lambda> .* returned .*initial_guess(, which is| has the structure)"
    with pytest.raises(TypeError, match=words):
        custom_root(f, 1.0, solve, lambda g, y: y / g(1.0))
