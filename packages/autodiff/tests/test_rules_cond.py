from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import (
    defjvp_all,
    grad,
    jvp,
    linear_transpose,
    linearize,
    partial_eval_jaxpr,
    vjp,
)
from calque_core import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    check_jaxpr,
    count_eqns,
    dce_jaxpr,
    eval_jaxpr,
    float0,
    lax,
    make_jaxpr,
)
from calque_core.lax import cond, cond_p

pytestmark = pytest.mark.sampled(keep=0.1)

PROGRAMS = {
    "two results": lambda x, y: cond(x[0] > 0, lambda: (lax.sin(x), x[1] * y), lambda: (x * y, lax.exp(y))),
    "a zero branch": lambda x, y: cond(x[0] > 0, lambda: lax.square(x) * y, lambda: np.ones(3)),
    "operands": lambda x, y: cond(x[0] > 0, lambda a, b: a * lax.cos(b), lambda a, b: a - b, x, y),
    "an operand handed through": lambda x, y: cond(x[0] > 0, lambda a: a, lambda a: -a, x) * y,
    "a result that is a residual": lambda x, y: cond(x[0] > 0, lambda: lax.exp(x), lambda: lax.sin(lax.exp(x))),
    "an unused operand": lambda x, y: cond(x[0] > 0, lambda a, b: lax.sin(a), lambda a, b: lax.cos(a), x, y),
    "an integer result": lambda x, y: cond(x[0] > 0, lambda: (lax.sin(x), 1), lambda: (lax.cos(x), 2))[0],
    "residuals of unlike types": lambda x, y: cond(
        x[0] > 0, lambda: lax.sin(x) * lax.sin(y), lambda: lax.reduce_sum(lax.exp(lax.tanh(x))) * np.ones(3)
    ),
    "in each other": lambda x, y: cond(
        x[0] > 0,
        lambda: cond(y > 0, lambda: lax.sin(x) * y, lambda: lax.tanh(x)),
        lambda: cond(y > 1, lambda: x, lambda: x * x),
    ),
}


@pytest.mark.parametrize("y", [0.7, -0.7])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_branches_obey_the_laws(f, sign, y, spaced, laws):
    x = sign * spaced((3,), 0.3, 1.2)
    assert f(x, y) is not None
    laws(f, x, y)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_branches_obey_the_laws_inside_a_program(f, spaced, laws, called):
    def inside(x, y):
        return called(lambda x, y: lax.reduce_sum(first(f(x, y))))(x, y)

    laws(inside, spaced((3,), 0.3, 1.2), 0.7)


def first(out):
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("number", [0, 1, 2])
def test_more_than_two_branches_obey_the_laws(number, spaced, laws):
    functions = [lambda x: lax.sin(x), lambda x: lax.exp(x), lambda x: x * x]
    branches = tuple(make_jaxpr(f)(spaced((3,))) for f in functions)
    laws(lambda x: cond_p.bind(np.int32(number), x, branches=branches, batched="error")[0], spaced((3,)))


@pytest.mark.parametrize(("pred", "slope"), [(True, 2.0), (False, 0.0)])
def test_a_closed_over_argument_has_its_derivative(pred, slope):
    f = lambda x: cond(pred, lambda: x * x, lambda: 0.0)
    assert jvp(f, (1.0,), (1.0,))[1] == slope
    assert linearize(f, 1.0)[1](1.0) == slope
    assert grad(f)(1.0) == slope


def test_a_branch_that_is_not_taken_is_not_differentiated():
    opaque_p = Primitive("opaque")
    opaque_p.def_impl(lambda x: x)
    opaque_p.def_abstract_eval(lambda x: x)
    f = lambda x: cond(x > 0, lambda: lax.sin(x), lambda: opaque_p.bind(x))
    assert grad(f)(1.0) == lax.cos(1.0)
    with pytest.raises(MissingRuleError, match="Differentiation rule for 'opaque' not implemented"):
        grad(f)(-1.0)


def test_under_an_unknown_index_every_branch_is_differentiated_and_none_evaluates_the_other():
    f = lambda x: cond(x > 0, lambda: lax.log(x), lambda: x * x)
    jaxpr = make_jaxpr(grad(f))(1.0)
    check_jaxpr(jaxpr)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("cond") == 2
    assert [float(eval_jaxpr(jaxpr, jaxpr.consts, x)[0]) for x in (2.0, -3.0)] == [0.5, -6.0]


def test_residuals_of_one_type_share_a_slot_and_operands_need_none():
    f = lambda x, y: cond(x > 0, lambda: lax.sin(x) * y, lambda: lax.exp(x) * y)
    jaxpr = make_jaxpr(lambda x, y: linearize(f, x, y)[1](x, y))(1.0, 2.0)
    forward = next(eqn for eqn in jaxpr.eqns if eqn.primitive is cond_p)
    assert len(forward.outvars) - 1 <= 2  # sin and cos of one branch, exp of the other


def test_results_without_a_derivative_have_none():
    f = lambda x: cond(x > 0, lambda: (x, 1), lambda: (x * x, 2))
    out, out_dot = jvp(f, (-1.0,), (1.0,))
    assert out == (1.0, 2)
    assert out_dot[0] == -2.0
    assert out_dot[1].dtype == float0


def test_a_result_that_is_constant_in_all_branches_stays_a_symbolic_zero():
    jaxpr = make_jaxpr(lambda x: grad(lambda x: cond(x > 0, lambda: 1.0, lambda: 2.0) * 3.0)(x))(1.0)
    assert "cond" not in [eqn.primitive.name for eqn in dead_code_removed(jaxpr).eqns]


def dead_code_removed(jaxpr):
    return dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[0]


def test_second_derivatives_through_branches_agree_with_the_first_ones_differences(laws, called):
    laws(lambda x: grad(lambda x: cond(x > 0, lambda: lax.sin(x) * x, lambda: lax.exp(x)))(x), 0.7)
    laws(lambda x: grad(called(lambda x: cond(x > 0, lambda: lax.sin(x) * x, lambda: lax.exp(x))))(x), -0.7)


def test_a_branch_inside_a_rule_is_split_into_what_is_known_and_what_is_linear(laws):
    """The rule's branches mix primals and tangents; only their linear half may be recorded."""
    bent_p = Primitive("bent")
    bent_p.def_impl(lambda x: np.where(x > 0, np.sin(x), np.exp(x))[()])
    bent_p.def_abstract_eval(lambda x: x)

    def bent_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        slope = cond(
            x > 0, lambda x, t: (lax.cos(x), t * lax.cos(x)), lambda x, t: (lax.exp(x), lax.exp(x) * t), x, x_dot
        )
        return bent_p.bind(x), slope[1]

    defjvp_all(bent_p, bent_jvp)
    for x in (0.7, -0.7):
        laws(bent_p.bind, x)
    jaxpr = make_jaxpr(lambda x, t: linearize(bent_p.bind, x)[1](t))(1.0, 1.0)
    *_, linear = (eqn for eqn in jaxpr.eqns if eqn.primitive is cond_p)
    assert {eqn.primitive.name for branch in linear.params["branches"] for eqn in branch.eqns} == {"mul"}


@pytest.mark.parametrize("known", [[True, True, False], [True, False, True], [False, True, True], [True, True, True]])
def test_the_two_halves_of_a_split_program_compute_the_whole(known):
    f = lambda c, x, y: cond(c, lambda: (lax.sin(x), lax.exp(x) * y, x), lambda: (lax.cos(x), y, lax.sin(y)))
    args = [np.True_, np.float64(0.3), np.float64(0.5)]
    jaxpr = make_jaxpr(f)(*args)
    split = partial_eval_jaxpr(jaxpr, known)
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    for args[0] in (np.True_, np.False_):
        given = [x for x, k in zip(args, known) if k]
        results = eval_jaxpr(split.known, split.known.consts, *given)
        num_known = sum(split.known_outs)
        others = eval_jaxpr(
            split.unknown, split.unknown.consts, *results[num_known:], *(x for x, k in zip(args, known) if not k)
        )
        knowns, unknowns = iter(results[:num_known]), iter(others)
        found = [next(knowns) if k else next(unknowns) for k in split.known_outs]
        assert found == eval_jaxpr(jaxpr, jaxpr.consts, *args)


def test_a_linear_branch_is_transposed_and_an_unknown_index_is_refused():
    assert linear_transpose(lambda x: cond(True, lambda: 2.0 * x, lambda: x), 1.0)(1.0) == (2.0,)
    with pytest.raises(MissingRuleError, match=r"'cond'.* cannot be transposed"):
        linear_transpose(lambda x: cond(x > 0, lambda: 2.0 * x, lambda: x), 1.0)(1.0)


def test_derivatives_of_branches_are_staged_once():
    """The second derivation of one equation finds the derived branches on the first one's jaxprs."""
    jaxpr = make_jaxpr(lambda x: cond(x > 0, lambda: lax.sin(x), lambda: x))(1.0)
    f = lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x)[0]
    first, second = make_jaxpr(grad(f))(1.0), make_jaxpr(grad(f))(1.0)
    pairs = zip((e for e in first.eqns if e.primitive is cond_p), (e for e in second.eqns if e.primitive is cond_p))
    for a, b in pairs:
        assert all(x is y for x, y in zip(a.params["branches"], b.params["branches"]))
    assert count_eqns(first) == count_eqns(second)


def test_the_choice_for_vmap_travels_with_the_derivatives():
    f = lambda x: cond(x > 0, lambda: lax.sin(x), lambda: x, batched="skip")
    jaxpr = make_jaxpr(grad(f))(1.0)
    assert {eqn.params["batched"] for eqn in jaxpr.eqns if eqn.primitive is cond_p} == {"skip"}


def test_an_operand_of_two_branches_with_types_of_its_own_keeps_them():
    f = lambda x: cond(x[0] > 0, lambda: lax.reduce_sum(x), lambda: lax.reduce_max(x))
    out, f_vjp = vjp(f, np.array([-1.0, 2.0], np.float32))
    assert f_vjp(np.float32(1.0))[0].dtype == np.float32
    assert out == 2.0
    assert ShapedArray((), np.float32) == ShapedArray(np.shape(out), out.dtype)


def test_a_branch_of_tangents_alone_leaves_nothing_to_compute_before():
    tripled = Primitive("tripled")
    tripled.def_impl(lambda x: np.multiply(x, 3.0))
    tripled.def_abstract_eval(lambda x: x.strip_weak_type())
    by_sign = lambda x, t: cond(x > 0.0, lambda t: 3.0 * t, lambda t: 5.0 * t, t)
    defjvp_all(tripled, lambda primals, tangents: (tripled.bind(*primals), by_sign(*primals, *tangents)))

    names = [eqn.primitive.name for eqn in make_jaxpr(grad(tripled.bind))(1.0).eqns]

    assert names.count("cond") == 1
    assert grad(tripled.bind)(1.0) == 3.0
    assert grad(tripled.bind)(-1.0) == 5.0
