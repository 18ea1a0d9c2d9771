import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Var,
    check_jaxpr,
    dce_jaxpr,
    eval_jaxpr,
    lax,
    make_jaxpr,
)

F64 = ShapedArray((), "float64")


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def call(jaxpr, *args, name="f"):
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)


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
