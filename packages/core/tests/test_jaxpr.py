import gc
import weakref

import numpy as np
import pytest

from calque_core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    jaxprs_in_params,
    lax,
    make_jaxpr,
    new_jaxpr_eqn,
    stage,
    subjaxprs,
)

F64 = ShapedArray((), "float64")


def test_there_is_one_class_for_the_open_and_the_closed_form():
    jaxpr = make_jaxpr(lambda x: x * np.ones(3))(1.0)
    assert type(jaxpr) is ClosedJaxpr is Jaxpr
    assert jaxpr.jaxpr is jaxpr
    assert [c.tolist() for c in jaxpr.consts] == [[1.0, 1.0, 1.0]]


def test_avals_are_those_of_arguments_and_results():
    jaxpr = make_jaxpr(lambda x, y: x * y)(np.float32(1), np.ones(3, np.float32))
    assert [a.str_short() for a in jaxpr.in_avals] == ["f32[]", "f32[3]"]
    assert [a.str_short() for a in jaxpr.out_avals] == ["f32[3]"]


def test_replace_changes_what_it_names_and_keeps_the_rest():
    jaxpr = make_jaxpr(lambda x: (lax.sin(x), x))(1.0)
    shorter = jaxpr.replace(outvars=jaxpr.outvars[:1])
    assert (len(shorter.outvars), shorter.eqns, shorter.invars) == (1, jaxpr.eqns, jaxpr.invars)
    assert len(jaxpr.outvars) == 2
    eqn = jaxpr.eqns[0].replace(primitive=lax.cos_p)
    assert (eqn.primitive, eqn.invars, eqn.position) == (lax.cos_p, jaxpr.eqns[0].invars, jaxpr.eqns[0].position)


def test_an_equation_knows_the_users_line():
    jaxpr = make_jaxpr(lambda x: lax.sin(x))(1.0)
    info = jaxpr.eqns[0].source_info
    assert info.file_name == __file__
    assert info.line == test_an_equation_knows_the_users_line.__code__.co_firstlineno + 1
    assert JaxprEqn(lax.sin_p, [], [], {}).source_info is None


def test_effects_of_inner_programs_are_effects_of_their_holders():
    noisy_p = Primitive("noisy", effects=frozenset(("Noise",)))
    x, y = Var(F64), Var(F64)
    inner = Jaxpr((), [x], [JaxprEqn(noisy_p, [x], [y], {})], [y])
    outer = Jaxpr((), [x], [JaxprEqn(lax.jit_p, [x], [y], {"jaxpr": inner})], [y])
    assert outer.effects == inner.effects == {"Noise"}
    assert make_jaxpr(lax.sin)(1.0).effects == frozenset()


def test_effects_of_a_program_are_asked_for_once():
    questions = []
    noisy_p = Primitive("noisy_once")
    noisy_p.def_rule("effects", lambda: questions.append(1) or frozenset(("Noise",)))
    x, y = Var(F64), Var(F64)
    program = Jaxpr((), [x], [JaxprEqn(noisy_p, [x], [y], {})], [y])
    for _ in range(12):  # each program holds the one before it twice
        x, y, z = Var(F64), Var(F64), Var(F64)
        calls = [JaxprEqn(lax.jit_p, [x], [y], {"jaxpr": program}), JaxprEqn(lax.jit_p, [y], [z], {"jaxpr": program})]
        program = Jaxpr((), [x], calls, [z])
    assert program.effects == program.effects == {"Noise"}
    assert len(questions) == 1


def test_jaxprs_are_found_in_parameters_and_in_tuples_of_them():
    a, b, c = (make_jaxpr(f)(1.0) for f in (lax.sin, lax.cos, lax.tan))
    assert list(jaxprs_in_params({"jaxpr": a, "n": 1, "branches": (b, c), "axes": (0,)})) == [a, b, c]
    x, y = Var(F64), Var(F64)
    outer = Jaxpr((), [x], [new_jaxpr_eqn([x], [y], lax.cond_p, {"branches": (a, b)})], [y])
    assert list(subjaxprs(outer)) == [a, b]


def test_constants_and_variables_must_be_equally_many():
    with pytest.raises(AssertionError):
        Jaxpr([Var(F64)], [], [], [])


def test_memo_computes_once_per_key_and_dies_with_the_jaxpr():
    jaxpr = make_jaxpr(lax.sin)(1.0)
    calls = []
    for key in ("a", "a", "b"):
        jaxpr.memo(key, lambda: calls.append(1))
    assert len(calls) == 2
    held = jaxpr.memo("held", lambda: np.ones(3))
    ref = weakref.ref(held)
    gc.disable()  # nothing may have to wait for the collector: there are no reference cycles
    try:
        del jaxpr, held
        assert ref() is None
    finally:
        gc.enable()


def test_a_jaxpr_with_tracers_among_its_constants_remembers_nothing():
    seen = []

    def outer(x):
        inner = stage(lambda y: [lax.mul(x, y)], [F64])
        seen.append((inner.is_closed, inner.memo("key", object) is inner.memo("key", object)))
        return x

    make_jaxpr(outer)(1.0)
    assert seen == [(False, False)]
    assert make_jaxpr(lax.sin)(1.0).is_closed


def test_last_uses_name_each_variable_once_after_its_last_reader():
    jaxpr = make_jaxpr(lambda x, y: lax.add(lax.sin(x), x))(1.0, 2.0)
    (x, _), (s,), (out,) = jaxpr.invars, jaxpr.eqns[0].outvars, jaxpr.outvars
    assert [set(drops) for drops in jaxpr.last_uses] == [set(), {s, x}]
    assert out not in jaxpr.last_uses[-1]


def test_a_literal_takes_the_type_of_its_value():
    assert repr(Literal(2.0).aval) == "~float64[]"
    assert repr(Literal(np.float32(2)).aval) == "float32[]"
