import re
import textwrap

import pytest

from calque_core import MissingRuleError, Primitive, lax, make_jaxpr, rule_epoch, rules
from calque_core.primitives.rules import missing_rule

KINDS = [
    "impl", "abstract_eval", "jvp", "partial_eval", "transpose", "batch", "axis_batch", "lowering", "dce",
    "decomposition", "pp",
]  # fmt: skip


def rule(*args, **params):
    return args


def other_rule(*args, **params):
    return args


def line_of(fun):
    return fun.__code__.co_firstlineno


# Giving rules


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_is_kept_as_its_author_wrote_it(kind):
    p = Primitive("kept")
    assert p.def_rule(kind, rule) is rule
    assert p.rules == {kind: rule}
    assert rules(kind)[p] is rule
    assert p in rules(kind)


def test_a_rule_can_be_given_as_a_decorator():
    p = Primitive("decorated")

    @p.def_rule("batch")
    def batch_rule(args, dims):
        return args, dims

    @p.def_rule("lowering", platform="cpu")
    def lowering_rule(ctx, x):
        return [x]

    assert p.rules == {"batch": batch_rule, ("lowering", "cpu"): lowering_rule}
    assert rules("lowering", platform="cpu")[p] is lowering_rule
    assert p not in rules("lowering")


def test_what_is_given_as_a_rule_must_be_callable():
    with pytest.raises(TypeError, match=r"the jvp rule of 'number' is 3\. Give a function\."):
        Primitive("number").def_rule("jvp", 3)


def test_a_second_rule_is_refused_with_both_places():
    p = Primitive("twice")

    def first():
        p.def_rule("jvp", rule)

    def second():
        p.def_rule("jvp", other_rule)

    first()
    with pytest.raises(ValueError, match="'twice' has a rule") as caught:
        second()
    places = [rf"{re.escape(__file__)}:{line_of(f) + 1} \([\w.<>]*{f.__name__}\)" for f in (first, second)]
    advice = r"To replace it, use .*def_rule\('jvp', fn, override=True\), or .* first\."
    message = rf"^'twice' has a rule for 'jvp' from {places[0]}, and {places[1]} gives another\. {advice}$"
    assert re.search(message, str(caught.value))
    assert p.rules["jvp"] is rule


def test_a_second_rule_for_a_platform_is_refused_by_its_name():
    p = Primitive("twice")
    p.def_rule("lowering", rule, platform="cpu")
    p.def_rule("lowering", rule, platform="gpu")
    with pytest.raises(ValueError, match=r"'twice' has a rule for 'lowering \(cpu\)' from "):
        p.def_rule("lowering", rule, platform="cpu")


def test_a_rule_of_calques_own_is_refused_by_the_place_where_it_is_written():
    with pytest.raises(
        ValueError, match=r"'neg' has a rule for 'abstract_eval' from .*declare\.py:\d+ \(.*abstract_eval\), and"
    ):
        lax.neg_p.def_rule("abstract_eval", rule)
    with pytest.raises(ValueError, match=r"'neg' has a rule for 'impl' from "):
        lax.neg_p.def_impl(rule)


def test_override_replaces():
    p = Primitive("replaced")
    p.def_rule("jvp", rule)
    p.def_rule("jvp", other_rule, override=True)
    assert p.rules["jvp"] is other_rule


def test_a_cell_that_is_run_again_replaces_its_rules():
    cell = compile(
        textwrap.dedent(
            """
            p.def_rule("jvp", lambda primals, tangents: (primals, tangents))
            p.def_impl(shared_rule)
            """
        ),
        "<cell>",
        "exec",
    )
    notebook = {"__name__": "__main__", "p": Primitive("cell"), "shared_rule": rule}
    exec(cell, notebook)
    exec(cell, notebook)
    with pytest.raises(ValueError, match=r"has a rule for 'jvp' from <cell>:2 \(<module>\)"):
        exec(cell, notebook | {"__name__": "library", "p": lax_copy(notebook["p"])})


def lax_copy(p):
    """Return a primitive whose jvp rule is from a cell of a module that is not `__main__`."""
    again = Primitive(p.name)
    exec(compile("\np.def_rule('jvp', lambda: None)", "<cell>", "exec"), {"__name__": "library", "p": again})
    return again


# Tables


def test_a_table_is_a_mapping_of_the_primitives_that_have_the_rule():
    p = Primitive("tabled")
    table = rules("kind_of_this_test")
    assert dict(table) == {}
    p.def_rule("kind_of_this_test", rule)
    assert dict(table) == {p: rule}
    assert len(table) == 1
    assert repr(table) == "RuleTable('kind_of_this_test', 1 primitives)"
    with pytest.raises(KeyError):
        table[Primitive("absent")]
    del table[p]
    assert dict(table) == {}
    assert p.rules == {}


def test_assigning_into_a_table_replaces():
    p = Primitive("assigned")
    rules("jvp")[p] = rule
    rules("jvp")[p] = other_rule
    assert p.rules["jvp"] is other_rule


def test_tables_change_what_dispatch_does():
    p = Primitive("dispatched")
    rules("impl")[p] = lambda x: x + 1.0
    rules("abstract_eval")[p] = lambda aval: aval
    assert p.bind(1.0) == 2.0
    rules("impl")[p] = lambda x: x + 2.0
    assert p.bind(1.0) == 3.0
    rules("abstract_eval")[p] = lambda aval: aval.update(shape=(2,))
    assert make_jaxpr(p.bind)(1.0).out_avals[0].shape == (2,)
    del rules("impl")[p]
    del rules("abstract_eval")[p]
    with pytest.raises(MissingRuleError, match="Evaluation rule for 'dispatched' not implemented"):
        p.bind(1.0)
    with pytest.raises(MissingRuleError, match="Abstract evaluation for 'dispatched' not implemented"):
        make_jaxpr(p.bind)(1.0)


def test_a_table_lists_primitives_by_name():
    loaded = {p.name for p in (lax.sin_p, lax.cond_p, lax.jit_p)}
    names = [p.name for p in rules("impl")]
    assert names == sorted(names)
    assert loaded <= set(names)


# The epoch


def changes_epoch(change):
    before = rule_epoch()
    change()
    return rule_epoch() != before


def test_a_first_rule_makes_no_program_stale():
    p = Primitive("fresh")
    for kind in KINDS:
        if kind not in ("axis_batch", "decomposition"):
            assert not changes_epoch(lambda kind=kind: p.def_rule(kind, rule)), kind


def test_a_replaced_or_removed_rule_does():
    p = Primitive("stale")
    p.def_rule("jvp", rule)
    assert changes_epoch(lambda: p.def_rule("jvp", other_rule, override=True))
    assert changes_epoch(lambda: rules("jvp").__setitem__(p, rule))
    assert changes_epoch(lambda: rules("jvp").__delitem__(p))


@pytest.mark.parametrize(
    ("first", "second"),
    [("batch", "axis_batch"), ("lowering", ("lowering", "cpu")), ("decomposition", "jvp")],
)
def test_a_rule_that_is_taken_before_another_makes_its_programs_stale(first, second):
    p = Primitive("shadowed")
    kind, platform = second if isinstance(second, tuple) else (second, None)
    p.def_rule(first, rule)
    assert p.adapted[second] is None
    assert changes_epoch(lambda: p.def_rule(kind, rule, platform=platform))
    unasked = Primitive("unasked")
    unasked.def_rule(first, rule)
    assert not changes_epoch(lambda: unasked.def_rule(kind, rule, platform=platform))


def test_a_refused_rule_changes_nothing():
    p = Primitive("refused")
    p.def_rule("jvp", rule)

    def attempt():
        with pytest.raises(ValueError, match="has a rule"):
            p.def_rule("jvp", other_rule)

    assert not changes_epoch(attempt)


# Missing rules

MESSAGES = {
    "impl": "Evaluation rule for 'absent' not implemented",
    "abstract_eval": "Abstract evaluation for 'absent' not implemented",
    "lowering": "MLIR translation rule for primitive 'absent' not found for platform cpu",
    "jvp": "Differentiation rule for 'absent' not implemented",
    "transpose": "Transpose rule (for reverse-mode differentiation) for 'absent' not implemented",
    "batch": "Batching rule for 'absent' not implemented",
    "axis_batch": "Batching rule for 'absent' not implemented",
    "partial_eval": "Partial evaluation rule for 'absent' not implemented",
    "dce": "Dead code rule for 'absent' not implemented",
    "decomposition": "Decomposition of 'absent' not given",
    "pp": "Printing rule for 'absent' not given",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_rule_has_its_text_its_fields_and_a_way_out(kind):
    error = missing_rule(Primitive("absent"), kind, "cpu" if kind == "lowering" else None)
    text, remedy = str(error).splitlines()
    assert text == MESSAGES[kind]
    assert (error.primitive, error.kind, error.platform) == ("absent", kind, "cpu" if kind == "lowering" else None)
    assert re.fullmatch(rf"{error.package} reads this rule; register one with .*absent_p.*\.", remedy)


def test_a_missing_rule_notes_the_place_the_rules_there_are_and_the_misspelt_ones():
    p = Primitive("noted")
    p.def_rule("jpv", rule)
    p.def_rule("batch", rule)
    p.def_rule("lowering", rule, platform="gpu")
    p.def_rule("zzz", rule)
    with pytest.raises(MissingRuleError) as caught:
        p.bind(1.0)
    assert str(caught.value).splitlines()[1] == (
        "calque_core reads this rule; register one with noted_p.def_impl(fn). "
        "Nothing reads the kind 'jpv': did you mean 'jvp'?"
    )
    notes = caught.value.__notes__
    assert re.fullmatch(r"'noted' was bound at test_rules\.py:\d+ \(test_a_missing_rule_notes_.*\)\.", notes[0])
    assert notes[1:] == [
        "Rules that 'noted' has: batch, jpv, lowering (gpu), zzz.",
        "Nothing reads the kind 'zzz'.",
    ]


def test_a_kind_that_somebody_asked_for_is_not_misspelt():
    p = Primitive("custom")
    p.def_rule("my_reading", rule)
    rules("my_reading")
    assert "Nothing reads the kind 'my_reading'." not in missing_rule(p, "jvp").__notes__
    error = missing_rule(Primitive("custom"), "my_reading")
    assert str(error).splitlines() == [
        "Rule 'my_reading' for 'custom' not implemented",
        'its transformation reads this rule; register one with custom_p.def_rule("my_reading", fn).',
    ]


def test_a_transformation_of_ones_own_may_miss_a_kind_that_no_table_was_asked_for():
    text = "Rule 'never_seen' for 'custom' not implemented"
    assert str(missing_rule(Primitive("custom"), "never_seen")).splitlines()[0] == text


def test_a_hole_gives_its_reason_until_a_rule_fills_it():
    p = Primitive("holed")
    p.def_hole("jvp", "its derivative is not known")
    assert "\nThere is none because its derivative is not known. calque_autodiff reads" in str(missing_rule(p, "jvp"))
    p.def_rule("jvp", rule)
    assert p.holes == {}
    with pytest.raises(ValueError, match=r"'holed' has a rule of the kind 'jvp', so no hole can be declared for it\."):
        p.def_hole("jvp", "too late")
