import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Var,
    check_jaxpr,
    config,
    dce_jaxpr,
    debug,
    eval_jaxpr,
    fold_constants,
    lax,
    make_jaxpr,
)
from calque_core.extend import merge_equal_equations

F64 = ShapedArray((), "float64")


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def call(jaxpr, *args, name="f"):
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)


# Dead code


def test_equations_that_only_serve_dropped_outputs_go_with_their_inputs():
    jaxpr = make_jaxpr(lambda x, y, z: (lax.sin(x), lax.mul(lax.cos(y), z)))(1.0, 2.0, 3.0)
    smaller, used = dce_jaxpr(jaxpr, [True, False])
    assert (names(smaller), used) == (["sin"], [True, False, False])
    assert eval_jaxpr(smaller, smaller.consts, 1.0) == [np.sin(1.0)]
    assert names(jaxpr) == ["sin", "cos", "mul"]


def test_instantiate_keeps_inputs_that_are_not_used():
    jaxpr = make_jaxpr(lambda x, y, z: lax.sin(x))(1.0, 2.0, 3.0)
    assert dce_jaxpr(jaxpr, [True], instantiate=True)[1] == [True, True, True]
    smaller, used = dce_jaxpr(jaxpr, [True], instantiate=[False, False, True])
    assert used == [True, False, True]
    assert len(smaller.invars) == 2


def test_constants_that_nobody_needs_go():
    jaxpr = make_jaxpr(lambda x: (x * np.ones(3), x * np.zeros(2)))(1.0)
    smaller, _ = dce_jaxpr(jaxpr, [False, True])
    assert [c.shape for c in smaller.consts] == [(2,)]


def test_outputs_may_be_inputs_and_literals():
    jaxpr = make_jaxpr(lambda x, y: (x, 2.0, y))(1.0, 2.0)
    smaller, used = dce_jaxpr(jaxpr, [False, True, True])
    assert used == [False, True]
    assert str(smaller) == "{ lambda ; a:f64[]. let  in (2.0, a) }"


def test_a_jaxpr_with_nothing_dead_is_given_back():
    jaxpr = make_jaxpr(lambda x: call(make_jaxpr(lax.sin)(1.0), x))(1.0)
    assert dce_jaxpr(jaxpr, [True])[0] is jaxpr


def test_effects_stay_and_keep_what_they_need():
    noisy_p = Primitive("noisy", multiple_results=True, effects=frozenset(("Noise",)))
    x, y, s = Var(F64), Var(F64), Var(F64)
    eqns = [JaxprEqn(lax.sin_p, [x], [s], {}), JaxprEqn(noisy_p, [s], [], {}), JaxprEqn(lax.cos_p, [y], [Var(F64)], {})]
    smaller, used = dce_jaxpr(Jaxpr((), [x, y], eqns, []), [])
    assert (names(smaller), used) == (["sin", "noisy"], [True, False])


def test_an_effect_inside_a_call_keeps_the_call():
    noisy_p = Primitive("noisy", effects=frozenset(("Noise",)))
    x, y = Var(F64), Var(F64)
    inner = Jaxpr((), [x], [JaxprEqn(noisy_p, [x], [y], {})], [y])
    outer = Jaxpr((), [x], [JaxprEqn(lax.jit_p, [x], [y], {"jaxpr": inner, "name": "f", "compiler": None})], [])
    assert names(dce_jaxpr(outer, [])[0]) == ["jit"]


def test_calls_lose_results_and_operands_to_any_depth():
    inner = make_jaxpr(lambda x, y: (lax.sin(x), lax.cos(y)))(np.float64(1), np.float64(2))
    middle = make_jaxpr(lambda x, y: call(inner, x, y))(np.float64(1), np.float64(2))
    outer = make_jaxpr(lambda x, y: call(middle, x, y))(np.float64(1), np.float64(2))
    smaller, used = dce_jaxpr(outer, [False, True])
    assert used == [False, True]
    call_eqn = smaller.eqns[0]
    assert (len(call_eqn.invars), len(call_eqn.outvars)) == (1, 1)
    assert names(call_eqn.params["jaxpr"].eqns[0].params["jaxpr"]) == ["cos"]
    check_jaxpr(smaller)
    assert eval_jaxpr(smaller, smaller.consts, 2.0) == [np.cos(2.0)]


def test_a_branch_keeps_the_operands_that_another_branch_needs():
    def fun(p, x, y, z):
        return lax.cond(p, lambda x, y, z: (x, y), lambda x, y, z: (x * 2.0, z), x, y, z)

    jaxpr = make_jaxpr(fun)(True, *map(np.float64, (1, 2, 3)))
    smaller, used = dce_jaxpr(jaxpr, [False, True])
    assert used == [True, False, True, True]
    check_jaxpr(smaller)
    assert [eval_jaxpr(smaller, smaller.consts, p, 2.0, 3.0) for p in (True, False)] == [[2.0], [3.0]]


def test_a_rule_may_drop_an_equation_that_has_used_results():
    gone_p = Primitive("gone", multiple_results=True)
    gone_p.def_rule("dce", lambda used_outputs, eqn: ([False], None))
    x = Var(F64)
    smaller, used = dce_jaxpr(Jaxpr((), [x], [JaxprEqn(gone_p, [x], [Var(F64)], {})], []), [])
    assert (names(smaller), used) == ([], [False])


def test_an_inner_program_is_taken_apart_once_per_mask():
    asked = []
    counted_p = Primitive("counted")
    counted_p.def_rule("dce", lambda used_outputs, eqn: asked.append(1) or ([True], eqn))
    x, y = Var(F64), Var(F64)
    jaxpr = Jaxpr((), [x], [JaxprEqn(counted_p, [x], [y], {})], [y])
    for _ in range(30):
        eqns = []
        for _ in range(2):
            invars = [eqns[-1].outvars[0] if eqns else x]
            eqns.append(JaxprEqn(lax.jit_p, invars, [Var(F64)], {"jaxpr": jaxpr, "name": "f", "compiler": None}))
        jaxpr = Jaxpr((), [x], eqns, eqns[-1].outvars)
    assert dce_jaxpr(jaxpr, [True])[0] is jaxpr
    assert len(asked) == 1


def test_a_mask_of_another_length_is_refused():
    jaxpr = make_jaxpr(lax.sin)(1.0)
    with pytest.raises(
        ValueError, match=r"used_outputs has 2 bools, but the jaxpr has 1 outputs. Give one bool for each."
    ):
        dce_jaxpr(jaxpr, [True, True])
    with pytest.raises(ValueError, match="instantiate has 0 bools, but the jaxpr has 1 inputs"):
        dce_jaxpr(jaxpr, [True], instantiate=[])


# Equal equations


def test_equal_equations_are_computed_once_through_any_number_of_steps():
    jaxpr = make_jaxpr(lambda x: lax.mul(lax.exp(lax.sin(x)), lax.exp(lax.sin(x))))(1.0)
    assert names(merge_equal_equations(jaxpr)) == ["sin", "exp", "mul"]
    merged = merge_equal_equations(jaxpr)
    check_jaxpr(merged)
    assert eval_jaxpr(merged, (), 1.0) == eval_jaxpr(jaxpr, (), 1.0)


def test_two_results_stay_two_but_a_result_may_serve_the_program():
    results = merge_equal_equations(make_jaxpr(lambda x: (lax.sin(x), lax.sin(x)))(np.ones(2)))
    assert names(results) == ["sin", "sin"]
    first, second = eval_jaxpr(results, (), np.ones(2))
    assert not np.shares_memory(first, second)
    used = merge_equal_equations(make_jaxpr(lambda x: (lax.neg(lax.sin(x)), lax.sin(x)))(1.0))
    assert names(used) == ["sin", "neg"]
    assert eval_jaxpr(used, (), 1.0) == [-np.sin(1.0), np.sin(1.0)]


@pytest.mark.parametrize(
    "two",
    [
        lambda x: (lax.mul(x, 0.0), lax.mul(x, -0.0)),
        lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, 5)),
        lambda x: (lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 8, 9)),
    ],
    ids=["zeros of two signs", "exponents", "parameters"],
)
def test_equations_that_one_can_tell_apart_stay(two):
    jaxpr = make_jaxpr(lambda x: lax.add(*map(lax.sin, two(x))))(2.0)
    assert names(merge_equal_equations(jaxpr)).count("sin") == 2


def test_equations_with_effects_or_programs_stay():
    printed = make_jaxpr(lambda x: [debug.print("{}", x), debug.print("{}", x), x][-1])(1.0)
    assert len(merge_equal_equations(printed).eqns) == len(printed.eqns) == 2
    inner = make_jaxpr(lax.sin)(1.0)
    called = make_jaxpr(lambda x: lax.add(*call(inner, x), *call(inner, x)))(1.0)
    assert names(merge_equal_equations(called)) == ["jit", "jit", "add"]


# Constant folding


def test_what_depends_on_no_argument_is_computed():
    jaxpr = make_jaxpr(lambda x: x * lax.sin(lax.cos(1.0)) + np.arange(3.0) * 2.0)(1.0)
    folded = fold_constants(jaxpr)
    assert names(folded) == ["mul", "add"]
    assert [c.tolist() for c in folded.consts] == [[0.0, 2.0, 4.0]]
    check_jaxpr(folded)
    assert eval_jaxpr(folded, folded.consts, 3.0)[0].tolist() == eval_jaxpr(jaxpr, jaxpr.consts, 3.0)[0].tolist()


def test_folded_arrays_cannot_be_changed_and_the_users_can():
    mine = np.arange(3.0)
    c, y = (Var(ShapedArray((3,), "float64")) for _ in range(2))
    folded = fold_constants(Jaxpr([c], [], [JaxprEqn(lax.neg_p, [c], [y], {})], [y, c], [mine]))
    assert sorted(const.flags.writeable for const in folded.consts) == [False, True]
    assert mine.flags.writeable


def test_results_may_be_folded():
    assert str(fold_constants(make_jaxpr(lambda: lax.mul(2.0, 2.0))())) == "{ lambda ; . let  in (4.0,) }"


def test_nothing_to_fold_gives_the_jaxpr_back():
    jaxpr = make_jaxpr(lambda x: x * 2.0)(1.0)
    assert fold_constants(jaxpr) is jaxpr


def test_inner_programs_are_folded_and_stay_inner_programs():
    inner = make_jaxpr(lambda x: x * lax.sin(1.0))(1.0)
    folded = fold_constants(make_jaxpr(lambda: call(inner, 2.0))())
    assert names(folded) == ["jit"]
    assert names(folded.eqns[0].params["jaxpr"]) == ["mul"]


def test_large_results_are_not_stored():
    jaxpr = make_jaxpr(lambda x: x * lax.broadcast(1.0, (2000,)))(1.0)
    assert fold_constants(jaxpr) is jaxpr
    assert names(fold_constants(jaxpr, max_size=2000)) == ["mul"]


def test_effects_and_failures_are_left_to_the_run():
    def never(*_):
        raise AssertionError

    noisy_p = Primitive("noisy", effects=frozenset(("Noise",)))
    noisy_p.def_abstract_eval(lambda aval: aval.strip_weak_type())
    noisy_p.def_impl(never)
    jaxpr = make_jaxpr(lambda: (noisy_p.bind(1.0), lax.div(1, 0)))()
    assert fold_constants(jaxpr) is jaxpr


def test_nothing_is_folded_under_settings_that_give_other_types():
    jaxpr = make_jaxpr(lambda: lax.sin(np.float64(1.0)))()
    with config.enable_x64(False):
        assert fold_constants(jaxpr) is jaxpr


def test_folding_warns_of_nothing():
    folded = fold_constants(make_jaxpr(lambda: lax.log(0.0))())
    assert str(folded) == "{ lambda ; . let  in (-inf,) }"
