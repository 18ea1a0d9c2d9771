"""What a vjp rule leaves in a linear program, under vmap: it runs forwards by the jvp rule, for whole batches."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import ShapedArray, UndefinedPrimal, Zero, dce_jaxpr, eval_jaxpr, lax, make_jaxpr, stage, typeof
from calque_core.lax import custom_vjp_fwd_p, custom_vjp_linear_p
from calque_core.ops.calls.custom import Pullback

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

    def fun(x, y, *dots):
        if not forwards:
            raise TypeError("there is no jvp rule")
        nonzeros = iter(dots)
        return jvp([x, y], [next(nonzeros) if m else Zero(F64) for m in mask])[1]

    def transpose(operands, cts):
        return [None, None, *(bar for bar, m in zip(bwd(operands[:2], cts), mask) if m)]

    pullback = Pullback("f (f.py:1)", fun, transpose, out_avals=(F64,))
    return lambda *operands: custom_vjp_linear_p.bind(*operands, pullback=pullback)[0]


@pytest.mark.parametrize("mask", [(True, True), (True, False), (False, True)])
def test_it_runs_forwards_for_batches_over_every_axis(check_batching, mask):
    shapes = [(), (), *[()] * sum(mask)]
    check_batching(linear(mask), shapes, ["float64"] * len(shapes))


def test_an_error_of_the_function_is_that_of_the_batch():
    with pytest.raises(TypeError, match="there is no jvp rule"):
        vmap(linear((True, True), forwards=False))(XS, XS, XS, XS)


def test_its_backward_half_takes_whole_batches():
    in_axes = (0, None, 0, None)
    jaxpr = make_jaxpr(vmap(linear((True, True), forwards=False), in_axes))(XS, 0.5, XS, 0.5)
    (eqn,) = jaxpr.eqns
    pullback = eqn.params["pullback"]
    assert pullback.out_avals == (typeof(XS),)
    linear_operands = [UndefinedPrimal(typeof(x)) for x in (XS, 0.5)]
    *known, x_bar, y_bar = pullback.transpose([XS, 0.5, *linear_operands], [np.ones(3)])
    assert known == [None, None]
    np.testing.assert_allclose(x_bar, 5.0 * np.sin(0.5) * np.ones(3))
    np.testing.assert_allclose(y_bar, 7.0 * XS.sum())


def test_it_runs_forwards_where_the_batch_is_recorded():
    jaxpr = make_jaxpr(vmap(linear((True, True))))(XS, XS, XS, XS)
    out = eval_jaxpr(jaxpr, jaxpr.consts, XS, XS, XS, XS)[0]
    np.testing.assert_allclose(out, 2.0 * XS * np.sin(XS) + 3.0 * XS**2)


def forward_half(x, y):
    """Return x sin y, and as residuals two values, of which one may stay unmapped."""
    fwd = stage(lambda x, y: [x * lax.sin(y), lax.exp(x), lax.cos(y)], [F64, F64])
    fun = stage(lambda x, y: [x * lax.sin(y)], [F64, F64])
    return custom_vjp_fwd_p.bind(x, y, fwd=fwd, fun=fun, name="f")


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)], ids=str)
def test_a_forward_half_stays_one_equation_of_both_programs(in_axes):
    args = [0.5 if axis is None else XS for axis in in_axes]
    jaxpr = make_jaxpr(vmap(forward_half, in_axes=in_axes))(*args)
    assert [eqn.primitive for eqn in jaxpr.eqns if eqn.primitive is not lax.broadcast_in_dim_p] == [custom_vjp_fwd_p]
    expected = [np.broadcast_to(x, 3) for x in (args[0] * np.sin(args[1]), np.exp(args[0]), np.cos(args[1]))]
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, *args), expected, rtol=1e-15)
    smaller, _ = dce_jaxpr(jaxpr, [True, False, False])
    assert [eqn.primitive.name for eqn in smaller.eqns] == ["jit"]
    np.testing.assert_allclose(eval_jaxpr(smaller, smaller.consts, *args), expected[:1], rtol=1e-15)
