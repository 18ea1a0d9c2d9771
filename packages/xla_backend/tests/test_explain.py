"""`explain` says why a call would trace or compile, and does neither."""

import functools

import numpy as np
import pytest

from calque_core import ShapeDtypeStruct, config, lax, make_jaxpr
from calque_core.engine import advance_rule_epoch, entered
from calque_xla_backend import compile, device_put, explain, jit


def counted(fun, **options):
    """Return the jitted function, and the list that grows by one with each trace."""
    traces = []

    @functools.wraps(fun)
    def counting(*args, **kwargs):
        traces.append(1)
        return fun(*args, **kwargs)

    return jit(counting, **options), traces


@pytest.fixture
def scale():
    """A new function for each test: a function has one cache for all its `jit`s."""

    def scale(x, y=1.0):
        return lax.mul(x, y)

    return scale


def reasons(f, *args, **kwargs):
    explanation = explain(f, *args, **kwargs)
    return explanation.action, [(d.kind, d.subject, d.now, d.before) for d in explanation.reasons]


def test_the_first_call_traces_and_compiles_and_explain_does_neither(monkeypatch):
    compiled = []
    load_or_compile = compile.load_or_compile
    monkeypatch.setattr(compile, "load_or_compile", lambda *args: compiled.append(1) or load_or_compile(*args))
    f, traces = counted(lambda x: lax.sin(x))
    assert reasons(f, 1.0) == ("trace and compile", [("first call", "", "", "")])
    assert (traces, compiled) == ([], [])
    f(1.0)
    assert reasons(f, 2.0) == ("nothing", [])
    assert (traces, compiled) == ([1], [1])


def test_the_answer_agrees_with_what_the_call_then_does():
    f, traces = counted(lambda x: lax.sin(x))
    for x in (1.0, np.float64(1.0), np.ones(3), np.ones(3), np.ones(3, np.float32), device_put(np.ones(3))):
        is_traced, before = "trace" in explain(f, x).action, len(traces)
        f(x)
        assert (len(traces) > before) == is_traced


@pytest.mark.parametrize(
    ("x", "y", "expected", "sentence"),
    [
        (np.ones(4), 2.0, ("shape", "x", "(4,)", "(3,)"), "x has the shape (4,); that call had (3,)."),
        (
            np.ones(3, np.float32),
            2.0,
            ("dtype", "x", "float32", "float64"),
            "x has the dtype float32; that call had float64.",
        ),
        (
            np.ones(3),
            np.float64(2.0),
            ("weak type", "y", "strong", "weak"),
            "The type of y is strong, as that of an array; in that call it was weak, as that of a Python scalar.",
        ),
    ],
)
def test_a_type_that_differs_is_named_with_its_argument(x, y, expected, sentence, scale):
    f = jit(scale)
    f(np.ones(3), 2.0)
    explanation = explain(f, x, y)
    assert reasons(f, x, y) == ("trace and compile", [expected])
    assert str(explanation).splitlines()[1] == f"  {sentence}"
    assert str(explanation).startswith("jit of scale (test_explain.py:")
    assert str(explanation).splitlines()[0].endswith("): this call would be traced and compiled.")


def test_an_argument_inside_a_tree_is_named_by_its_path():
    f = jit(lambda params: params["w"] + params["b"])
    f({"w": np.ones(3), "b": 1.0})
    assert reasons(f, {"w": np.ones(2), "b": 1.0})[1] == [("shape", "params['w']", "(2,)", "(3,)")]


def test_a_structure_that_differs_is_named_with_its_argument():
    f = jit(lambda x, y=None, **more: x["a"])
    f({"a": 1.0})
    assert reasons(f, {"a": 1.0, "b": 2.0})[1] == [("structure", "x", "{'a': *, 'b': *}", "{'a': *}")]
    assert reasons(f, {"a": 1.0}, 2.0)[1] == [("structure", "y", "*", "missing")]
    assert reasons(f, {"a": 1.0}, z=(1, 2))[1] == [("structure", "z", "(*, *)", "missing")]
    assert str(explain(f, {"a": 1.0}, 2.0).reasons[0]) == "y has the structure *; that call did not pass it."
    f({"a": 1.0}, 2.0, k=1)
    assert str(explain(f, {"a": 1.0}, 2.0, k=()).reasons[0]) == "k has the structure (); that call had *."
    f.clear_cache()
    f({"a": 1.0}, 2.0, k=1)
    assert str(explain(f, {"a": 1.0}, 2.0).reasons[0]) == "k is missing; that call had *."


def test_a_static_value_that_differs_is_named_with_both_values():
    f = jit(lambda x, n: x * 2.0, static_argnums=1)
    f(1.0, (2, 3.0))
    assert reasons(f, 1.0, (2, 4.0))[1] == [("static value", "n", "(2, 4.0)", "(2, 3.0)")]
    assert str(explain(f, 1.0, 5).reasons[0]) == "The static argument n is 5; that call had (2, 3.0)."
    assert reasons(f, 1.0, (2, 3.0)) == ("nothing", [])


def test_equal_prints_of_different_static_values_are_said_to_be_different():
    class Mode:
        def __repr__(self):
            return "Mode()"

    f = jit(lambda x, mode: x * 2.0, static_argnames="mode")
    f(1.0, mode=Mode())
    (difference,) = explain(f, 1.0, mode=Mode()).reasons
    assert str(difference) == (
        "The static argument mode is Mode(); that call had a value that prints alike and is not equal to it."
    )


def test_settings_axes_and_rules_are_reasons(scale):
    f = jit(scale)
    f(np.float32(1.0), np.float32(2.0))
    x = np.float32(1.0), np.float32(2.0)
    with config.numpy_dtype_promotion("strict"):
        assert reasons(f, *x)[1] == [("setting", "numpy_dtype_promotion", "'strict'", "'standard'")]
    with entered(axis_env=(("batch", 4),)):
        assert reasons(f, *x)[1] == [("named axes", "", "'batch' of size 4", "none")]
    advance_rule_epoch()
    ((kind, *_),) = reasons(f, *x)[1]
    assert kind == "rules"
    assert str(explain(f, *x).reasons[0]) == "A rule of a primitive was defined or replaced after that call."


def test_the_nearest_of_several_calls_is_compared(scale):
    f = jit(scale)
    f(np.ones(3, np.float32), np.ones(3))
    f(np.ones(7), 1.0)
    f(np.ones((2, 2), np.float32), np.ones((2, 2)))
    explanation = explain(f, np.ones(3), np.ones(3))
    assert [(d.kind, d.before) for d in explanation.reasons] == [("dtype", "float32")]
    assert " The nearest of 3 known calls differs:" in str(explanation)


def test_a_function_that_was_only_traced_would_be_compiled(scale):
    f = jit(scale)
    make_jaxpr(f)(1.0, 2.0)
    explanation = explain(f, 1.0, 2.0)
    assert explanation.action == "compile"
    assert str(explanation).splitlines()[1] == "  The function was traced for these types, but never compiled."


def test_donation_and_options_are_reasons_to_compile(scale):
    f, donating, other = (
        jit(scale, **options)
        for options in ({}, {"donate_argnums": 0}, {"compiler_options": {"xla_cpu_enable_fast_math": False}})
    )
    f(np.ones(3), 2.0)
    assert reasons(donating, np.ones(3), 2.0) == ("compile", [("donated", "", "0", "none")])
    action, [(kind, _, now, before)] = reasons(other, np.ones(3), 2.0)
    assert (action, kind, before) == ("compile", "options", "the defaults")
    assert now == "compiler_options={'xla_cpu_enable_fast_math': False}"
    (difference,) = explain(jit(scale, keep_unused=True), np.ones(3), 2.0).reasons
    assert str(difference) == "The options of jit are keep_unused=True; those of that program are the defaults."


def test_a_call_under_a_transformation_is_traced_only(scale):
    f = jit(scale)
    answers = []
    make_jaxpr(lambda x: answers.append(explain(f, x, 2.0)) or x)(1.0)
    assert answers[0].action == "trace"
    make_jaxpr(lambda x: answers.append((f(x, 2.0), explain(f, x, 2.0))[1]) or x)(1.0)
    assert str(answers[1]).endswith("nothing would be traced or compiled.")


def test_types_stand_for_arrays(scale):
    f = jit(scale)
    f(np.ones(3), np.ones(3))
    struct = ShapeDtypeStruct((3,), np.float64)
    assert explain(f, struct, struct).action == "nothing"
    assert reasons(f, struct, ShapeDtypeStruct((3,), np.float32))[1] == [("dtype", "y", "float32", "float64")]


def test_methods_and_disabled_jit():
    class Model:
        @functools.partial(jit, static_argnums=0)
        def apply(self, x):
            return x * 2.0

    model = Model()
    assert explain(model.apply, 1.0).action == "trace and compile"
    model.apply(1.0)
    assert explain(model.apply, 1.0).action == "nothing"
    with config.disable_jit():
        assert explain(model.apply, np.ones(3)).action == "nothing"


def test_what_jit_did_not_return_is_refused(scale):
    with pytest.raises(TypeError, match=r"explain at test_explain.py:\d+ .* got <function .*>, which jit did not"):
        explain(scale, 1.0)
    with pytest.raises(TypeError, match=r"jit of scale .*: y is 'a' of type str, which is not an array or a scalar"):
        explain(jit(scale), 1.0, "a")


def test_large_constants_are_part_of_the_answer():
    table = np.ones((100, 100))
    f = jit(lambda x: lax.dot(x, table))
    assert explain(f, np.ones(100)).captured_constants == ()
    f(np.ones(100))
    explanation = explain(f, np.ones(100))
    assert [c.nbytes for c in explanation.captured_constants] == [80_000]
    assert "captured" not in str(explanation)
    with config.captured_constants_bytes(1000):
        assert "\nIt captured 80.0 kB of constants, the largest: float64[100,100] (80.0 kB), used at " in str(
            explanation
        )
    assert f.lower(np.ones(100)).captured_constants == list(explanation.captured_constants)
