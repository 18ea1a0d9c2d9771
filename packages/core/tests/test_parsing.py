"""Programs from their text: what comes back, what is refused, and what errors say."""

from __future__ import annotations

import random
import re
import sys

import numpy as np
import pytest

from calque_core import Jaxpr, eval_jaxpr, jaxpr_equal, lax, make_jaxpr, parse_jaxpr, trace_state_clean
from calque_core.saved.words import parameter


def branches_and_loops(x, n):
    y = lax.cond(n > 0, lambda x: lax.sin(x) * 2.0, lambda x: x, x)
    z = lax.fori_loop(0, 3, lambda i, c: c * 0.5 + y, x)
    return lax.reduce_sum(z), lax.convert_element_type(n, np.float32), lax.sort(x), x[n], z > 1


JAXPR = make_jaxpr(branches_and_loops)(np.ones(3), 1)


def test_the_text_of_a_program_gives_the_program():
    again = parse_jaxpr(str(JAXPR))
    assert str(again) == str(JAXPR)
    args = np.array([0.5, -1.0, 2.0]), np.int64(2)
    for got, want in zip(eval_jaxpr(again, (), *args), eval_jaxpr(JAXPR, (), *args), strict=True):
        np.testing.assert_array_equal(got, want)


def test_white_space_does_not_matter_where_equations_have_results():
    assert jaxpr_equal(parse_jaxpr(re.sub(r"\s+", " ", str(JAXPR))), parse_jaxpr(str(JAXPR)))


def test_literals_with_types_are_read():
    jaxpr = make_jaxpr(lambda x: lax.mul(x, np.float32(0.1)))(np.ones(3, np.float32))
    assert jaxpr_equal(parse_jaxpr(jaxpr.pretty_print(print_literal_types=True)), jaxpr)
    assert jaxpr_equal(parse_jaxpr(str(jaxpr)), jaxpr)


PARAMETERS = [
    ("axes", "(0,)", (0,)), ("axes", "()", ()), ("shape", "((1, 2), (-3,))", ((1, 2), (-3,))),
    ("x", "[1, 2.5]", [1, 2.5]),
    ("x", "None", None), ("x", "(None, True)", (None, True)), ("name", "None", "None"),
    ("x", "some words", "some words"),
    ("axes", "('i', \"it's\", 'a\\nb')", ("i", "it's", "a\nb")), ("new_dtype", "int8", np.dtype("int8")),
    ("x", "(float32,)", (np.dtype("float32"),)), ("mode", "GatherScatterMode.CLIP", lax.GatherScatterMode.CLIP),
    ("precision", "(<Precision.HIGH: 'high'>,)", (lax.Precision.HIGH,)),
    ("x", "slice(0, None, 2)", slice(0, None, 2)), ("x", "frozenset({'i'})", frozenset("i")),
    ("x", "frozenset()", frozenset()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), PARAMETERS, ids=lambda x: str(x)[:20])
def test_printed_parameters_are_read(name, text, value):
    assert parameter(name, text) == value
    assert type(parameter(name, text)) is type(value)


WRONG = {
    "unbound": ("{ lambda ; a:f32[]. let b:f32[] = sin c in (b,) }", "line 1, column 39: the variable c is not bound"),
    "twice": ("{ lambda ; a:f32[] a:f32[]. let in (a,) }", "line 1, column 20: the variable a is bound twice"),
    "operation": (
        "{ lambda ; a:f32[]. let\n    b:f32[] = sinus a\n  in (b,) }",
        "line 2, column 5: the primitive 'sinus'",
    ),
    "type": ("{ lambda ; a:f31[]. let in (a,) }", "line 1, column 14: f31[] is no type"),
    "result": ("{ lambda ; a:f32[]. let b:f64[] = sin a in (b,) }", "column 25: the results are declared (float64[])"),
    "literal": ("{ lambda ; a:f32[]. let b:f32[] = add a 7 in (b,) }", "the type rule of 'add' accepts no dtype of 7"),
    "end": ("{ lambda ; a:f32[]. let in (a,)", "line 1, column 32: '}' is missing here"),
    "more": ("{ lambda ; a:f32[]. let in (a,) } b", "line 1, column 35: the program has ended"),
    "parameter": (
        "{ lambda ; a:f32[2]. let b:f32[] = reduce_sum[axes=(0 ?)] a in (b,) }",
        "line 1, column 52: the parameter axes: '?)' is no value of a parameter. Write it as `print` shows it.",
    ),
    "constants": ("{ lambda a:f32[2]; . let in (a,) }", "the text lacks the values of constants. Use jaxpr_to_dict"),
    "callback": ("{ lambda ; a:f32[]. let b:f32[] = pure_callback[callback=f] a in (b,) }", "lacks Python functions"),
    "rules": ("{ lambda ; a:f32[]. let b:f32[] = custom_jvp_call[name=f] a in (b,) }", "lacks rules. Use"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_line_and_column(case):
    text, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)) as info:
        parse_jaxpr(text)
    assert re.match(r"parse_jaxpr: line \d+, column \d+: ", str(info.value))


def test_what_is_no_text_is_refused():
    with pytest.raises(ValueError, match=r"a value of type Jaxpr is no text. Pass str\(jaxpr\)"):
        parse_jaxpr(JAXPR)


def test_texts_nested_without_end_are_refused():
    depth = sys.getrecursionlimit()
    text = "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=" * depth
    with pytest.raises(ValueError, match="programs are nested too deeply"):
        parse_jaxpr(text)


def damaged(rng):
    """Return the text of a program in which characters or words are removed, repeated, exchanged or new."""
    text = str(JAXPR)
    for _ in range(rng.choice((1, 1, 2, 4))):
        i = rng.randrange(len(text))
        j = min(len(text), i + rng.choice((0, 1, 1, 5, 30)))
        k = rng.randrange(len(text))
        new = rng.choice(
            ("", "", text[k : k + 6], rng.choice("[](){}:;,.=<>'\"ab019 \n-_~\0é"), "jit", "None", "1e999", "nan")
        )
        text = text[:i] + new + text[j:]
    return text


def error_of(text):
    """Return the error of reading a text; None if it is a program."""
    try:
        assert type(parse_jaxpr(text)) is Jaxpr
    except ValueError as error:
        return error
    return None


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("seed", range(5))
def test_damaged_texts_give_a_program_or_a_value_error(seed):
    rng = random.Random(seed)
    errors = [error for error in (error_of(damaged(rng)) for _ in range(2000)) if error is not None]
    assert len(errors) > 1000
    assert {type(error) for error in errors} == {ValueError}
    places = re.compile(r"parse_jaxpr: line \d+, column \d+: ")
    assert [str(error) for error in errors if not places.match(str(error))] == []
    assert trace_state_clean()
