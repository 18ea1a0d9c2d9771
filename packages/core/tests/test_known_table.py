"""KnownOperations are made at the third meeting, or later for many types, and dropped with the rules that gave them."""

import numpy as np
import pytest

from calque_core import ShapedArray
from calque_core.engine import HAS_SIZES, KnownOperations, advance_rule_epoch, exact_params
from calque_core.lax import neg_p


def test_a_plan_is_made_once_and_of_the_facts_of_its_third_meeting():
    made = []
    plans = KnownOperations(lambda fact: made.append(fact) or f"plan of {fact}")
    assert [plans.find(["key"], fact) for fact in "abcd"] == [None, None, "plan of c", "plan of c"]
    assert made == ["c"]


def test_an_operation_without_a_plan_is_asked_for_once():
    made = []
    plans = KnownOperations(made.append)
    assert [plans.find(["key"], fact) for fact in "abcde"] == [None] * 5
    assert made == ["c"]


def test_a_key_that_cannot_be_hashed_has_no_plan():
    plans = KnownOperations(lambda: "a plan")
    assert [plans.find([{}]) for _ in range(4)] == [None] * 4
    assert plans.known == {}


def test_a_new_rule_drops_plans_and_one_that_is_being_made():
    plans = KnownOperations(lambda: "a plan")
    for _ in range(3):
        plans.find(["key"])
    advance_rule_epoch()
    assert plans.known == {}
    replaced = KnownOperations(lambda: advance_rule_epoch() or "a plan of the old rule")
    assert [replaced.find(["key"]) for _ in range(4)] == [None, None, "a plan of the old rule", None]


def test_later_plans_of_a_primitive_with_many_types_wait_for_more_meetings(monkeypatch):
    monkeypatch.setattr("calque_core.known.table._MANY", 2)
    plans = KnownOperations(lambda: "a plan")
    meetings = {}
    for name in ("sin", "cos"):
        for shape in range(4):
            meetings[name, shape] = 1
            while plans.find([name, shape]) is None:
                meetings[name, shape] += 1
    assert meetings == {(name, shape): 3 if shape < 2 else 9 for name in ("sin", "cos") for shape in range(4)}
    advance_rule_epoch()
    assert [plans.find(["sin", 5]) for _ in range(3)] == [None, None, "a plan"]


def test_keys_that_are_met_once_cost_no_plan(monkeypatch):
    monkeypatch.setattr("calque_core.known.table._LIMIT", 10)
    plans = KnownOperations(lambda: "a plan")
    for _ in range(3):
        plans.find(["kept"])
    for k in range(40):
        plans.find([k])
    assert plans.find(["kept"]) == "a plan"
    assert len(plans.known) <= 10


F4 = np.dtype("f4")
ALIKE = [
    *[(0.0, -0.0), (1, 1.0), (1, True), ((1, 2), (1.0, 2)), (((0.0,), 1), ((-0.0,), 1)), ((F4, 0.0), (F4, -0.0))],
    *[((np.int32(0),), (np.float32(0.0),)), (np.int64(1), np.uint64(1)), ((np.float64(2.0),), (np.int64(2),))],
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_parameters_that_can_be_told_apart_have_keys_that_differ(one, other):
    assert exact_params({"k": one}) != exact_params({"k": other})
    assert exact_params({"k": one}) == exact_params({"k": one})


def test_a_parameter_that_may_change_has_no_plan():
    plans = KnownOperations(lambda: "a plan")
    assert [plans.find([neg_p, exact_params({"k": [1, 2], "l": 0})]) for _ in range(4)] == [None] * 4
    assert not plans.known


# One plan for all shapes


def shared_plans(made):
    """Return plans of negation that are made once for all shapes, and list in `made` the shapes that made a plan."""

    def make(aval):
        made.append(aval.shape)
        return aval.shape

    return KnownOperations(make, lambda plan, shapes, aval: lambda new: ("shared", plan, *new))


def of_shapes(plans, *shapes, dtype="f8"):
    avals = [ShapedArray(shape, dtype) for shape in shapes]
    return [plans.find([neg_p, aval], aval) for aval in avals]


def test_meetings_in_all_shapes_count_together_and_make_one_plan():
    made = []
    plans = shared_plans(made)
    assert of_shapes(plans, (2,), (3,), (4,), (5,), (6,)) == [
        *[None, None, (4,)],
        *[("shared", (4,), (5,)), ("shared", (4,), (6,))],
    ]
    assert made == [(4,)]


def test_a_shape_that_is_met_once_leaves_a_key_alone_and_then_its_plan():
    made = []
    plans = shared_plans(made)
    of_shapes(plans, (2,), (3,), (4,), (5,), (6,), (6,))
    key = lambda n: (neg_p, ShapedArray((n,), "f8"))
    assert [plans.known[key(n)] for n in (5, 6)] == [1, ("shared", (4,), (6,))]
    assert plans._taken == [key(6)]
    assert of_shapes(plans, (5,), (5,)) == [("shared", (4,), (5,))] * 2


def test_another_rank_dtype_a_size_of_0_or_1_or_a_large_array_has_a_plan_of_its_own():
    made = []
    plans = shared_plans(made)
    of_shapes(plans, (2,), (3,), (4,))
    assert of_shapes(plans, (2, 2)) == of_shapes(plans, (9000,)) == of_shapes(plans, (2,), dtype="f4") == [None]
    assert of_shapes(plans, ()) == of_shapes(plans, (1,)) == of_shapes(plans, (0,)) == [None]


def test_a_plan_that_cannot_be_shared_is_one_for_its_shape():
    plans = KnownOperations(lambda aval: aval.shape, lambda plan, shapes, aval: None)
    assert of_shapes(plans, (2,), (3,), (4,), (5,), (5,), (5,)) == [None, None, (4,), None, None, (5,)]


def test_another_shape_tells_whether_a_plan_can_be_shared():
    asked = []

    def has_sizes(shapes):
        asked.append(shapes)
        return HAS_SIZES

    plans = KnownOperations(lambda aval: aval.shape, lambda plan, shapes, aval: has_sizes)
    assert of_shapes(plans, (2,), (3,), (4,), (4,), (4,)) == [None, None, (4,), (4,), (4,)]
    assert asked == []
    assert of_shapes(plans, (5,), (6,), (5,), (5,)) == [None, None, None, (5,)]
    assert asked == [((5,),)]


def test_shared_plans_are_the_first_to_be_dropped(monkeypatch):
    monkeypatch.setattr("calque_core.known.table._LIMIT", 10)
    made = []
    plans = shared_plans(made)
    for n in range(2, 50):
        of_shapes(plans, (n,))
    assert made == [(4,)]
    assert len(plans.known) <= 10


def test_a_new_rule_drops_shared_plans():
    made = []
    plans = shared_plans(made)
    of_shapes(plans, (2,), (3,), (4,), (5,))
    advance_rule_epoch()
    assert of_shapes(plans, (5,), (6,), (7,)) == [None, None, (7,)]
