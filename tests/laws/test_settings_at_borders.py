"""A transformation called in a block of 32 bits takes its arguments, and what it closes over, in 32 bits.

The functions here compute nothing, or nearly nothing: an operation would convert its operands, and hide a border that
does not.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from agreement import assert_close, types_of

from calque_autodiff import (
    checkpoint,
    custom_jvp,
    custom_root,
    custom_vjp,
    grad,
    jvp,
    linear_call,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from calque_batching import vmap
from calque_core import check_jaxpr, config, eval_jaxpr, lax, make_jaxpr
from calque_pytree import tree_leaves
from calque_xla_backend import jit

X = np.linspace(0.5, 1.5, 3)
identity = lambda x: x
total = lax.reduce_sum

passed_on = custom_jvp(identity)
passed_on.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
passed_back = custom_vjp(identity)
passed_back.defvjp(lambda x: (x, None), lambda _, ct: (ct,))


def ahead(x):
    y, y_lin = linearize(identity, x)
    return y, y_lin(x)


def back(x):
    y, x_vjp = vjp(lambda v: lax.mul(v, x), x)
    return y, x_vjp(x)


def solved(x):
    return lax.custom_linear_solve(lambda v: lax.mul(v, x), x, lambda _, b: lax.div(b, x), lambda _, b: lax.div(b, x))


def root(x):
    tangent_solve = lambda g, b: lax.div(b, g(lax.full_like(b, 1.0)))
    return custom_root(lambda v: lax.sub(lax.mul(v, v), x), x, lambda f, v: lax.sqrt(lax.add(f(v), x)), tangent_solve)


ON_ARGUMENTS = {
    "vmap": vmap(identity),
    "a conversion under vmap": vmap(lambda v: lax.convert_element_type(v, np.float64)),
    "jvp": lambda x: jvp(identity, (x,), (x,)),
    "linearize": ahead,
    "vjp": back,
    "linear_transpose": lambda x: linear_transpose(identity, x)(x),
    "grad": grad(lambda v: total(lax.mul(v, v))),
    "value_and_grad": value_and_grad(lambda v: total(v)),
    "checkpoint": checkpoint(identity),
    "custom_jvp": passed_on,
    "custom_vjp": passed_back,
    "jit": jit(identity),
    "cond": lambda x: lax.cond(True, identity, identity, x),
    "switch": lambda x: lax.switch(1, [identity, identity], x),
    "scan": lambda x: lax.scan(lambda c, v: (c, v), x, x),
    "while_loop": lambda x: lax.while_loop(lambda c: total(c) < 0.0, identity, x),
    "fori_loop": lambda x: lax.fori_loop(0, 2, lambda i, c: c, x),
    "map": lambda x: lax.map(identity, x),
    "associative_scan": lambda x: lax.associative_scan(lax.add, x),
    "linear_call": lambda x: linear_call(lambda r, v: v, lambda r, ct: ct, x, x),
}
ON_CAPTURED = {
    "a conversion under vmap": lambda x: vmap(lambda v: lax.convert_element_type(x, np.float64))(X),
    "checkpoint": lambda x: checkpoint(lambda v: lax.mul(v, x))(x),
    "jit": lambda x: jit(lambda: x)(),
    "cond": lambda x: lax.cond(True, lambda: x, lambda: x),
    "scan": lambda x: lax.scan(lambda c, _: (c, x), x, None, length=2),
    "while_loop": lambda x: lax.while_loop(lambda c: total(x) < 0.0, lambda c: x, x),
    "map": lambda x: lax.map(lambda _: x, x),
    "linear_call": lambda x: linear_call(lambda _, v: lax.mul(v, x), lambda _, ct: lax.mul(ct, x), (), x),
    "grad": lambda x: grad(lambda v: total(lax.mul(v, x)))(x),
    "custom_linear_solve": solved,
    "custom_root": root,
}
CASES = [*(("arguments", name) for name in ON_ARGUMENTS), *(("captured", name) for name in ON_CAPTURED)]


def narrow_inside(fun):
    def switched(x):
        y = lax.sin(x)
        with config.enable_x64(False):
            return fun(y)

    return switched


def staged(fun, x):
    jaxpr = make_jaxpr(lambda v: tree_leaves(fun(v)))(x)
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, jaxpr.consts, x)


def first(outs):
    return [x[0] for x in tree_leaves(outs)]


@pytest.mark.parametrize(("of", "name"), CASES)
def test_what_a_transformation_takes_in_a_block_of_32_bits_has_32_bits(of, name):
    fun = narrow_inside((ON_ARGUMENTS if of == "arguments" else ON_CAPTURED)[name])
    with config.enable_checks():
        want = fun(X)
        results = {
            "staged": staged(fun, X),
            "jit": jit(fun)(X),
            "linearize": linearize(fun, X)[0],
            "jit of vjp": jit(lambda x: vjp(fun, x)[0])(X),
            "vmap": first(vmap(fun)(np.stack([X, X]))),
            "jit of vmap": first(jit(vmap(fun))(np.stack([X, X]))),
            "cond": lax.cond(True, fun, fun, X),
            "checkpoint": checkpoint(fun)(X),
        }
        if name != "custom_vjp":
            results["jvp"] = jvp(fun, (X,), (X,))[0]
            results["a tangent"] = jvp(fun, (X,), (X,))[1]
            results["a linear function"] = linearize(fun, X)[1](X)
    assert all(kind.startswith("f32") for kind in types_of(want))
    for how, got in results.items():
        assert types_of(got) == types_of(want), how
        if how not in ("a tangent", "a linear function"):
            assert_close(tree_leaves(got), tree_leaves(want), 1e-5)


SHAPE_KEEPING = (
    "vmap",
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "jit",
    "cond",
    "while_loop",
    "fori_loop",
    "map",
    "grad",
)


@pytest.mark.parametrize(("outer", "inner"), list(product(SHAPE_KEEPING, SHAPE_KEEPING)))
def test_pairs_of_blocks_have_the_dtypes_that_they_have_eagerly(outer, inner):
    """The first transformation runs in 32 bits, and the second in 64, in a block inside of it."""

    def widened(x):
        with config.enable_x64(True):
            return lax.mul(ON_ARGUMENTS[inner](x), np.float64(2.0))

    def fun(x):
        y = lax.sin(x)
        with config.enable_x64(False):
            z = ON_ARGUMENTS[outer](y)
            return z, ON_ARGUMENTS[inner](z), widened(z)

    want = fun(X)
    assert types_of(want) == ["f32[3]", "f32[3]", "f64[3]"]
    for got in (staged(fun, X), jvp(fun, (X,), (X,))[0] if "custom_vjp" not in (outer, inner) else want):
        assert types_of(got) == types_of(want)
        assert_close(tree_leaves(got), tree_leaves(want), 1e-5)


def test_a_python_scalar_beside_arrays_in_a_loop_of_32_bits_runs_in_64_bits_later():
    def fun(x):
        with config.enable_x64(False):
            return lax.scan(lambda c, v: (c, v), 0.0, x)

    jaxpr = make_jaxpr(lambda x: tree_leaves(fun(x)))(X)
    assert [v.aval.str_short() for v in jaxpr.outvars] == ["f32[]", "f32[3]"]
    assert types_of(jit(fun)(X)) == ["f32[]", "f32[3]"]
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, X)[1], X, rtol=1e-6)


def test_a_mapped_value_keeps_its_type_where_fewer_bits_are_allowed():
    def fun(x):
        with config.enable_x64(False):
            assert x.aval.str_short() == "f64[]"
        return x

    vmap(fun)(X)


def test_a_captured_tracer_is_converted_once_for_a_program():
    def fun(x):
        with config.enable_x64(False):
            return jit(lambda: lax.add(lax.mul(x, x), x))()

    jaxpr = make_jaxpr(fun)(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["convert_element_type", "jit"]
