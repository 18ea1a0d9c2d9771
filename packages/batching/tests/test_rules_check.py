import numpy as np
import pytest

from calque_batching import vmap
from calque_core import CheckError, Effect, MissingRuleError, Primitive, check, lax, make_jaxpr
from calque_core.lax import check_p


def positive(x):
    check(x > 0, "x is {}", x)
    return x * 2.0


def test_a_batch_is_one_check_with_its_element():
    assert sum(eqn.primitive is check_p for eqn in make_jaxpr(vmap(vmap(positive)))(np.ones((2, 3))).eqns) == 1
    with pytest.raises(CheckError, match=r"failed for element \[1, 0\] of vmap: x is -3\.0") as caught:
        vmap(vmap(positive))(np.array([[1.0, 2.0], [-3.0, -4.0]]))
    assert caught.value.index == (1, 0)


def test_only_elements_that_take_a_branch_are_checked():
    choose = vmap(lambda x: lax.cond(x > 0, positive, lambda x: x, x))
    np.testing.assert_array_equal(choose(np.array([1.0, -2.0])), [2.0, -2.0])


def test_only_elements_that_run_are_checked():
    def count(n):
        def step(i):
            check(i < n, "{} of {}", i, n)
            return i + 1

        return lax.while_loop(lambda i: i < n, step, 0)

    assert vmap(count)(np.array([2, 0, 5])).tolist() == [2, 0, 5]


def counting(name):
    """Return a primitive that notes the active elements of each batch, and the list of its notes."""
    notes = []
    note_p = Primitive(name, multiple_results=True, effects=frozenset([Effect("note", exact=False, by_element=True)]))
    note_p.def_impl(lambda *args: notes.append([np.asarray(x).tolist() for x in args]) or [])
    note_p.def_abstract_eval(lambda *avals: [])
    note_p.def_rule("batch", lambda args, dims: (note_p.bind(*args), []))
    return note_p, notes


def test_a_primitive_of_a_user_gets_the_active_elements():
    note_p, notes = counting("note_active")
    note_p.def_rule("where_active", lambda is_active, x: note_p.bind(x, is_active))

    def noted(x):
        note_p.bind(x)
        return x * 2.0

    vmap(lambda x: lax.cond(x > 0, noted, lambda x: x, x))(np.array([1.0, -2.0]))
    assert notes == [[[1.0, -2.0], [True, False]]]


def test_an_effect_by_element_needs_its_rule():
    note_p, _ = counting("note_all")

    def noted(x):
        note_p.bind(x)
        return x

    with pytest.raises(MissingRuleError, match="Rule of 'note_all' for a batch with inactive elements not implemented"):
        vmap(lambda x: lax.cond(x > 0, noted, lambda x: x, x))(np.array([1.0, -2.0]))
