"""Lowering of broadcasts, of rearranging, slicing and padding arrays, and of counters, against evaluation."""

import numpy as np
import pytest

from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

ALL, SOME = "biufc", ["bool", "int8", "uint64", "float32", "complex128"]


def counted(shape, dtype):
    """Return an array with different elements as far as its dtype has them."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def broadcast_in_dim(x, shape, dims):
    """Apply the primitive also where there is nothing to do."""
    return lax.broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)


# An operation of one array, and the shapes to apply it to.
ONE_ARRAY = {
    "broadcast_in_dim": (lambda x: broadcast_in_dim(x, (2, 3, 4), (1,)), [(3,), (1,)]),
    "broadcast_in_dim of rank 0": (lambda x: [broadcast_in_dim(x, s, ()) for s in [(), (1,), (0,), (2, 3)]], [()]),
    "broadcast_in_dim to no elements": (lambda x: broadcast_in_dim(x, (0, 3), (0, 1)), [(1, 3), (0, 1), (0, 3)]),
    "broadcast": (lambda x: lax.broadcast(x, (2, 0)), [(), (3,), (0,)]),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, -1)), [(), (2,), (0, 2)]),
    "reshape": (lambda x: [lax.reshape(x, s) for s in [(6,), (3, 2), (1, 6, 1)]], [(2, 3), (6,), (6, 1)]),
    "reshape of no elements": (lambda x: [lax.reshape(x, s) for s in [(0,), (3, 0)]], [(0, 5), (0,)]),
    "reshape to rank 0": (lambda x: lax.reshape(x, ()), [(1,), (1, 1), ()]),
    "transpose": (lambda x: [lax.transpose(x, p) for p in [(0, 1, 2), (2, 0, 1), (1, 0, 2)]], [(2, 3, 4), (2, 0, 1)]),
    "transpose of rank 0": (lambda x: lax.transpose(x, ()), [()]),
    "rev": (lambda x: [lax.rev(x, d) for d in [(0,), (1,), (0, 1), ()]], [(2, 3), (0, 3), (1, 1)]),
    "squeeze": (lambda x: [lax.squeeze(x, d) for d in [(0,), (0, 2), ()]], [(1, 3, 1), (1, 0, 1)]),
    "slice": (lambda x: [lax.slice(x, (1, 0), (4, 3), s) for s in [None, (2, 1), (3, 2)]], [(5, 3), (4, 4)]),
    "slice of nothing": (lambda x: lax.slice(x, (2,), (2,)), [(5,), (2,)]),
    "slice of rank 0": (lambda x: lax.slice(x, (), ()), [()]),
}


@pytest.mark.parametrize("name", ONE_ARRAY)
def test_operations_of_one_array_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    fun, shapes = ONE_ARRAY[name]
    check_compiled(fun, [(counted(shape, dtype),) for dtype in dtypes_of(ALL) for shape in shapes])


PADDINGS = [
    [(1, 2, 0)],
    [(0, 0, 2)],
    [(-1, 1, 0)],
    [(2, -2, 1)],
    [(-2, -1, 1)],
    [(-3, -3, 3)],
    [(0, 0, 0)],
    [(5, -3, 0)],
]


@pytest.mark.parametrize("config", PADDINGS)
def test_pad_adds_cuts_and_spreads(config, check_compiled):
    cases = [(counted((size,), dtype), np.array(1, dtype)) for dtype in SOME for size in (5, 4)]
    check_compiled(lambda x, value: lax.pad(x, value, config), cases)


def test_pad_of_few_elements_and_of_several_axes(check_compiled):
    value = np.float32(7)
    check_compiled(lambda x, v: lax.pad(x, v, [(1, 1, 4)]), [(counted((n,), "f4"), value) for n in (0, 1, 2)])
    check_compiled(lambda x, v: lax.pad(x, v, [(1, -1, 0), (0, 2, 1)]), [(counted((2, 3), "f4"), value)])
    check_compiled(lambda x, v: lax.pad(x, v, []), [(np.float32(3), value)])


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_iota_counts_along_its_axis(dimension, regime, dtypes_of, check_compiled):
    shapes = [(2, 3, 4), (0, 1, 2), (5, 1, 0)]
    check_compiled(lambda: [lax.broadcasted_iota(d, s, dimension) for d in dtypes_of("iuf") for s in shapes], [()])


def test_filled_arrays_compile_to_what_they_evaluate_to(regime, dtypes_of, check_compiled):
    cases = [(counted(shape, dtype),) for dtype in dtypes_of(ALL) for shape in [(), (0,), (2, 3)]]
    check_compiled(lambda x: [lax.zeros_like(x), lax.ones_like(x), lax.full_like(x, 1, shape=(2,))], cases)
    check_compiled(lambda: [lax.full((2,), 1.5), lax.full((), 1, np.int8), lax.iota(int, 3), lax.iota(float, 0)], [()])
