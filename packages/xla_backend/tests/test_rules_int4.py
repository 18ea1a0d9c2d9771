"""Lowering of operations on integers of 4 bits, on all of them, against their evaluation."""

import ml_dtypes
import numpy as np
import pytest

from calque_core import iinfo, lax, make_jaxpr
from calque_core.engine import SHORT_DTYPES
from calque_xla_backend import device_put, jit

DTYPES = [np.dtype(getattr(ml_dtypes, name)) for name, row in SHORT_DTYPES.items() if row.kind != "f"]
over_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def numbers(dtype):
    return np.arange(iinfo(dtype).min, iinfo(dtype).max + 1).astype(dtype)


def pairs(dtype):
    x, y = np.meshgrid(numbers(dtype).astype(np.int8), numbers(dtype).astype(np.int8))
    return x.ravel().astype(dtype), y.ravel().astype(dtype)


def check_alike(fun, *args):
    got, want = jit(fun)(*args), fun(*args)
    for one_got, one_want in zip(got, want, strict=True):
        one_want = np.asarray(one_want)
        assert (one_got.dtype, one_got.shape) == (one_want.dtype, one_want.shape)
        np.testing.assert_array_equal(np.asarray(one_got).astype(np.float64), one_want.astype(np.float64))


UNARY = ["neg", "abs", "sign", "square", "bitwise_not", "population_count", "clz", "stop_gradient"]
BINARY = [
    "add", "sub", "mul", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right_logical",
    "shift_right_arithmetic", "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip


@over_dtypes
def test_unary_operations_compile_to_what_they_evaluate_to(dtype):
    check_alike(lambda x: [getattr(lax, name)(x) for name in UNARY], numbers(dtype))
    check_alike(lambda x: [lax.integer_pow(x, y) for y in range(5)], numbers(dtype))


@over_dtypes
def test_binary_operations_compile_to_what_they_evaluate_to(dtype):
    check_alike(lambda x, y: [getattr(lax, name)(x, y) for name in BINARY], *pairs(dtype))
    check_alike(lambda x: [getattr(lax, name)(x, 3) for name in BINARY], numbers(dtype))


@over_dtypes
def test_quotients_compile_to_what_they_evaluate_to(dtype):
    x, y = pairs(dtype)
    is_divisor = y.astype(np.int8) != 0
    check_alike(lambda x, y: [lax.div(x, y), lax.rem(x, y)], x[is_divisor], y[is_divisor])


@over_dtypes
def test_steps_of_one_program_wrap_around_each(dtype):
    def program(x, y):
        total = lax.add(lax.mul(x, y), y)
        return [
            lax.gt(total, x),
            lax.convert_element_type(lax.sub(total, x), np.int32),
            lax.shift_right_logical(total, 1),
        ]

    check_alike(program, *pairs(dtype))


@pytest.mark.sampled(keep=0.3, rows=["dtype"])
@over_dtypes
@pytest.mark.parametrize("shape", [(5, 9), (1, 7), (3, 1), (0, 4), (64, 33)], ids=str)
def test_operations_on_whole_arrays_compile_to_what_they_evaluate_to(dtype, shape):
    x = np.random.default_rng(0).choice(numbers(dtype), shape)

    def program(x):
        reduced = [getattr(lax, f"reduce_{name}")(x, 1) for name in ("sum", "prod", "max", "min", "and", "or", "xor")]
        running = [getattr(lax, name)(x, 1) for name in ("cumsum", "cumprod", "cummax", "cummin")]
        product = lax.dot(x, lax.transpose(x, (1, 0)))
        wide = lax.dot(x, lax.transpose(x, (1, 0)), preferred_element_type=np.int32)
        moved = [lax.concatenate([x, x], 0), lax.rev(x, (0, 1)), lax.pad(x, dtype.type(1), ((1, 0, 1), (0, 2, 0)))]
        return [*reduced, *running, product, wide, *moved, lax.sort(x, 1), lax.reshape(x, (x.size,))]

    check_alike(program, x)


@over_dtypes
def test_positions_gathers_and_scatters_compile_to_what_they_evaluate_to(dtype):
    x = np.random.default_rng(1).choice(numbers(dtype), (6, 5))

    def program(x, i):
        rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
        places = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        taken = [lax.gather(x, i, rows, (1, 5), mode=mode) for mode in ("clip", "fill")]
        updates = lax.slice(x, (0, 0), (3, 5))
        updated = [
            getattr(lax, name)(x, i, updates, places)
            for name in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")
        ]
        return [lax.argmax(x, 1), lax.argmin(x, 0), *lax.top_k(x, 3), *taken, *updated]

    check_alike(program, x, np.array([[4], [1], [9]]))


@over_dtypes
@pytest.mark.parametrize("wide", ["bool", "int8", "uint8", "int32", "uint64", "float32", "bfloat16", "int4", "uint4"])
def test_conversions_compile_to_what_they_evaluate_to(dtype, wide):
    check_alike(lambda x: [lax.convert_element_type(x, wide)], numbers(dtype))
    if wide not in ("float32", "bfloat16", "bool"):
        integers = np.arange(100).astype(np.int8).astype(getattr(ml_dtypes, wide, wide))
        check_alike(lambda x: [lax.convert_element_type(x, dtype)], integers)


@over_dtypes
def test_bits_compile_to_what_they_evaluate_to(dtype):
    x = np.arange(-60, 60, dtype=np.int32).reshape(4, 30) * 0x01234567
    check_alike(lambda x: [lax.bitcast_convert_type(x, dtype)], x)
    check_alike(lambda x: [lax.bitcast_convert_type(lax.bitcast_convert_type(x, dtype), np.int32)], x)


@over_dtypes
def test_counters_constants_and_loops_compile_to_what_they_evaluate_to(dtype):
    constant = numbers(dtype)

    def program(x):
        total = lax.fori_loop(0, 5, lambda i, c: lax.add(c, x), x)
        carry, ys = lax.scan(lambda c, row: (lax.mul(c, row), c), dtype.type(3), constant)
        return [lax.iota(dtype, 20), lax.add(constant, x), total, carry, ys, lax.full((2,), 5, dtype)]

    check_alike(program, dtype.type(3))


@over_dtypes
def test_arrays_of_4_bits_are_copied_to_the_device_and_back(dtype):
    x = numbers(dtype).reshape(2, 8)
    there = device_put(x)
    assert (there.dtype, there.shape) == (dtype, (2, 8))
    assert np.asarray(there).dtype == dtype
    assert np.asarray(there).tolist() == there.tolist() == x.tolist()
    assert not np.asarray(there).flags.writeable
    assert np.asarray(there + there).tolist() == lax.add(x, x).tolist()
    assert there[1, 2] == x[1, 2]
    assert make_jaxpr(lambda x: x)(there).in_avals[0].str_short() == ("i4[2,8]" if dtype.name == "int4" else "u4[2,8]")


def test_python_integers_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError, match="the Python integer 8 does not fit int4"):
        jit(lambda x: lax.add(x, 8))(numbers(DTYPES[0]))
    with pytest.raises(OverflowError, match="16"):
        jit(lambda x, n: lax.add(x, n))(numbers(DTYPES[1]), 16)
