import threading

import numpy as np
import pytest

from calque_core import ShapedArray
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
