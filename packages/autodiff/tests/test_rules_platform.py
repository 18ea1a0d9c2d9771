from __future__ import annotations

import numpy as np

from calque_autodiff import grad, jvp, linearize, vjp
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import platform_dependent, platform_dependent_p


def choose(x, y):
    """Return values whose derivatives differ from platform to platform in which of them are zero."""
    return platform_dependent(
        x, y, cpu=lambda x, y: (lax.sin(x), lax.mul(x, y)), tpu=lambda x, y: (x, y), default=lambda x, y: (y, x)
    )


def test_the_function_of_the_cpu_obeys_the_laws(spaced, laws):
    laws(choose, spaced((3,)), spaced((3,), seed=1))


def test_every_derivative_is_one_equation_with_a_derivative_of_each_function():
    jaxpr = make_jaxpr(lambda x, y, t: jvp(lambda x: choose(x, y), (x,), (t,)))(1.0, 2.0, 1.0)
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is platform_dependent_p
    assert eqn.params["platforms"] == ("cpu", "tpu", None)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, (), 1.0, 2.0, 1.0), [np.sin(1.0), 2.0, np.cos(1.0), 2.0])


def test_a_gradient_keeps_the_functions_of_all_platforms():
    loss = lambda x, y: sum(choose(x, y))
    jaxpr = make_jaxpr(grad(loss, argnums=(0, 1)))(1.0, 2.0)
    check_jaxpr(jaxpr)
    choices = [eqn for eqn in jaxpr.eqns if eqn.primitive is platform_dependent_p]
    assert choices
    assert all(len(eqn.params["branches"]) == 3 for eqn in choices)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, (), 1.0, 2.0), [np.cos(1.0) + 2.0, 1.0])


def test_known_results_are_computed_once():
    out, f_lin = linearize(lambda y: choose(0.5, y), 2.0)
    assert out == (np.sin(0.5), 1.0)
    assert f_lin(3.0) == (0.0, 1.5)


def test_second_derivatives():
    assert np.isclose(grad(grad(lambda x: choose(x, 2.0)[0]))(0.7), -np.sin(0.7))
    assert vjp(lambda x: choose(x, x)[1], 3.0)[1](1.0) == (6.0,)
