"""Plans are made at the third meeting, and dropped with the rules that gave them."""

from calque_core.extend import Plans, advance_rule_epoch


def test_a_plan_is_made_once_and_of_the_facts_of_its_third_meeting():
    made = []
    plans = Plans(lambda fact: made.append(fact) or f"plan of {fact}")
    assert [plans.find(["key"], fact) for fact in "abcd"] == [None, None, "plan of c", "plan of c"]
    assert made == ["c"]


def test_an_operation_without_a_plan_is_asked_for_once():
    made = []
    plans = Plans(made.append)
    assert [plans.find(["key"], fact) for fact in "abcde"] == [None] * 5
    assert made == ["c"]


def test_a_key_that_cannot_be_hashed_has_no_plan():
    plans = Plans(lambda: "a plan")
    assert [plans.find([{}]) for _ in range(4)] == [None] * 4
    assert plans.known == {}


def test_a_new_rule_drops_plans_and_one_that_is_being_made():
    plans = Plans(lambda: "a plan")
    for _ in range(3):
        plans.find(["key"])
    advance_rule_epoch()
    assert plans.known == {}
    replaced = Plans(lambda: advance_rule_epoch() or "a plan of the old rule")
    assert [replaced.find(["key"]) for _ in range(4)] == [None, None, "a plan of the old rule", None]


def test_keys_that_are_met_once_cost_no_plan(monkeypatch):
    monkeypatch.setattr("calque_core.staging.plans._LIMIT", 10)
    plans = Plans(lambda: "a plan")
    for _ in range(3):
        plans.find(["kept"])
    for k in range(40):
        plans.find([k])
    assert plans.find(["kept"]) == "a plan"
    assert len(plans.known) <= 10
