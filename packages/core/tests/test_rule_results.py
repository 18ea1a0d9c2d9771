import re

import numpy as np
import pytest

import calque_core
from calque_core import AbstractValue, Primitive, ShapedArray, dce_jaxpr, make_jaxpr
from calque_core.ops.calls.linear import zero_tangent
from calque_core.primitives.rule_results import adapt, gives_lists

AVAL = ShapedArray((), np.float64)
ZERO = zero_tangent(1.0)
SINGLE = {
    "abstract_eval": (lambda x: x, (AVAL,), [AVAL]),
    "jvp": (lambda primals, tangents: (3.0, ZERO), ([1.0], [2.0]), ([3.0], [ZERO])),
    "jet": (lambda primals, series: [3.0, [4.0]], ([1.0], [[2.0]]), ([3.0], [[4.0]])),
    "batch": (lambda args, dims: [3.0, np.int64(0)], ([1.0], [0]), ([3.0], [0])),
    "axis_batch": (lambda axis, args, dims: (3.0, None), ("axis", [1.0], [0]), ([3.0], [None])),
    "transpose": (lambda ct, x: [ct], ([4.0], 1.0), [4.0]),
    "partial_eval": (lambda known, x: 3.0, ([True], 1.0), [3.0]),
    "decomposition": (lambda x: 3.0, (1.0,), [3.0]),
}
SEVERAL = {
    "abstract_eval": (lambda x: (x, x), (AVAL,), (AVAL, AVAL)),
    "jvp": (lambda primals, tangents: ([3.0], (ZERO,)), ([1.0], [2.0]), ([3.0], (ZERO,))),
    "batch": (lambda args, dims: [[3.0, 4.0], [0, None]], ([1.0], [0]), ([3.0, 4.0], [0, None])),
    "axis_batch": (lambda axis, args, dims: ([3.0], [0]), ("axis", [1.0], [0]), ([3.0], [0])),
    "transpose": (lambda cts, x: [None, ZERO, cts[0]], ([4.0], 1.0), [None, ZERO, 4.0]),
    "partial_eval": (lambda known, x: [3.0], ([True], 1.0), [3.0]),
    "decomposition": (lambda x: (3.0,), (1.0,), (3.0,)),
}


def adapted(kind, function, multiple_results):
    p = Primitive("mine", multiple_results)
    p.def_rule(kind, function)
    assert p.rules[kind] is function
    return p.adapted[kind]


@pytest.mark.parametrize("kind", SINGLE)
def test_the_machinery_sees_lists_from_the_rule_of_a_single_result(kind):
    function, args, wanted = SINGLE[kind]
    assert adapted(kind, function, multiple_results=False)(*args) == wanted


@pytest.mark.parametrize("kind", SEVERAL)
def test_the_lists_of_a_rule_of_several_results_are_left_as_they_are(kind):
    function, args, wanted = SEVERAL[kind]
    assert adapted(kind, function, multiple_results=True)(*args) == wanted


@pytest.mark.parametrize("multiple_results", [False, True])
@pytest.mark.parametrize("kind", ["impl", "lowering", "dce", "pp", "my_transform", ("lowering", "cpu")])
def test_rules_of_other_kinds_are_used_as_they_are(kind, multiple_results):
    rule = lambda x: x
    assert adapt("mine", kind, rule, multiple_results) is rule


def test_a_short_form_may_give_lists_already():
    @gives_lists
    def batch_rule(args, dims):
        return args, dims

    assert adapt("mine", "batch", batch_rule, multiple_results=False) is batch_rule


def test_a_parameter_reaches_the_adapted_rule():
    rule = adapted("batch", lambda args, dims, *, axis: (axis, 0), multiple_results=False)
    assert rule([1.0], [0], axis=3) == ([3], [0])


# Results of the wrong kind

PAIRS = [None, 1.0, np.ones(2), (1.0,), (1.0, 2.0, 3.0), "ab"]
WRONG_SINGLE = {
    "abstract_eval": (
        [None, [AVAL], "f64", np.float64, (3,), 1.0, (AVAL, AVAL)],
        r"Return the result's type, a",
    ),
    "jvp": (PAIRS, r"Return a pair: the result and its tangent\."),
    "jet": (PAIRS, r"Return a pair: the result and its series\."),
    "batch": (PAIRS, r"Return a pair: the result and its batch axis\."),
    "axis_batch": (PAIRS, r"Return a pair: the result and its batch axis\."),
    "transpose": ([["a"], [[1.0]], (None, len)], r"Return an array or None as the cotangent of an operand\."),
    "partial_eval": ([None, "a", [1.0]], r"Return the result, an array\."),
    "decomposition": ([None, "a", [1.0]], r"Return the result, an array\."),
}
LISTS = [([1.0], 2.0), (1.0, [2.0]), (iter([1.0]), [1.0])]
WRONG_SEVERAL = {
    "abstract_eval": ([None, AVAL, [AVAL, None], "f64", iter([AVAL])], r"Return a list with one ShapedArray per"),
    "jvp": (PAIRS, r"Return a pair: the results and their tangents, as two lists\."),
    "batch": (PAIRS, r"Return a pair: the results and their batch axes, as two lists\."),
    "axis_batch": (PAIRS, r"Return a pair: the results and their batch axes, as two lists\."),
    "transpose": WRONG_SINGLE["transpose"],
    "partial_eval": ([None, 1.0, iter([])], r"Return a list of the results\."),
    "decomposition": ([None, 1.0, iter([])], r"Return a list of the results\."),
}


def refused(kind, result, multiple_results, advice):
    table = SEVERAL if multiple_results else SINGLE
    rule = adapted(kind, lambda *args: result, multiple_results)
    who = rf"^the {kind} rule <lambda> \(test_rule_results\.py:\d+\) of 'mine' returned .* at test_rule_results\.py:"
    with pytest.raises(TypeError, match=f"{who}.*{advice}"):
        rule(*table[kind][1])


@pytest.mark.parametrize("kind", WRONG_SINGLE)
def test_a_result_of_the_wrong_kind_names_the_primitive_and_its_rule(kind):
    results, advice = WRONG_SINGLE[kind]
    for result in results:
        refused(kind, result, multiple_results=False, advice=advice)


@pytest.mark.parametrize("kind", WRONG_SEVERAL)
def test_several_results_of_the_wrong_kind_name_the_primitive_and_its_rule(kind):
    results, advice = WRONG_SEVERAL[kind]
    for result in results:
        refused(kind, result, multiple_results=True, advice=advice)


@pytest.mark.parametrize(
    ("kind", "result", "advice"),
    [
        ("jvp", ("a", 1.0), "Return an array as the first of the pair, the result"),
        ("jvp", (1.0, None), "Return an array or a Zero as the second, the tangent"),
        ("jvp", ([1.0], [1.0]), "Return an array as the first of the pair, the result"),
        ("batch", ("a", 0), "Return an array as the first of the pair, the result"),
        ("batch", (1.0, 0.0), "Return an int, or None, as the batch axis of a result"),
        ("batch", (1.0, True), "Return an int, or None, as the batch axis of a result"),
        ("axis_batch", (1.0, "a"), "Return an int, or None, as the batch axis of a result"),
    ],
)
def test_both_of_a_pair_must_be_of_their_kinds(kind, result, advice):
    refused(kind, result, multiple_results=False, advice=advice)


@pytest.mark.parametrize("kind", ["jvp", "batch", "axis_batch"])
def test_a_pair_of_lists_must_be_of_one_length(kind):
    for result in LISTS:
        refused(kind, result, multiple_results=True, advice="Return two lists: the results and their")
    advice = r"Return two lists of one length: the results and their .* They have 2 and 1 items\."
    refused(kind, ([1.0, 2.0], [0]), multiple_results=True, advice=advice)


def test_a_type_rule_may_give_a_type_of_the_author_s_own():
    class Token(AbstractValue):
        pass

    token = Token()
    assert adapted("abstract_eval", lambda: token, multiple_results=False)() == [token]
    assert adapted("abstract_eval", lambda: [token], multiple_results=True)() == [token]


@pytest.mark.parametrize("multiple_results", [False, True])
def test_a_type_rule_of_the_wrong_kind_is_refused_where_the_primitive_is_bound(multiple_results):
    p = Primitive("mine", multiple_results)
    p.def_abstract_eval(lambda aval: [[aval]])
    words = r"^the abstract_eval rule <lambda> .* of 'mine' returned a list of length 1 at test_rule_results\.py:"
    with pytest.raises(TypeError, match=words):
        make_jaxpr(p.bind)(1.0)


@pytest.mark.parametrize("result", [None, 1, ([True, True], None, None), ([True, True], "eqn"), (True, "eqn")])
def test_a_dce_rule_of_the_wrong_kind_names_the_primitive_and_its_rule(result):
    p = Primitive("mine", multiple_results=True)
    p.def_abstract_eval(lambda aval: [aval, aval])
    p.def_rule("dce", lambda used, eqn: result)
    jaxpr = make_jaxpr(p.bind)(1.0)
    words = r"^the dce rule <lambda> .* of 'mine' returned .* with 1 operand\. Return a pair: a list of one bool"
    with pytest.raises(TypeError, match=words):
        dce_jaxpr(jaxpr, [True, False])


# Advice that can be followed


@pytest.mark.parametrize(
    "give",
    [
        lambda p, f: p.def_impl(f),
        lambda p, f: p.def_abstract_eval(f),
        lambda p, f: p.def_pp(f),
        lambda p, f: p.def_rule("jvp", f),
        lambda p, f: p.def_rule("lowering", f, platform="cpu"),
    ],
)
def test_the_advice_on_a_second_rule_can_be_followed(give):
    def rule(x):
        return x

    p = Primitive("twice")
    give(p, rule)
    with pytest.raises(ValueError, match="To replace it, use def_rule") as caught:
        give(p, lambda x: x)
    call, delete = re.search(r"use (def_rule\(.*, override=True\)), or (del .*) first\.$", str(caught.value)).groups()
    eval("p." + call, {"p": p, "fn": len})
    assert list(p.rules.values()) == [len]
    exec(delete, {"calque_core": calque_core, "primitive": p})
    give(p, rule)
    assert list(p.rules.values()) == [rule]
