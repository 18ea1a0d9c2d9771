import functools
import gc
import types
import weakref

import numpy as np
import pytest

from calque_core import config, jaxprs_in_params, make_jaxpr, pure_callback
from calque_core.engine import StaticArguments, advance_rule_epoch, entered
from calque_core.lax import fori_loop
from calque_xla_backend import clear_caches, device_put, jit
from calque_xla_backend.calls import cache
from calque_xla_backend.calls.cache import Programs
from calque_xla_backend.calls.compiled import NOT_COMPILED
from calque_xla_backend.calls.tracing import TracedFunction
from calque_xla_backend.verbs.jit_function import JitFunction


def test_the_cache_is_weak_in_the_function():
    def f(x):
        return x + 1.0

    gc.collect()
    before = len(cache._by_owner)
    jitted = jit(f)
    jitted(1.0)
    assert len(cache._by_owner) == before + 1
    ref = weakref.ref(f)
    del f, jitted
    gc.collect()
    assert ref() is None
    assert len(cache._by_owner) == before


def test_2000_dropped_lambdas_leave_nothing_behind():
    gc.collect()
    before = len(cache._by_owner)
    for k in range(2000):
        make_jaxpr(jit(lambda x, k=k: x + k))(1.0)
    gc.collect()
    assert len(cache._by_owner) == before


def test_callables_that_compare_equal_do_not_share_traces():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    first, second = Scale(2.0), Scale(3.0)
    assert (jit(first)(1.0), jit(second)(1.0)) == (2.0, 3.0)


def test_a_trace_with_captured_tracers_dies_with_its_owner():
    refs = []

    def outer(x):
        inner = jit(lambda y: y + x)
        inner(x)
        inner(x)
        refs.append(weakref.ref(inner.__wrapped__))
        return x

    gc.disable()
    try:
        make_jaxpr(outer)(1.0)
    finally:
        gc.enable()
    gc.collect()
    assert refs[0]() is None


def cache_of_jitted(f):
    return f.clear_cache.__self__.traced.cache


def counted(fun):
    notes = []

    def noted(*args, **kwargs):
        notes.append(1)
        return fun(*args, **kwargs)

    return noted, notes


def test_all_jits_of_a_function_share_its_traces_and_programs():
    f, notes = counted(lambda x: x + 1.0)
    x = device_put(1.0)
    for _ in range(3):
        jitted = jit(f)
        assert jitted(x) == 2.0
        assert make_jaxpr(jitted)(x).in_avals == make_jaxpr(f)(x).in_avals
        assert jitted.cache_info() == (1, 1)
    assert len(notes) == 1 + 3  # make_jaxpr of `f` itself


@pytest.mark.parametrize(
    ("options", "shares_traces"),
    [
        ({"donate_argnums": 0}, True),
        ({"compiler_options": {"xla_cpu_enable_fast_math": False}}, True),
        ({"static_argnums": 1}, False),
    ],
    ids=str,
)
def test_other_options_have_programs_of_their_own(options, shares_traces):
    def f(x, n=1.0):
        return x + n

    jit(f)(device_put(1.0))
    other = jit(f, **options)
    assert other.cache_info() == (shares_traces, 0)
    assert other(device_put(1.0)) == 2.0
    assert other.cache_info() == jit(f).cache_info() == (1, 1)


def test_the_key_of_a_call_holds_settings_axes_and_rule_epoch():
    keys = []
    traced = TracedFunction(lambda x: x, StaticArguments())
    call = traced.call(*traced.split((1.0,), {}))
    take = lambda: keys.append(call.key(traced.avals(call)))
    take()
    with config.default_dtype_bits(32):
        take()
    with entered(axis_env=(("i", 3),)):
        take()
    with entered(axis_env=(("i", 3),), varying_axes=frozenset("i")):
        take()
    advance_rule_epoch()
    take()
    assert len(set(keys)) == len(keys) == 5
    assert [len({key[i] for key in keys}) for i in (3, 4, 5, 6)] == [2, 2, 2, 2]


def test_the_program_of_the_last_call_is_dropped_when_a_rule_is_replaced():
    f, notes = counted(lambda x: x + 1.0)
    jitted, x = jit(f), device_put(1.0)
    programs = jitted.jit_function.programs
    jitted(x)
    assert programs.last is not NOT_COMPILED
    advance_rule_epoch()
    assert programs.last is NOT_COMPILED
    assert not programs.recent
    assert not programs.by_device_types
    jitted(x)
    assert len(notes) == 2


def test_calls_with_device_arrays_of_two_types_in_turn_need_no_key(monkeypatch):
    f, notes = counted(lambda x, y: x + y)
    jitted = jit(f)
    programs = jitted.jit_function.programs
    x, y = device_put(1.0), device_put(np.array([1.0, 2.0]))
    assert [jitted(a, b).tolist() for a, b in [(x, x), (x, y), (y, y)]] == [2.0, [2.0, 3.0], [2.0, 4.0]]
    monkeypatch.setattr(JitFunction, "_run", None)
    for a, b, out in [(x, x, 2.0), (x, y, [2.0, 3.0]), (y, y, [2.0, 4.0]), (x, x, 2.0)]:
        assert jitted(a, b).tolist() == out
        assert programs.last.device_types == [a._device_type, b._device_type]
    assert len(notes) == 3


def test_calls_with_numbers_statics_and_trees_of_two_types_in_turn_need_no_key(monkeypatch):
    f, notes = counted(lambda x, n: x["a"] * n)
    jitted = jit(f, static_argnums=1)
    x = {"a": device_put(2.0)}
    calls = [(x, 3, 6.0), (x, 4, 8.0), ({"a": 2.0}, 3, 6.0)]
    for a, n, out in calls * 20:  # the code that recognises a tree is made after some calls
        assert jitted(a, n).tolist() == out
    monkeypatch.setattr(JitFunction, "_run", None)
    noted = len(notes)
    assert [jitted(a, n).tolist() for a, n, _ in calls * 2] == [out for *_, out in calls * 2]
    assert len(notes) == noted


def test_a_type_that_comes_again_is_tried_first_from_then_on():
    jitted = jit(lambda x: x["a"] + 1.0)
    programs, trees = jitted.jit_function.programs, [{"a": device_put(np.zeros(n))} for n in (1, 2)]
    for x in trees * 20:
        jitted(x)
    for x in trees:
        jitted(x)
        assert programs.last.device_types == [x["a"]._device_type]


def test_a_program_that_is_forgotten_while_it_is_found_serves_one_call():
    class Forgetting(dict):
        def get(self, key, default=None):
            found = super().get(key, default)
            programs.forget_last()
            return found

    programs, kind = Programs(), device_put(1.0)._device_type
    programs.by_device_types = Forgetting({(kind,): "compiled"})
    assert programs.find((kind,)) == "compiled"
    assert programs.last is NOT_COMPILED


def test_the_settings_of_a_call_choose_its_program_among_several():
    jitted = jit(lambda x: x + 1)
    arrays = [device_put(np.arange(n, dtype="float32")) for n in (1, 2)]
    for _ in range(2):
        for x in arrays:
            assert jitted(x).shape == x.shape
            with config.enable_x64(False):
                assert jitted(x).dtype == "float32"
                assert jitted(1).dtype == "int32"
            assert jitted(1).dtype == "int64"


def test_a_program_that_is_traced_while_a_rule_is_replaced_serves_one_call():
    f, notes = counted(lambda x: advance_rule_epoch() or x + 1.0)
    jitted, x = jit(f), device_put(1.0)
    assert [float(jitted(x)) for _ in range(3)] == [2.0] * 3
    assert len(notes) == 3


def test_a_wrapper_has_separate_programs_for_calls_by_keyword_and_by_position():
    f, notes = counted(lambda x, y=1.0: x - y)
    jitted = jit(f)
    x, y = device_put(5.0), device_put(3.0)
    for _ in range(3):
        outs = [jitted(x), jitted(x, y), jitted(x, y=y), jitted(y=y, x=x), jitted(5.0, y=y)]
        assert [float(out) for out in outs] == [4.0, 2.0, 2.0, 2.0, 2.0]
    assert len(notes) == 5
    assert jitted.cache_info() == (5, 5)


def test_clear_caches_leaves_nothing_in_any_cache():
    def f(x):
        return x + 1.0

    class Doubles:
        def __call__(self, x):
            return x + x

    doubles = jit(Doubles())
    jit(f)(1.0)  # the jitted function is dropped, and its cache stays with the function
    doubles(device_put(1.0))
    with config.default_dtype_bits(32):
        doubles(device_put(1.0))
    programs = [*cache_of_jitted(jit(f)).programs.values(), *cache_of_jitted(doubles).programs.values()]
    assert [len(p.by_types) for p in programs] == [1, 2]
    assert [len(p.recent) for p in programs] == [1, 2]
    clear_caches()
    assert all(not (p.by_types or p.recent) and p.last is NOT_COMPILED for p in programs)
    assert not any(c.traces for c in cache._all)
    assert doubles(device_put(1.0)) == 2.0


def test_clear_caches_drops_the_stored_steps_of_loops():
    step = lambda i, x: x + 1.0
    loop = lambda x: fori_loop(0, 3, step, x)
    programs = [make_jaxpr(loop)(1.0).eqns[0].params for _ in range(2)]
    assert same_objects(*programs)
    clear_caches()
    assert not same_objects(programs[0], make_jaxpr(loop)(1.0).eqns[0].params)


def same_objects(*params):
    """Tell whether the equations of two loops hold the same jaxpr objects."""
    first, second = ([id(jaxpr) for jaxpr in jaxprs_in_params(p)] for p in params)
    return first == second != []


def test_a_cleared_function_is_traced_once_more_by_every_jit_of_it():
    f, notes = counted(lambda x: x + 1.0)
    first, second = jit(f), jit(f)
    x = device_put(1.0)
    for jitted in (first, second, first):
        jitted(x)
    assert len(notes) == 1
    first.clear_cache()
    assert [jitted(x) for jitted in (second, first, second)] == [2.0, 2.0, 2.0]
    assert len(notes) == 2


class Model:
    """A user's object: `count` is the number of traces of its method."""

    def __init__(self, factor=2.0):
        self.factor, self.count = factor, 0

    def step(self, x, power=1):
        self.count += 1
        return x**power * self.factor

    @classmethod
    def scaled(cls, x):
        return x * 3.0


def test_a_method_is_traced_once_although_python_makes_it_anew_at_each_access():
    model = Model()
    assert [float(jit(model.step)(1.0)) for _ in range(5)] == [2.0] * 5
    assert model.count == 1
    jit(model.step)(np.ones(3))
    assert model.count == 2
    first, second = [jit(model.step, static_argnames="power")(2.0, power=2) for _ in range(2)]
    assert (float(first), float(second), model.count) == (8.0, 8.0, 3)
    make_jaxpr(jit(model.step))(1.0)
    assert model.count == 3
    jit(Model.scaled)(1.0)
    assert jit(Model.scaled).cache_info().traces == 1


def test_methods_of_objects_that_compare_equal_do_not_share_traces():
    class Equal(Model):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    first, second = Equal(2.0), Equal(3.0)
    assert [float(jit(model.step)(1.0)) for model in (first, second, first)] == [2.0, 3.0, 2.0]


def test_methods_of_one_object_do_not_share_traces():
    class Two(Model):
        def other(self, x):
            return x + 10.0

    model = Two()
    assert [float(f(1.0)) for f in (jit(model.step), jit(model.other), jit(model.step))] == [2.0, 11.0, 2.0]


def test_a_method_that_is_replaced_is_traced_anew():
    class Patched(Model):
        pass

    model = Patched()
    assert jit(model.step)(1.0) == 2.0
    Patched.step = lambda self, x: x + 1.0
    assert jit(model.step)(5.0) == 6.0


def test_one_partial_is_traced_once():
    model = Model()
    partial = functools.partial(model.step, power=2)
    assert [float(jit(partial)(3.0)) for _ in range(3)] == [18.0] * 3
    assert model.count == 1
    assert jit(functools.partial(model.step, power=3))(3.0) == 54.0


def ruled(model):
    """Give a model a method whose program refers to the model, by a callback."""
    model.step = types.MethodType(lambda self, x: pure_callback(self.called, x, x) * self.factor, model)
    model.called = lambda x: x * model.factor
    return model


MODELS = {
    "plain": Model,
    "with a callback to itself": lambda: ruled(Model()),
    "with a partial of itself": lambda: with_partial(Model()),
}


def with_partial(model):
    model.step = functools.partial(model.step)
    return model


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_cache_of_a_method_dies_with_its_object(make):
    gc.collect()
    before = len(cache._by_owner)
    model = make()
    want = float(jit(model.step)(1.0))
    jitted = jit(model.step)
    assert [float(jitted(1.0)), float(jit(model.step)(1.0))] == [want, want]
    ref = weakref.ref(model)
    del model
    gc.collect()
    assert ref() is not None  # the jitted method needs it
    del jitted
    gc.collect()
    assert ref() is None
    assert len(cache._by_owner) == before


def test_a_method_of_an_object_without_weak_references_is_traced_at_each_jit():
    class Slotted:
        __slots__ = ("factor",)

        def step(self, x):
            return x * self.factor

    model = Slotted()
    model.factor = 2.0
    assert jit(model.step)(1.0) == 2.0
    model.factor = 3.0
    assert jit(model.step)(1.0) == 3.0


def test_an_attribute_that_changes_is_seen_after_clear_cache():
    model = Model(2.0)
    assert jit(model.step)(1.0) == 2.0
    model.factor = 5.0
    assert jit(model.step)(1.0) == 2.0  # as a variable that a jitted function closes over
    jit(model.step).clear_cache()
    assert jit(model.step)(1.0) == 5.0
