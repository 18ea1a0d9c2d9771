"""Derivative rules of a user's functions hold under `interpret`, in every order of transformations."""

import numpy as np
import pytest

import calque
from calque import grad, jit, jvp, vmap
from calque_core import interpret, lax, make_jaxpr

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
