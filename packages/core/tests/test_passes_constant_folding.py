import numpy as np

from calque_core import (
    Jaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Var,
    check_jaxpr,
    config,
    eval_jaxpr,
    fold_constants,
    lax,
    make_jaxpr,
)

F64 = ShapedArray((), "float64")


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def call(jaxpr, *args, name="f"):
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)


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
