"""Linear functions with a transpose of their own: the laws of transposes, under batches, programs and loops.

One idea: the functions are loops that end by their linear operand, so only their authors know a transpose.
"""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, custom_rules, jvp, linear_call, linear_transpose, vjp
from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_xla_backend import jit

RNG = np.random.default_rng(5)
MATRIX, ROWS = RNG.normal(size=(2, 3)), RNG.normal(size=(4, 3))
MATRICES, COTANGENTS = RNG.normal(size=(4, 2, 3)), RNG.normal(size=(4, 2))


def in_a_loop(product):
    """Return a product as a loop of one step, which has no transpose: its condition depends on the vector."""

    def fun(matrix, x):
        start = (product(matrix, lax.zeros_like(x)), x)
        step = lambda carry: (product(matrix, carry[1]), lax.zeros_like(carry[1]))
        return lax.while_loop(lambda carry: lax.reduce_or(lax.ne(carry[1], 0.0), (0,)), step, start)[0]

    return fun


forwards, backwards = in_a_loop(lambda m, x: m @ x), in_a_loop(lambda m, ct: m.T @ ct)


def by_call(matrix, x):
    return linear_call(forwards, backwards, matrix, x)


@custom_rules
def by_rule(x, matrix):
    return forwards(matrix, x)


@custom_rules
def transposed(ct, matrix):
    return backwards(matrix, ct)


by_rule.def_transpose(lambda ct, matrix: transposed(ct, matrix))
transposed.def_transpose(lambda x, matrix: by_rule(x, matrix))
FUNCTIONS = {"linear_call": by_call, "def_transpose": lambda matrix, x: by_rule(x, matrix)}
WAYS = {
    "plain": lambda f: f,
    "jit": jit,
    "checkpoint": checkpoint,
    "scan": lambda f: lambda m, x: lax.scan(lambda c, _: (c, f(m, x)), 0.0, None, length=2)[1][1],
    "cond": lambda f: lambda m, x: lax.cond(lax.gt(m[0, 0], -9.0), f, lambda m, x: 0.0 * f(m, x), m, x),
}
each = pytest.mark.parametrize("name", FUNCTIONS)
each_way = pytest.mark.parametrize("way", WAYS)


def pulled(f, matrix, x, ct):
    return vjp(lambda x: f(matrix, x), x)[1](ct)[0]


def test_the_operations_alone_have_no_transpose():
    with pytest.raises(NotImplementedError, match=r"linear operands\. Make .* operands only\. If it is linear"):
        linear_transpose(lambda x: forwards(MATRIX, x), ROWS[0])(COTANGENTS[0])


@each
@each_way
def test_the_transpose_is_the_adjoint(name, way):
    f = WAYS[way](FUNCTIONS[name])
    x, ct = ROWS[0], COTANGENTS[0]
    out, out_dot = jvp(lambda x: f(MATRIX, x), (x,), (ROWS[1],))
    np.testing.assert_allclose(out, MATRIX @ x, rtol=1e-13)
    np.testing.assert_allclose(out_dot @ ct, ROWS[1] @ pulled(f, MATRIX, x, ct), rtol=1e-12)


@each
def test_twice_transposed_it_is_itself(name):
    f = lambda x: FUNCTIONS[name](MATRIX, x)
    once = lambda ct: linear_transpose(f, ROWS[0])(ct)[0]
    twice = lambda x: linear_transpose(once, COTANGENTS[0])(x)[0]
    np.testing.assert_allclose(once(COTANGENTS[0]), MATRIX.T @ COTANGENTS[0], rtol=1e-13)
    np.testing.assert_allclose(twice(ROWS[0]), f(ROWS[0]), rtol=1e-13)
    if name == "linear_call":
        assert str(make_jaxpr(twice)(ROWS[0])) == str(make_jaxpr(f)(ROWS[0]))


@each
@each_way
@pytest.mark.parametrize("in_axes", [(0, 0, 0), (None, 0, 0), (0, None, 0), (0, 0, None), (None, None, 0)], ids=str)
def test_batches_are_those_of_each_element(name, way, in_axes):
    f = WAYS[way](FUNCTIONS[name])
    whole = [MATRICES, ROWS, COTANGENTS]
    args = [x if axis == 0 else x[0] for x, axis in zip(whole, in_axes)]
    bars = vmap(lambda m, x, ct: pulled(f, m, x, ct), in_axes=in_axes)(*args)
    element = lambda i: [x if axis is None else x[i] for x, axis in zip(args, in_axes)]
    np.testing.assert_allclose(bars, [m.T @ ct for m, _, ct in map(element, range(4))], rtol=1e-12)
    if in_axes[:2] != (None, None):
        outs = vmap(f, in_axes=in_axes[:2])(*args[:2])
        np.testing.assert_allclose(outs, [m @ x for m, x, _ in map(element, range(4))], rtol=1e-12)


@each
def test_the_gradient_of_a_batch_sums_over_what_is_shared(name):
    f = FUNCTIONS[name]
    bar = vjp(lambda x: vmap(f, in_axes=(0, None))(MATRICES, x), ROWS[0])[1](COTANGENTS)[0]
    np.testing.assert_allclose(bar, np.einsum("bij,bi->j", MATRICES, COTANGENTS), rtol=1e-12)


def test_a_batch_of_a_linear_call_is_one_call():
    for in_axes in ((0, 0), (None, 0), (0, None)):
        args = [x if axis == 0 else x[0] for x, axis in zip((MATRICES, ROWS), in_axes)]
        names = [eqn.primitive.name for eqn in make_jaxpr(vmap(by_call, in_axes=in_axes))(*args).eqns]
        assert names.count("linear_call") == 1
        assert set(names) <= {"linear_call", "broadcast_in_dim"}
