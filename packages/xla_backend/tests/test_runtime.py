import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from calque_core import ShapedArray, lax, make_jaxpr
from calque_xla_backend import lower_jaxpr_to_module
from calque_xla_backend.runtime import clients, placement, runtime


def test_device_types_and_placements_are_one_object_each():
    place = placement.placement()
    assert placement.placement(clients.local_devices()[0]) is place
    aval = ShapedArray((2,), "f4")
    assert placement.device_type(aval, place) is placement.device_type(ShapedArray((2,), "f4"), place)
    assert placement.device_type(aval, place) is not placement.device_type(ShapedArray((2,), "f8"), place)


def test_a_weak_device_type_is_strong_to_jaxlib_and_knows_the_strong_one():
    strong, weak = (placement.device_type(ShapedArray((), "f8", w), placement.placement()) for w in (False, True))
    assert weak is not strong
    assert (weak.weak_type, weak.aval.weak_type) == (False, True)
    assert weak.canonical is strong.canonical is strong


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_put_copies_before_it_returns(size):
    target = placement.device_type(ShapedArray((size,), "f8"), placement.placement())
    for offset in range(3):
        array = np.zeros(size + 8)[offset : offset + size]
        buffer = runtime.put(array, target)
        array[:] = 1.0
        np.testing.assert_array_equal(runtime.to_numpy(buffer, target.dtype), np.zeros(size))


def test_many_threads_get_one_client_and_one_device_type():
    results = []

    def work():
        place = placement.placement()
        results.append((clients.client(), place, placement.device_type(ShapedArray((77,), "i2"), place)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(a is b for one in results for a, b in zip(one, results[0]))


def test_a_context_serves_some_modules_of_a_thread_and_is_then_replaced():
    contexts = [runtime.mlir_context() for _ in range(200)]
    assert 3 <= len({id(context) for context in contexts}) <= 5


def test_an_interrupt_in_the_making_of_a_context_is_all_that_the_user_sees(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    with monkeypatch.context() as patched:
        patched.setattr(runtime, "MlirContext", interrupted)
        patched.setattr(runtime, "_contexts", threading.local())
        with pytest.raises(KeyboardInterrupt):
            runtime.mlir_context()
    gc.collect()
    assert unraisable == []


def test_a_context_dies_with_its_thread_or_its_successor_without_the_garbage_collector():
    jaxpr = make_jaxpr(lambda x: lax.reduce_sum(lax.sin(x) * 2.0, (0,)))(np.ones(3))
    contexts = []

    def work(modules):
        for _ in range(modules):
            lower_jaxpr_to_module(jaxpr)
            contexts.append(weakref.ref(runtime.mlir_context()))

    gc.disable()
    try:
        thread = threading.Thread(target=work, args=(10,))
        thread.start()
        thread.join()
        assert [context() for context in contexts] == [None] * 10
        contexts.clear()
        work(100)
        assert len({context() for context in contexts if context() is not None}) == 1
    finally:
        gc.enable()


CALLS = """
import gc, sys
import numpy as np
from calque_core import lax
from calque_xla_backend import device_put, jit

def grown(call):
    for _ in range(300):
        call()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(3000):
        call()
    gc.collect()
    return sys.getallocatedblocks() - before

x = device_put(np.ones(100))
double = jit(lambda x: x * 2.0)
calls = [lambda: double(x), lambda: double(np.ones(100)), lambda: lax.sin(x), lambda: x + x]
print(max(grown(call) for call in calls))
import jax
from jaxlib import _jax
print(_jax.tracebacks_enabled())
print(float(double(double(x))[0]), x.unsafe_buffer_pointer() != 0)
"""


@pytest.fixture
def run_beside_jax(tmp_path):
    """A program in a process that can import a module named jax."""
    (tmp_path / "jax.py").write_text("")

    def run(program):
        program = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{program}"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_a_call_leaves_nothing_behind(run_beside_jax):
    grown, has_notes, results = run_beside_jax(CALLS)
    assert int(grown) < 100  # blocks of memory, in 3000 calls
    assert has_notes == "False"  # a later import of jax changes nothing
    assert results == "4.0 True"


def test_where_jax_is_imported_first_it_keeps_its_notes_of_frames(run_beside_jax):
    _, has_notes, results = run_beside_jax(f"import jax\n{CALLS}")
    assert has_notes == "True"
    assert results == "4.0 True"
