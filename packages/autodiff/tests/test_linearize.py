from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize, vjp
from calque_core import UnexpectedTracerError, current_trace, evaluation, float0, lax, make_jaxpr
from calque_pytree import tree_leaves, tree_map


def f(x):
    return -(lax.sin(x) * 2.0) + x


def test_linearize_gives_the_value_and_the_linear_function():
    y, f_lin = linearize(f, 3.0)
    np.testing.assert_allclose([y, f_lin(1.0), f_lin(2.0)], [2.7177599838802657, 2.979984993200891, 5.959969986401782])


def test_the_linear_function_does_not_run_the_function_again():
    calls = []
    _, f_lin = linearize(lambda x: calls.append(1) or lax.sin(x), 3.0)
    assert [f_lin(t) for t in (0.0, 1.0)] == [0.0, np.cos(3.0)]
    assert calls == [1]


def test_only_what_is_linear_is_recorded():
    _, f_lin = linearize(f, 3.0)
    jaxpr = make_jaxpr(f_lin)(1.0)
    assert {eqn.primitive.name for eqn in jaxpr.eqns} <= {"mul", "neg", "add", "add_any"}


def test_python_control_flow_follows_the_primal():
    g = lambda x: x * x if x > 0.0 else 0.0
    assert [linearize(g, x)[1](1.0) for x in (3.0, -3.0)] == [6.0, 0.0]


def test_vjp_gives_a_cotangent_for_each_argument():
    y, f_vjp = vjp(lambda p, x: p["w"] * x, {"w": 3.0, "unused": np.ones(2)}, 2.0)
    p_bar, x_bar = f_vjp(1.0)
    assert (y, p_bar["w"], x_bar) == (6.0, 2.0, 3.0)
    assert p_bar["unused"].tolist() == [0.0, 0.0]


def test_integer_arguments_have_float0_cotangents():
    (n_bar,) = vjp(lambda n: lax.convert_element_type(n, float), np.arange(3))[1](np.ones(3))
    assert (n_bar.dtype, n_bar.shape) == (float0, (3,))


def test_integer_outputs_take_float0_cotangents():
    _, f_vjp = vjp(lambda x: (x * 2.0, lax.argmax(x, 0)), np.arange(3.0))
    assert f_vjp((np.ones(3), np.zeros((), float0)))[0].tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match="its output is int64\\[\\], which has no derivative"):
        f_vjp((np.ones(3), 1.0))


def test_the_vjp_function_is_a_pytree_of_the_numbers_that_it_needs():
    _, f_vjp = vjp(lambda x: lax.exp(x), np.arange(3.0))
    assert all(isinstance(leaf, np.ndarray) for leaf in tree_leaves(f_vjp))
    doubled = tree_map(lambda leaf: 2.0 * leaf, f_vjp)
    np.testing.assert_allclose(doubled(np.ones(3))[0], 2.0 * f_vjp(np.ones(3))[0])


def test_cotangents_that_nothing_gives_are_made_once_at_the_end():
    def g(x, y):
        return lax.reduce_sum(lax.sin(x))

    jaxpr = make_jaxpr(lambda x, y: vjp(g, x, y)[1](1.0))(np.ones(3), np.ones((5, 5)))
    shapes = [eqn.outvars[0].aval.shape for eqn in jaxpr.eqns]
    assert shapes.count((5, 5)) == 1
    assert jaxpr.eqns[-1].outvars[0].aval.shape == (5, 5)


def test_an_argument_that_is_not_used_costs_nothing_forward():
    jaxpr = make_jaxpr(lambda x, y, t, u: linearize(lambda x, y: lax.sin(x), x, y)[1](t, u))(
        1.0, np.ones(5), 1.0, np.ones(5)
    )
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "cos", "mul"]


def test_auxiliary_output_carries_no_tracer():
    for transform in (linearize, vjp):
        for fun in (lambda x: (x * x, [x * 2.0, 3]), lambda x: [x * x, [x * 2.0, 3]]):
            y, function, aux = transform(fun, 3.0, has_aux=True)
            assert (y, aux) == (9.0, [6.0, 3])
            assert np.ravel(function(1.0))[0] == 6.0


def test_the_linear_function_can_be_differentiated_and_transposed_itself():
    _, f_lin = linearize(lax.sin, 1.0)
    assert jvp(f_lin, (2.0,), (1.0,)) == (2 * np.cos(1.0), np.cos(1.0))
    assert grad(f_lin)(5.0) == np.cos(1.0)


def with_aux(y, aux):
    return lax.square(y), aux(y)


@pytest.mark.parametrize("transform", [linearize, vjp])
@pytest.mark.parametrize(
    ("g", "returned"),
    [
        (lambda x: lax.square(x), 0),
        (lambda x: lax.exp(x), 0),
        (lambda x: lax.reshape(lax.exp(x), (2, 2)), 0),
        (lambda x: with_aux(lax.exp(x), lambda y: y), 2),
        (lambda x: with_aux(lax.exp(x), lambda y: lax.reshape(y, (2, 2))), 2),
    ],
)
def test_overwriting_what_went_in_or_came_out_changes_no_pending_derivative(transform, g, returned):
    x = np.arange(4.0)
    results = transform(g, x, has_aux=returned == 2)
    probe = np.ones((2, 2) if np.ndim(results[0]) == 2 and transform is vjp else 4)
    before = np.copy(results[1](probe))
    x[...] = 7.0
    results[returned][...] = 8.0
    np.testing.assert_array_equal(results[1](probe), before)


@pytest.mark.parametrize("transform", [linearize, vjp])
@pytest.mark.parametrize("view", [lambda c: c, lambda c: c[::-1], lambda c: c.reshape(2, 2).T.ravel()[:]])
def test_overwriting_a_captured_array_changes_no_pending_derivative(transform, view):
    c = np.arange(4.0)
    captured = view(c)
    _, function = transform(lambda x: x * captured, np.ones(4))
    before = np.copy(function(np.ones(4)))
    c[...] = 9.0
    np.testing.assert_array_equal(function(np.ones(4)), before)


def test_arrays_that_nobody_can_write_to_are_not_copied():
    x, c = np.ones(3), np.arange(3.0)
    x.flags.writeable = c.flags.writeable = False
    leaves = tree_leaves(vjp(lambda x: x * x * c, x)[1])
    assert any(np.shares_memory(leaf, x) for leaf in leaves)
    assert any(np.shares_memory(leaf, c) for leaf in leaves)


@pytest.mark.parametrize("transform", [linearize, vjp, lambda f, x: grad(lambda x: lax.reduce_sum(f(x)))(x)])
def test_writing_to_a_large_array_that_a_pending_derivative_needs_is_refused(transform):
    x, c = np.ones(10_000), np.ones(10_000)

    def g(y):
        z = y * c
        with pytest.raises(ValueError, match="read-only"):
            c[0] = 2.0
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 2.0
        return z

    transform(g, x)
    x[0] = c[0] = 3.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: linearize(f, 1.0)[1](1.0, 2.0), r"the linear function of f \(.*\): the tangents have the structure"),
        (
            lambda: linearize(f, 1.0)[1](np.ones(2)),
            r"the leaf \[0\] of the tangents is float64\[2\], but float64\[\] is needed",
        ),
        (
            lambda: vjp(f, 1.0)[1](np.ones(2)),
            r"the vjp function of f \(.*\): the cotangent is float64\[2\], but float64\[\] is needed",
        ),
        (lambda: vjp(f, 1.0)[1]((1.0,)), "the cotangents have the structure .* Give one cotangent per leaf"),
        (lambda: vjp(f, 1.0)[1](1j), r"the cotangent is ~complex128\[\], but float64\[\] is needed"),
        (
            lambda: vjp(lambda x: {"y": x}, 1.0)[1]({"y": np.ones(2)}),
            r"the leaf \['y'\] of the cotangents is float64\[2\]",
        ),
        (lambda: vjp(f, [1.0, "a"]), r"x\[1\] is 'a' of type str"),
        (lambda: vjp(lambda x: [x, None, "a"], 1.0), "the function returned 'a' of type str"),
        (lambda: linearize(None, 1.0), "linearize got None of type NoneType.*. Give a function"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, words):
    with pytest.raises(TypeError, match=words):
        call()
    assert current_trace() is evaluation


def test_an_escaped_tracer_is_refused_with_its_origin():
    kept = []
    vjp(lambda x: kept.append(x * 2.0) or x, 1.0)
    with pytest.raises(
        UnexpectedTracerError, match=r"its trace, vjp of <lambda> \(.*\), has ended. It was made at .*test_lin"
    ):
        lax.sin(kept[0])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_the_function_raises_leaves_trace_and_arrays_as_they_were(error):
    x = np.ones(3)

    def g(x):
        lax.sin(x)
        raise error("stop")

    with pytest.raises(error, match="stop"):
        vjp(g, x)
    assert current_trace() is evaluation
    x[0] = 2.0
