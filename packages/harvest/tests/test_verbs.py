import gc
import weakref

import numpy as np
import pytest

from calque_core import Primitive, ValueTrace, current_trace, hand_down, lax, make_jaxpr, tracing, typeof
from calque_core.extend import means, run_program
from calque_harvest import HarvestTrace, call_and_reap, harvest, plant, reap, sow

X = np.array([0.5, -1.0, 2.0])


def two_layers(x):
    h = sow(np.sin(x), name="h")
    return sow(h * h + x, name="out") * 2.0


def test_values_come_out_of_programs(inside):
    out, reaps = call_and_reap(inside(two_layers))(X)
    np.testing.assert_allclose(out, 2.0 * (np.sin(X) ** 2 + X))
    assert list(reaps) == ["h", "out"]
    np.testing.assert_allclose(reaps["h"], np.sin(X))
    np.testing.assert_allclose(reaps["out"], np.sin(X) ** 2 + X)


def test_a_plant_takes_the_place_of_a_value(inside):
    out, reaps = harvest(inside(two_layers))({"h": np.arange(3.0)}, X)
    np.testing.assert_allclose(out, 2.0 * (np.arange(3.0) ** 2 + X))
    assert list(reaps) == ["out"]
    np.testing.assert_allclose(reaps["out"], np.arange(3.0) ** 2 + X)


def test_planting_what_was_reaped_changes_nothing(inside):
    f = inside(two_layers)
    np.testing.assert_array_equal(plant(f)(reap(f)(X), X), f(X))


def test_the_names_survive_staging(inside):
    jaxpr = make_jaxpr(call_and_reap(inside(two_layers)))(X)
    assert "sow" not in str(jaxpr)
    assert len(jaxpr.outvars) == 3


def test_a_function_without_names_gives_an_empty_dict(called):
    assert call_and_reap(lambda x: x * 2.0)(1.0) == (2.0, {})
    assert reap(lambda x: called(np.sin, x))(1.0) == {}


def test_a_program_without_names_stays_as_it_is(called):
    f = lambda x: called(lambda x: np.sin(x) * 2.0, x)
    assert str(make_jaxpr(call_and_reap(f))(1.0)) == str(make_jaxpr(f)(1.0))


def test_tags_divide_names():
    f = lambda x: sow(sow(x * 2.0, name="a", tag="first") + 1.0, name="a", tag="second")
    assert reap(f, tag="first")(1.0) == {"a": 2.0}
    assert reap(f, tag="second")(1.0) == {"a": 3.0}
    assert call_and_reap(call_and_reap(f, tag="first"), tag="second")(1.0) == ((3.0, {"a": 2.0}), {"a": 3.0})
    assert plant(f, tag="second")({"a": 9.0}, 1.0) == 9.0


def test_the_inner_of_two_harvests_takes_the_values():
    assert call_and_reap(reap(two_layers))(1.0)[1] == {}


def test_arguments_by_keyword_and_static_ones_pass():
    f = lambda x, *, times, word: sow(x * times, name=word)
    assert harvest(f)({}, 2.0, times=3.0, word="w") == (6.0, {"w": 6.0})


def test_modes_decide_about_a_second_value():
    f = lambda mode: reap(lambda x: sow(sow(x, name="a", mode=mode) * 2.0, name="a", mode=mode))(1.0)["a"]
    assert f("clobber") == 2.0
    assert f("append").tolist() == [1.0, 2.0]


def test_appended_plants_are_taken_in_turn(called):
    f = lambda x: sow(x, name="a", mode="append") + 10.0 * called(lambda x: sow(x, name="a", mode="append"), x)
    assert plant(f)({"a": np.array([1.0, 2.0])}, 5.0) == 21.0


def test_a_pytree_is_one_name(called):
    f = lambda x: sow({"q": x, "k": (x * 2.0, 3)}, name="qk")["q"]
    assert reap(f)(1.0) == {"qk": {"q": 1.0, "k": (2.0, 3)}}
    assert plant(lambda x: called(f, x))({"qk": {"q": 5.0, "k": (0.0, 0)}}, 1.0) == 5.0


def test_a_plant_shares_no_memory_with_the_program():
    def f(x):
        h = sow(x * 1.0, name="h")
        h += 1.0
        return h

    planted = np.zeros(2)
    assert plant(f)({"h": planted}, np.ones(2)).tolist() == [1.0, 1.0]
    assert planted.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones(2), r"the plant 'h' has type float64\[2\], but the program sows float64\[3\] at test_verbs.py:\d+"),
        (np.ones(3, np.float32), r"has type float32\[3\], but the program sows float64\[3\]"),
        (1.0, r"has type ~float64\[\], but the program sows float64\[3\]"),
        ((X, X), r"the plant 'h' is PyTreeDef\(\(\*, \*\)\), but the program sows an array"),
    ],
)
def test_a_plant_of_another_type_is_refused(inside, value, words):
    with pytest.raises(TypeError, match=words):
        plant(inside(two_layers))({"h": value}, X)


def test_a_python_number_fits_a_wider_dtype():
    f = lambda x: sow(x, name="x") + 0.0
    assert plant(f)({"x": 3}, 1.0) == 3.0
    with pytest.raises(TypeError, match="has type ~complex128"):
        plant(f)({"x": 3j}, 1.0)


def test_a_plant_without_a_name_in_the_program_is_refused():
    with pytest.raises(ValueError, match="got a plant for 'z', but the function sows 'h', 'out' under the tag"):
        plant(two_layers)({"z": 1.0}, X)
    with pytest.raises(ValueError, match="but the function sows nothing under the tag 'intermediates'"):
        plant(np.sin)({"z": 1.0}, X)


def test_plants_come_first():
    with pytest.raises(TypeError, match=r"got plants of type float. Give a dict of values by name first"):
        harvest(two_layers)(1.0)


@pytest.mark.parametrize(("rows", "count"), [(1, 2), (3, 2)])
def test_a_wrong_number_of_rows_is_refused(rows, count):
    f = lambda x: sow(sow(x, name="a", mode="append"), name="a", mode="append")
    with pytest.raises(ValueError, match=f"the plant 'a' has {rows} rows, but the program sows {count} values"):
        plant(f)({"a": np.ones(rows)}, 1.0)
    with pytest.raises(ValueError, match="the plant 'a' has no rows, but the program sows"):
        plant(f)({"a": 1.0}, 1.0)


def test_a_strict_name_that_comes_twice_is_refused_with_both_places(called):
    def f(x):
        y = sow(x, name="a")
        return sow(y, name="a")

    line = f.__code__.co_firstlineno
    words = (
        rf"'a' is sown twice: at test_verbs.py:{line + 1} .*, and at test_verbs.py:{line + 2} .*Give two names, or a"
    )
    for twice in (f, lambda x: called(f, x), lambda x: called(lambda x: called(f, x), x)):
        with pytest.raises(ValueError, match=words):
            reap(twice)(1.0)


def test_a_name_has_one_mode():
    f = lambda x: sow(sow(x, name="a"), name="a", mode="append")
    with pytest.raises(ValueError, match=r"sown with mode='strict' at .* and with mode='append' at .*one mode"):
        reap(f)(1.0)


def test_appended_values_have_one_type():
    f = lambda x: sow(sow(x, name="a", mode="append")[:1], name="a", mode="append")
    with pytest.raises(ValueError, match=r"sown with different types: float64\[3\] at .* and float64\[1\] at "):
        reap(f)(X)


def test_no_tracer_outlives_a_harvest(called):
    seen = []

    def f(x):
        out = called(lambda x: sow(np.sin(x), name="s"), x)
        seen.append(weakref.ref(current_trace()))
        return out

    def staged(x):
        seen.append(weakref.ref(x))
        return reap(f)(x)["s"]

    make_jaxpr(staged)(1.0)
    assert reap(f)(1.0) == {"s": np.sin(1.0)}
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3


def test_no_value_outlives_a_harvest_that_raised():
    traces = []

    def f(x):
        traces.append(current_trace())
        sow(np.add(x, 1.0), name="y")
        assert list(traces[0].sown) == ["y"]
        raise KeyError("the user's own error")

    with pytest.raises(KeyError):
        reap(f)(np.ones(3))
    assert (traces[0].sown, traces[0].plants, traces[0].is_closed) == ({}, {}, True)


def test_the_opened_program_is_made_once():
    jaxpr = make_jaxpr(two_layers)(X)
    f = lambda x: lax.jit_p.bind(x, jaxpr=jaxpr, name="f", compiler=None)[0]
    reap(f)(X)
    keys = jaxpr.memo_keys()
    reap(f)(X + 1.0)
    assert jaxpr.memo_keys() == keys


def test_a_primitive_that_means_a_program_is_opened():
    block_p = Primitive("block_of_harvest", multiple_results=True)
    means(block_p, "program", run_program)
    block_p.def_abstract_eval(lambda *avals, program: program.out_avals)
    program = make_jaxpr(two_layers)(X)
    f = lambda x: block_p.bind(x, program=program)[0]
    np.testing.assert_array_equal(reap(f)(X)["h"], np.sin(X))
    assert [e.primitive.name for e in make_jaxpr(reap(f))(X).eqns] == ["block_of_harvest"]


def opaque(name):
    primitive = Primitive(name, multiple_results=True)
    primitive.def_impl(lambda *args, program: run_program(program, args))
    primitive.def_abstract_eval(lambda *avals, program: program.out_avals)
    return primitive, lambda x: primitive.bind(x, program=make_jaxpr(two_layers)(x))[0]


def test_a_primitive_that_harvest_cannot_open_is_refused_by_name():
    _, f = opaque("opaque_of_harvest")
    with pytest.raises(NotImplementedError, match=r"'opaque_of_harvest'.* sows 'h', 'out', and has no rule to open it"):
        reap(f)(X)


def test_a_rule_opens_a_primitive():
    primitive, f = opaque("opened_of_harvest")
    primitive.def_rule("harvest", lambda trace, *args, program: run_program(program, args))
    np.testing.assert_array_equal(reap(f)(X)["h"], np.sin(X))


class Doubled(ValueTrace):
    """A transformation with values that knows nothing of names."""

    verb = kind = "doubled_of_harvest"
    key = ()

    def lift(self, x):
        return (x, x)

    def to_arrays(self, x):
        return list(x), None

    def from_arrays(self, static, arrays):
        return tuple(arrays)


lax.mul_p.def_rule("doubled_of_harvest", lambda x, y: (x[0] * y[0], x[1] * y[1]))


def doubled(f):
    def run(x):
        with tracing(Doubled(current_trace())) as trace:
            return trace.unwrap(f(trace.wrap((x, -x), typeof(x))))

    return run


def test_a_harvest_inside_another_transformation_gives_its_values(called):
    f = lambda x: sow(x * x, name="square") * x
    assert doubled(f)(3.0) == (27.0, -27.0)
    assert doubled(lambda x: reap(f)(x)["square"])(3.0) == (9.0, 9.0)
    assert doubled(lambda x: plant(f)({"square": 1.0}, x))(3.0) == (3.0, -3.0)
    assert doubled(lambda x: reap(lambda x: called(f, x))(x)["square"])(3.0) == (9.0, 9.0)


def test_operations_without_names_go_to_the_parent():
    with tracing(HarvestTrace(current_trace(), "t", {}, frozenset())) as trace:
        assert trace.process_primitive(lax.sin_p, [0.0], {}) == [0.0]
        assert hand_down(trace, lax.neg_p, [1.0], {}) == [-1.0]
