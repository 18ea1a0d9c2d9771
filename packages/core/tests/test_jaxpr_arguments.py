"""Functions that take a jaxpr say what to write in place of another order, a function, or another value."""

import numpy as np
import pytest

from calque_core import check_jaxpr, dce_jaxpr, eval_jaxpr, inline_calls, interpret, jaxpr_as_fun, lax, make_jaxpr


def wave(x):
    return lax.sin(x)


JAXPR = make_jaxpr(wave)(1.0)
CALLS = {
    "interpret": (lambda x: interpret(x, {}, 1.0), r"interpret\(jaxpr, rules, \*args\)"),
    "eval_jaxpr": (lambda x: eval_jaxpr(x, (), 1.0), r"eval_jaxpr\(jaxpr, jaxpr\.consts, \*args\)"),
    "dce_jaxpr": (lambda x: dce_jaxpr(x, [True]), r"dce_jaxpr\(jaxpr, used_outputs\)"),
    "check_jaxpr": (check_jaxpr, r"check_jaxpr\(jaxpr\)"),
    "inline_calls": (inline_calls, r"inline_calls\(jaxpr\)"),
    "jaxpr_as_fun": (jaxpr_as_fun, r"jaxpr_as_fun\(jaxpr\)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_in_place_of_a_jaxpr_is_told_to_be_traced(name):
    message = (
        rf"^{name} got the function wave \(test_jaxpr_arguments\.py:\d+\) as its jaxpr at .*\. Trace it first: "
        r"jaxpr = make_jaxpr\(f\)\(\*args\)\."
    )
    with pytest.raises(TypeError, match=message):
        CALLS[name][0](wave)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.ones(3), r"float64\[3\]"),
        (1.0, r"~float64\[\]"),
        ({lax.sin_p: wave}, "a dict of length 1"),
        (None, "None"),
        ("wave", "a value of type str"),
    ],
)
def test_another_value_in_place_of_a_jaxpr_is_told_the_call(name, x, text):
    call, usage = CALLS[name]
    message = (
        rf"^{name} got {text} as its jaxpr at .*\. Write {usage}, with a jaxpr that make_jaxpr\(f\)\(\*args\) returns\."
    )
    with pytest.raises(TypeError, match=message):
        call(x)


def test_rules_before_the_jaxpr_are_told_the_order():
    message = r"^interpret got a dict of length 1 as its jaxpr at .*\. Write interpret\(jaxpr, rules, \*args\), with"
    with pytest.raises(TypeError, match=message):
        interpret({lax.sin_p: wave}, JAXPR, 1.0)


@pytest.mark.parametrize(("rules", "text"), [(1.0, r"~float64\[\]"), (JAXPR, "a value of type Jaxpr")])
def test_an_argument_in_place_of_the_rules_is_told_the_order(rules, text):
    message = (
        rf"^interpret got {text} as its rules at .*\. Write interpret\(jaxpr, rules, \*args\), with a dict from "
        r"primitives to functions; \{\} is the table without rules\."
    )
    with pytest.raises(TypeError, match=message):
        interpret(JAXPR, rules, {})


def test_a_rule_for_a_name_is_refused():
    message = (
        r"^interpret got a rule for 'sin' at .*, which is no primitive\. Give the primitive: \{lax\.sin_p: rule\}\."
    )
    with pytest.raises(TypeError, match=message):
        interpret(JAXPR, {lax.cos_p: wave, "sin": wave}, 1.0)


def test_an_argument_in_place_of_the_constants_is_told_the_order():
    message = (
        r"^eval_jaxpr got ~float64\[\] as its constants at .*\. Write eval_jaxpr\(jaxpr, jaxpr\.consts, \*args\)\."
    )
    with pytest.raises(TypeError, match=message):
        eval_jaxpr(JAXPR, 1.0)


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        ((True,), r"~bool\[\] as used_outputs at .*\. Give one bool for each output\."),
        (([True], None), r"None as instantiate at .*\. Give one bool for each input\."),
    ],
)
def test_one_bool_in_place_of_a_mask_is_refused(masks, text):
    with pytest.raises(TypeError, match=f"^dce_jaxpr got {text}"):
        dce_jaxpr(JAXPR, *masks)
