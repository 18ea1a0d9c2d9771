from __future__ import annotations

import numpy as np

from calque_autodiff import grad, linear_transpose
from calque_core import lax, make_jaxpr
from calque_core.lax import composite_p

NAMED = lax.composite(lambda x, y: (lax.sin(x), lax.mul(x, y)), "my.pair")


def test_derivatives_are_those_of_the_decomposition(spaced, laws):
    laws(NAMED, spaced((3,)), spaced((3,), seed=1))


def test_a_derivative_has_no_name():
    jaxpr = make_jaxpr(grad(lambda x: NAMED(x, 2.0)[0]))(0.5)
    assert composite_p not in [eqn.primitive for eqn in jaxpr.eqns]


def test_a_linear_composite_is_transposed():
    named = lax.composite(lambda x: lax.mul(x, np.arange(3.0)), "my.product")
    assert linear_transpose(named, 1.0)(np.ones(3)) == (3.0,)
