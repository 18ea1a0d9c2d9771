import numpy as np

from calque_core import (
    Jaxpr,
    JaxprEqn,
    ShapedArray,
    Var,
    check_jaxpr,
    count_eqns,
    eval_jaxpr,
    inline_calls,
    lax,
    make_jaxpr,
)

F64 = ShapedArray((), "float64")


def call(fun, *args, name="f"):
    jaxpr = fun if isinstance(fun, Jaxpr) else make_jaxpr(fun)(*args)
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)


def test_calls_are_written_out_to_any_depth():
    def middle(x, y):
        return call(lambda a: lax.sin(a) * 2.0, lax.add(x, y))[0]

    jaxpr = make_jaxpr(lambda x: lax.neg(call(middle, x, 3.0)[0]))(np.float64(1))
    flat = inline_calls(jaxpr)
    assert str(flat) == (
        "{ lambda ; a:f64[]. let\n"
        "    b:f64[] = add a 3.0\n"
        "    c:f64[] = sin b\n"
        "    d:f64[] = mul c 2.0\n"
        "    e:f64[] = neg d\n"
        "  in (e,) }"
    )
    check_jaxpr(flat)
    assert eval_jaxpr(flat, flat.consts, 1.0) == eval_jaxpr(jaxpr, jaxpr.consts, 1.0)


def test_a_program_called_twice_gets_variables_of_its_own_each_time():
    inner = make_jaxpr(lambda x: lax.sin(x) * np.ones(3))(np.float64(1))
    jaxpr = make_jaxpr(lambda x: call(inner, x) + call(inner, lax.cos(x)))(np.float64(1))
    flat = inline_calls(jaxpr)
    check_jaxpr(flat)
    assert len(flat.consts) == 1
    assert np.array_equal(eval_jaxpr(flat, flat.consts, 2.0), eval_jaxpr(jaxpr, jaxpr.consts, 2.0))


def test_programs_that_share_a_variable_keep_their_own_constants():
    c, y = Var(F64.update(shape=(1,))), Var(F64.update(shape=(1,)))
    one = Jaxpr([c], [], [JaxprEqn(lax.neg_p, [c], [y], {})], [y], [np.ones(1)])
    two = one.replace(consts=[np.full(1, 2.0)])
    flat = inline_calls(make_jaxpr(lambda: (*call(one), *call(two)))())
    assert [x.tolist() for x in eval_jaxpr(flat, flat.consts)] == [[-1.0], [-2.0]]


def test_calls_in_branches_are_written_out_too():
    def fun(p, x):
        return lax.cond(p, lambda a: call(lax.sin, a)[0], lambda a: a, x)

    flat = inline_calls(make_jaxpr(fun)(True, np.float64(1)))
    assert [eqn.primitive.name for eqn in flat.eqns] == ["convert_element_type", "cond"]
    assert [eqn.primitive.name for eqn in flat.eqns[1].params["branches"][1].eqns] == ["sin"]
    check_jaxpr(flat)


def test_results_that_fall_through_a_call_are_as_strong_as_the_call_gave_them():
    jaxpr = make_jaxpr(lambda x: call(lambda y: (y, 2.0, 7), x))(1.0)
    flat = inline_calls(jaxpr)
    assert [repr(aval) for aval in flat.out_avals] == ["~float64[]", "~float64[]", "~int64[]"]
    assert list(map(type, eval_jaxpr(flat, flat.consts, 1.0))) == [float, float, int]
    check_jaxpr(flat)


def test_equations_keep_their_lines():
    inner = make_jaxpr(lambda x: lax.sin(x))(np.float64(1))
    flat = inline_calls(make_jaxpr(lambda x: call(inner, x))(np.float64(1)))
    line = test_equations_keep_their_lines.__code__.co_firstlineno + 1
    assert (flat.eqns[0].source_info.file_name, flat.eqns[0].source_info.line) == (__file__, line)


def test_a_program_without_calls_is_given_back():
    jaxpr = make_jaxpr(lambda x: lax.sin(x))(1.0)
    assert inline_calls(jaxpr) is jaxpr


def test_inlining_grows_the_program_to_what_it_executes():
    jaxpr = make_jaxpr(lax.sin)(np.float64(1))
    for _ in range(8):
        jaxpr = make_jaxpr(lambda x, inner=jaxpr: call(inner, call(inner, x)[0]))(np.float64(1))
    assert len(inline_calls(jaxpr).eqns) == 2**8
    assert count_eqns(jaxpr) == 2**8 + sum(2**k for k in range(1, 9))


def test_each_equation_is_written_once_at_any_depth(monkeypatch):
    """Count the equations written, of a program whose calls are nested."""
    written = []
    replace = JaxprEqn.replace
    monkeypatch.setattr(JaxprEqn, "replace", lambda eqn, **fields: written.append(eqn) or replace(eqn, **fields))
    for depth in (10, 40):
        jaxpr = make_jaxpr(lax.sin)(np.float64(1))
        for _ in range(depth):
            jaxpr = make_jaxpr(lambda x, inner=jaxpr: lax.neg(call(inner, lax.sin(x))[0]))(np.float64(1))
        written.clear()
        assert len(inline_calls(jaxpr).eqns) == len(written) == 2 * depth + 1
