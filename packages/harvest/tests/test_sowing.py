import numpy as np
import pytest

from calque_core import ShapedArray, Tracer, config, make_jaxpr, stage
from calque_harvest import call_and_reap, reap, sow, sow_cotangent, sow_p
from calque_pytree import tree_flatten


@pytest.mark.parametrize("name_it", [sow, sow_cotangent])
def test_a_name_changes_no_value(name_it):
    for value in (2.0, 3, True, np.float32(1.5), np.arange(3), {"a": np.ones(2), "b": (1.0,)}):
        named = name_it(value, name="v")
        assert tree_flatten(named)[1] == tree_flatten(value)[1]
        for x, y in zip(tree_flatten(named)[0], tree_flatten(value)[0]):
            assert type(x) is type(y)
            np.testing.assert_array_equal(x, y)


def test_a_traced_name_keeps_the_type():
    for value in (2.0, 3, True, np.float32(1.5), np.arange(3)):
        assert make_jaxpr(lambda x: sow(x, name="v"))(value).out_avals == make_jaxpr(lambda x: x)(value).out_avals


def test_a_name_of_a_value_that_nobody_uses_stays_in_the_program():
    def f(x):
        sow(x * 2.0, name="unused")
        return x

    assert [eqn.primitive.name for eqn in make_jaxpr(f)(1.0).eqns] == ["mul", "site", "sow"]
    assert reap(f)(1.0) == {"unused": 2.0}


def test_the_printed_program_shows_the_name():
    text = str(make_jaxpr(lambda x: sow(x, name="v"))(1.0))
    assert "sow[name=v]" in text
    text = str(make_jaxpr(lambda x: sow(x, name="v", tag="t", mode="append"))(1.0))
    assert "sow[name=v mode=append tag=t]" in text


def test_an_array_that_the_program_writes_to_later_keeps_its_value_at_the_name():
    def f(x):
        h = np.add(x, 1.0)
        sow(h, name="h")
        h *= 0.0
        return h

    out, reaps = call_and_reap(f)(np.ones(2))
    assert (out.tolist(), reaps["h"].tolist()) == ([0.0, 0.0], [2.0, 2.0])


def test_a_sown_number_is_an_array():
    assert type(reap(lambda x: sow(x, name="x"))(2.0)["x"]) is np.float64


def test_32_bits():
    with config.enable_x64(False):
        assert reap(lambda x: sow(np.sin(x), name="y"))(np.float32(1.0))["y"].dtype == np.float32
        jaxpr = stage(lambda x: [sow(x, name="x")], [ShapedArray((2,), "float32")])
        assert str(jaxpr.out_avals[0]) == "float32[2]"


@pytest.mark.parametrize("name_it", [sow, sow_cotangent])
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (({1},), TypeError, r"leaf 0 of 'v' is \{1\} of type set, which is not an array"),
        (([],), TypeError, "got a value without arrays for the name 'v'. Give at least one array"),
        ((1.0, 3), TypeError, "got name=3. Give a string"),
        ((1.0, "v", None), TypeError, "got tag=None. Give a string"),
        ((1.0, "v", "t", "last"), ValueError, "got mode='last'. Use one of 'strict', 'clobber', 'append'"),
    ],
)
def test_wrong_arguments_are_refused(name_it, arguments, error, words):
    value, *words_given = arguments
    with pytest.raises(error, match=words) as caught:
        name_it(value, **({"name": "v"} | dict(zip(("name", "tag", "mode"), words_given))))
    assert "test_sowing.py" in str(caught.value)


def test_a_tracer_that_has_escaped_is_refused():
    escaped = []
    make_jaxpr(lambda x: escaped.append(x) or x)(1.0)
    assert isinstance(escaped[0], Tracer)
    with pytest.raises(Exception, match="ended"):
        sow(escaped[0], name="x")


def test_evaluation_of_the_primitive_gives_nothing():
    assert sow_p.bind(1.0, name="a", tag="t", mode="strict", tree=None, partial=False) == []
