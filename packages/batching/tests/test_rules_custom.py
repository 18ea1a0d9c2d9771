"""What a vjp rule leaves in a linear program, under vmap: it runs forwards by the jvp rule, for whole batches."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import CustomRules, ShapedArray, Zero, eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.lax import custom_vjp_linear_p
from calque_core.ops.custom_rules import LinearCall

F64 = ShapedArray((), "float64")
XS = np.linspace(0.1, 0.9, 3)


def jvp(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    terms = [] if type(x_dot) is Zero else [2.0 * x_dot * lax.sin(y)]
    terms += [] if type(y_dot) is Zero else [3.0 * y_dot * x]
    return [x * lax.sin(y)], [sum(terms[1:], terms[0])]


def bwd(residuals, cts):
    x, y = residuals
    return [5.0 * cts[0] * lax.sin(y), 7.0 * cts[0] * x]


def linear(mask, forwards=True):
    """Return the derivative of x sin y in the arguments of the mask, as differentiation leaves it."""
    rules = CustomRules("f (f.py:1)", key="f", functions=(), jvp=jvp if forwards else None, fwd=max)

    def f_lin(x, y, *tangents):
        primals = [x, y] if forwards else []
        call = LinearCall(rules, bwd, num_residuals=2, num_primals=len(primals), mask=mask, out_avals=(F64,))
        return custom_vjp_linear_p.bind(x, y, *primals, *tangents, call=call)[0]

    return f_lin


@pytest.mark.parametrize("mask", [(True, True), (True, False), (False, True)])
def test_it_runs_forwards_for_batches_over_every_axis(check_batching, mask):
    shapes = [(), (), *[()] * sum(mask)]
    check_batching(linear(mask), shapes, ["float64"] * len(shapes))


def test_without_a_jvp_rule_it_says_how_to_give_one():
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to f \(f\.py:1\)"):
        vmap(linear((True, True), forwards=False))(XS, XS, XS, XS)


def test_its_backward_half_takes_whole_batches():
    in_axes = (0, None, 0, None)
    jaxpr = make_jaxpr(vmap(linear((True, True), forwards=False), in_axes))(XS, 0.5, XS, 0.5)
    (eqn,) = jaxpr.eqns
    call = eqn.params["call"]
    assert call.out_avals == (typeof(XS),)
    x_bar, y_bar = call.bwd([XS, 0.5], [np.ones(3)])
    np.testing.assert_allclose(x_bar, 5.0 * np.sin(0.5) * np.ones(3))
    np.testing.assert_allclose(y_bar, 7.0 * XS.sum())


def test_it_runs_forwards_where_the_batch_is_recorded():
    jaxpr = make_jaxpr(vmap(linear((True, True))))(XS, XS, XS, XS)
    out = eval_jaxpr(jaxpr, jaxpr.consts, XS, XS, XS, XS)[0]
    np.testing.assert_allclose(out, 2.0 * XS * np.sin(XS) + 3.0 * XS**2)
