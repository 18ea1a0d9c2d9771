import re

import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    JaxprEqn,
    JaxprType,
    JaxprTypeError,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    check_jaxpr,
    config,
    ensure_compile_time_eval,
    lax,
    make_jaxpr,
    stage,
)

F64 = ShapedArray((), "float64")


def program(*eqns, invars=(), out=None, constvars=(), consts=()):
    return Jaxpr(constvars, invars, eqns, [out if out is not None else eqns[-1].outvars[0]], consts)


def variables(number, aval=F64):
    return [Var(aval) for _ in range(number)]


def held_by_jit(inner):
    x, y = variables(2)
    return program(JaxprEqn(lax.jit_p, [x], [y], {"jaxpr": inner, "name": "inner", "compiler": None}), invars=[x])


def test_a_traced_program_is_well_typed_and_has_a_type():
    jaxpr_type = check_jaxpr(make_jaxpr(lambda x: 2.0 * x)(3.0))
    assert str(jaxpr_type) == "(float64[]) -> (float64[])"
    assert jaxpr_type == JaxprType(
        (ShapedArray((), "float64", weak_type=True),), (ShapedArray((), "float64", weak_type=True),)
    )


def test_constants_count_among_the_arguments_of_the_type():
    assert str(check_jaxpr(make_jaxpr(lambda x: x * np.ones(3))(2))) == "(float64[3], int64[]) -> (float64[3])"


def test_an_unbound_variable_is_named_with_its_equation():
    x, y, lost = variables(3)
    with pytest.raises(JaxprTypeError, match=re.escape("unbound variable c in `b:f64[] = mul a c`. Bind it")):
        check_jaxpr(program(JaxprEqn(lax.mul_p, [x, lost], [y], {}), invars=[x]))


def test_a_result_that_nothing_binds_is_an_unbound_variable():
    x, y, lost = variables(3)
    with pytest.raises(TypeError, match=r"^unbound variable b\. Bind it by an argument"):
        check_jaxpr(program(JaxprEqn(lax.sin_p, [x], [y], {}), invars=[x], out=lost))


def test_a_variable_bound_twice_is_named():
    x, y = variables(2)
    eqns = JaxprEqn(lax.sin_p, [x], [y], {}), JaxprEqn(lax.cos_p, [x], [y], {})
    message = "the variable b is bound twice in `b:f64[] = cos a`. Make a new Var for each result."
    with pytest.raises(JaxprTypeError, match=re.escape(message)):
        check_jaxpr(program(*eqns, invars=[x]))
    with pytest.raises(JaxprTypeError, match=r"the variable a is bound twice\."):
        check_jaxpr(program(invars=[x, x], out=x))


def test_a_declared_type_must_be_what_the_rule_gives():
    (x,), (y,) = variables(1), variables(1, ShapedArray((2,), "float32"))
    message = (
        "the results are declared (float32[2]), but the type rule of 'sin' gives (float64[]) in `b:f32[2] = sin a`"
    )
    with pytest.raises(JaxprTypeError, match=re.escape(message)):
        check_jaxpr(program(JaxprEqn(lax.sin_p, [x], [y], {}), invars=[x]))


def test_the_number_of_results_must_be_what_the_rule_gives():
    x, y, z = variables(3)
    with pytest.raises(JaxprTypeError, match=re.escape("the results are declared (float64[], float64[]), but")):
        check_jaxpr(program(JaxprEqn(lax.sin_p, [x], [y, z], {}), invars=[x]))


def test_operands_that_the_rule_refuses_are_an_error_with_the_reason():
    (x, z), (y,) = variables(2), variables(1, ShapedArray((), "float32"))
    eqn = JaxprEqn(lax.add_p, [x, y], [z], {})
    message = "the type rule of 'add' refuses the operands: add of float64[] and float32[]"
    with pytest.raises(JaxprTypeError, match=re.escape(message)) as caught:
        check_jaxpr(program(eqn, invars=[x, y]))
    assert isinstance(caught.value.__cause__, TypeError)


def test_parameters_that_the_rule_does_not_know_are_an_error():
    x, y = variables(2)
    with pytest.raises(JaxprTypeError, match=r"refuses the operands: .*unexpected keyword argument 'axis'"):
        check_jaxpr(program(JaxprEqn(lax.sin_p, [x], [y], {"axis": 0}), invars=[x]))


def test_a_primitive_without_a_type_rule_is_an_error():
    x, y = variables(2)
    with pytest.raises(JaxprTypeError, match=r"'odd' has no type rule in .*\. Define one with odd_p.def_abstract_eval"):
        check_jaxpr(program(JaxprEqn(Primitive("odd"), [x], [y], {}), invars=[x]))


def test_a_constant_must_have_its_variables_type():
    (c,) = variables(1, ShapedArray((3,), "float64"))
    message = "the constant a is declared float64[3], but its value is float32[3]. Convert the value"
    with pytest.raises(JaxprTypeError, match=re.escape(message)):
        check_jaxpr(program(out=c, constvars=[c], consts=[np.ones(3, np.float32)]))


def test_a_literal_must_have_its_declared_type():
    x, y = variables(2)
    literal = Literal(np.float32(2.0), F64)
    with pytest.raises(
        JaxprTypeError, match=re.escape("the literal 2.0 is declared float64[], but its value is float32[]")
    ):
        check_jaxpr(program(JaxprEqn(lax.mul_p, [x, literal], [y], {}), invars=[x]))


def test_the_users_line_is_named():
    jaxpr = make_jaxpr(lambda x: lax.sin(x))(1.0)
    line = test_the_users_line_is_named.__code__.co_firstlineno + 1
    message = rf"^unbound variable b in `a:f64\[\] = sin b`, from .*test_check\.py:{line} "
    with pytest.raises(JaxprTypeError, match=message):
        check_jaxpr(jaxpr.replace(invars=()))


def test_inner_programs_are_checked_and_named_as_the_whole_prints_them():
    x, y, lost = variables(3)
    inner = program(JaxprEqn(lax.mul_p, [x, lost], [y], {}), invars=[x])
    with pytest.raises(JaxprTypeError, match=re.escape("unbound variable e in `d:f64[] = mul c e`")):
        check_jaxpr(held_by_jit(inner))


def test_an_equation_with_programs_among_its_parameters_is_named_in_short():
    inner = make_jaxpr(lax.sin)(np.float64(1.0))
    outer = held_by_jit(inner)
    with pytest.raises(JaxprTypeError, match=re.escape("in `a:f64[] = jit[name=inner jaxpr=...] ")):
        check_jaxpr(outer.replace(invars=()))


def test_weak_types_make_no_difference():
    x = Var(ShapedArray((), "float64", weak_type=True))
    y = Var(F64)
    check_jaxpr(program(JaxprEqn(lax.mul_p, [x, Literal(2.0)], [y], {}), invars=[x]))


def test_a_second_check_asks_no_rule_again():
    asked = []
    counted_p = Primitive("counted")
    counted_p.def_abstract_eval(lambda aval: asked.append(aval) or aval)
    x, y = variables(2)
    jaxpr = program(JaxprEqn(counted_p, [x], [y], {}), invars=[x])
    check_jaxpr(jaxpr)
    check_jaxpr(jaxpr)
    assert len(asked) == 1


def test_enable_checks_checks_what_is_traced():
    liar_p = Primitive("liar")
    answers = iter([F64, ShapedArray((2,), "float64")])
    liar_p.def_abstract_eval(lambda aval: next(answers))
    with config.enable_checks(), pytest.raises(JaxprTypeError, match="'liar' gives"):
        stage(lambda x: [liar_p.bind(x)], [F64])


def author_primitive(impl, type_rule=lambda *avals: avals[0], multiple_results=False):
    primitive = Primitive("twice", multiple_results=multiple_results)
    primitive.def_impl(impl)
    primitive.def_abstract_eval(type_rule)
    return primitive


def single_precision(x):
    return np.float32(2) * np.asarray(x, np.float32)


def same_type(*avals):
    return avals[0]


@pytest.mark.parametrize(
    ("primitive", "words"),
    [
        (
            author_primitive(single_precision, same_type),
            (
                r"evaluation of 'twice' \(single_precision \(test_check.py:\d+\)\) gave float32\[3\] at .*, "
                r"but the type rule of 'twice' \(same_type \(test_check.py:\d+\)\) says float64\[3\]. Correct one of"
            ),
        ),
        (author_primitive(lambda x: x[:2]), r"gave float64\[2\] .*says float64\[3\]"),
        (author_primitive(lambda x: [x, x]), r"gave a list of length 2 .*says float64\[3\]"),
        (author_primitive(lambda x: None), r"gave None .*says float64\[3\]"),
        (
            author_primitive(lambda x: [x], lambda x: [x, x], True),
            r"gave float64\[3\] .*says float64\[3\], float64\[3\]",
        ),
        (author_primitive(lambda x: [], lambda x: [x], True), r"gave nothing .*says float64\[3\]"),
        (author_primitive(lambda x: x, lambda x: [x], True), r"gave float64\[3\] .*says float64\[3\]"),
    ],
)
def test_an_evaluation_that_contradicts_its_type_rule_is_refused_under_the_setting(primitive, words):
    x = np.ones(3)
    with config.enable_checks(), pytest.raises(TypeError, match=words):
        primitive.bind(x)
    with config.enable_checks(), pytest.raises(TypeError, match=words):
        eval_context_of_a_trace(primitive, x)


def eval_context_of_a_trace(primitive, x):
    """Bind with known operands while something else is traced: it is evaluated there too."""

    def traced(y):
        with ensure_compile_time_eval():
            primitive.bind(x)
        return y

    make_jaxpr(traced)(1.0)


def test_a_type_rule_that_refuses_what_the_evaluation_takes_is_heard_under_the_setting():
    def only_vectors(aval):
        if aval.ndim != 1:
            raise TypeError("only vectors")
        return aval

    primitive = author_primitive(lambda x: x, only_vectors)
    assert primitive.bind(2.0) == 2.0
    with config.enable_checks(), pytest.raises(TypeError, match="only vectors") as refusal:
        primitive.bind(2.0)
    assert "(only_vectors (test_check.py:" in refusal.value.__notes__[0]
    assert "refuses operands that the evaluation accepts" in refusal.value.__notes__[0]


def test_a_python_scalar_is_a_good_result_under_the_setting():
    with config.enable_checks():
        assert author_primitive(lambda x: 2.0 * float(x)).bind(1.5) == 3.0


def test_a_result_that_is_wider_than_the_settings_allow_is_refused_under_the_setting():
    wide = author_primitive(lambda x: np.asarray(x, np.float64))
    with (
        config.enable_x64(False),
        config.enable_checks(),
        pytest.raises(TypeError, match=r"gave float64\[\] .* says float32\[\]"),
    ):
        wide.bind(np.float32(1.0))
