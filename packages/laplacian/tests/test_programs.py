"""Programs inside of the function: branches, loops, calls."""

import numpy as np
import pytest
from differences import laplacian_by_differences

from calque_core import hoist_tracers, lax, make_jaxpr, stage, typeof
from calque_core.testing import check_trace
from calque_laplacian import InnerProduct, LaplacianTrace, laplacian

X = np.array([0.3, -0.5, 1.2])


def call(fun, x):
    """Call `fun` as a jitted function does, but without a compiler."""
    jaxpr, captured = hoist_tracers(stage(lambda y: [fun(y)], [typeof(x)]))
    return lax.jit_p.bind(*captured, x, jaxpr=jaxpr, name="call", compiler=None)[0]


def scanned(x):
    step = lambda carry, row: (lax.mul(carry, lax.sin(row)), lax.square(carry))
    carry, rows = lax.scan(step, x[0], lax.mul(x, x[1]))
    return lax.add(carry, lax.reduce_sum(rows))


def stepped(x):
    """Carry a constant that becomes a value in the loop, and a counter."""
    step = lambda i, carry: (
        lax.add(carry[0], lax.mul(carry[1], lax.dynamic_index_in_dim(x, i, 0, False))),
        lax.sin(carry[0]),
    )
    return lax.reduce_sum(lax.square(lax.stack(lax.fori_loop(0, 3, step, (0.5, x[2])), 0)))


PROGRAMS = {
    "scan": scanned,
    "scan backwards": lambda x: lax.scan(lambda c, r: (c * r + r, None), 1.0, lax.exp(x), reverse=True)[0],
    "fori_loop": stepped,
    "while": lambda x: lax.while_loop(lambda c: c < 50.0, lambda c: c * c + 1.0, lax.square(x[0]) + 1.5),
    "cond": lambda x: lax.cond(x[0] > 0.0, lambda y: lax.reduce_sum(y * y * y), lambda y: 1.0, x),
    "cond of a constant": lambda x: lax.cond(np.array(False), lambda y: y[0], lambda y: y[1] * y[1], x),
    "switch": lambda x: lax.switch(1, [lax.sin, lax.exp, lax.cos], x),
    "call": lambda x: call(lambda y: lax.mul(lax.sin(y), lax.rev(y, (0,))), x),
    "map": lambda x: lax.map(lambda row: row * lax.exp(row), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_inside_has_the_laplacian_of_its_operations(name):
    fun = PROGRAMS[name]
    np.testing.assert_allclose(laplacian(fun)(X), laplacian_by_differences(fun, X), rtol=1e-6, atol=1e-6)
    twice = lambda x: lax.reduce_sum(lax.square(fun(lax.add(x, lax.mul(0.1, lax.rev(x, (0,)))))))
    np.testing.assert_allclose(laplacian(twice)(X), laplacian_by_differences(twice, X), rtol=1e-5, atol=1e-5)


def test_a_loop_stays_a_loop_in_a_staged_program():
    jaxpr = make_jaxpr(laplacian(scanned))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("scan") == 1


def test_laplacians_nest():
    quartic = lambda x: lax.integer_pow(lax.reduce_sum(x), 4)
    assert laplacian(laplacian(quartic))(np.ones(3)) == 9.0 * 24.0


def test_the_trace_keeps_the_rules_of_traces():
    operations = {"products": lambda x: x * x, "sines": lax.sin}
    report = check_trace(lambda parent: LaplacianTrace(parent, 1, InnerProduct()), operations=operations)
    assert report.outcome("programs") == "holds"
