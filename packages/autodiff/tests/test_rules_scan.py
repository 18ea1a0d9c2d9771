from __future__ import annotations

from functools import reduce

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
from calque_core import Primitive, ShapedArray, check_jaxpr, dce_jaxpr, eval_jaxpr, float0, lax, make_jaxpr
from calque_core.jaxprs.jaxpr import Literal, subjaxprs
from calque_core.lax import cond, fori_loop, scan, scan_p, switch, while_loop
from calque_core.ops.calls.linear import Zero
from calque_pytree import tree_leaves

pytestmark = pytest.mark.sampled(keep=0.1)


def rnn(w, h, xs):
    def step(h, x):
        h = lax.tanh(lax.dot(lax.sin(w), h) + x)
        return h, h * x

    return scan(step, h, xs)


def pair(step):
    """A scan over `step(a, b, x) -> (a, b), y` of a function of (start of a, inputs)."""
    return lambda a, xs: scan(lambda c, x: step(*c, x), (a, 1.0), xs)


# Functions of a scalar and of an array of shape (4,).
PROGRAMS = {
    "a running product": lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c + x), a, xs),
    "in reverse": lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c * x), a, xs, reverse=True),
    "two steps at a time": lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c), a, xs, unroll=2),
    "no carry": lambda a, xs: scan(lambda c, x: (c, lax.sin(x) * a), None, xs)[1],
    "no inputs": lambda a, xs: scan(lambda c, _: (lax.sin(c) * xs, c), a * xs, None, length=3),
    "no results": lambda a, xs: scan(lambda c, x: (lax.cos(c) + x, None), a, xs)[0],
    "no steps": lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c * x), a, lax.slice(xs, (0,), (0,))),
    "one step": lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c * x), a, lax.slice(xs, (0,), (1,))),
    "a closed-over argument": lambda a, xs: scan(lambda c, x: (lax.sin(c * a) + x, c * a), 0.5, xs),
    "a closed-over array": lambda a, xs: scan(lambda c, x: (c * np.array([0.5, 2.0]) + x, c), a * np.ones(2), xs),
    "a closed-over input": lambda a, xs: scan(lambda c, x: (c * x + lax.reduce_sum(xs * xs), x), a, xs),
    "an invariant of the loop": lambda a, xs: scan(lambda c, x: (c * lax.exp(lax.sin(a)), x * lax.cos(a)), 1.0, xs),
    "a carry that stays": lambda a, xs: pair(lambda b, c, x: ((b, c * lax.sin(b)), c * b * x))(a, xs),
    "a carry that is set": lambda a, xs: pair(lambda b, c, x: ((x * x, 2.0), b * c))(a, xs),
    "carries that change places": lambda a, xs: pair(lambda b, c, x: ((c * x, lax.sin(b)), b))(a, xs),
    "a carry that nobody uses": lambda a, xs: pair(lambda b, c, x: ((b * x, c * b), b))(a, xs)[1],
    "a counter": lambda a, xs: scan(lambda c, x: ((c[0] + 1, c[1] * x * (c[0] + 1.0)), c[0]), (0, a), xs)[0][1],
    "integer inputs": lambda a, xs: scan(lambda c, i: (c * xs[1] + 1.0 * i, c), a, np.arange(3)),
    "an input handed through": lambda a, xs: scan(lambda c, x: (c * x, x), a, xs),
    "a result that is a residual": lambda a, xs: scan(lambda c, x: (c * lax.exp(x), lax.exp(x)), a, xs),
    "a zero derivative": lambda a, xs: scan(lambda c, x: (lax.floor(c) + x, lax.sign(c)), a, xs),
    "a branch": lambda a, xs: scan(lambda c, x: (cond(x > 0, lambda: c * x, lambda: lax.sin(c)), c), a, xs),
    "many branches": lambda a, xs: scan(
        lambda c, i: (switch(i, [lambda: c * xs[0], lambda: lax.sin(c), lambda: c * c]), c), a, np.arange(4)
    ),
    "a selection": lambda a, xs: scan(lambda c, x: (lax.select(x > c, x * x, lax.sin(c)), c), a, xs),
    "in each other": lambda a, xs: scan(
        lambda c, x: (scan(lambda d, y: (lax.sin(d * y), d * x), c, xs)[0], c * x), a, xs
    ),
    "a loop of integers": lambda a, xs: scan(
        lambda c, x: (c * x * while_loop(lambda i: i < 3, lambda i: i + 2, 0), c), a, xs
    ),
    "a counting loop": lambda a, xs: fori_loop(1, 4, lambda i, c: lax.sin(c) * a + 1.0 * i, xs),
    "a branch in a loop in a branch": lambda a, xs: cond(
        a > 0,
        lambda: scan(lambda c, x: (cond(x > c, lambda: lax.sin(x) * c, lambda: c + x), c * a), a, xs)[0],
        lambda: lax.reduce_sum(xs),
    ),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_loops_obey_the_laws(f, spaced, laws):
    laws(f, 0.7, spaced((4,)))


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_loops_obey_the_laws_inside_a_program(f, spaced, laws, called):
    total = lambda a, xs: reduce(lax.add, [lax.reduce_sum(lax.sin(y)) for y in tree_leaves(f(a, xs)) if is_float(y)])
    laws(called(total), 0.7, spaced((4,)), order=1)


def is_float(x):
    return x.dtype.kind == "f"


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_has_the_derivatives_of_its_steps_written_out(reverse, spaced):
    w, h, xs = spaced((3, 3)), spaced((3,)), spaced((5, 3))

    def step(w, h, x):
        h = lax.tanh(lax.dot(lax.sin(w), h) + x)
        return h, h * x

    def looped(w, h, xs):
        last, ys = scan(lambda h, x: step(w, h, x), h, xs, reverse=reverse)
        return lax.reduce_sum(last * last) + lax.reduce_sum(lax.sin(ys))

    def written_out(w, h, xs):
        total = 0.0
        for i in reversed(range(5)) if reverse else range(5):
            h, y = step(w, h, xs[i])
            total = total + lax.reduce_sum(lax.sin(y))
        return lax.reduce_sum(h * h) + total

    for argnums in (0, 1, 2, (0, 1, 2)):
        found, wanted = grad(looped, argnums)(w, h, xs), grad(written_out, argnums)(w, h, xs)
        for a, b in zip(tree_leaves(found), tree_leaves(wanted)):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)
    dots = (spaced((3, 3), seed=1), spaced((3,), seed=2), spaced((5, 3), seed=3))
    np.testing.assert_allclose(jvp(looped, (w, h, xs), dots), jvp(written_out, (w, h, xs), dots), 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_dtypes_keep_theirs(dtype, spaced, laws):
    f = lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c * x), a, xs)
    laws(f, spaced((), dtype=dtype), spaced((3,), dtype=dtype), order=1)


# What is kept


def scans(jaxpr):
    return [eqn for eqn in jaxpr.eqns if eqn.primitive is scan_p]


def forward_and_backward(f, *args):
    """The two loops of the staged gradient of the sum of all that `f` gives."""
    total = lambda *args: reduce(lax.add, [lax.reduce_sum(y) for y in tree_leaves(f(*args))])
    jaxpr = make_jaxpr(lambda *args: value_and_grad(total, tuple(range(len(args))))(*args))(*args)
    check_jaxpr(jaxpr)
    return scans(jaxpr)


def stacked(eqn):
    """The number of arrays with a row for each step that a loop makes."""
    return len(eqn.outvars) - eqn.params["num_carry"]


def test_only_what_changes_and_is_needed_is_stacked(spaced):
    """sin(w) and cos(w) change at no step; the last state, the state before and its square are one array each."""
    forward, backward = forward_and_backward(rnn, spaced((3, 3)), spaced((3,)), spaced((5, 3)))
    assert stacked(forward) - 1 <= 3
    assert not any(eqn.primitive in (lax.sin_p, lax.cos_p) for eqn in forward.params["jaxpr"].eqns)
    assert all(v.aval.shape != (5, 3, 3) for v in (*forward.outvars, *backward.invars))


def test_a_linear_loop_keeps_nothing(spaced):
    f = lambda a, xs: scan(lambda c, x: (2.0 * c + x, c), a, xs)
    forward, backward = forward_and_backward(f, 0.5, spaced((4,)))
    assert stacked(forward) == 1
    assert stacked(backward) == 1


def test_an_input_that_is_a_residual_is_handed_over_as_it_is(spaced):
    f = lambda a, xs: scan(lambda c, x: (c * x, None), a, xs)[0]
    jaxpr = make_jaxpr(lambda a, xs: linearize(f, a, xs)[1](a, xs))(0.5, spaced((4,)))
    first, second = scans(jaxpr)
    assert stacked(first) == 1  # the carry before each step
    assert jaxpr.invars[1] in second.invars[second.params["num_carry"] :]


def test_a_result_that_is_a_residual_is_stacked_once(spaced):
    forward, _ = forward_and_backward(lambda xs: scan(lambda c, x: (c, lax.exp(x)), None, xs)[1], spaced((4,)))
    assert stacked(forward) == 1


def test_a_carry_that_stays_is_not_stacked(spaced):
    f = lambda w, xs: scan(lambda c, x: ((c[0], lax.tanh(lax.dot(c[0], c[1]))), None), (w, xs), None, length=5)[0][1]
    forward, _ = forward_and_backward(f, spaced((3, 3)), spaced((3,)))
    assert all(v.aval.shape != (5, 3, 3) for v in forward.outvars)


def test_the_cotangent_of_a_constant_is_summed_and_never_stacked(spaced):
    _, backward = forward_and_backward(rnn, spaced((3, 3)), spaced((3,)), spaced((5, 3)))
    assert (3, 3) in [v.aval.shape for v in backward.outvars[: backward.params["num_carry"]]]
    assert (5, 3, 3) not in [v.aval.shape for v in backward.outvars]


@pytest.mark.parametrize("reverse", [False, True])
def test_reverse_and_unroll_travel_with_the_derivatives(reverse, spaced):
    f = lambda a, xs: scan(lambda c, x: (c * x, c), a, xs, reverse=reverse, unroll=2)
    forward, backward = forward_and_backward(f, 0.5, spaced((4,)))
    assert (forward.params["reverse"], backward.params["reverse"]) == (reverse, not reverse)
    assert forward.params["unroll"] == backward.params["unroll"] == 2


def test_a_computation_that_may_fail_is_not_moved_out_of_a_loop_of_no_steps():
    f = lambda x, n: fori_loop(0, 0, lambda i, c: c * x * lax.div(np.int64(10), n), x)
    assert grad(f)(3.0, np.int64(0)) == 1.0


def test_an_effect_happens_at_each_step():
    calls = []
    note_p = Primitive("note", effects=frozenset({"note"}))
    note_p.def_impl(lambda x: calls.append(float(x)) or x)
    note_p.def_abstract_eval(lambda x: x.strip_weak_type())
    w = np.array(2.0)
    assert grad(lambda x: scan(lambda c, _: (c * x * note_p.bind(w), None), 1.0, None, length=3)[0])(1.0) == 24.0
    assert calls == [2.0, 2.0, 2.0]


def test_what_a_loop_keeps_is_safe_from_writes_to_its_results():
    xs = np.array([1.0, 2.0])
    (_, ys), f_lin = linearize(lambda xs: scan(lambda c, x: (c * x, lax.exp(x)), 1.0, xs), xs)
    before = [x.copy() for x in tree_leaves(f_lin(np.ones(2)))]
    ys[:] = 0.0
    xs[:] = 0.0
    for a, b in zip(tree_leaves(f_lin(np.ones(2))), before):
        np.testing.assert_array_equal(a, b)


# Derived once, and linear


def test_derivatives_of_a_body_are_staged_once(spaced):
    jaxpr = make_jaxpr(lambda a, xs: scan(lambda c, x: (c * lax.sin(x), c), a, xs)[0])(0.5, spaced((4,)))
    f = lambda a, xs: eval_jaxpr(jaxpr, jaxpr.consts, a, xs)[0]
    derivatives = {
        "grad": lambda a, xs: grad(f, (0, 1))(a, xs),
        "jvp": lambda a, xs: jvp(f, (a, xs), (a, xs)),
        "grad of grad": grad(lambda a, xs: lax.reduce_sum(grad(f, 1)(a, xs))),
    }
    for derive in derivatives.values():
        first, second = (scans(make_jaxpr(derive)(0.5, spaced((4,)))) for _ in range(2))
        assert len(first) == len(second) > 0
        assert all(a.params["jaxpr"] is b.params["jaxpr"] for a, b in zip(first, second))


def linear_program(f, *args):
    """The program that `f_lin` runs, staged with the residuals as its constants."""
    f_lin = linearize(f, *args)[1]
    return make_jaxpr(f_lin)(*args)


def test_the_linear_program_of_a_loop_is_one_loop_of_linear_equations(spaced):
    jaxpr = linear_program(rnn, spaced((3, 3)), spaced((3,)), spaced((5, 3)))
    (eqn,) = scans(jaxpr)
    assert {e.primitive.name for e in eqn.params["jaxpr"].eqns} <= {"mul", "dot_general", "add_any", "neg"}


def literals(jaxpr):
    for eqn in jaxpr.eqns:
        yield from (x.val for x in eqn.invars if type(x) is Literal)
    for inner in subjaxprs(jaxpr):
        yield from literals(inner)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_no_symbolic_zero_is_in_a_staged_program(f, spaced):
    """https://github.com/jax-ml/jax/issues/2657, https://github.com/jax-ml/jax/issues/1179"""
    xs = spaced((4,))

    def derivatives(a, xs):
        out, f_vjp = vjp(lambda a: f(a, xs), a)
        return jvp(lambda xs: f(a, xs), (xs,), (xs,))[1], f_vjp(out) if all(map(is_float, tree_leaves(out))) else ()

    jaxpr = make_jaxpr(derivatives)(0.7, xs)
    check_jaxpr(jaxpr)
    assert not any(type(x) is Zero for x in literals(jaxpr))


def test_results_that_no_tangent_reaches_stay_symbolic_zeros():
    f = lambda a: scan(lambda c, x: ((c[0] * x, c[1] + 1.0), c[1]), (a, 0.0), np.ones(3))
    jaxpr = make_jaxpr(lambda a: jvp(f, (a,), (1.0,))[1])(1.0)
    (eqn,) = scans(dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[0])
    assert len(eqn.outvars) == 1


# Partial evaluation

KNOWN = [[True, True, False], [True, False, True], [False, True, True], [True, False, False], [False, False, False]]


@pytest.mark.parametrize("known", KNOWN)
def test_the_two_halves_of_a_split_loop_compute_the_whole(known, spaced):
    def f(w, a, xs):
        def step(c, x):
            n, a, b = c
            return (n + 1, lax.sin(a) * w, lax.exp(x) * a), (lax.cos(x), b * lax.exp(w), n)

        return scan(step, (0, a, 1.0), xs)

    args = [np.float64(0.3), np.float64(0.5), spaced((4,))]
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
    for a, b in zip(found, eval_jaxpr(jaxpr, jaxpr.consts, *args)):
        np.testing.assert_array_equal(a, b)
    assert split.known_outs[0]  # the counter depends on nothing
    assert sum(split.known_outs) >= {1: 2, 3: 3}.get(sum(known), 2)


def test_a_carry_that_a_step_makes_known_is_unknown_before(spaced):
    f = lambda a, xs: scan(lambda c, x: (x, c), a, xs)
    split = partial_eval_jaxpr(make_jaxpr(f)(1.0, spaced((3,))), [False, True])
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    assert split.known_outs == [False, False]


# Transposition


def test_a_linear_loop_is_transposed(spaced):
    """https://github.com/jax-ml/jax/issues/6619, https://github.com/jax-ml/jax/issues/12051"""
    weights, xs = spaced((4,), seed=1), spaced((4,))

    def counted(x):
        def step(c, w):
            i, total = c
            x_i = lax.reduce_sum(x * lax.convert_element_type(lax.eq(np.arange(4), i), x.dtype))
            return (i + 1, total + w * x_i), total * lax.exp(1.0 * i)

        (_, total), ys = scan(step, (0, 0.0), weights)
        return total + lax.reduce_sum(ys)

    programs = {
        "carry and inputs": lambda x: lax.reduce_sum(scan(lambda c, x: (c + 2.0 * x, c), x[0], x)[1]),
        "a constant": lambda x: scan(lambda c, w: (w * c + lax.reduce_sum(x), None), 0.0, weights)[0],
        "reverse": lambda x: lax.reduce_sum(scan(lambda c, x: (c + x, 3.0 * c), 0.0, x, reverse=True)[1]),
        "a counter": counted,
    }
    for f in programs.values():
        basis = np.array([f(e) for e in np.eye(4)])
        np.testing.assert_allclose(linear_transpose(f, xs)(1.0)[0], basis, 1e-12)


def test_a_loop_that_is_not_linear_is_refused(spaced):
    f = lambda xs: scan(lambda c, x: (c * x, None), xs[0], xs)[0]
    with pytest.raises(NotImplementedError, match="in operands in which it is not linear"):
        linear_transpose(f, spaced((3,)))(1.0)


def test_transposing_a_linear_loop_twice_gives_it_back(spaced):
    x, weights = spaced((4,)), spaced((4,), seed=1)
    f = lambda x: scan(lambda c, wx: (wx[0] * c + wx[1], c), 0.0, (weights, x))[1]
    twice = linear_transpose(lambda ct: linear_transpose(f, x)(ct)[0], x)
    np.testing.assert_allclose(twice(x)[0], f(x), 1e-12)


# Mistakes that others made


def test_the_cotangents_of_the_inputs_of_a_reversed_loop_are_there(spaced):
    """https://github.com/jax-ml/jax/issues/753"""
    xs = spaced((4,))
    f = lambda xs: scan(lambda c, x: (c * 0.5 + x * x, None), 0.0, xs, reverse=True)[0]
    wanted = 2.0 * xs * 0.5 ** np.arange(4)
    np.testing.assert_allclose(grad(f)(xs), wanted, 1e-12)
    np.testing.assert_allclose([jvp(f, (xs,), (e,))[1] for e in np.eye(4)], wanted, 1e-12)


def test_a_branch_in_a_loop_is_taken_as_often_as_its_predicate_holds():
    """https://github.com/jax-ml/jax/issues/5900"""
    flags = np.array([True, False, True, True])
    f = lambda x: scan(lambda c, flag: (cond(flag, lambda c: c * x, lambda c: c, c), None), 4.0, flags)[0]
    assert value_and_grad(f)(3.0) == (108.0, 108.0)


def test_a_tangent_that_reaches_a_carry_after_some_steps_is_not_lost():
    """https://github.com/jax-ml/jax/issues/9567"""

    def f(x):
        step = lambda c, _: ((x, c[0], c[1], c[2] * 2.0), None)
        return scan(step, (0.0, 0.0, 0.0, 1.0), None, length=5)[0][3]

    assert [jvp(f, (3.0,), (1.0,))[1], linearize(f, 3.0)[1](1.0), grad(f)(3.0)] == [2.0] * 3
    check_grads(f, (3.0,), 2)


def test_the_gradient_of_a_scalar_has_no_axes():
    """https://github.com/jax-ml/jax/issues/6452"""
    f = lambda x: lax.reduce_sum(scan(lambda c, y: (c * x + y, c), np.zeros(3), np.ones((4, 3)))[1])
    assert np.shape(grad(f)(2.0)) == ()
    assert np.shape(grad(lambda x: fori_loop(0, 3, lambda i, c: c * x, 1.0))(2.0)) == ()


def test_a_carry_that_no_result_depends_on_has_no_gradient(called):
    """https://github.com/jax-ml/jax/issues/1082, https://github.com/jax-ml/jax/issues/1361"""

    def f(x, unused):
        (out, _), _ = scan(lambda c, _: ((c[0] * x, c[1] * c[0] * unused), None), (1.0, x), None, length=3)
        return out

    assert grad(called(f), (0, 1))(2.0, 5.0) == (12.0, 0.0)
    assert grad(f, (0, 1))(2.0, 5.0) == (12.0, 0.0)


def test_every_column_of_a_jacobian_has_the_same_staged_loop(called, spaced):
    """https://github.com/jax-ml/jax/issues/757"""
    f = called(lambda x: scan(lambda c, y: (lax.sin(c) + y * x, None), np.zeros(3), x)[0])
    x = spaced((3,))
    columns = lambda x: [jvp(f, (x,), (e,))[1] for e in np.eye(3)]
    jaxpr = make_jaxpr(columns)(x)
    check_jaxpr(jaxpr)
    rows = [vjp(f, x)[1](e)[0] for e in np.eye(3)]
    np.testing.assert_allclose(np.stack(eval_jaxpr(jaxpr, jaxpr.consts, x), 1), np.stack(rows), 1e-12)


def test_a_loop_inside_a_rule_has_second_derivatives(laws, spaced):
    """https://github.com/jax-ml/jax/issues/3819"""
    powers_p = Primitive("powers")
    powers_p.def_impl(lambda x, y: np.sin(x) * y**3)
    powers_p.def_abstract_eval(lambda x, y: x.strip_weak_type())

    def powers_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        x_dot, y_dot = (np.zeros(2) if type(t) is Zero else t for t in (x_dot, y_dot))

        def step(carry, k):
            power, total = carry
            return (power * y, total + k * power * y_dot * lax.sin(x)), None

        (cube, total), _ = scan(step, (np.ones(2), np.zeros(2)), np.array([0.0, 0.0, 3.0]))
        return powers_p.bind(x, y), total + lax.cos(x) * cube * x_dot

    defjvp_all(powers_p, powers_jvp)
    laws(lambda x, y: lax.sin(powers_p.bind(x, y)), spaced((2,)), spaced((2,), seed=1))


def test_the_linear_half_of_a_loop_inside_a_rule_is_recorded_alone(spaced):
    double_p = Primitive("double_by_steps")
    double_p.def_impl(lambda x: 2.0 * np.sin(x))
    double_p.def_abstract_eval(lambda x: x.strip_weak_type())

    def double_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        step = lambda c, _: ((lax.cos(x), c[1] + x_dot * lax.cos(x)), None)
        (_, total), _ = scan(step, (x, 0.0), None, length=2)
        return double_p.bind(x), total

    defjvp_all(double_p, double_jvp)
    jaxpr = make_jaxpr(lambda x, t: linearize(double_p.bind, x)[1](t))(1.0, 1.0)
    *_, linear = scans(jaxpr)
    assert {eqn.primitive.name for eqn in linear.params["jaxpr"].eqns} <= {"mul", "add"}
    np.testing.assert_allclose(grad(double_p.bind)(1.0), 2.0 * np.cos(1.0), 1e-12)


def test_a_gradient_through_unused_parts_loses_them_as_dead_code(spaced):
    """https://github.com/jax-ml/jax/issues/16614, https://github.com/jax-ml/jax/issues/31448"""

    def f(x):
        step = lambda c, y: ((c[0] * x, lax.stop_gradient(c[1]) + y, c[2]), (c[1] * y, c[2]))
        return scan(step, (1.0, 0.0, x), spaced((4,)))[0][0]

    jaxpr = make_jaxpr(grad(f))(2.0)
    smaller, _ = dce_jaxpr(jaxpr, [True])
    check_jaxpr(smaller)
    np.testing.assert_allclose(eval_jaxpr(smaller, smaller.consts, 2.0), [32.0])


def test_integer_parts_have_tangents_of_no_type():
    """https://github.com/jax-ml/jax/issues/25724, https://github.com/jax-ml/jax/issues/16000"""
    f = lambda x, n: scan(lambda c, i: ((c[0] * x, c[1] + i), c[1] * 2), (1.0, n), np.arange(3, dtype=np.int32))
    (_, count), doubled = f(2.0, np.int32(1))
    out, ((power_dot, count_dot), doubled_dot) = jvp(f, (2.0, np.int32(1)), (1.0, np.zeros((), float0)))
    assert (power_dot, count_dot.dtype, doubled_dot.dtype, doubled_dot.shape) == (12.0, float0, float0, (3,))
    assert (out[0][1], count) == (4, 4)
    bars = vjp(f, 2.0, np.int32(1))[1](((1.0, np.zeros((), float0)), np.zeros(3, float0)))
    assert (bars[0], bars[1].dtype) == (12.0, float0)
    np.testing.assert_array_equal(out[1], doubled)


@pytest.mark.parametrize("argnum", [0, 1, 2])
def test_each_operand_alone_may_be_the_one_with_a_tangent(argnum, spaced):
    """https://github.com/jax-ml/jax/issues/1901, https://github.com/jax-ml/jax/issues/32548"""
    args = [spaced((3, 3)), spaced((3,)), spaced((5, 3))]

    def f(x):
        return rnn(*(x if i == argnum else y for i, y in enumerate(args)))

    check_grads(f, (args[argnum],), 2)


def test_forward_and_reverse_agree_on_products_and_selections(spaced):
    """https://github.com/jax-ml/jax/issues/10993, https://github.com/jax-ml/jax/issues/9507"""
    x = spaced((4,))
    x[1] = 0.0

    def f(x):
        step = lambda c, y: (c * y, lax.select(y > 0, c * y, lax.sin(y)))
        return scan(step, 1.0, x)[1]

    columns = np.stack([jvp(f, (x,), (e,))[1] for e in np.eye(4)], 1)
    rows = np.stack([vjp(f, x)[1](e)[0] for e in np.eye(4)])
    np.testing.assert_allclose(columns, rows, 1e-12, 1e-12)


def test_a_weakly_typed_start_has_a_strong_gradient(called):
    """https://github.com/jax-ml/jax/issues/9836"""
    x = np.float32(2.0)
    f = lambda x: scan(lambda c, y: (y * x * x, c), np.float32(0.0), np.ones(3, np.float32))[0]
    for g in (f, called(f)):
        assert grad(g)(x).dtype == np.float32
        assert grad(grad(g))(x) == 2.0
    assert grad(lambda y: scan(lambda c, _: (c * y, None), 1.0, None, length=2)[0])(3.0) == 6.0


def test_a_loop_over_nothing_hands_its_start_to_its_end():
    f = lambda a, xs: scan(lambda c, x: (c * x, c + x), a, xs)
    (out, ys), f_vjp = vjp(f, 3.0, np.zeros((0,)))
    assert (out, ys.shape) == (3.0, (0,))
    a_bar, xs_bar = f_vjp((1.0, np.zeros((0,))))
    assert (a_bar, xs_bar.shape) == (1.0, (0,))
    assert ShapedArray((0,), xs_bar.dtype) == ShapedArray((0,), "float64")
