from calque_core import Jaxpr, JaxprEqn, ShapedArray, Var, count_eqns, lax, make_jaxpr
from calque_core.jaxprs.jaxpr import has_jaxpr
from calque_core.jaxprs.walk import jaxprs_outside, nested_jaxprs, rebuild

F64 = ShapedArray((), "float64")


def held_by(primitive, params, times=1):
    x = Var(F64)
    eqns = []
    for _ in range(times):
        eqns.append(JaxprEqn(primitive, [eqns[-1].outvars[0] if eqns else x], [Var(F64)], params))
    return Jaxpr((), [x], eqns, eqns[-1].outvars)


def jit(jaxpr, times=1):
    return held_by(lax.jit_p, {"jaxpr": jaxpr, "name": "f", "compiler": None}, times)


def test_inner_jaxprs_come_first_and_each_once():
    sine, cosine = (make_jaxpr(f)(1.0) for f in (lax.sin, lax.cos))
    middle = jit(sine, times=3)
    outer = held_by(lax.cond_p, {"branches": (middle, cosine, sine), "batched": "select"})
    assert nested_jaxprs(outer) == [sine, middle, cosine, outer]


def test_jaxprs_that_only_some_equations_hold_are_left_out():
    sine, cosine = (make_jaxpr(f)(1.0) for f in (lax.sin, lax.cos))
    branches = held_by(lax.cond_p, {"branches": (sine, cosine), "batched": "select"})
    outer = jit(branches)
    assert jaxprs_outside(outer, ()) == [outer, branches, sine, cosine]
    assert jaxprs_outside(outer, [lax.cond_p]) == [outer, branches]
    assert jaxprs_outside(outer, [lax.jit_p]) == [outer]
    both = Jaxpr((), outer.invars, [*outer.eqns, *jit(sine).eqns], outer.outvars)
    assert jaxprs_outside(both, [lax.cond_p]) == [both, branches, sine]


def test_rebuild_shows_holders_what_became_of_the_inner_ones():
    sine, cosine = (make_jaxpr(f)(1.0) for f in (lax.sin, lax.cos))
    outer = jit(held_by(lax.cond_p, {"branches": (sine, sine), "batched": "select"}))
    visited = []

    def change(jaxpr):
        visited.append(jaxpr)
        return cosine if jaxpr is sine else jaxpr

    changed = rebuild(outer, change)
    assert len(visited) == 3
    assert changed.eqns[0].params["jaxpr"].eqns[0].params["branches"] == (cosine, cosine)
    assert outer.eqns[0].params["jaxpr"].eqns[0].params["branches"] == (sine, sine)


def test_rebuild_without_a_change_gives_the_same_object():
    outer = jit(make_jaxpr(lax.sin)(1.0))
    assert rebuild(outer, lambda jaxpr: jaxpr) is outer


def test_equations_are_counted_wherever_they_are_held():
    sine = make_jaxpr(lambda x: lax.sin(lax.sin(x)))(1.0)
    assert count_eqns(sine) == 2
    assert count_eqns(jit(sine, times=3)) == 3 + 3 * 2
    assert count_eqns(jit(jit(sine, times=3))) == 1 + 9


def test_counting_a_program_of_2_to_the_60_equations_takes_60_steps():
    jaxpr = make_jaxpr(lax.sin)(1.0)
    for _ in range(60):
        jaxpr = jit(jaxpr, times=2)
    assert count_eqns(jaxpr) == 3 * 2**60 - 2


def test_jaxprs_in_tuples_of_parameters_are_seen():
    assert has_jaxpr({"branches": (make_jaxpr(lax.sin)(1.0),)})
    assert not has_jaxpr({"axes": (0, 1), "name": "f"})
