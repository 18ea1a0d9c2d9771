"""The fast path: the calls that take it, and that a cached program never gives a wrong result."""

import builtins
import gc
import itertools
import random

import numpy as np
import pytest

from calque_core import make_jaxpr
from calque_core.config import default_dtype_bits, enable_x64, update
from calque_pytree import tree_leaves, tree_map
from calque_xla_backend import Array, device_put, jit
from calque_xla_backend.calls.cache import Programs
from calque_xla_backend.calls.dispatch import MAX_ARITY, MISSING, generate_call


def general_calls(f):
    """Return the list that grows with each call of `f` off the fast path."""
    function = f.clear_cache.__self__
    calls = []
    original = function.traced.split

    class Spy:
        def __getattr__(self, name):
            return getattr(function_traced, name)

        def split(self, args, kwargs):
            calls.append(args)
            return original(args, kwargs)

    function_traced = function.traced
    function.traced = Spy()
    return calls


@pytest.fixture
def texts(monkeypatch):
    """Return the list that grows with each text that Python compiles."""
    texts, original = [], builtins.compile

    def compile_text(source, *args, **kwargs):
        texts.append(source)
        return original(source, *args, **kwargs)

    monkeypatch.setattr(builtins, "compile", compile_text)
    return texts


def model():
    """Return the parameters of a network of 4 layers, on the device; no two layers have the same keys."""
    layers = [
        {"attention": {f"{part}{i}": i for part in "qkvo"}, "mlp": [{f"w{i}": 1.0}, {f"b{i}": 2.0}]} for i in range(4)
    ]
    return device_put(tree_map(np.float32, {"layers": layers, "embed": 3.0}))


def test_a_step_over_nested_arrays_is_fast_from_the_second_call_on_and_makes_no_code_then(texts):
    step = jit(lambda params, x: (tree_map(lambda p: p + x, params), {"loss": [x * 2.0]}))
    params, x = model(), device_put(np.float32(1.0))
    new, _ = step(params, x)
    calls = general_calls(step)
    texts.clear()
    for _ in range(20):
        new, loss = step(new, x)
    assert (calls, texts) == ([], [])
    assert float(loss["loss"][0]) == 2.0
    np.testing.assert_array_equal(tree_leaves(new), np.add(tree_leaves(params), 21.0))


def test_a_step_that_got_numpy_arrays_first_is_fast_on_its_own_results_from_the_third_call_on(texts):
    step = jit(lambda params: tree_map(lambda p: p + np.float32(1.0), params), donate_argnums=0)
    new = step(step(tree_map(np.asarray, model())))
    calls = general_calls(step)
    texts.clear()
    for _ in range(20):
        new = step(new)
    assert (calls, texts) == ([], [])


def test_device_arrays_take_the_fast_path_from_the_second_call_on():
    f = jit(lambda x, y: (x + y, {"d": x - y}))
    x = device_put(np.ones(3))
    f(x, x)
    calls = general_calls(f)
    for _ in range(3):
        f(x, x)
    assert calls == []


def test_containers_of_device_arrays_take_the_fast_path_once_their_code_is_made():
    f = jit(lambda d: {"out": d["a"] + d["b"][0]})
    d = {"a": device_put(1.0), "b": [device_put(2.0)]}
    for _ in range(40):
        f(d)
    calls = general_calls(f)
    assert f(d)["out"] == 3.0
    assert f({"b": [device_put(2.0)], "a": device_put(1.0)})["out"] == 3.0
    assert calls == []


@pytest.mark.parametrize(
    "kinds", [(float, np.ones), (np.float64, np.float64), (np.asarray, np.asarray), (np.asarray, float)]
)
def test_numpy_arguments_take_a_fast_path_too_whatever_was_passed_before(kinds):
    f = jit(lambda x, y: x + y)
    f(np.float64(1.0), np.asarray(1.0))
    f(1.0, np.float64(1.0))
    args = [kind(2) for kind in kinds]
    expected = np.asarray(f(*args))
    calls = general_calls(f)
    np.testing.assert_array_equal(f(*args), expected)
    assert calls == []


def test_the_fast_path_serves_other_settings_and_other_threads_that_trace():
    f = jit(lambda x: x + x)
    x = device_put(np.float32(1.0))
    with default_dtype_bits(32):
        f(x)
        calls = general_calls(f)
        assert f(x) == 2.0
        assert calls == []
    f(x)
    calls.clear()
    assert f(x) == 2.0
    assert calls == []


def test_settings_of_the_whole_process():
    f = jit(lambda x: x + 1)
    try:
        update("default_dtype_bits", 32)
        assert [f(1).dtype for _ in range(3)] == [np.int32] * 3
    finally:
        update("default_dtype_bits", 64)
    assert [f(1).dtype for _ in range(3)] == [np.int64] * 3


def leaf_of_kind(kind, value, shape, dtype):
    array = np.full(shape, value, dtype)
    if kind == "device":
        return device_put(array)
    if kind == "scalar":
        return {"f": float, "i": int, "b": bool}[np.dtype(dtype).kind](value)
    if kind == "strided":
        return np.full((*shape, 2), value, dtype)[..., 0]
    return array[()] if kind == "generic" and not shape else array


def test_calls_of_any_kind_in_any_order_give_what_the_function_gives(quickly):
    fun = lambda x, y, z: (x + y, {"z": z, "k": [x - y]})
    f = jit(fun, compiler_options=quickly)
    choose = random.Random(0)
    kinds = ["device", "device", "numpy", "generic", "scalar", "strided"]
    for _ in range(400):
        shape, dtype = choose.choice([(), (3,), (2, 2), (0,)]), choose.choice(["f4", "f8", "i4"])
        args = [leaf_of_kind(choose.choice(kinds), i + 1, shape, dtype) for i in range(3)]
        keywords = {"z": args.pop()} if choose.random() < 0.2 else {}
        on_host = lambda x: np.asarray(x) if type(x) is Array else x
        expected = fun(*map(on_host, args), **{k: on_host(x) for k, x in keywords.items()})
        with enable_x64(choose.random() < 0.8):
            is_x64 = f(*args, **keywords)[0].dtype.itemsize == 8
            out = f(*args, **keywords)
        for got, want in zip(tree_leaves(out), tree_leaves(expected), strict=True):
            assert type(got) is Array
            assert got.shape == np.shape(want)
            assert not is_x64 or got.dtype == np.asarray(want).dtype
            np.testing.assert_array_equal(got, want)


def test_other_structures_types_and_orders_never_hit_a_cached_program():
    f = jit(lambda t: t)
    a, b = device_put(1.0), device_put(np.float32(2.0))
    trees = [[a, b], (a, b), {"x": a, "y": b}, {"y": a, "x": b}, [b, a], [a, [b]], [a, None, b], a, None, ()]
    for first, second in itertools.permutations(trees, 2):
        for tree in (first, first, second):
            out = f(tree)
            assert type(out) is type(tree)
            assert repr(out) == repr(tree)


def test_generated_code_is_made_of_templates_and_integers():
    programs = Programs()
    seen = []
    for arity in (0, 1, 3, MAX_ARITY):
        call = generate_call(arity, programs, lambda args, kwargs: seen.append((args, kwargs)))
        call(*range(arity), key=1)
        assert seen.pop() == (tuple(range(arity)), {"key": 1})
        call(*range(arity + 2))
        assert seen.pop() == (tuple(range(arity + 2)), {})
    call(1, 2)
    assert seen.pop()[0][:3] == (1, 2, MISSING)


def test_calls_leave_no_garbage():
    f = jit(lambda x, d: (x, d))
    x = device_put(1.0)
    for _ in range(30):
        f(x, {"a": x})
        f(1.0, {"a": np.ones(2)})
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            f(x, {"a": x})
            f(1.0, {"a": np.ones(2)})
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_call_while_another_thread_traces_runs_the_program():
    import threading  # noqa: PLC0415

    f = jit(lambda x: x + 1.0)
    x = device_put(1.0)
    f(x)
    inside, done = threading.Event(), threading.Event()

    def trace():
        def slow(y):
            inside.set()
            done.wait(10)
            return y

        make_jaxpr(slow)(1.0)

    thread = threading.Thread(target=trace)
    thread.start()
    inside.wait(10)
    try:
        assert type(f(x)) is Array
        assert f(x) == 2.0
        assert f(3.0) == 4.0
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("count", [MAX_ARITY, MAX_ARITY + 1])
def test_functions_of_many_parameters(count):
    namespace = {}
    names = ", ".join(f"p{i}" for i in range(count))
    exec(f"def f({names}): return p0 + p{count - 1}", namespace)
    f = jit(namespace["f"])
    for _ in range(3):
        assert f(*[device_put(float(i)) for i in range(count)]) == count - 1


def test_a_traceback_shows_the_users_frames_alone_on_every_path():
    def added(x, y):
        return x + y

    f = jit(added)
    x = f(np.ones(2), np.ones(2))
    assert f(x, x).shape == (2,)
    deleted = f(x, x)
    deleted.delete()
    calls = [
        lambda: f(x, np.ones(7)),
        lambda: f(x, np.ones((7, 3))),
        lambda: f(x, "a"),
        lambda: f(x, deleted),
        lambda: f(x),
        lambda: f(x, y=np.ones(7)),
        lambda: jit(f)(x, np.ones(7)),
        lambda: jit(3),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            call()
        assert {frame.path.name for frame in caught.traceback} == {"test_dispatch.py"}
        assert not isinstance(caught.value.__context__, AttributeError)
        assert sum("hides its own frames" in note for note in caught.value.__notes__) == 1


def test_an_array_that_is_donated_and_used_twice_is_refused_in_words():
    x = device_put(np.ones(300))  # a captured array of up to 1 KB is a constant of the program
    words = r"^added at test_dispatch\.py:\d+ .*: a and b are one array, which is donated\. Pass a copy"

    def added(a, b=x):
        return a + b

    with pytest.raises(RuntimeError, match=words):
        jit(added, donate_argnums=(0, 1))(x, x)
    y = device_put(np.ones(300))
    with pytest.raises(RuntimeError, match=words):
        jit(added, donate_argnums=0)(y, y)
    with pytest.raises(RuntimeError, match=r"added at .*: a donated array is used a second time .*Pass a copy"):
        jit(added, donate_argnums=0)(x)  # captured by the default


def test_a_donated_state_that_holds_an_array_twice_is_refused_with_both_paths():
    zeros = device_put(np.zeros(3))
    state = {"rate": device_put(1.0), "mean": zeros, "square": [zeros]}

    def step(state, x):
        return {"rate": state["rate"], "mean": state["mean"] + x, "square": [state["square"][0] + x]}

    donating = jit(step, donate_argnames="state")
    words = r"^step at .*: state\['mean'\] and state\['square'\]\[0\] are one array, which is donated\. Pass a copy"
    with pytest.raises(RuntimeError, match=words):
        donating(state, 1.0)
    np.testing.assert_array_equal(donating({**state, "square": [device_put(np.zeros(3))]}, 1.0)["mean"], np.ones(3))


def test_device_arrays_take_the_fast_path_of_a_variadic_function():
    f = jit(lambda *xs, scale=2.0: (*xs[1:], xs[0] * scale))
    xs = [device_put(np.full(3, float(i))) for i in range(4)]
    f(*xs)
    calls = general_calls(f)
    np.testing.assert_array_equal(f(*xs)[-1], xs[0] * 2.0)
    assert calls == []
    np.testing.assert_array_equal(f(*xs, scale=3.0)[-1], xs[0] * 3.0)
    assert len(f(xs[0], np.ones(3))) == 2  # another number of arguments, on NumPy's arrays too
    assert len(f(*xs)) == 4
    assert f.cache_info().traces == 3


def test_a_deleted_argument_is_named_by_its_path():
    def step(params, *more, rate=1.0):
        return params["w"] * rate + (more[0] if more else 0.0)

    x, gone = device_put(np.ones(3)), device_put(np.ones(3))
    gone.delete()
    calls = {
        r"params\['w'\]": lambda f, y: f({"b": x, "w": y}),
        r"args\[1\]": lambda f, y: f({"b": x, "w": x}, y),
        "rate": lambda f, y: f({"b": x, "w": np.ones(3)}, rate=y),
    }
    for path, call in calls.items():
        f = jit(step)
        for _ in range(2):  # by the general path, then by the program at hand
            with pytest.raises(RuntimeError, match=rf"^step at .*, {path}: an array of type .* was used after"):
                call(f, gone)
            call(f, x)
    compiled = jit(step).lower({"b": x, "w": x}).compile()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^step at .*, params\['w'\]: an array of type"):
            compiled({"b": x, "w": gone})
        compiled({"b": x, "w": x})
