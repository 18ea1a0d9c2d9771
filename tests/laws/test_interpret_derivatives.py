"""Derivative rules of a user's functions hold under `interpret`, in every order of transformations."""

import numpy as np
import pytest

import calque
from calque import grad, jit, jvp, vmap
from calque_core import UnexpectedTracerError, interpret, lax, make_jaxpr

SLOPE = 7.0


def with_jvp():
    f = calque.custom_jvp(lax.sin)
    f.defjvp(lambda primals, tangents: (f(*primals), SLOPE * tangents[0]))
    return f


def with_vjp():
    f = calque.custom_vjp(lax.sin)
    f.defvjp(lambda x: (f(x), None), lambda res, ct: (SLOPE * ct,))
    return f


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
@pytest.mark.parametrize("table", [{}, {lax.sin_p: lax.cos}], ids=["empty", "cosines"])
def test_a_derivative_of_an_interpreted_program_is_by_the_rule(make, table):
    jaxpr = make_jaxpr(make())(1.0)
    f = lambda x: interpret(jaxpr, table, x)[0]
    again = lambda x: interpret(make_jaxpr(f)(1.0), table, x)[0]
    for g in (f, again, jit(f)):
        assert grad(g)(1.0) == jit(grad(g))(1.0) == SLOPE
        np.testing.assert_array_equal(vmap(grad(g))(np.ones(3)), np.full(3, SLOPE))


def test_the_rule_is_interpreted_too():
    f = calque.custom_jvp(lax.exp)
    f.defjvp(lambda primals, tangents: (f(*primals), lax.sin(primals[0]) * tangents[0]))
    jaxpr = make_jaxpr(f)(1.0)
    g = lambda x: interpret(jaxpr, {lax.sin_p: lax.cos}, x)[0]
    for run in (jvp, lambda *args: jit(lambda x, t: jvp(g, (x,), (t,)))(*args[1][:1], *args[2][:1])):
        out, out_dot = run(g, (1.0,), (1.0,))
        np.testing.assert_allclose([out, out_dot], [np.exp(1.0), np.cos(1.0)], rtol=1e-15)


def scaled(jaxpr, drop_rules=()):
    """Return a function of a scale and an argument: the program, with sines multiplied by the scale."""

    def f(scale, x):
        table = {lax.sin_p: lambda y: lax.sin(y) * scale}
        for p in drop_rules:
            table[p] = lambda *xs, jaxpr, rules: interpret(jaxpr, table, *xs)
        return interpret(jaxpr, table, x)[0]

    return f


def of_itself():
    """Return a function whose jvp rule calls the function, so that the interpreted rule has a call too."""
    f = calque.custom_jvp(lambda x: lax.sin(x) * x)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * f(*primals)))
    return f


def of_itself_backwards():
    f = calque.custom_vjp(lambda x: lax.sin(x) * x)
    f.defvjp(lambda x: (f(x), f(x)), lambda res, ct: (ct * res,))
    return f


SCALES, X = np.array([2.0, 3.0]), 1.3
SLOPES = {
    "vmap": lambda f: vmap(lambda w: grad(lambda x: f(w, x))(X))(SCALES),
    "jit of vmap": lambda f: jit(vmap(lambda w: grad(lambda x: f(w, x))(X)))(SCALES),
    "vmap of jit": lambda f: vmap(lambda w: jit(grad(lambda x: f(w, x)))(X))(SCALES),
    "inner jit": lambda f: vmap(lambda w: grad(jit(lambda x: f(w, x)))(X))(SCALES),
    "two jits": lambda f: np.stack([jit(lambda w: grad(jit(lambda x: f(w, x)))(X))(w) for w in SCALES]),
    "outer grad": lambda f: calque.jacrev(lambda x: vmap(lambda w: f(w, x))(SCALES))(X),
    "loop": lambda f: calque.jacrev(lambda x: lax.map(lambda w: f(w, x), SCALES))(X),
}


@pytest.mark.parametrize("make", [of_itself, of_itself_backwards])
@pytest.mark.parametrize("slope", SLOPES.values(), ids=SLOPES)
def test_a_table_may_close_over_values_of_outer_transformations(make, slope):
    f = scaled(make_jaxpr(make())(X))
    np.testing.assert_allclose(slope(f), SCALES * np.sin(X) * X, rtol=1e-14)


@pytest.mark.parametrize("make", [of_itself, of_itself_backwards])
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_derivative_in_a_value_of_the_table_is_refused_with_a_rule_that_drops_the_others(make, wrap):
    jaxpr = make_jaxpr(make())(X)
    for d in (wrap(grad(scaled(jaxpr))), grad(wrap(scaled(jaxpr)))):
        with pytest.raises(
            UnexpectedTracerError,
            match=r"<lambda> \(test_interpret_derivatives\.py:\d+\) at .* is interpreted by a rule that closes over a "
            r"value that is being differentiated.* Give the table a rule for custom_.*_call_p",
        ):
            d(2.0, X)
    f = scaled(jaxpr, [lax.custom_jvp_call_p, lax.custom_vjp_call_p])
    for d in (wrap(grad(f)), grad(wrap(f))):
        np.testing.assert_allclose(d(2.0, X), np.sin(X) * X, rtol=1e-14)
