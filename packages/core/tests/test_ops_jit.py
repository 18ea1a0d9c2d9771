import itertools
import weakref

import numpy as np
import pytest

from calque_core import (
    Primitive,
    ShapedArray,
    config,
    count_eqns,
    dce_jaxpr,
    eval_jaxpr,
    inline_calls,
    interpret,
    jaxpr_equal,
    lax,
    make_jaxpr,
    stage,
    typeof,
)
from calque_core.lax import jit_p
from calque_core.ops.calls.jit import (
    check_operands,
    means,
    one_equation_jaxpr,
    run_program,
    run_strongly,
)

F64 = ShapedArray((), np.float64)


def call(fun, *args, name="f", compiler=None):
    """Bind `fun` as a named program, as `jit` of a backend would."""
    return jit_p.bind(*args, jaxpr=make_jaxpr(fun)(*args), name=name, compiler=compiler)


def two(x, y):
    return lax.sin(x) * y, x


@pytest.mark.parametrize("args", [(1.0, 2.0), (np.float32(1), np.ones(3, np.float32)), (np.ones((2, 0)), 3.0)])
@pytest.mark.parametrize("x64", [True, False], ids=["64 bits", "32 bits"])
def test_a_call_means_its_equations_evaluated_and_staged(args, x64):
    with config.enable_x64(x64):
        want = two(*args)
        jaxpr = make_jaxpr(lambda *xs: call(two, *xs))(*args)
        for got in (call(two, *args), eval_jaxpr(jaxpr, jaxpr.consts, *args)):
            assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))
            assert [typeof(x) for x in got] == jaxpr.out_avals


def test_a_call_is_staged_as_one_equation_with_its_name():
    jaxpr = make_jaxpr(lambda x: call(lax.sin, x, name="inner"))(1.0)
    assert str(jaxpr) == (
        "{ lambda ; a:f64[]. let\n"
        "    b:f64[] = jit[\n"
        "      name=inner\n"
        "      jaxpr={ lambda ; c:f64[]. let d:f64[] = sin c in (d,) }\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_calls_nest_and_can_be_written_out():
    def nested(depth):
        return lax.sin if depth == 0 else lambda x: call(nested(depth - 1), x)[0]

    jaxpr = make_jaxpr(nested(20))(1.0)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 1.0) == [np.sin(1.0)]
    assert jaxpr_equal(inline_calls(jaxpr), make_jaxpr(lax.sin)(1.0))


def test_constants_of_the_program_stay_inside_it():
    matrix = np.ones((2, 2))
    jaxpr = make_jaxpr(lambda x: call(lambda v: lax.dot(matrix, v), x))(np.ones(2))
    assert jaxpr.consts == ()
    assert eval_jaxpr(jaxpr, (), np.ones(2))[0].tolist() == [2.0, 2.0]


def test_results_are_as_weak_as_those_of_the_equations_are():
    fun = lambda x: (x, 2.0, True, x + 1, lax.sin(x))
    outs = call(fun, 1.0)
    assert [type(x) for x in outs] == [float, float, bool, float, np.float64]
    jaxpr = make_jaxpr(lambda x: call(fun, x))(1.0)
    assert [a.weak_type for a in jaxpr.out_avals] == [True, True, True, True, False]


@pytest.mark.parametrize("traced_with", [1.0, np.float64(1.0)])
def test_results_are_as_weak_as_the_program_declares_them_whatever_it_is_given(traced_with):
    jaxpr = make_jaxpr(lambda x: x + 1.0)(traced_with)
    for given in (1.0, np.float64(1.0)):
        (out,) = jit_p.bind(given, jaxpr=jaxpr, name="f", compiler=None)
        assert type(out) is type(traced_with)


def test_a_compiler_gets_the_program_and_the_operands():
    calls = []

    def compiler(jaxpr, args):
        calls.append((jaxpr, args))
        return [42.0]

    jaxpr = make_jaxpr(lax.sin)(1.0)
    assert jit_p.bind(1.0, jaxpr=jaxpr, name="f", compiler=compiler) == [42.0]
    assert calls == [(jaxpr, (1.0,))]


def test_a_compiler_is_called_by_evaluation_only_and_is_not_printed():
    def compiler(jaxpr, args):
        raise AssertionError("evaluated")

    jaxpr = make_jaxpr(lambda x: call(lax.sin, x, compiler=compiler))(1.0)
    assert jaxpr.eqns[0].params["compiler"] is compiler
    assert "compiler" not in str(jaxpr)
    with pytest.raises(AssertionError, match="evaluated"):
        eval_jaxpr(jaxpr, jaxpr.consts, 1.0)


@pytest.mark.parametrize("args", [(), (1.0, 2.0), (np.float32(1),), (np.ones(3),)])
def test_operands_must_have_the_types_that_the_program_was_traced_for(args):
    jaxpr = make_jaxpr(lax.sin)(1.0)
    types = ", ".join(str(a) for a in make_jaxpr(lambda *xs: xs)(*args).in_avals).replace("[", r"\[")
    message = (
        rf"jit of f got operands of types \({types}\), but its program takes \(~float64\[\]\)\. Trace it again for "
        r"these types\."
    )
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda: jit_p.bind(*args, jaxpr=jaxpr, name="f", compiler=None))()


def test_a_weak_operand_fits_a_strong_argument_and_the_other_way_round():
    for declared, given in itertools.product((F64, F64.update(weak_type=True)), repeat=2):
        check_operands("f", stage(lambda x: [x], [declared]), [given])


# Dead code


def test_results_that_nobody_uses_leave_the_call_with_their_operands():
    def fun(x, y):
        a, _ = call(lambda v, w: (lax.sin(v), lax.cos(w)), x, y)
        return a

    jaxpr, used = dce_jaxpr(make_jaxpr(fun)(1.0, 2.0), [True])
    assert used == [True, False]
    assert [eqn.primitive.name for eqn in jaxpr.eqns[0].params["jaxpr"].eqns] == ["sin"]
    assert len(jaxpr.eqns[0].outvars) == 1


def test_a_call_that_nobody_uses_goes():
    jaxpr, used = dce_jaxpr(make_jaxpr(lambda x: call(lax.sin, x) and x)(1.0), [True])
    assert (jaxpr.eqns, used) == ((), [True])


def test_the_cut_program_is_made_once():
    jaxpr = make_jaxpr(lambda x: call(lambda v: (lax.sin(v), lax.cos(v)), x)[0])(1.0)
    first, second = (dce_jaxpr(jaxpr, [True])[0].eqns[0].params["jaxpr"] for _ in range(2))
    assert first is second


# Programs of one equation


def test_a_wrapped_primitive_is_a_program_of_one_equation():
    inner = make_jaxpr(two)(1.0, 2.0)
    jaxpr = one_equation_jaxpr(
        inner, jit_p, {"jaxpr": inner, "name": "two", "compiler": None}, inner.in_avals, inner.out_avals
    )
    assert count_eqns(jaxpr) == 1 + count_eqns(inner)
    assert eval_jaxpr(jaxpr, (), 1.0, 2.0) == eval_jaxpr(inner, (), 1.0, 2.0)


def test_a_program_dies_with_its_last_holder():
    outer = make_jaxpr(lambda x: call(lax.sin, x))(1.0)
    gone = weakref.ref(outer.eqns[0].params["jaxpr"])
    assert gone() is outer.eqns[0].params["jaxpr"]
    del outer
    assert gone() is None


def applied(run=run_program):
    """Return a primitive that means its program `function`, and a program that binds it to the sine."""
    apply_p = Primitive("apply", multiple_results=True)
    means(apply_p, "function", run)
    apply_p.def_abstract_eval(lambda *avals, function, name: function.out_avals)
    sine = make_jaxpr(lambda x: [lax.sin(x), x])(1.0)
    return apply_p, make_jaxpr(lambda x: apply_p.bind(x, function=sine, name="sine"))(1.0)


def test_a_primitive_is_evaluated_and_interpreted_as_the_program_that_it_means():
    apply_p, jaxpr = applied()
    assert [eqn.primitive for eqn in jaxpr.eqns] == [apply_p]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 1.0) == [np.sin(1.0), 1.0]
    assert interpret(jaxpr, {lax.sin_p: lambda x: f"sin {x}"}, "x") == ["sin x", "x"]


def test_the_author_says_how_the_program_is_evaluated():
    for run, kind in ((run_program, float), (run_strongly, np.float64)):
        _, jaxpr = applied(run)
        assert type(eval_jaxpr(jaxpr, jaxpr.consts, 1.0)[1]) is kind


def test_a_primitive_has_one_meaning():
    apply_p, _ = applied()
    with pytest.raises(ValueError, match="'apply' has a rule for 'means' from"):
        means(apply_p, "other")
