import re

import numpy as np
import pytest

from calque_core import (
    JaxprTypeError,
    Primitive,
    UnexpectedTracerError,
    check_jaxpr,
    eval_jaxpr,
    lax,
    make_jaxpr,
    map_jaxpr,
    rewrite,
)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def call(jaxpr, *args):
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name="f", compiler=None)


def sub_as_add(eqn, *args):
    return lax.add(args[0], lax.neg(args[1])) if eqn.primitive is lax.sub_p else None


# map_jaxpr


def test_every_equation_is_mapped_inner_ones_first():
    inner = make_jaxpr(lambda x: lax.sin(x))(1.0)
    jaxpr = make_jaxpr(lambda x: call(inner, lax.cos(x)))(np.float64(1))
    seen = []
    mapped = map_jaxpr(lambda eqn: seen.append(eqn.primitive.name) or eqn, jaxpr)
    assert seen == ["sin", "cos", "jit"]
    assert mapped is jaxpr


def test_a_mapped_program_computes_what_its_new_equations_say():
    jaxpr = make_jaxpr(lambda x: call(make_jaxpr(lax.sin)(1.0), x))(np.float64(1))
    swapped = map_jaxpr(lambda eqn: eqn.replace(primitive=lax.cos_p) if eqn.primitive is lax.sin_p else eqn, jaxpr)
    assert eval_jaxpr(swapped, swapped.consts, 1.0) == [np.cos(1.0)]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 1.0) == [np.sin(1.0)]


def test_a_wrong_mapping_is_found_by_the_check():
    jaxpr = map_jaxpr(lambda eqn: eqn.replace(primitive=lax.floor_p, params={"digits": 2}), make_jaxpr(lax.sin)(1.0))
    with pytest.raises(JaxprTypeError, match="the type rule of 'floor' refuses"):
        check_jaxpr(jaxpr)


# rewrite


def test_equations_are_replaced_by_what_the_rule_computes():
    jaxpr = make_jaxpr(lambda x, y: lax.sin(x - y) - 1.0)(np.float64(1.0), np.float64(2.0))
    new = rewrite(jaxpr, sub_as_add)
    assert names(new) == ["neg", "add", "sin", "neg", "add"]
    check_jaxpr(new)
    assert eval_jaxpr(new, new.consts, 3.0, 2.0) == eval_jaxpr(jaxpr, jaxpr.consts, 3.0, 2.0)


def test_a_rule_that_keeps_everything_gives_the_program_back():
    jaxpr = make_jaxpr(lambda x, y: lax.sin(x - y))(1.0, 2.0)
    assert rewrite(jaxpr, lambda eqn, *args: None) is jaxpr


def test_inner_programs_are_rewritten():
    inner = make_jaxpr(lambda x: x - 1.0)(np.float64(1))
    jaxpr = make_jaxpr(lambda p, x: lax.cond(p, lambda y: call(inner, y)[0], lambda y: y - 2.0, x))(True, np.float64(1))
    new = rewrite(jaxpr, sub_as_add)
    assert "sub" not in str(new)
    check_jaxpr(new)
    assert [eval_jaxpr(new, new.consts, p, 5.0) for p in (True, False)] == [[4.0], [3.0]]


def test_a_result_may_be_an_operand_or_a_constant():
    def simplify(eqn, *args):
        if eqn.primitive is lax.mul_p and args[1] == 1.0:
            return args[0]
        return 0.0 if eqn.primitive is lax.floor_p else None

    new = rewrite(make_jaxpr(lambda x: (lax.sin(x) * 1.0, x * 1.0, lax.floor(x)))(1.0), simplify)
    assert names(new) == ["sin"]
    assert [repr(aval) for aval in new.out_avals] == ["float64[]", "~float64[]", "float64[]"]  # as strong as before
    assert eval_jaxpr(new, new.consts, 2.0) == [np.sin(2.0), 2.0, 0.0]


def test_a_rule_may_bring_array_constants():
    new = rewrite(make_jaxpr(lambda x: lax.neg(x))(np.ones(3)), lambda eqn, x: x * np.array([1.0, 2.0, 3.0]))
    assert [c.tolist() for c in new.consts] == [[1.0, 2.0, 3.0]]
    check_jaxpr(new)


def test_a_primitive_with_several_results_is_replaced_by_a_list():
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_abstract_eval(lambda aval: [aval.strip_weak_type()] * 2)
    new = rewrite(make_jaxpr(lambda x: pair_p.bind(x))(1.0), lambda eqn, x: [lax.sin(x), lax.cos(x)])
    assert names(new) == ["sin", "cos"]


def test_an_equation_without_results_can_be_taken_out():
    speak_p = Primitive("speak", multiple_results=True)
    speak_p.def_abstract_eval(lambda aval: [])
    jaxpr = make_jaxpr(lambda x: (speak_p.bind(x), lax.sin(x))[1])(1.0)
    assert names(rewrite(jaxpr, lambda eqn, x: [] if eqn.primitive is speak_p else None)) == ["sin"]


def test_new_equations_keep_the_users_line():
    jaxpr = make_jaxpr(lambda x: x - 1.0)(1.0)
    new = rewrite(jaxpr, sub_as_add)
    assert {eqn.source_info for eqn in new.eqns} == {jaxpr.eqns[0].source_info}


def test_a_result_of_another_type_is_refused():
    jaxpr = make_jaxpr(lambda x: lax.neg(x))(np.float32(1))
    with pytest.raises(TypeError, match=re.escape("replaced 'neg' at test_rewrite.py:")) as caught:
        rewrite(jaxpr, lambda eqn, x: x * np.ones(3, np.float32))
    assert "with results of types (float32[]), by values of types (float32[3]). Return values of the same types" in str(
        caught.value
    )


def test_a_rule_may_not_use_a_tracer():
    jaxpr = make_jaxpr(lambda x: lax.neg(x))(np.float64(1))
    with pytest.raises(UnexpectedTracerError):
        make_jaxpr(lambda y: rewrite(jaxpr, lambda eqn, x: lax.mul(x, y)) and y)(np.float64(1))
