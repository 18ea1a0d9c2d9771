"""The acceptance examples that core alone runs, each under its id.

| id | claim |
| --- | --- |
| A-01 | evaluation is NumPy's |
| A-08 | pytrees flatten in the order of sorted keys, and back |
| A-20 | staging a function of an aval; its text and its type |
| A-21 | staging only what depends on an argument: by `ensure_compile_time_eval`, not by default |
| A-22 | staging everything, constants included |
| A-23 | the checker refuses what is not closed, bound twice or mistyped |
| A-24 | operands that do not fit are refused with both types |
| A-25 | `if` on a staged value is refused with function, line and argument |
| A-26 | there are no levels: what is left of them is the error for an escaped tracer |
| A-27 | scalar constants are literals, arrays are constant binders |
| J-1, J-2, J-3 | one text for a function, its Python control flow and its pytrees |
| P-03, P-04, P-05 | a primitive without and with an evaluation rule |
| P-06, P-07 | a primitive without and with a type rule, staged |
"""

import re
import threading

import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    MissingRuleError,
    Primitive,
    ShapedArray,
    ShapeError,
    TracerBoolConversionError,
    UnexpectedTracerError,
    Var,
    config,
    ensure_compile_time_eval,
    eval_context,
    eval_jaxpr,
    get_aval,
    jaxpr_as_fun,
    make_jaxpr,
    new_jaxpr_eqn,
    trace_state_clean,
)
from calque_core.compat import Lit, raise_to_shaped, typecheck_jaxpr
from calque_core.lax import add_p, cos, mul, mul_p, reduce_sum_p, sin, sin_p
from calque_pytree import tree_flatten, tree_unflatten

F64 = ShapedArray((), np.float64)

A20 = """\
{ lambda a:float64[] .
  let b:float64[] = mul 2.0 a
  in ( b ) }"""

A21 = """\
{ lambda  .
  let 
  in ( 4.0 ) }"""  # noqa: W291  the empty `let ` keeps its space

A22 = """\
{ lambda  .
  let a:float64[] = mul 2.0 2.0
  in ( a ) }"""

J1 = """\
{ lambda ; a:f32[8] b:f32[8]. let
    c:f32[8] = sin b
    d:f32[8] = mul c 3.0
    e:f32[8] = add a d
    f:f32[] = reduce_sum[axes=(0,)] e
  in (f,) }"""


def f(x):
    y = sin(x) * 2.0
    z = -y + x
    return z


def autodidax(jaxpr):
    return jaxpr.pretty_print(style="autodidax")


# A: the core built from scratch


def test_A_01_evaluation_is_numpy(capsys):
    print(f(3.0))
    assert capsys.readouterr().out == "2.7177599838802657\n"


def test_A_01_an_input_that_nothing_touches_stays_what_it_was():
    def untouched_and_touched(x):
        return [x, sin(x)]

    out = untouched_and_touched(3.0)
    assert type(out[0]) is float
    assert type(out[1]) is np.float64


def test_A_08_flattening_sorts_keys_and_unflattening_inverts_it():
    tree = {"b": 1, "a": (2, [3])}
    leaves, treedef = tree_flatten(tree)
    assert leaves == [2, 3, 1]
    assert tree_unflatten(treedef, leaves) == tree


def test_A_08_treedefs_of_equal_structure_are_equal_and_hash_alike():
    trees = {"b": 1, "a": (2, [3])}, {"a": (0.5, [()])}, {"a": (0, [1]), "b": 2}
    treedefs = [tree_flatten(tree)[1] for tree in trees]
    assert treedefs[0] == treedefs[2] != treedefs[1]
    assert hash(treedefs[0]) == hash(treedefs[2])


def test_A_20_a_function_of_an_aval_is_staged_with_its_text_and_its_type():
    jaxpr = make_jaxpr(lambda x: 2.0 * x)(raise_to_shaped(get_aval(3.0)))
    assert autodidax(jaxpr) == A20
    assert str(typecheck_jaxpr(jaxpr)) == "(float64[]) -> (float64[])"


def test_A_20_the_program_runs_on_values():
    jaxpr = make_jaxpr(lambda x: 2.0 * x)(F64)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0) == [6.0]
    assert jaxpr_as_fun(jaxpr)(3.0) == [6.0]


def test_A_21_differs_everything_in_the_context_is_staged_whatever_it_depends_on():
    # The document's first staging records only what depends on an argument.  Dispatch is by context here, so the
    # constant product becomes an equation, as in A-22; computing it while tracing is asked for by name.
    assert autodidax(make_jaxpr(lambda: mul(2.0, 2.0))()) == A22

    def computed_at_once():
        with ensure_compile_time_eval():
            return mul(2.0, 2.0)

    assert autodidax(make_jaxpr(computed_at_once)()) == A21


def test_A_22_constant_operations_are_staged_too():
    jaxpr = make_jaxpr(lambda: mul(2.0, 2.0))()
    assert autodidax(jaxpr) == A22
    assert str(typecheck_jaxpr(jaxpr)) == "() -> (float64[])"


def test_A_23_an_unbound_variable_is_refused():
    x, lost, y = Var(F64), Var(F64), Var(F64)
    with pytest.raises(TypeError, match="unbound variable"):
        typecheck_jaxpr(Jaxpr((), [x], [new_jaxpr_eqn([x, lost], [y], mul_p, {})], [y]))


def test_A_23_a_variable_bound_twice_is_refused():
    x, y = Var(F64), Var(F64)
    with pytest.raises(TypeError, match="the variable b is bound twice"):
        typecheck_jaxpr(Jaxpr((), [x], [new_jaxpr_eqn([x], [y], sin_p, {})] * 2, [y]))


def test_A_23_a_declared_type_that_the_rule_does_not_give_is_refused():
    x, y = Var(F64), Var(ShapedArray((3,), np.float64))
    equation = new_jaxpr_eqn([x, Lit(2.0)], [y], add_p, {})
    with pytest.raises(
        TypeError, match=re.escape("declared (float64[3]), but the type rule of 'add' gives (float64[])")
    ):
        typecheck_jaxpr(Jaxpr((), [x], [equation], [y]))


def test_A_24_operands_that_do_not_fit_are_refused_with_both_types():
    avals = ShapedArray((3,), np.float64), ShapedArray((2,), np.float64)
    with pytest.raises(ShapeError, match=re.escape("add of float64[3] and float64[2]")) as caught:
        make_jaxpr(lambda x, y: x + y)(*avals)
    assert isinstance(caught.value, TypeError)


def test_A_25_if_on_a_staged_value_is_refused_with_function_line_and_argument():
    def decide(x):
        return 1.0 if x > 0.0 else 2.0

    with pytest.raises(Exception, match=r"bool\(\) was asked of a traced value of type bool\[\]") as caught:
        make_jaxpr(decide)(F64)
    assert type(caught.value) is TracerBoolConversionError
    line = decide.__code__.co_firstlineno
    assert f"under make_jaxpr of decide (test_examples.py:{line})" in str(caught.value)
    assert f"at test_examples.py:{line + 1} " in str(caught.value)
    assert "it depends on the value of the argument x." in str(caught.value)


def test_A_25_the_state_is_as_it_was_before():
    with pytest.raises(TracerBoolConversionError):
        make_jaxpr(lambda x: 1.0 if x > 0.0 else 2.0)(F64)
    assert trace_state_clean()


# the document's errors are about levels ("Can't lift level", "Different traces at same level").  One current
# trace per thread has none: a tracer is a constant to every trace that runs under its own, and an error elsewhere.


def test_A_26_differs_a_tracer_of_an_outer_trace_is_a_constant_of_the_inner_one():
    inner = []

    def outer(x):
        inner.append(make_jaxpr(lambda y: y * x)(2.0))
        return x

    make_jaxpr(outer)(1.0)
    assert str(inner[0]).startswith("{ lambda a:f64[]; b:f64[]. let c:f64[] = mul b a in (c,) }")


def escaped():
    """Return a tracer whose trace has ended, and the line where it was made."""
    kept = []

    def leak(x):
        kept.append(sin(x))
        return x

    make_jaxpr(leak)(1.0)
    return kept[0], leak.__code__.co_firstlineno


def test_A_26_a_tracer_of_a_closed_trace_is_refused_by_evaluation_and_by_staging():
    tracer, first_line = escaped()
    uses = (
        lambda: cos(tracer),
        lambda: make_jaxpr(lambda x: x + tracer)(1.0),
        lambda: make_jaxpr(lambda: tracer)(),
        lambda: bool(tracer),
        lambda: int(tracer),
        lambda: float(tracer),
        lambda: np.asarray(tracer),
        lambda: tracer.item(),
    )
    for use in uses:
        with pytest.raises(UnexpectedTracerError) as caught:
            use()
        assert f"its trace, make_jaxpr of leak (test_examples.py:{first_line}), has ended" in str(caught.value)
        assert re.search(rf"It was made at .*test_examples\.py:{first_line + 1} ", str(caught.value))


def test_A_26_a_tracer_of_another_thread_is_refused():
    caught = []

    def used_elsewhere(x):
        def work():
            for use in (lambda: cos(x), lambda: make_jaxpr(lambda y: y + x)(1.0), lambda: bool(x)):
                with pytest.raises(UnexpectedTracerError) as error:
                    use()
                caught.append(str(error.value))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    make_jaxpr(used_elsewhere)(1.0)
    line = used_elsewhere.__code__.co_firstlineno
    assert len(caught) == 3
    for text in caught:
        assert f"it belongs to make_jaxpr of used_elsewhere (test_examples.py:{line}) in another thread" in text
        assert re.search(r"It was made at .*test_examples\.py:\d+ ", text)


def test_A_26_a_tracer_of_an_open_trace_that_reaches_evaluation_is_refused():
    def evaluated(x):
        y = x * 2.0
        with eval_context():
            return sin(y)

    with pytest.raises(UnexpectedTracerError) as caught:
        make_jaxpr(evaluated)(1.0)
    line = evaluated.__code__.co_firstlineno
    expected = f"it belongs to make_jaxpr of evaluated (test_examples.py:{line}), and evaluation runs outside of it"
    assert expected in str(caught.value)
    assert re.search(rf"It was made at .*test_examples\.py:{line + 1} ", str(caught.value))
    assert trace_state_clean()


def test_A_26_a_tracer_does_not_reach_a_sibling_trace():
    def first(x):
        with eval_context():
            make_jaxpr(lambda y: y + x)(1.0)

    with pytest.raises(UnexpectedTracerError, match=r"and make_jaxpr of <lambda> .* runs outside of it"):
        make_jaxpr(first)(1.0)


def test_A_27_scalars_are_literals_and_arrays_are_constant_binders():
    jaxpr = make_jaxpr(lambda x: x * np.ones(3) + 2.0)(ShapedArray((3,), np.float64))
    assert str(jaxpr).splitlines() == [
        "{ lambda a:f64[3]; b:f64[3]. let",
        "    c:f64[3] = mul b a",
        "    d:f64[3] = add c 2.0",
        "  in (d,) }",
    ]
    np.testing.assert_array_equal(jaxpr.consts[0], np.ones(3))
    assert len(jaxpr.constvars) == 1


def test_A_27_the_autodidax_style_puts_constants_before_the_arguments():
    jaxpr = make_jaxpr(lambda x: x * np.ones(3) + 2.0)(ShapedArray((3,), np.float64))
    assert autodidax(jaxpr).splitlines() == [
        "{ lambda a:float64[3] b:float64[3] .",
        "  let c:float64[3] = mul b a",
        "      d:float64[3] = add c 2.0",
        "  in ( d ) }",
    ]
    assert str(typecheck_jaxpr(jaxpr)) == "(float64[3], float64[3]) -> (float64[3])"


# J: understanding jaxprs


def func1(first, second):
    temp = first + np.sin(second) * 3.0
    return np.sum(temp)


def func3(first, second):
    def inner(second):
        if second.shape[0] > 4:
            return np.sin(second)
        raise AssertionError("the other branch")

    temp = first + inner(second) * 3.0
    return np.sum(temp)


def func4(arg):
    first, second = arg
    temp = first + np.sin(second) * 3.0
    return np.sum(temp)


@pytest.fixture
def narrow():
    with config.enable_x64(False):
        yield


@pytest.mark.usefixtures("narrow")
def test_J_1_a_function_of_arrays():
    jaxpr = make_jaxpr(func1)(np.zeros(8), np.ones(8))
    assert str(jaxpr) == J1
    assert [e.primitive for e in jaxpr.eqns] == [sin_p, mul_p, add_p, reduce_sum_p]


@pytest.mark.usefixtures("narrow")
def test_J_2_python_control_flow_leaves_no_trace():
    assert str(make_jaxpr(func3)(np.zeros(8), np.ones(8))) == J1


@pytest.mark.usefixtures("narrow")
def test_J_3_pytrees_are_flattened():
    assert str(make_jaxpr(func4)((np.zeros(8), np.ones(8)))) == J1


# P: how primitives work, in both regimes


@pytest.fixture(params=["64 bits", "32 bits"])
def dtype(request):
    """The dtype of Python floats in the regime of the test."""
    if request.param == "64 bits":
        yield np.dtype("float64")
    else:
        with config.enable_x64(False):
            yield np.dtype("float32")


def square_add(multiply_add_p, a, b):
    return multiply_add_p.bind(a, a, b)


def line_of_bind():
    return square_add.__code__.co_firstlineno + 1


@pytest.mark.usefixtures("dtype")
def test_P_03_binding_before_any_rule_says_what_is_missing():
    multiply_add_p = Primitive("multiply_add")
    with pytest.raises(NotImplementedError) as caught:
        square_add(multiply_add_p, 2.0, 10.0)
    assert str(caught.value).splitlines() == [
        "Evaluation rule for 'multiply_add' not implemented",
        "calque_core reads this rule; register one with multiply_add_p.def_impl(fn).",
    ]
    assert caught.value.__notes__ == [
        f"'multiply_add' was bound at test_examples.py:{line_of_bind()} (square_add).",
        "Rules that 'multiply_add' has: none.",
    ]
    error = caught.value
    assert (type(error), error.primitive, error.kind) == (MissingRuleError, "multiply_add", "impl")
    assert error.package == "calque_core"


def test_P_04_def_impl_returns_the_function():
    multiply_add_p = Primitive("multiply_add")

    def multiply_add_impl(x, y, z):
        return np.add(np.multiply(x, y), z)

    assert multiply_add_p.def_impl(multiply_add_impl) is multiply_add_impl


def test_P_04_def_impl_is_a_decorator():
    multiply_add_p = Primitive("multiply_add")

    @multiply_add_p.def_impl
    def multiply_add_impl(x, y, z):
        return np.add(np.multiply(x, y), z)

    assert multiply_add_p.rules["impl"] is multiply_add_impl


def recording(multiply_add_p, calls):
    @multiply_add_p.def_impl
    def multiply_add_impl(x, y, z):
        calls.append((x, y, z))
        return np.add(np.multiply(x, y), z)


def test_P_05_evaluation_calls_the_rule_once_with_what_the_user_gave(dtype):
    multiply_add_p, calls = Primitive("multiply_add"), []
    recording(multiply_add_p, calls)
    out = square_add(multiply_add_p, 2.0, 10.0)
    assert out == 14.0
    assert out.dtype == dtype
    assert calls == [(2.0, 2.0, 10.0)]
    # In the 32-bit regime operands are converted before the operation: the rule then sees NumPy's float32 scalars.
    expected = float if dtype == np.float64 else np.float32
    assert {type(x) for x in calls[0]} == {expected}


@pytest.mark.usefixtures("dtype")
def test_P_06_staging_without_a_type_rule_says_what_is_missing():
    multiply_add_p = Primitive("multiply_add")
    recording(multiply_add_p, [])
    with pytest.raises(NotImplementedError) as caught:
        make_jaxpr(lambda a, b: square_add(multiply_add_p, a, b))(2.0, 10.0)
    assert str(caught.value).splitlines() == [
        "Abstract evaluation for 'multiply_add' not implemented",
        "calque_core reads this rule; register one with multiply_add_p.def_abstract_eval(fn).",
    ]
    assert caught.value.__notes__[:-1] == [
        f"'multiply_add' was bound at test_examples.py:{line_of_bind()} (square_add).",
        "Rules that 'multiply_add' has: impl.",
    ]
    assert trace_state_clean()


def test_P_07_the_type_rule_gets_avals_and_gives_one(dtype):
    multiply_add_p, calls = Primitive("multiply_add"), []

    def multiply_add_abstract_eval(x, y, z):
        calls.append((x, y, z))
        return ShapedArray(x.shape, x.dtype)

    assert multiply_add_p.def_abstract_eval(multiply_add_abstract_eval) is multiply_add_abstract_eval
    jaxpr = make_jaxpr(lambda a, b: square_add(multiply_add_p, a, b))(2.0, 10.0)
    assert [tuple(map(repr, avals)) for avals in calls] == [(f"~{dtype}[]",) * 3]
    assert list(map(repr, jaxpr.out_avals)) == [f"{dtype}[]"]


def test_P_07_a_traced_value_is_shown_as_JitTracer(dtype):
    seen = []
    make_jaxpr(lambda x: seen.append(repr(x)) or x)(2.0)
    make_jaxpr(lambda x: seen.append(repr(x)) or x)(np.float32(2.0))
    assert seen == [f"JitTracer(~{dtype}[])", "JitTracer(float32[])"]
