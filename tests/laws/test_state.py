"""What transformations leave behind: nothing, whatever is raised, whoever else runs, whatever escapes."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from agreement import assert_close, assert_same, assert_within
from transformations import TRANSFORMATIONS, looped

from calque_autodiff import grad, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import (
    Primitive,
    ShapedArray,
    Trace,
    UnexpectedTracerError,
    config,
    current_trace,
    eval_context,
    eval_jaxpr,
    evaluation,
    hand_down,
    lax,
    make_jaxpr,
    tracing,
    typeof,
)
from calque_core.context import active, here
from calque_core.engine import KnownOperations
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.known.table import by_rules
from calque_xla_backend import device_put, jit

PAIRS = [(outer, inner) for outer in TRANSFORMATIONS for inner in (*TRANSFORMATIONS, None)]
TRACING = [name for name in TRANSFORMATIONS if name != "checkpoint"]  # which runs the function if nobody else traces
X = np.array([0.3, 0.7])


def program(x, y):
    return [lax.cond(lax.gt(lax.reduce_sum(y), 0.0), lax.sin, lax.cos, lax.mul(x, y)), lax.reduce_sum(x)]


def transformed(outer, inner):
    """Return the pair applied to a function of its own, and arguments for it.

    The function holds an object, so that no program of another function with the same code serves for it.
    """
    fun, mapped = (lambda x, y, _own=object(): program(x, y)), (True, True)  # noqa: B008
    levels = (outer, inner).count("vmap")
    for name in (inner, outer):
        fun = fun if name is None else TRANSFORMATIONS[name](fun, mapped)
    return fun, [np.stack([X * s for s in range(1, 1 + 2**levels)]).reshape(*(2,) * levels, 2) + i for i in range(2)]


def state():
    return here().trace, here().axis_env, here().settings, here().source, tuple(active)


class PassOn(Trace):
    """Counts what it sees, and passes it on."""

    def __init__(self):
        super().__init__(current_trace())
        self.seen = Counter()

    def process_primitive(self, primitive, args, params):
        self.seen[primitive.name] += 1
        return hand_down(self.parent, primitive, args, params)


# Errors at any operation


class InjectedError(Exception):
    pass


@pytest.fixture
def bomb(monkeypatch):
    """Return `bomb(k, error)`: the k-th operation bound from then on raises.

    No operation is known: code binds nothing.
    """
    monkeypatch.setattr(KnownOperations, "find", lambda *_: None)
    monkeypatch.setattr(KnownOperations, "call", lambda self, *call: by_rules(*call))
    bind = Primitive.bind
    counter = {"left": None, "error": None}

    def counted(primitive, *args, **params):
        if counter["left"] is not None:
            counter["left"] -= 1
            if counter["left"] < 0:
                counter["left"] = None
                raise counter["error"]("injected")
        return bind(primitive, *args, **params)

    def arm(k, error):
        counter.update(left=k, error=error)

    monkeypatch.setattr(Primitive, "bind", counted)
    return arm


def check_every_bind(bomb, fun, args, error):
    """Raise at each operation in turn; the state is as before each time, and the function works afterwards."""
    before = state()
    for k in count():
        bomb(k, error)
        try:
            fun(*args)
        except error:
            assert state() == before
            assert all(x.flags.writeable for x in args)
        else:
            break
    assert k > 2
    bomb(None, None)
    out = fun(*args)
    assert state() == before
    assert all(x.flags.writeable for x in args)
    return out


@pytest.mark.parametrize("error", [InjectedError, KeyboardInterrupt])
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_an_error_at_any_operation_leaves_the_state_as_it_was(bomb, outer, inner, error):
    fun, args = transformed(outer, inner)
    out = check_every_bind(bomb, fun, args, error)
    fresh, _ = transformed(outer, inner)
    assert_same(out, fresh(*args))


@pytest.mark.counts
@pytest.mark.parametrize("outer", TRANSFORMATIONS)
def test_an_error_restores_a_state_that_is_not_at_rest(bomb, outer):
    fun, args = transformed(outer, None)
    with config.enable_x64(False), tracing(PassOn()) as trace:
        check_every_bind(bomb, fun, args, InjectedError)
        assert here().trace is trace
    assert here().trace is evaluation
    assert not active
    named = vmap(lambda *xs: check_every_bind(bomb, fun, args, InjectedError), axis_name="i", in_axes=None, axis_size=2)
    before = state()
    named(0.0)
    assert state() == before


def test_an_error_in_the_users_function_leaves_the_state_as_it_was():
    def fail(x):
        raise InjectedError

    for name, transformation in TRANSFORMATIONS.items():
        before = state()
        with pytest.raises(InjectedError):
            transformation(transformation(fail, [True]), [True])(np.ones((2, 2)))
        assert state() == before, name


# Threads


@pytest.mark.counts
def test_8_threads_at_once_give_right_results():
    shared = jit(lambda x, y: program(x, y))
    names = list(TRANSFORMATIONS)
    expected = {pair: transformed(*pair)[0](*transformed(*pair)[1]) for pair in PAIRS if "jit" not in pair}
    barrier = threading.Barrier(8)

    def work(number):
        name = names[number % len(names)]
        barrier.wait()
        for pair, want in list(expected.items())[number % 3 :: 2]:
            fun, args = transformed(*pair)
            assert_within(fun(*args), want, 4)  # later calls are known code: last bits may differ
            xs = [np.stack([X, X])] * 2 if name == "vmap" else [X, X + 1]
            TRANSFORMATIONS[name](shared, [True, True])(*xs)
        is_wide = number % 2 == 0
        with config.enable_x64(is_wide):
            assert shared(X, X)[0].dtype == (np.float64 if is_wide else np.float32)
        assert_close(shared(X, X + 1), program(X, X + 1), 1e-12)
        assert here().trace is evaluation
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))
    assert not active


# Tracers that escape


def leaked_from(name):
    """Return a tracer of a transformation that has ended."""
    kept = []

    def leak(x):
        kept.append(lax.sin(x))
        return [x]

    TRANSFORMATIONS[name](leak, [True])(np.ones(2))
    return kept[0]


@pytest.mark.parametrize("name", TRACING)
@pytest.mark.parametrize("use", [lax.sin, lambda x: make_jaxpr(lambda y: lax.add(x, y))(1.0), jit(lax.sin), np.cos])
def test_a_tracer_of_a_closed_trace_is_refused(name, use):
    tracer = leaked_from(name)
    with pytest.raises(UnexpectedTracerError, match="has ended"):
        use(tracer)


@pytest.mark.parametrize("name", ["jit", "make_jaxpr", "linearize", "vjp"])
def test_the_message_names_the_line_that_made_an_escaped_tracer(name):
    with pytest.raises(UnexpectedTracerError, match=r"made at .*test_state\.py:\d+ \(.*leak\)"):
        lax.sin(leaked_from(name))


@pytest.mark.parametrize("name", ["jvp", "vmap"])
def test_the_message_names_the_line_that_started_the_trace_of_an_escaped_value(name):
    with pytest.raises(UnexpectedTracerError, match=r"made at .*\.py:\d+ \("):
        lax.sin(leaked_from(name))


@pytest.mark.parametrize("name", TRACING)
@pytest.mark.parametrize("use", [lax.sin, lambda x: make_jaxpr(lambda y: lax.add(x, y))(1.0)])
def test_a_tracer_in_another_thread_is_refused(name, use):
    found = []

    def share(x):
        y = lax.sin(x)
        with ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(use, y).exception())
        return [y]

    TRANSFORMATIONS[name](share, [True])(np.ones(2))
    assert [type(error) for error in found] == [UnexpectedTracerError]
    assert "in another thread" in str(found[0])
    assert "test_state.py:" in str(found[0])


@pytest.mark.parametrize("name", TRACING)
def test_an_open_tracer_that_reaches_evaluation_is_refused(name):
    def evaluate(x):
        with (
            eval_context(),
            pytest.raises(UnexpectedTracerError, match="and evaluation runs outside of it") as caught,
        ):
            lax.sin(x)
        assert "made at" in str(caught.value)
        return [x]

    TRANSFORMATIONS[name](evaluate, [True])(np.ones(2))


def test_an_inner_tracer_is_refused_by_the_trace_around_it():
    def outer(x):
        kept = []
        make_jaxpr(lambda y: kept.append(lax.sin(y)) or y)(1.0)
        return lax.mul(x, kept[0])

    with pytest.raises(UnexpectedTracerError, match="has ended"):
        make_jaxpr(outer)(1.0)


# A warmed jitted function under every current trace


def warm():
    """Return a jitted function that has run, with the arguments it ran on, and what it gives."""
    function = jit(lambda x: lax.mul(lax.sin(x), 2.0))
    x = device_put(X)
    for _ in range(2):
        out = function(x)
    return function, x, np.asarray(out)


def count_jits(jaxpr):
    return sum(eqn.primitive is lax.jit_p for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns)


rule_p = Primitive("with_a_jitted_rule")
rule_p.def_impl(lambda x: x)
rule_p.def_abstract_eval(lambda aval: ShapedArray(aval.shape, aval.dtype))


@pytest.fixture
def in_rule():
    """Return `in_rule(f, x)`: f(x) called by a jvp rule, as the factor of the tangent."""
    called = []

    def rule(primals, tangents):
        return rule_p.bind(primals[0]), lax.mul(tangents[0], called[-1]())

    rule_p.def_rule("jvp", rule, override="jvp" in rule_p.rules)

    def call(y, function):
        called.append(function)
        return jvp(rule_p.bind, (y,), (lax.mul(y, 0.0) + 1.0,))[1]

    return call


UNDER = {
    "make_jaxpr": lambda f, y: f() * y,
    "jvp": lambda f, y: jvp(lambda z: f() * z, (y,), (y * 0.0 + 1.0,))[1],
    "vmap": lambda f, y: vmap(lambda z: f()[0] * z)(y) / f()[0] * f(),
    "linearize": lambda f, y: linearize(lambda z: f() * z, y)[1](y * 0.0 + 1.0),
    "vjp": lambda f, y: vjp(lambda z: f() * z, y)[1](y * 0.0 + 1.0)[0],
}


@pytest.mark.parametrize("name", UNDER)
def test_a_warmed_jitted_function_is_staged_where_somebody_stages(name):
    function, x, out = warm()
    under = lambda y: UNDER[name](lambda: function(x), y)
    calls = {"vmap": 3}.get(name, 1)
    assert count_jits(make_jaxpr(under)(np.ones(2))) == calls
    np.testing.assert_allclose(under(np.ones(2)), out, rtol=1e-15)
    np.testing.assert_array_equal(function(x), out)


def test_a_warmed_jitted_function_in_a_jvp_rule_is_staged_where_somebody_stages(in_rule):
    function, x, out = warm()
    jaxpr = make_jaxpr(lambda y: in_rule(y, lambda: function(x)))(np.ones(2))
    assert count_jits(jaxpr) == 1
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, np.ones(2))[0], out)
    np.testing.assert_array_equal(in_rule(np.ones(2), lambda: function(x)), out)


def test_a_warmed_jitted_function_is_seen_by_a_trace_of_the_users():
    function, x, out = warm()
    with tracing(PassOn()) as trace:
        np.testing.assert_array_equal(function(x), out)
        grad(lambda y: lax.reduce_sum(function(y)))(x)
    assert trace.seen["jit"] >= 2


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_a_warmed_jitted_function_is_transformed_on_concrete_arguments(name):
    function, *_ = warm()
    xs = np.stack([X, X + 1]) if name == "vmap" else X
    plain = lambda x: [lax.mul(lax.sin(x), 2.0)]
    want = (looped if name == "vmap" else TRANSFORMATIONS[name])(plain, [True])(xs)
    for argument in (xs, device_put(xs)):
        assert_close(TRANSFORMATIONS[name](lambda x: [function(x)], [True])(argument), want, 1e-14)


# Surroundings


def test_a_jitted_function_that_reads_a_tracer_is_right_every_time():
    box = []
    scaled = jit(lambda x: lax.mul(x, box[-1]))

    def through(w):
        box.append(w)
        return scaled(3.0) + scaled(4.0)

    for w in (2.0, 5.0):
        assert grad(lambda w: through(w) * w)(w) == pytest.approx(14 * w)
        assert jvp(through, (w,), (1.0,))[1] == pytest.approx(7)
        assert vmap(through)(np.array([w, 1.0])).tolist() == pytest.approx([7 * w, 7])
        jaxpr = make_jaxpr(through)(w)
        assert float(eval_jaxpr(jaxpr, jaxpr.consts, w)[0]) == pytest.approx(7 * w)
        assert float(jit(lambda w: through(w))(w)) == pytest.approx(7 * w)
        assert vmap(grad(lambda w: through(w) * w))(np.array([w, 1.0])).tolist() == pytest.approx([14 * w, 14])


def test_a_jitted_function_traced_within_a_jitted_function_reads_each_ones_tracers():
    @jit
    def outer(w):
        inner = jit(lambda x: lax.mul(x, w))
        return inner(1.0) + inner(2.0)

    for w in (2.0, 3.0):
        assert float(outer(w)) == pytest.approx(3 * w)
        assert float(grad(outer)(w)) == pytest.approx(3.0)


# Settings


def test_typeof_is_not_fooled_by_settings_of_another_thread():
    with config.enable_x64(False):
        found = []
        thread = threading.Thread(target=lambda: found.append(typeof(X).dtype))
        thread.start()
        thread.join()
    assert found == [np.float64]
