import numpy as np

from calque_core import lax, make_jaxpr
from calque_xla_backend.passes.early_sums import sum_elements_first

AXES = [("i", 4)]


def staged(f, *args):
    return make_jaxpr(f, axis_env=AXES)(*args)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_a_sum_along_axes_comes_before_a_sum_over_devices():
    jaxpr = sum_elements_first(staged(lambda x: lax.reduce_sum(lax.psum(x, "i"), (0,)) * 2.0, np.ones((3, 2))))
    assert names(jaxpr) == ["reduce_sum", "psum", "mul"]
    assert [eqn.outvars[0].aval.shape for eqn in jaxpr.eqns] == [(2,)] * 3


def test_several_sums_along_axes_come_first():
    jaxpr = staged(lambda x: lax.reduce_sum(lax.reduce_sum(lax.psum(x, "i"), (0,)), (0,)), np.ones((3, 2)))
    assert names(sum_elements_first(jaxpr)) == ["reduce_sum", "reduce_sum", "psum"]
    assert sum_elements_first(jaxpr).eqns[-1].invars[0].aval.shape == ()


def test_equations_between_the_two_sums_stay():
    def f(x):
        total = lax.psum(x, "i")
        return lax.sin(x), lax.reduce_sum(total, (0,))

    assert names(sum_elements_first(staged(f, np.ones(3)))) == ["sin", "reduce_sum", "psum"]


def test_a_sum_over_devices_that_is_used_twice_or_returned_stays():
    def twice(x):
        total = lax.psum(x, "i")
        return total * 2.0, lax.reduce_sum(total, (0,))

    for f in (twice, lambda x: (lax.psum(x, "i"), lax.reduce_sum(x, (0,)))):
        jaxpr = staged(f, np.ones(3))
        assert sum_elements_first(jaxpr) is jaxpr


def test_programs_inside_change_too():
    def step(carry, x):
        return carry + lax.reduce_sum(lax.psum(x, "i"), (0,)), None

    jaxpr = staged(lambda xs: lax.scan(step, 0.0, xs)[0], np.ones((3, 3)))
    (eqn,) = [eqn for eqn in sum_elements_first(jaxpr).eqns if eqn.primitive is lax.scan_p]
    assert [name for name in names(eqn.params["jaxpr"]) if name in ("psum", "reduce_sum")] == ["reduce_sum", "psum"]
