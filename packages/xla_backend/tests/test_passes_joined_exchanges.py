import numpy as np

from calque_core import lax, make_jaxpr
from calque_xla_backend.passes.joined_exchanges import join_exchanges, names_of_exchange

AXES = [("i", 4), ("j", 2), ("k", 3)]


def exchanges_of(f, *shape):
    jaxpr = join_exchanges(make_jaxpr(f, axis_env=AXES)(np.zeros(shape)))
    return [(e.primitive.name, e.params["axis_name"], e.params["axis"]) for e in jaxpr.eqns if "axis" in e.params]


def test_one_name_and_several():
    assert names_of_exchange("i") == ("i",)
    assert names_of_exchange(("i", "j")) == ("i", "j")


def test_a_chain_over_any_number_of_names_is_one_equation():
    names = ("k", "i", "j")
    assert exchanges_of(lambda x: lax.all_gather(x, names), 5) == [("all_gather", names, 0)]
    assert exchanges_of(lambda x: lax.psum_scatter(x, names, scatter_dimension=1), 5, 24) == [
        ("psum_scatter", names, 1)
    ]
    assert exchanges_of(lambda x: lax.all_to_all(x, names, 1, 0), 5, 24) == [("all_to_all", names, 1)]


def test_a_chain_is_joined_in_a_program_inside_too():
    jaxpr = make_jaxpr(
        lambda x: lax.cond(x > 0, lambda: lax.all_gather(x, ("i", "j")).sum(), lambda: x), axis_env=AXES
    )(1.0)
    (eqn,) = [eqn for eqn in join_exchanges(jaxpr).eqns if eqn.primitive is lax.cond_p]
    inner = [e.params["axis_name"] for branch in eqn.params["branches"] for e in branch.eqns if "axis_name" in e.params]
    assert inner == [("i", "j")]


def test_a_result_that_is_used_twice_is_made():
    twice = exchanges_of(lambda x: (lax.all_gather(x, "j"), lax.all_gather(lax.all_gather(x, "j"), "i")), 5)
    assert [names for _, names, _ in twice] == ["j", ("i", "j")]

    def f(x):
        y = lax.all_gather(x, "j")
        return lax.all_gather(y, "i"), y

    assert [names for _, names, _ in exchanges_of(f, 5)] == ["j", "i"]


def test_other_exchanges_stay_two():
    assert len(exchanges_of(lambda x: lax.all_gather(lax.all_gather(x, "j", axis=0), "i", axis=1), 5)) == 2
    assert len(exchanges_of(lambda x: lax.all_gather(lax.all_gather(x, "i"), "i"), 5)) == 2
    assert len(exchanges_of(lambda x: lax.psum_scatter(lax.all_gather(x, "j"), "j"), 5)) == 2


def test_a_program_without_chains_is_the_same_object():
    jaxpr = make_jaxpr(lambda x: lax.all_gather(x, "i"), axis_env=AXES)(1.0)
    assert join_exchanges(jaxpr) is jaxpr
