"""A setting that is changed inside a traced function means what it means eagerly, under each transformation."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_close, types_of

from calque_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import check_jaxpr, config, eval_jaxpr, lax, make_jaxpr
from calque_pytree import tree_leaves
from calque_xla_backend import jit

X = np.linspace(0.5, 1.5, 3)
ruled_jvp = custom_jvp(lambda x: lax.sin(x))
ruled_jvp.defjvps(lambda x_dot, out, x: x_dot * lax.cos(x))
ruled_vjp = custom_vjp(lambda x: lax.sin(x))
ruled_vjp.defvjp(lambda x: (ruled_vjp(x), x), lambda x, ct: (ct * lax.cos(x),))

NARROW = {
    "an operation": lax.sin,
    "two uses": lambda y: lax.mul(y, y),
    "a Python scalar": lambda y: lax.add(lax.mul(y, 2.5), 1),
    "a captured array": lambda y: lax.mul(y, X),
    "a sum": lax.reduce_sum,
    "a reshape": lambda y: lax.reshape(y, (3, 1)),
    "an iota": lambda y: lax.add(y, lax.iota(np.float64, 3)),
    "a cond": lambda y: lax.cond(True, lambda v: lax.mul(v, 2.0), lambda v: v, y),
    "a scan": lambda y: lax.scan(lambda c, _: (lax.mul(c, 0.5), c), y, None, length=2)[0],
    "a loop": lambda y: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, 0.5), y),
    "a jit": lambda y: jit(lambda v: lax.mul(lax.sin(v), 2.0))(y),
    "a grad": lambda y: grad(lambda v: lax.reduce_sum(lax.mul(v, v)))(y),
    "a vmap": lambda y: vmap(lambda v: lax.mul(v, 2.0))(y),
    "a checkpoint": lambda y: checkpoint(lambda v: lax.mul(lax.sin(v), v))(y),
    "a custom jvp": ruled_jvp,
    "a custom vjp": ruled_vjp,
}


def narrow_inside(fun):
    def switched(x):
        y = lax.sin(x)
        with config.enable_x64(False):
            z = fun(y)
        return lax.mul(z, 2.0)

    return switched


def staged(fun, *args):
    jaxpr = make_jaxpr(lambda *xs: tree_leaves(fun(*xs)))(*args)
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


@pytest.mark.parametrize("name", NARROW)
def test_a_block_of_32_bits_inside_a_function_means_what_it_means_eagerly(name):
    fun = narrow_inside(NARROW[name])
    want = fun(X)
    assert types_of(want) == [f"f32{list(np.shape(want))}".replace(" ", "")]
    for got in (
        staged(fun, X),
        jit(fun)(X),
        linearize(fun, X)[0] if "vjp" not in name else want,
        vjp(fun, X)[0],
        vmap(fun)(np.stack([X, X]))[0],
    ):
        assert types_of(got) == types_of(want)
        assert_close(tree_leaves(got), tree_leaves(want), 1e-5)


@pytest.mark.parametrize("name", NARROW)
def test_derivatives_through_a_block_of_32_bits_are_of_the_types_of_their_arguments(name):
    fun = narrow_inside(NARROW[name])
    total = lambda x: lax.reduce_sum(fun(x))
    want = grad(total)(X)
    assert types_of(want) == ["f64[3]"]
    for got in (staged(grad(total), X), jit(grad(total))(X)):
        assert types_of(got) == ["f64[3]"]
        assert_close(tree_leaves(got), [want], 1e-5)
    if "vjp" not in name:
        np.testing.assert_allclose(jvp(total, (X,), (np.ones(3),))[1], np.sum(want), rtol=1e-4)
    step = 1e-2
    differences = [(float(total(X + step * e)) - float(total(X - step * e))) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(want, differences, rtol=1e-2, atol=1e-3)


def test_a_captured_array_is_a_constant_of_each_of_its_types():
    def fun(x):
        with config.enable_x64(False):
            narrow = lax.mul(lax.convert_element_type(x, np.float32), X)
        return narrow, lax.mul(x, X)

    jaxpr = make_jaxpr(fun)(X)
    check_jaxpr(jaxpr)
    assert [c.dtype for c in jaxpr.consts] == [np.float32, np.float64]
    assert types_of(eval_jaxpr(jaxpr, jaxpr.consts, X)) == types_of(fun(X))


def widened_inside(x):
    with config.enable_x64(True):
        return x * 2.0


TRACED = {
    "jit": lambda x: jit(widened_inside)(x),
    "make_jaxpr": lambda x: make_jaxpr(widened_inside)(x),
    "grad": lambda x: grad(widened_inside)(x),
    "jvp": lambda x: jvp(widened_inside, (x,), (x,)),
    "linearize": lambda x: linearize(widened_inside, x),
    "vjp": lambda x: vjp(widened_inside, x),
    "vmap": lambda x: vmap(widened_inside)(np.stack([x, x])),
    "cond": lambda x: lax.cond(True, widened_inside, widened_inside, x),
    "scan": lambda x: lax.scan(lambda c, _: (widened_inside(c), c), x, None, length=2),
    "while_loop": lambda x: lax.while_loop(lambda c: c < 9.0, widened_inside, x),
    "scan inside of jit": lambda x: jit(lambda c: lax.fori_loop(0, 2, lambda i, v: widened_inside(v), c))(x),
}


@pytest.mark.parametrize("x", [1.5, np.float32(1.5), np.float64(1.5)])
@pytest.mark.parametrize("name", TRACED)
def test_a_block_of_64_bits_inside_a_function_traced_in_32_is_refused(name, x):
    words = (
        r"^enable_x64\(True\) at test_settings_inside\.py:\d+ \(widened_inside\) is inside of .*, which began in 32 "
        r"bits: .* Enable 64 bits around the call"
    )
    with config.enable_x64(False):
        with pytest.raises(RuntimeError, match=words):
            TRACED[name](x)
        assert not config.current().enable_x64
        assert widened_inside(x) == 3.0
        assert types_of(jit(lambda v: v * 2.0)(x)) == ["f32[]"]


def test_a_block_of_64_bits_inside_a_block_of_32_is_allowed_in_a_function_traced_in_64():
    def fun(x):
        with config.enable_x64(False):
            return widened_inside(lax.mul(x, x))

    assert types_of(jit(fun)(X)) == types_of(vmap(fun)(X)) == types_of(fun(X)) == ["f32[3]"]


FACTOR, WEIGHTS = np.float64(2.0), np.eye(3)
PROGRAMS = {
    "a captured number": lambda x: FACTOR * x,
    "two captured numbers": lambda x: x * FACTOR + np.float64(0.5) / x,
    "a captured array": lambda x: WEIGHTS @ x,
    "a number as a bound": lambda x: lax.clamp(np.float64(0.0), x, FACTOR),
    "a loop": lambda x: lax.fori_loop(0, 2, lambda i, c: c * FACTOR, x),
}
TRACES = {
    "the function": lambda f: f,
    "grad": lambda f: grad(lambda x: lax.reduce_sum(f(x))),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "vmap": vmap,
    "jit of grad": lambda f: jit(grad(lambda x: lax.reduce_sum(f(x)))),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("how", TRACES)
def test_the_first_trace_in_32_bits_has_the_equations_of_later_ones(name, how):
    texts = set()
    for _ in range(5):
        with config.enable_x64(False):
            texts.add(str(make_jaxpr(TRACES[how](lambda x: PROGRAMS[name](x)))(np.stack([X, X, X]))))
    assert len(texts) == 1
