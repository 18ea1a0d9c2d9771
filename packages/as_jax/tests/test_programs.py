"""Programs in jax's form: read equation by equation, bound again, rewritten and made from parts."""

from collections import Counter

import jax
import jax.extend.linear_util as lu
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.util import safe_map, safe_zip
from jax.custom_derivatives import custom_jvp_call_p, custom_vjp_call_p
from jax.extend import core
from jax.extend.core.primitives import jit_p
from jax.interpreters import partial_eval as pe

import calque_as_jax

STEPS = np.arange(3, dtype=np.float32)


class Values(dict):
    """The values of a program's variables while it is interpreted."""

    def read(self, atom):
        return atom.val if isinstance(atom, core.Literal) else self[atom]

    def write(self, variables, values):
        self.update(safe_zip(variables, values))


# An interpreter that runs a program backwards.
UNDO = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh, lax.neg_p: lax.neg, lax.sin_p: jnp.arcsin}
UNDO_FIRST = {lax.add_p: lax.sub, lax.mul_p: lax.div, lax.sub_p: lax.add}


def undo(jaxpr, consts, *results):
    values = Values()
    values.write(jaxpr.constvars, consts)
    values.write(jaxpr.outvars, results)
    for eqn in reversed(jaxpr.eqns):
        outs = safe_map(values.read, eqn.outvars)
        if eqn.primitive is jit_p:
            inner = eqn.params["jaxpr"]
            backwards = jax.make_jaxpr(lambda *ys, inner=inner: undo(inner.jaxpr, inner.consts, *ys))(*outs)
            values.write(eqn.invars, eqn.primitive.bind(*outs, **{**eqn.params, "jaxpr": backwards}))
        elif eqn.primitive in UNDO_FIRST:
            x, *others = eqn.invars
            values[x] = UNDO_FIRST[eqn.primitive](*outs, *map(values.read, others))
        else:
            values.write(eqn.invars, [UNDO[eqn.primitive](*outs)])
    return safe_map(values.read, jaxpr.invars)


def inverse(f):
    def inverted(y):
        closed = jax.make_jaxpr(f)(y)
        return undo(closed.jaxpr, closed.literals, y)[0]

    return inverted


@pytest.mark.parametrize("x", [0.25, np.float32(0.25), np.float32([0.25, 0.5])], ids=["weak", "strong", "array"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, lambda f: lambda x: -jax.jit(f)(x) * 2], ids=["", "jit", "in"])
def test_an_interpreter_inverts_a_program(wrap, x):
    f = wrap(lambda x: jnp.exp(jnp.tanh(x) + 1) - np.float32(3))
    y = f(x)
    assert np.allclose(inverse(f)(y), x, rtol=1e-5)
    assert np.allclose(jax.jit(inverse(f))(y), x, rtol=1e-5)


def test_an_inverse_is_differentiated_and_mapped():
    slopes = jax.vmap(jax.grad(inverse(jax.jit(jnp.exp))))(jnp.array([1.0, 2.0, 4.0]))
    assert np.allclose(slopes, [1, 0.5, 0.25])


def test_an_inverse_program_has_one_equation_for_each():
    program = jax.make_jaxpr(inverse(lambda x: jnp.exp(jnp.tanh(x))))(2.0)
    assert [eqn.primitive for eqn in program.jaxpr.eqns] == [lax.log_p, lax.atanh_p]


# An interpreter that binds each equation again.
def run_again(jaxpr, consts, *args):
    values = Values()
    values.write(jaxpr.constvars, consts)
    values.write(jaxpr.invars, args)
    for eqn in jaxpr.eqns:
        with eqn.ctx.manager:
            outs = eqn.primitive.bind(*map(values.read, eqn.invars), **eqn.primitive.get_bind_params(eqn.params))
        values.write(eqn.outvars, outs if eqn.primitive.multiple_results else [outs])
    return safe_map(values.read, jaxpr.outvars)


@jax.custom_jvp
def square(x):
    return x * x


square.defjvp(lambda primals, tangents: (square(*primals), 100 * primals[0] * tangents[0]))


@jax.custom_vjp
def cube(x):
    return x * x * x


cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (100 * ct * x,))


def everything(x):
    y = square(x) + cube(x) + STEPS
    y = lax.cond(y[0] > 0, jnp.sin, jnp.cos, y)
    y, _ = lax.scan(lambda c, z: (c + z, c), y, y[:, None] * STEPS)
    y = lax.fori_loop(0, 3, lambda _, y: y * 0.5, y)
    return jnp.sum(jax.checkpoint(lambda y: jnp.tanh(y) * y)(y)) + jax.jit(jnp.sum)(y)


def test_a_program_that_is_bound_again_has_the_same_values_and_derivatives():
    closed = jax.make_jaxpr(everything)(STEPS)
    again = lambda x: run_again(closed.jaxpr, closed.consts, x)[0]
    for transform in (lambda f: f, jax.jit, jax.grad, lambda f: jax.vmap(f, in_axes=(None,), axis_size=2)):
        assert np.allclose(transform(again)(STEPS), transform(everything)(STEPS), rtol=1e-5)


def test_an_interpreter_under_a_trace_closes_over_traced_values():
    def f(x):
        closed = jax.make_jaxpr(lambda y: jnp.sin(y) * x)(x)
        return run_again(closed.jaxpr, closed.consts, x)[0] + core.jaxpr_as_fun(closed)(x)[0]

    expected = 2 * np.sin(0.5) * 0.5
    assert np.allclose([jax.jit(f)(0.5), jax.jvp(f, (0.5,), (0.0,))[0]], expected)
    assert np.allclose(jax.grad(f)(0.5), 2 * (np.cos(0.5) * 0.5 + np.sin(0.5)))


def test_programs_inside_programs_are_found_in_jax_s_places():
    def count(jaxpr):
        own = Counter(eqn.primitive for eqn in jaxpr.eqns)
        inside = [count(program) for program in core.subjaxprs(jaxpr)]
        assert all(isinstance(program, core.Jaxpr) for program in core.subjaxprs(jaxpr))
        return sum(inside, own)

    closed = jax.make_jaxpr(everything)(STEPS)
    numbers = count(closed.jaxpr)
    assert [numbers[p] for p in (lax.sin_p, lax.cos_p, lax.tanh_p, lax.scan_p, lax.cond_p)] == [1, 1, 1, 2, 1]
    calls = {eqn.primitive: eqn.params for eqn in closed.jaxpr.eqns}
    for primitive in (custom_jvp_call_p, custom_vjp_call_p):
        assert isinstance(calls[primitive]["call_jaxpr"], core.ClosedJaxpr)
        assert not isinstance(calls[primitive]["call_jaxpr"], core.Jaxpr)
    assert isinstance(calls[lax.remat_p]["jaxpr"], core.Jaxpr)
    assert isinstance(calls[jit_p]["jaxpr"], core.ClosedJaxpr)


def test_an_open_program_is_equal_to_itself_and_printed():
    closed = jax.make_jaxpr(lambda x: x * STEPS)(1.0)
    assert closed.jaxpr == closed.jaxpr
    assert {closed.jaxpr: 1}[closed.jaxpr] == 1
    assert closed.jaxpr != jax.make_jaxpr(lambda x: x * STEPS)(1.0).jaxpr
    assert str(closed.jaxpr) == closed.jaxpr.pretty_print() == str(closed)
    assert closed.jaxpr.debug_info.func_src_info == "<lambda>"
    assert closed.jaxpr.effects == core.no_effects


def replace_sine(closed):
    eqns = [eqn.replace(primitive=lax.cos_p) if eqn.primitive is lax.sin_p else eqn for eqn in closed.jaxpr.eqns]
    return closed.jaxpr.replace(eqns=eqns)


def test_a_program_is_rewritten():
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * STEPS + square(x))(0.0)
    rewritten = replace_sine(closed)
    assert isinstance(rewritten, core.Jaxpr)
    for program in (core.ClosedJaxpr(rewritten, closed.consts), closed.replace(jaxpr=rewritten)):
        (result,) = core.jaxpr_as_fun(program)(0.0)
        assert isinstance(result, jax.Array)
        assert result.tolist() == [0, 1, 2]
        assert jax.jit(core.jaxpr_as_fun(program))(0.0)[0].tolist() == [0, 1, 2]
    (doubled,) = core.jaxpr_as_fun(closed.replace(jaxpr=rewritten, consts=[2 * STEPS]))(0.0)
    assert doubled.tolist() == [0, 2, 4]


def test_a_program_is_made_from_parts():
    aval = jax.core.ShapedArray((), np.float32)
    x, y, c = core.Var(aval), core.gensym()(aval), core.Var(aval)
    add = core.new_jaxpr_eqn([x, c], [y], lax.add_p, {}, core.no_effects)
    jaxpr = core.Jaxpr([c], [x], [y], [add], core.no_effects)
    core.check_jaxpr(jaxpr)
    assert (jaxpr.in_avals, jaxpr.out_avals) == ([aval], [aval])
    assert jax.core.eval_jaxpr(jaxpr, [np.float32(2)], np.float32(1)) == [3]
    moved = pe.convert_constvars_jaxpr(jaxpr)
    assert (moved.constvars, moved.invars) == ([], [c, x])
    assert core.jaxpr_as_fun(pe.close_jaxpr(moved))(np.float32(2), np.float32(1)) == [3]


def test_constants_are_as_many_as_the_program_has():
    jaxpr = jax.make_jaxpr(lambda x: x * STEPS)(1.0).jaxpr
    with pytest.raises(ValueError, match=r"got 0 constants for a program with 1\. Give one for each"):
        core.ClosedJaxpr(jaxpr, [])


def test_dead_code_is_eliminated_from_an_open_program():
    closed = jax.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(1.0, 2.0)
    smaller, used = pe.dce_jaxpr(closed.jaxpr, [False, True])
    assert (len(smaller.eqns), used) == (1, [False, True])
    assert jax.core.eval_jaxpr(smaller, [], 0.0) == [1]
    assert pe.dce_jaxpr(closed.jaxpr, True)[1] == [True, True]


def test_a_wrapped_function_is_traced():
    wrapped = lu.wrap_init(lambda x: [jnp.sin(x) * STEPS])
    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(wrapped, [jax.typeof(np.float32(0))])
    assert (avals, len(consts)) == ([jax.core.ShapedArray((3,), np.float32)], 1)
    assert np.allclose(jax.core.eval_jaxpr(jaxpr, consts, 1.0)[0], np.sin(1.0) * STEPS)


def test_a_primitive_is_bound_with_a_trace_and_with_types():
    trace = core.find_top_trace([])
    assert lax.sin_p.bind_with_trace(trace, (0.0,), {}) == [0]
    assert lax.sin_p.bind_with_trace(trace, (0.0,), [jax.typeof(0.0)], {}) == [0]


def test_jaxprs_have_their_own_attributes_again_after_uninstalling():
    closed = jax.make_jaxpr(jnp.sin)(0.0)
    assert closed.jaxpr is not closed
    calque_as_jax.uninstall()
    try:
        assert closed.jaxpr is closed
        assert not hasattr(closed, "literals")
        with pytest.raises(TypeError, match="jaxpr"):
            closed.replace(jaxpr=closed)
    finally:
        calque_as_jax.install()
