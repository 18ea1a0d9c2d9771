import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from calque_core import Primitive, Trace, config, current_trace, evaluation, lax, make_jaxpr, tracing
from calque_core.context import active, entered, here

STATE = ("trace", "settings", "axis_env", "source")


def state():
    return tuple(getattr(here(), name) for name in STATE)


class Handler(Trace):
    def process_primitive(self, primitive, args, params):
        return [f"{primitive.name} of {args}"]


def test_at_rest_nothing_is_active():
    assert not active
    assert current_trace() is evaluation
    assert state() == (evaluation, config.current(), (), None)


def test_entering_changes_what_is_given_and_nothing_else():
    trace = Handler(evaluation)
    with entered(trace) as given:
        assert given is trace
        assert state() == (trace, config.current(), (), None)
        with entered(axis_env=(("i", 2),)):
            assert here().axis_env == (("i", 2),)
            assert here().trace is trace
        assert here().axis_env == ()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_leaving_restores_everything_whatever_was_raised(error):
    before = state()
    with pytest.raises(error), entered(Handler(evaluation), axis_env=(("i", 2),)), config.enable_x64(False):
        raise error
    assert state() == before
    assert not active


def test_leaving_restores_what_the_body_changed_and_did_not_undo():
    before = state()
    with entered(Handler(evaluation)):
        config.enable_x64(False).__enter__()
        here().axis_env, here().source = (("i", 2),), "somewhere"
    assert state() == before
    active.clear()  # the block that was never left


def test_a_block_that_is_finalized_after_the_one_around_it_changes_nothing():
    def suspended():
        with config.enable_x64(False):
            yield

    generator = suspended()
    with tracing(Handler(evaluation)):
        next(generator)
    assert config.current().enable_x64
    generator.close()
    assert current_trace() is evaluation
    assert config.current().enable_x64


def test_a_block_cannot_be_entered_twice_at_once():
    block = config.enable_x64(False)
    with block:
        with pytest.raises(
            RuntimeError, match=r"this scope block is already entered, in this thread or in another\. Make a new block"
        ):
            block.__enter__()
        assert not config.current().enable_x64
    with block:
        assert not config.current().enable_x64
    assert config.current().enable_x64


def test_frames_that_a_debugger_keeps_keep_nothing_active():
    frames = []

    def keep(frame, event, _):
        frames.append(frame)

    before = sys.gettrace()
    sys.settrace(keep)
    try:
        with config.enable_x64(False):
            pass
    finally:
        sys.settrace(before)
    assert "__enter__" in [frame.f_code.co_name for frame in frames]
    assert not active


def test_entering_a_trace_forgets_the_place_of_the_equation_around_it():
    here().source = "somewhere"
    with entered(Handler(evaluation)):
        assert here().source is None
    assert here().source == "somewhere"
    here().source = None


def test_a_new_thread_is_at_rest_while_this_one_is_not():
    seen = []
    with entered(Handler(evaluation), axis_env=(("i", 2),)), config.enable_x64(False):
        thread = threading.Thread(target=lambda: seen.append((state(), lax.add(1.0, 2.0))))
        thread.start()
        thread.join()
    assert seen == [((evaluation, config.current(), (), None), 3.0)]


def test_bind_asks_the_current_trace_only_while_somebody_is_active():
    with entered(Handler(evaluation)):
        assert lax.sin(1.0) == "sin of (np.float64(1.0),)"
    assert lax.sin(0.0) == 0.0


def test_eight_threads_trace_at_once_and_each_sees_its_own():
    barrier = threading.Barrier(8)

    def work(number):
        barrier.wait()
        texts = set()
        for _ in range(40):
            with config.enable_x64(number % 2 == 0):
                texts.add(str(make_jaxpr(lambda x: lax.sin(x) * float(number))(1.0)))
                assert lax.add(1.0, 2.0).dtype == ("float64" if number % 2 == 0 else "float32")
        return texts

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    for number, texts in enumerate(results):
        kind = "f64[]" if number % 2 == 0 else "f32[]"
        assert texts == {f"{{ lambda ; a:{kind}. let b:{kind} = sin a; c:{kind} = mul b {float(number)} in (c,) }}"}


def program(x):
    """Bind in every context that core has: plain, inside `cond`, inside `jit`, at compile time, in a nested trace."""
    y = probe_p.bind(x)
    y = lax.cond(True, lambda v: probe_p.bind(v), lambda v: v, y)
    inner = make_jaxpr(lambda v: probe_p.bind(v) + y)(1.0)
    y = lax.jit_p.bind(y, jaxpr=make_jaxpr(lambda v: probe_p.bind(v))(1.0), name="f", compiler=None)[0]
    with config.enable_x64(False), entered(axis_env=(("i", 2),)):
        probe_p.bind(1.0)
    return y * len(inner.eqns)


countdown = [0]
probe_p = Primitive("probe")
failure = [ValueError]


def tick():
    countdown[0] -= 1
    if countdown[0] == 0:
        raise failure[0]


@probe_p.def_impl
def probe_impl(x):
    tick()
    return x


@probe_p.def_abstract_eval
def probe_abstract_eval(aval):
    tick()
    return aval.strip_weak_type()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("run", [program, lambda x: make_jaxpr(program)(x)], ids=["evaluated", "staged"])
def test_an_error_at_any_bind_leaves_the_state_as_it_was(run, error):
    before, failure[0] = state(), error
    countdown[0] = 0
    run(1.0)
    binds = -countdown[0]
    assert binds >= 5
    for moment in range(1, binds + 1):
        countdown[0] = moment
        with pytest.raises(error):
            run(1.0)
        assert state() == before
        assert not active


def test_a_closed_trace_that_is_current_gives_way_to_evaluation():
    trace = Handler(evaluation)
    trace.close()
    for use in (lambda: lax.sin(0.0), lambda: current_trace()):
        with entered(trace):
            assert use() in (0.0, evaluation)
            assert here().trace is evaluation
    assert current_trace() is evaluation


def test_a_block_can_be_left_by_an_exit_stack_and_by_hand():
    with ExitStack() as stack:
        stack.enter_context(config.enable_x64(False))
        assert lax.sin(1.0).dtype == "float32"
    block = config.enable_x64(False)
    block.__enter__()
    assert hasattr(block, "__exit__")
    assert lax.sin(1.0).dtype == "float32"
    block.__exit__(None, None, None)
    assert lax.sin(1.0).dtype == "float64"
    assert not active
