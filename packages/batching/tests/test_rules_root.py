"""Batches of roots; the function that binds the primitive is in calque_autodiff."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import check_jaxpr, lax, make_jaxpr, stage, typeof
from calque_core.lax import custom_root_p

VECTOR, SCALAR = typeof(np.ones(2)), typeof(np.float64(1.0))


def newton(a, x):
    """Iterate until every element has its root; return auxiliary values that depend on `a` only and on `x`."""
    root = lax.while_loop(lambda x: lax.reduce_max(lax.abs(x * x - a)) > 1e-15, lambda x: 0.5 * (x + a / x), x)
    return [root, a + 1.0, x[0]]


ROOT = {
    "f": stage(lambda a, x: [x * x - a], [SCALAR, VECTOR]),
    "solve": stage(newton, [SCALAR, VECTOR]),
    "tangent_solve": stage(lambda a, x, y: [y / (2.0 * x)], [SCALAR, VECTOR, VECTOR]),
    "num_consts": 1,
}


def roots(a, x):
    return custom_root_p.bind(lax.square(a) + 0.5, lax.square(x) + 0.5, **ROOT)


def test_roots_map_over_every_axis(check_batching):
    check_batching(roots, [(), (2,)], ["float64", "float64"])


@pytest.mark.parametrize(("in_axes", "aux"), [((0, None), ["f64[5]", "f64[5]"]), ((None, 1), ["f64[]", "f64[5]"])])
def test_every_vector_of_every_program_is_mapped_in_front(in_axes, aux):
    args = [np.ones(5), np.ones(2)] if in_axes == (0, None) else [np.float64(1.0), np.ones((2, 5))]
    jaxpr = make_jaxpr(lambda a, x: vmap(lambda a, x: custom_root_p.bind(a, x, **ROOT)[0], in_axes)(a, x))(*args)
    check_jaxpr(jaxpr)

    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is custom_root_p]
    for name in ("f", "solve", "tangent_solve"):
        avals = [*eqn.params[name].in_avals[1:], eqn.params[name].out_avals[0]]
        assert {aval.str_short() for aval in avals} == {"f64[5,2]"}
    assert [v.aval.str_short() for v in eqn.outvars[1:]] == aux
