from calque_core import Effect, Primitive, ShapedArray, dce_jaxpr, lax, make_jaxpr
from calque_core.jaxprs.effects import exact_effects, has_effects_by_element


def test_effects_are_values():
    assert Effect("log") == Effect("log")
    assert len({Effect("log"), Effect("log"), Effect("log", ordered=True)}) == 2
    assert str(Effect("log", ordered=True)) == "ordered log"


def test_other_values_are_exact_effects():
    assert exact_effects(["noise", Effect("log"), Effect("note", exact=False)]) == ["log", "noise"]


def test_an_effect_may_ask_for_the_active_elements():
    effects = [frozenset([Effect("log")]), frozenset(["noise", Effect("note", exact=False, by_element=True)])]
    primitives = [Primitive("logs", True, effects=effects[0]), Primitive("notes", True, effects=effects[1])]
    for primitive in primitives:
        primitive.def_abstract_eval(lambda *avals: [])
    programs = [make_jaxpr(lambda x, p=primitive: (p.bind(x), x)[1])(1.0) for primitive in primitives]
    assert [has_effects_by_element(program) for program in programs] == [False, True]
    assert has_effects_by_element(*programs)


def test_parameters_may_decide_on_effects():
    log_p = Primitive("log_it", effects=frozenset((Effect("never asked"),)))
    log_p.def_impl(lambda x, *, loud: x)
    log_p.def_abstract_eval(lambda x, *, loud: ShapedArray(x.shape, x.dtype))
    log_p.def_rule("effects", lambda *, loud: frozenset((Effect("log"),) if loud else ()))
    loud, silent = (make_jaxpr(lambda x, loud=loud: (log_p.bind(x, loud=loud), lax.sin(x))[1])(1.0) for loud in (1, 0))
    assert loud.effects == {Effect("log")}
    assert silent.effects == frozenset()
    assert [len(dce_jaxpr(jaxpr, [True])[0].eqns) for jaxpr in (loud, silent)] == [2, 1]
