"""The arrays of results: each buffer gets its own type, for any number of results."""

import gc

import numpy as np
import pytest

from calque_core import ShapedArray
from calque_xla_backend import Array, jit
from calque_xla_backend.calls.wrapping import MAX_UNROLLED, generate_wrap
from calque_xla_backend.runtime.placement import device_type, placement


@pytest.mark.parametrize("count", [0, 1, 2, MAX_UNROLLED, MAX_UNROLLED + 1])
def test_each_buffer_gets_the_type_at_its_position(count):
    types = [device_type(ShapedArray((n,), np.dtype("f4")), placement()) for n in range(count)]
    buffers = [object() for _ in types]

    arrays = generate_wrap(types)(buffers)

    assert type(arrays) is list
    assert all(type(x) is Array for x in arrays)
    assert [id(x._buffer) for x in arrays] == [*map(id, buffers)]
    assert [id(x._device_type) for x in arrays] == [*map(id, types)]


def test_another_number_of_buffers_is_refused():
    (kind,) = [device_type(ShapedArray((), np.dtype("f4")), placement())]
    with pytest.raises(ValueError, match="unpack"):
        generate_wrap([kind, kind])([object()])


def test_generated_functions_are_freed_without_the_garbage_collector():
    kind = device_type(ShapedArray((), np.dtype("f4")), placement())
    generate_wrap([kind, kind])
    while gc.collect():  # what finalizers of earlier tests' objects leave is garbage of the next collection
        pass
    gc.disable()
    try:
        generate_wrap([kind, kind])
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("count", [1, 3, MAX_UNROLLED + 8])
def test_results_of_any_number_come_in_their_order(count):
    f = jit(lambda x: tuple(x + k for k in range(count)))
    g = jit(lambda x: [x + k for k in range(count)])
    for x in (1.0, np.ones(2), f(np.ones(2))[0]):
        for _ in range(2):
            outs = f(x)
            assert type(outs) is tuple
            np.testing.assert_array_equal(outs, [np.asarray(x) + k for k in range(count)])
            np.testing.assert_array_equal(g(x), outs)
