import numpy as np
import pytest

from calque_core import (
    ShapedArray,
    check_jaxpr,
    dce_jaxpr,
    eval_jaxpr,
    interpret,
    jaxpr_equal,
    lax,
    make_jaxpr,
    typeof,
)
from calque_core.lax import name_p, optimization_barrier, remat_p

F64 = ShapedArray((), np.float64)


def rematted(fun, *args, **params):
    """Bind `fun` as a program to be computed again, as `checkpoint` does."""
    usual = {"policy": None, "prevent_cse": True, "differentiated": False}
    return remat_p.bind(*args, jaxpr=make_jaxpr(fun)(*args), **usual | params)


def two(x, y):
    return lax.sin(x) * y, x


def save_sines(primitive, *avals, **params):
    return primitive is lax.sin_p


@pytest.mark.parametrize("args", [(1.0, 2.0), (np.float32(1), np.ones(3, np.float32)), (np.ones((2, 0)), 3.0)])
def test_a_program_to_be_computed_again_means_its_equations(args):
    want = two(*args)
    jaxpr = make_jaxpr(lambda *xs: rematted(two, *xs))(*args)
    check_jaxpr(jaxpr)
    for got in (rematted(two, *args), eval_jaxpr(jaxpr, jaxpr.consts, *args)):
        assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))
        assert [typeof(x) for x in got] == jaxpr.out_avals


def test_results_are_as_weak_as_those_of_the_equations_are():
    outs = rematted(two, 1.0, 2.0)
    jaxpr = make_jaxpr(lambda x: rematted(two, x, x))(1.0)
    assert [typeof(x).weak_type for x in outs] == [a.weak_type for a in jaxpr.out_avals] == [False, True]
    assert type(name_p.bind(1.0, name="x")) is np.float64
    assert type(optimization_barrier(1.0)) is np.float64


def test_operands_that_do_not_fit_are_refused_in_words():
    program = make_jaxpr(lax.sin)(1.0)
    with pytest.raises(
        TypeError,
        match=r"checkpoint of sin got operands of types \(float64\[2\]\), but its program takes \(~float64\[\]\)",
    ):
        make_jaxpr(lambda x: remat_p.bind(x, jaxpr=program, policy=None, prevent_cse=True, differentiated=False))(
            np.ones(2)
        )


def test_only_unusual_parameters_are_printed():
    text = lambda **params: str(make_jaxpr(lambda x: rematted(lax.sin, x, **params))(1.0))
    assert text() == (
        "{ lambda ; a:f64[]. let\n"
        "    b:f64[] = remat[jaxpr={ lambda ; c:f64[]. let d:f64[] = sin c in (d,) }] a\n"
        "  in (b,) }"
    )
    unusual = text(policy=save_sines, prevent_cse=False, differentiated=True)
    assert all(part in unusual for part in ("policy=save_sines", "prevent_cse=False", "differentiated=True"))


def test_programs_with_other_policies_are_not_equal():
    jaxprs = [make_jaxpr(lambda x, p=p: rematted(lax.sin, x, policy=p))(1.0) for p in (save_sines, save_sines, None)]
    assert jaxpr_equal(jaxprs[0], jaxprs[1])
    assert not jaxpr_equal(jaxprs[0], jaxprs[2])


def test_results_that_nobody_uses_are_dropped_with_what_they_needed():
    jaxpr = make_jaxpr(lambda x, y: rematted(two, x, y)[1])(1.0, 2.0)
    smaller, used = dce_jaxpr(jaxpr, [True])
    assert used == [True, False]
    assert smaller.eqns[0].params["jaxpr"].eqns == ()
    check_jaxpr(smaller)
    jaxpr = make_jaxpr(lambda x, y: (rematted(two, x, y), y)[1])(1.0, 2.0)
    assert dce_jaxpr(jaxpr, [True])[0].eqns == ()


def test_a_table_of_rules_sees_into_the_program():
    jaxpr = make_jaxpr(lambda x: rematted(lax.sin, x)[0])(1.0)
    assert interpret(jaxpr, {lax.sin_p: lambda x: x + 1.0}, 1.0) == [2.0]


def test_a_name_changes_nothing():
    x = np.arange(3.0)
    assert name_p.bind(x, name="x") is x
    jaxpr = make_jaxpr(lambda x: name_p.bind(x, name="x"))(x)
    assert str(jaxpr) == "{ lambda ; a:f64[3]. let b:f64[3] = name[name=x] a in (b,) }"
    check_jaxpr(jaxpr)


def test_a_barrier_keeps_the_structure_and_the_values():
    tree = {"a": (1.0, np.arange(2)), "b": None}
    out = optimization_barrier(tree)
    assert out["a"][0] == 1.0
    assert out["a"][1].tolist() == [0, 1]
    assert out["b"] is None
    assert optimization_barrier(()) == ()
    jaxpr = make_jaxpr(optimization_barrier)((1.0, np.arange(2)))
    assert "c:f64[] d:i64[2] = optimization_barrier a b\n" in str(jaxpr)
    check_jaxpr(jaxpr)


def test_a_barrier_lets_dead_code_go():
    jaxpr = make_jaxpr(lambda x, y: optimization_barrier((lax.sin(x), lax.cos(y)))[0])(1.0, 2.0)
    smaller, used = dce_jaxpr(jaxpr, [True])
    assert used == [True, False]
    assert [eqn.primitive.name for eqn in smaller.eqns] == ["sin", "optimization_barrier"]
    check_jaxpr(smaller)


def test_a_barrier_of_what_is_no_array_is_refused_in_words():
    with pytest.raises(TypeError, match=r"optimization_barrier at .*: operand\['a'\] is 'x' of type str"):
        optimization_barrier({"a": "x"})


# Values that nobody uses


def test_a_sink_keeps_what_it_uses_and_gives_nothing():
    def watched(x, y):
        lax.dce_sink({"a": lax.cos(x), "b": [x]})
        return lax.sin(y)

    jaxpr = make_jaxpr(watched)(0.5, 1.0)
    check_jaxpr(jaxpr)
    kept, used = dce_jaxpr(jaxpr, [False])
    assert [eqn.primitive for eqn in kept.eqns] == [lax.cos_p, lax.dce_sink_p]
    assert used == [True, False]
    assert eval_jaxpr(jaxpr, (), 0.5, 1.0) == [np.sin(1.0)]
    assert lax.dce_sink((1.0, None)) is None
    assert lax.dce_sink(()) is None


def test_a_sink_takes_arrays():
    with pytest.raises(TypeError, match=r"dce_sink at .*: val\[1\] is 'a' of type str, which is not an array"):
        lax.dce_sink((1.0, "a"))
