from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import (
    check_grads,
    defjvp_all,
    grad,
    jvp,
    linear_transpose,
    linearize,
    partial_eval_jaxpr,
    value_and_grad,
    vjp,
)
from calque_core import MissingRuleError, Primitive, check_jaxpr, dce_jaxpr, eval_jaxpr, float0, lax, make_jaxpr
from calque_core.lax import cond, fori_loop, scan, while_loop, while_p
from calque_pytree import tree_leaves


def repeated(step, count=3):
    """Return the function that applies `step(x, y)` to its first argument a number of times that a loop counts."""
    return lambda x, y: while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, step(c[1], y)), (0, x))[1]


# Functions of a scalar and of an array of shape (3,).
PROGRAMS = {
    "a closed-over argument": lambda a, x: repeated(lambda x, a: lax.sin(x) * a)(x, a),
    "a closed-over array": lambda a, x: repeated(lambda x, a: x * np.array([1.0, 2.0, 3.0]) + a)(x, a),
    "no steps": lambda a, x: repeated(lambda x, a: lax.sin(x) * a, count=0)(x, a),
    "a condition on what has a tangent": lambda a, x: while_loop(
        lambda y: lax.reduce_sum(y * y) < 50.0, lambda y: 1.5 * y + a, x
    ),
    "a condition on a closed-over argument": lambda a, x: while_loop(
        lambda c: c[0] < a * 10.0, lambda c: (c[0] + 1.0, c[1] * a), (0.5, x)
    )[1],
    "a tangent after some steps": lambda a, x: while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, a, c[1], lax.sin(c[2]) * x), (0, 0.0, 0.0, np.zeros(3))
    )[3],
    "a carry without tangent": lambda a, x: while_loop(
        lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, c[1] * lax.floor(c[0]) + a), (0.5, x)
    ),
    "a carry that nobody uses": lambda a, x: while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * a, c[2] * c[1]), (0, x, a * x)
    )[1],
    "bounds that are not numbers": lambda a, x: fori_loop(
        0, lax.convert_element_type(lax.floor(a * 5.0), np.int64), lambda i, c: lax.sin(c) * a + 1.0 * i, x
    ),
    "in each other": lambda a, x: repeated(lambda x, a: repeated(lambda y, b: lax.sin(y) * b, 2)(x, a) + a)(x, a),
    "in a branch": lambda a, x: cond(a > 0, lambda: repeated(lambda x, a: lax.sin(x) * a)(x, a), lambda: x),
    "a branch inside": lambda a, x: repeated(lambda x, a: cond(x[0] > 0.5, lambda: lax.sin(x), lambda: x * a))(x, a),
    "in a scan": lambda a, x: scan(lambda c, y: (repeated(lambda c, y: lax.sin(c) + y)(c, y), c * y), a, x),
    "a scan inside": lambda a, x: repeated(lambda x, a: x * scan(lambda c, y: (lax.sin(c * y), None), a, x)[0])(x, a),
    "scan in while in cond in scan": lambda a, x: scan(
        lambda c, y: (
            cond(
                y > 0,
                lambda: repeated(lambda c, y: scan(lambda d, z: (lax.sin(d) * z + y, None), c, x)[0], 2)(c, y),
                lambda: c * y,
            ),
            c,
        ),
        a,
        x,
    ),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_loops_have_forward_derivatives_of_both_orders(f, spaced):
    check_grads(f, (0.7, spaced((3,))), 2, modes=("fwd",))
    check_grads(lambda a: f(a, spaced((3,))), (0.7,), 1, modes=("fwd",))
    check_grads(lambda x: f(0.7, x), (spaced((3,)),), 1, modes=("fwd",))


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_linearize_agrees_with_jvp_and_type_checks_when_staged(f, spaced, called):
    x, dots = spaced((3,)), (0.3, spaced((3,), seed=1))
    first = called(lambda a, x: tree_leaves(f(a, x))[0])

    def derivatives(a, x):
        return jvp(f, (a, x), dots), (linearize(f, a, x)[1](*dots), linearize(first, a, x)[1](*dots))

    jaxpr = make_jaxpr(derivatives)(0.7, x)
    check_jaxpr(jaxpr)
    staged = eval_jaxpr(jaxpr, jaxpr.consts, 0.7, x)
    (out, out_dot), (lin_dot, first_dot) = derivatives(0.7, x)
    for a, b in zip(staged, tree_leaves((out, out_dot, lin_dot, first_dot))):
        np.testing.assert_allclose(a, b, 1e-12, 1e-12)
    for a, b in zip(tree_leaves(lin_dot), tree_leaves(out_dot)):
        np.testing.assert_allclose(a, b, 1e-12, 1e-12)
    np.testing.assert_allclose(first_dot, tree_leaves(out_dot)[0], 1e-12, 1e-12)


def test_a_loop_has_the_derivatives_of_its_steps_written_out(spaced):
    x, dot = spaced((3,)), spaced((3,), seed=1)

    def written_out(a, x):
        for _ in range(3):
            x = lax.sin(x) * a
        return x

    looped = PROGRAMS["a closed-over argument"]
    for found, wanted in zip(jvp(looped, (0.7, x), (0.2, dot)), jvp(written_out, (0.7, x), (0.2, dot))):
        np.testing.assert_allclose(found, wanted, 1e-14)


def test_the_linear_function_does_not_repeat_the_python_code():
    calls = []

    def step(c):
        calls.append(c)
        return c[0] + 1, lax.sin(c[1])

    _, f_lin = linearize(lambda x: while_loop(lambda c: c[0] < 3, step, (0, x))[1], 0.5)
    before = len(calls)
    assert f_lin(2.0) == 2.0 * f_lin(1.0)
    assert len(calls) == before


def test_what_has_no_tangent_is_not_in_the_linear_program():
    """The values that the tangents need run twice, what they do not need once."""
    step = lambda c: (c[0] + 1, c[1] * 2.0, lax.exp(c[2]))
    f = lambda x: while_loop(lambda c: c[0] < 3, step, (0, x, 0.5))
    jaxpr = make_jaxpr(lambda x: linearize(f, x)[1](1.0))(1.0)
    smaller, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    (eqn,) = (eqn for eqn in smaller.eqns if eqn.primitive is while_p)
    assert "exp" not in {e.primitive.name for e in eqn.params["body_jaxpr"].eqns}


def test_reverse_mode_through_a_loop_is_refused_with_a_place_and_a_way_out():
    f = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1]
    for reverse in (lambda: grad(f)(1.0), lambda: vjp(f, 1.0)[1](1.0), lambda: make_jaxpr(grad(f))(1.0)):
        with pytest.raises(MissingRuleError, match="Reverse-mode differentiation does not work for the while") as info:
            reverse()
        assert "while_loop at test_rules_while_loop.py" in str(info.value)
        assert "Give max_steps, or use scan, or fori_loop with bounds that are numbers" in str(info.value)


def test_reverse_mode_through_a_loop_inside_a_scan_is_refused():
    f = lambda x: scan(lambda c, _: (repeated(lambda c, x: c * x)(c, x), None), 1.0, None, length=2)[0]
    with pytest.raises(MissingRuleError, match="Reverse-mode differentiation does not work"):
        grad(f)(1.0)


def test_a_loop_that_no_tangent_passes_does_not_hinder_reverse_mode():
    halvings = lambda n: while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (n, 0))[1]
    assert grad(lambda x, n: x * x * halvings(n))(3.0, np.int64(9)) == 18.0
    free = lambda x: while_loop(lambda c: c < 8.0, lambda c: c * 2.0, lax.stop_gradient(x))
    assert value_and_grad(lambda x: x * free(x))(3.0) == (36.0, 12.0)
    unused = lambda x: (while_loop(lambda c: c < 8.0, lambda c: c * 2.0, x), x * x)[1]
    assert grad(unused)(3.0) == 6.0


def test_a_counting_loop_between_numbers_has_a_gradient_and_between_arguments_none():
    power = lambda x, n: fori_loop(0, n, lambda i, c: c * x, 1.0)
    assert grad(power)(2.0, 3) == 12.0
    assert jvp(lambda x: power(x, np.int64(3)), (2.0,), (1.0,)) == (8.0, 12.0)
    with pytest.raises(MissingRuleError, match="fori_loop with bounds that are numbers"):
        make_jaxpr(lambda x, n: grad(power)(x, n))(2.0, 3)


def test_a_linear_loop_is_not_transposed_either():
    f = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 2.0 * c[1]), (0, x))[1]
    with pytest.raises(MissingRuleError, match="Reverse-mode differentiation does not work"):
        linear_transpose(f, 1.0)(1.0)


def test_integer_carries_have_tangents_of_no_type():
    """https://github.com/jax-ml/jax/issues/25724"""
    f = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))
    out, (count_dot, x_dot) = jvp(f, (2.0,), (1.0,))
    assert out == (3, 16.0)
    assert (count_dot.dtype, x_dot) == (float0, 32.0)


def test_a_weakly_typed_start_keeps_the_dtype_of_the_carry(called):
    """https://github.com/jax-ml/jax/issues/2180, https://github.com/jax-ml/jax/issues/9836"""
    f = lambda x: while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, c[1] * x), (np.float32(0.0), x))[1]
    for g in (f, called(f)):
        assert jvp(g, (np.float32(2.0),), (np.float32(1.0),))[1].dtype == np.float32
    assert jvp(lambda x: repeated(lambda c, x: c * x)(1.0, x), (2.0,), (1.0,))[1] == 12.0


def test_the_derived_bodies_are_staged_once():
    jaxpr = make_jaxpr(lambda x: repeated(lambda c, x: lax.sin(c) * x)(x, x))(1.0)
    f = lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x)[0]
    for derive in (lambda x: jvp(f, (x,), (x,)), lambda x: linearize(f, x)[1](x)):
        loops = [[e for e in make_jaxpr(derive)(1.0).eqns if e.primitive is while_p] for _ in range(2)]
        assert len(loops[0]) == len(loops[1]) > 0
        for a, b in zip(*loops):
            assert a.params["body_jaxpr"] is b.params["body_jaxpr"]
            assert a.params["cond_jaxpr"] is b.params["cond_jaxpr"]


KNOWN = [[True, True, False], [True, False, True], [False, True, True], [False, False, False]]


@pytest.mark.parametrize("known", KNOWN)
def test_the_two_halves_of_a_split_loop_compute_the_whole(known):
    def f(a, b, n):
        return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, lax.sin(c[1]) * a, c[2] * c[1] + b), (0, a, b))

    args = [np.float64(0.3), np.float64(0.5), np.int64(3)]
    jaxpr = make_jaxpr(f)(*args)
    split = partial_eval_jaxpr(jaxpr, known)
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    results = eval_jaxpr(split.known, split.known.consts, *(x for x, k in zip(args, known) if k))
    num_known = sum(split.known_outs)
    rest = [x for x, k in zip(args, known) if not k]
    others = eval_jaxpr(split.unknown, split.unknown.consts, *results[num_known:], *rest)
    knowns, unknowns = iter(results[:num_known]), iter(others)
    found = [next(knowns) if k else next(unknowns) for k in split.known_outs]
    assert found == eval_jaxpr(jaxpr, jaxpr.consts, *args)
    assert num_known == {(True, False, True): 2, (False, True, True): 1}.get(tuple(known), 0)


def test_a_loop_inside_a_rule_runs_its_values_and_records_its_tangents():
    """The rule's loop carries values and tangents; forwards it is differentiated again, too."""
    cube_p = Primitive("cube")
    cube_p.def_impl(lambda x: x**3)
    cube_p.def_abstract_eval(lambda x: x.strip_weak_type())

    def cube_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        step = lambda c: (c[0] + 1, c[1] * x, c[2] * x + c[1] * x_dot)
        return cube_p.bind(x), while_loop(lambda c: c[0] < 3, step, (0, 1.0, 0.0))[2]

    defjvp_all(cube_p, cube_jvp)
    assert linearize(cube_p.bind, 2.0)[1](1.0) == 12.0
    check_grads(lambda x: lax.sin(cube_p.bind(x)), (0.7,), 2, modes=("fwd",))


def test_a_bounded_loop_is_differentiated_in_reverse():
    """The number of steps follows the value, and the gradient follows the steps that were taken."""

    def f(x, y):
        return while_loop(lambda c: lax.lt(lax.reduce_sum(c * c), 40.0), lambda c: c * y + lax.sin(c), x, max_steps=20)

    x, y = np.array([0.3, -0.8, 1.1]), np.float64(1.3)
    check_grads(lambda x, y: lax.reduce_sum(f(x, y) * np.arange(1.0, 4.0)), (x, y), order=2)
    assert grad(lambda x: while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x, max_steps=8))(1.5) == 8.0
