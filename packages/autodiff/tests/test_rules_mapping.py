from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, vjp
from calque_core import count_eqns, lax, make_jaxpr
from calque_core.lax import associative_scan, cond, scan, scan_p

pytestmark = pytest.mark.sampled(keep=0.1)

PROGRAMS = {
    "map": lambda a, xs: lax.map(lambda x: lax.sin(x * a), xs),
    "map of a branch": lambda a, xs: lax.map(lambda x: cond(x > 0, lambda: x * a, lambda: lax.exp(x)), xs),
    "map in map": lambda a, xs: lax.map(lambda x: lax.map(lambda y: lax.sin(x * y) * a, xs), xs),
    "running sums": lambda a, xs: associative_scan(lax.add, xs * a),
    "running products": lambda a, xs: associative_scan(lax.mul, xs * a),
    "running products in reverse": lambda a, xs: associative_scan(lax.mul, xs * a, reverse=True),
    "affine maps": lambda a, xs: associative_scan(
        lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (lax.sin(xs), xs * a)
    )[1],
    "along another axis": lambda a, xs: associative_scan(lax.mul, lax.broadcast(xs, (2,)) * a, axis=1),
}


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_maps_and_running_reductions_obey_the_laws(f, size, spaced, laws):
    laws(f, 0.7, spaced((size,)), order=2 if size == 5 else 1)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_they_obey_the_laws_inside_a_program(f, spaced, laws, called):
    laws(called(lambda a, xs: lax.reduce_sum(lax.sin(f(a, xs)))), 0.7, spaced((4,)), order=1)


def test_the_gradient_of_a_map_keeps_no_carry(spaced):
    f = lambda xs: lax.reduce_sum(lax.map(lambda x: lax.sin(x) * x, xs))
    jaxpr = make_jaxpr(grad(f))(spaced((4,)))
    assert [eqn.params["num_carry"] for eqn in jaxpr.eqns if eqn.primitive is scan_p] == [0, 0]


def test_a_running_product_has_one_derivative_whether_by_tree_or_by_steps(spaced):
    """https://github.com/jax-ml/jax/issues/9507"""
    xs, dots = spaced((7,)), spaced((7,), seed=1)
    xs[2] = 0.0
    by_tree = lambda xs: associative_scan(lax.mul, xs)
    by_steps = lambda xs: scan(lambda c, x: (c * x, c * x), 1.0, xs)[1]
    np.testing.assert_allclose(jvp(by_tree, (xs,), (dots,)), jvp(by_steps, (xs,), (dots,)), 1e-12, 1e-12)
    np.testing.assert_allclose(vjp(by_tree, xs)[1](dots), vjp(by_steps, xs)[1](dots), 1e-12, 1e-12)


def test_the_gradient_of_a_running_reduction_has_as_many_rounds_as_the_logarithm_of_its_length(spaced):
    size = lambda n: count_eqns(make_jaxpr(grad(lambda x: lax.reduce_sum(associative_scan(lax.mul, x))))(spaced((n,))))
    assert size(256) - size(128) == size(128) - size(64)
