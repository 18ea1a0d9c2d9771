from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import (
    check_grads,
    custom_vjp,
    defjvp,
    defjvp_all,
    grad,
    jvp,
    linear_transpose,
    linearize,
    partial_eval_jaxpr,
    value_and_grad,
    vjp,
)
from calque_core import (
    MissingRuleError,
    Primitive,
    check_jaxpr,
    config,
    dce_jaxpr,
    eval_jaxpr,
    float0,
    lax,
    make_jaxpr,
)
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.lax import cond, fori_loop, scan, while_loop, while_p
from calque_pytree import tree_leaves

pytestmark = pytest.mark.sampled(keep=0.1)


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
def test_loops_have_derivatives_of_both_orders_in_both_modes(f, spaced):
    check_grads(f, (0.7, spaced((3,))), 2)
    check_grads(lambda a: f(a, spaced((3,))), (0.7,), 1)
    check_grads(lambda x: f(0.7, x), (spaced((3,)),), 1)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_loops_obey_the_laws(f, laws, spaced):
    laws(f, 0.7, spaced((3,)), order=1)


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


def test_a_loop_that_no_tangent_passes_does_not_hinder_reverse_mode():
    halvings = lambda n: while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (n, 0))[1]
    assert grad(lambda x, n: x * x * halvings(n))(3.0, np.int64(9)) == 18.0
    free = lambda x: while_loop(lambda c: c < 8.0, lambda c: c * 2.0, lax.stop_gradient(x))
    assert value_and_grad(lambda x: x * free(x))(3.0) == (36.0, 12.0)
    unused = lambda x: (while_loop(lambda c: c < 8.0, lambda c: c * 2.0, x), x * x)[1]
    assert grad(unused)(3.0) == 6.0


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


# Backwards


def logistic(count, **how):
    """Return x, r -> the value after some steps of a chaotic map, and a sum over the steps."""

    def f(x, r):
        step = lambda c: (c[0] + 1, r * c[1] * (1.0 - c[1]), c[2] + lax.sin(c[1]) * r)
        return while_loop(lambda c: c[0] < count, step, (0, x, 0.0), **how)[1:]

    return f


def total(f):
    return lambda *args: sum(tree_leaves(f(*args)))


@pytest.mark.parametrize("checkpoints", [1, 2, 3, 5, None])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 18, 40])
def test_the_gradient_is_that_of_the_steps_written_out_however_few_values_are_kept(count, checkpoints):
    def written_out(x, r):
        total = 0.0
        for _ in range(count):
            x, total = r * x * (1.0 - x), total + lax.sin(x) * r
        return x + total

    found = grad(total(logistic(count, checkpoints=checkpoints)), (0, 1))(0.3, 3.7)
    bounded = grad(total(logistic(count, max_steps=50)), (0, 1))(0.3, 3.7)
    np.testing.assert_allclose(found, bounded, 1e-9)
    if count:
        np.testing.assert_allclose(found, grad(written_out, (0, 1))(0.3, 3.7), 1e-9)


def test_a_bounded_loop_is_differentiated_in_reverse():
    """The number of steps follows the value, and the gradient follows the steps that were taken."""

    def f(x, y, **bound):
        return while_loop(lambda c: lax.reduce_sum(c * c) < 40.0, lambda c: c * y + lax.sin(c), x, **bound)

    x, y = np.array([0.3, -0.8, 1.1]), np.float64(1.3)
    for bound in ({"max_steps": 20}, {"checkpoints": 3}, {}):
        check_grads(lambda x, y: lax.reduce_sum(f(x, y, **bound) * np.arange(1.0, 4.0)), (x, y), order=2)  # noqa: B023
        assert grad(lambda x: while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x, **bound))(1.5) == 8.0  # noqa: B023


def test_a_counting_loop_between_arguments_has_a_gradient():
    power = lambda x, n: fori_loop(0, n, lambda i, c: c * x, 1.0)
    assert grad(power)(2.0, 3) == 12.0
    jaxpr = make_jaxpr(grad(power))(2.0, 3)
    check_jaxpr(jaxpr)
    for n in range(5):
        assert eval_jaxpr(jaxpr, jaxpr.consts, 2.0, n) == [n * 2.0 ** (n - 1)]


def test_derivatives_of_derivatives_of_a_loop():
    f, bounded = (total(logistic(6, **how)) for how in ({"checkpoints": 2}, {"max_steps": 6}))
    for derive in (
        lambda f: grad(grad(f)),
        lambda f: grad(grad(grad(f, 1)), 1),
        lambda f: lambda *args: jvp(grad(f, (0, 1)), args, (1.0, -0.5))[1],
        lambda f: grad(lambda *args: jvp(f, args, (1.0, -0.5))[1]),
        lambda f: grad(lambda *args: linearize(f, *args)[1](1.0, -0.5)),
    ):
        np.testing.assert_allclose(derive(f)(0.3, 1.7), derive(bounded)(0.3, 1.7), 1e-9)


def test_values_of_every_dtype_are_kept_for_the_steps_before():
    """Bools and integers decide what is done in the step that they belong to."""

    def f(x, **how):
        def step(c):
            n, is_odd, x, y, z = c
            y = lax.select(is_odd, lax.sin(y) * x, y + x) + lax.convert_element_type(n, np.float32)
            return n + np.uint8(1), lax.bitwise_not(is_odd), x * np.float64(0.5) + 0.1, y, z * lax.complex(x, 0.3 * x)

        start = (np.uint8(0), False, x, np.float32(0.5), 1.0 + 0.5j)
        _, _, x, y, z = while_loop(lambda c: c[0] < 7, lambda c: settled(step(c)), start, **how)
        return x + lax.reduce_sum(y) + lax.real(z * lax.conj(z))

    def settled(c):
        return *c[:3], lax.convert_element_type(c[3], np.float32), c[4]

    assert grad(f)(0.7) == pytest.approx(grad(lambda x: f(x, max_steps=9))(0.7), rel=1e-6)
    assert grad(lambda x: f(x, checkpoints=2))(0.7) == grad(f)(0.7)


def test_what_a_step_makes_known_ends_the_way_of_a_cotangent():
    f = lambda x: while_loop(
        lambda c: c[0] < 4,
        lambda c: (c[0] + 1, cond(c[0] > 1, lambda c: 0.0, lambda c: c, c[1]), c[2] + c[1]),
        (0, x, 0.0),
    )
    assert grad(lambda x: f(x)[2])(2.0) == 3.0
    replaced = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 1.0, c[1] * 2.0), (0, x, x))
    assert grad(lambda x: replaced(x)[2])(3.0) == 0.0
    assert grad(lambda x, n: while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, 5.0), (0, x))[1])(3.0, 0) == 1.0


def test_a_vjp_function_serves_many_cotangents():
    _, f_vjp = vjp(lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1], 2.0)
    assert [f_vjp(ct) for ct in (1.0, 2.0, 0.0)] == [(32.0,), (64.0,), (0.0,)]


def test_a_linear_loop_is_transposed():
    f = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 2.0 * c[1] + x), (0, x))[1]
    assert linear_transpose(f, 1.0)(1.0) == (15.0,)


def test_a_loop_whose_end_is_decided_by_what_it_is_linear_in_is_refused():
    f = lambda x: while_loop(lambda c: c < 10.0, lambda c: 2.0 * c, x)
    with pytest.raises(
        MissingRuleError, match=r"The while_loop at test_rules_while_loop\.py.* cannot be transposed: its "
    ):
        linear_transpose(f, 1.0)(1.0)
    with pytest.raises(MissingRuleError, match=r"'mul'.* cannot be transposed"):
        linear_transpose(lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * c[1]), (0, x))[1], 1.0)(
            1.0
        )


def test_in_the_32_bit_regime_the_steps_are_counted_in_32_bits():
    with config.enable_x64(False):
        assert grad(total(logistic(20)))(0.3, 3.0) == pytest.approx(
            grad(total(logistic(20, max_steps=20)))(0.3, 3.0), 1e-4
        )
        jaxpr = make_jaxpr(grad(total(logistic(20, checkpoints=3))))(0.3, 3.0)
        check_jaxpr(jaxpr)
        assert "64" not in str(jaxpr)


# What is kept, and what is computed again


def counting():
    """Return a primitive that doubles its operand, and a list of the operands that it was evaluated for."""
    seen = []
    counted_p = Primitive("counted")
    counted_p.def_abstract_eval(lambda x: x.strip_weak_type())

    @counted_p.def_impl
    def impl(x):
        seen.append(int(x))
        return np.float64(x) * np.float64(2.0)

    defjvp(counted_p, lambda x_dot, out, x: counted_p.bind(x) * x_dot / x)
    return counted_p, seen


@pytest.mark.parametrize(
    ("checkpoints", "count", "turns"),
    [(16, 17, 1), (16, 18, 2), (16, 153, 2), (16, 300, 3), (2, 10, 3), (2, 15, 4), (3, 20, 3), (1, 6, 5), (9, 55, 2)],
)
def test_each_step_is_computed_as_often_as_the_schedule_says(checkpoints, count, turns):
    """Beside the value: once to count the steps, some times on the way to other steps, and once for its derivative."""
    counted_p, seen = counting()

    def f(x):
        step = lambda c: (c[0] + 1.0, (c[1] + counted_p.bind(c[0])) * x)
        return while_loop(
            lambda c: lax.bitwise_and(c[0] < count + 0.5, c[1] < 1e9), step, (1.0, x), checkpoints=checkpoints
        )

    _, f_vjp = vjp(f, 0.5)
    assert sorted(seen) == list(range(1, count + 1))
    seen.clear()
    f_vjp((0.0, 1.0))
    times = [seen.count(k) for k in range(1, count + 1)]
    assert max(times) == times[0] == turns + 2
    assert min(times) == times[-1] == 2


def while_eqns(jaxpr):
    return [eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns if eqn.primitive is while_p]


def shapes_in(jaxpr):
    return {v.aval.shape for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns for v in eqn.outvars}


def test_the_reverse_program_keeps_as_many_values_as_it_was_told():
    def f(x, n, **how):
        return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, lax.sin(c[1]) * x), (0, x), **how)[1].sum()

    x = np.ones(7)
    for checkpoints, rows in ((None, 17), (3, 4)):
        jaxpr = make_jaxpr(lambda x, n: grad(lambda x: f(x, n, checkpoints=checkpoints))(x))(x, 1000)  # noqa: B023
        assert {shape for shape in shapes_in(jaxpr) if len(shape) == 2 and shape[0] > 1} == {(rows, 7)}
        assert {eqn.params["checkpoints"] for eqn in while_eqns(jaxpr)} == {checkpoints or 16}


def test_what_no_derivative_needs_is_not_kept():
    """A linear body needs no values; what a step does not change is the same in all of them."""
    linear = lambda x, n: while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, 2.0 * c[1]), (0, x))[1]
    jaxpr = make_jaxpr(lambda n: grad(lambda x: linear(x, n))(1.0))(5)
    assert not shapes_in(jaxpr) - {()}
    assert eval_jaxpr(jaxpr, jaxpr.consts, 5) == [32.0]

    def f(x, table, n):
        return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1], c[2] * c[1].sum()), (0, table, x))[2]

    table = np.ones(7)
    jaxpr = make_jaxpr(lambda x, n: grad(f)(x, table, n))(1.0, 5)
    assert {shape for shape in shapes_in(jaxpr) if len(shape) == 2} == set()
    assert eval_jaxpr(jaxpr, jaxpr.consts, 1.0, 2) == [49.0]


def test_only_what_decides_the_end_is_counted():
    """A loop between bounds is counted without computing its values."""
    f = lambda x, n: fori_loop(0, n, lambda i, c: lax.sin(c) * x, x)
    jaxpr = make_jaxpr(lambda n: vjp(lambda x: f(x, n), 1.0)[1](1.0))(5)
    loops = [eqn for eqn in jaxpr.eqns if eqn.primitive is while_p]
    counts = [eqn for eqn in loops if all(v.aval.dtype.kind == "i" for v in eqn.outvars)]
    assert counts
    assert all("sin" not in {e.primitive.name for e in eqn.params["body_jaxpr"].eqns} for eqn in counts)


def test_a_step_may_have_a_reverse_rule_only():
    """The rule doubles the derivative of a sine, so that it can be told from that."""
    sine = custom_vjp(lax.sin)
    sine.defvjp(lambda x: (lax.sin(x), lax.cos(x)), lambda cos, ct: (2.0 * cos * ct,))
    repeat = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, sine(c[1]) * x), (0, x))[1]
    unrolled = lambda x: sine(sine(sine(x) * x) * x) * x
    assert grad(repeat)(0.5) == pytest.approx(grad(unrolled)(0.5), rel=1e-14)
    with pytest.raises(TypeError, match="has only a vjp rule"):
        linearize(repeat, 0.5)[1](1.0)


def test_a_zero_cotangent_computes_nothing():
    counted_p, seen = counting()
    f = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, counted_p.bind(c[1]), c[2] + 1.0), (0, x, x))
    _, f_vjp = vjp(lambda x: f(x)[2], 1.0)
    seen.clear()
    assert f_vjp(1.0) == (1.0,)
    assert not seen
