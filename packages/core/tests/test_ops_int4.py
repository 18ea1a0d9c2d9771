"""Operations on integers of 4 bits, on every pair of them, against Python's integers modulo 16."""

import math
import operator

import numpy as np
import pytest

from calque_core import lax, typeof
from calque_core.engine import default_fill

ml_dtypes = pytest.importorskip("ml_dtypes", reason="int4 is defined by ml_dtypes, which comes with jaxlib")

DTYPES = [np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)]
over_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def numbers(dtype):
    return list(range(-8, 8)) if dtype == ml_dtypes.int4 else list(range(16))


def wrapped(n, dtype):
    n = int(n) % 16
    return n - 16 if n > 7 and dtype == ml_dtypes.int4 else n


def check(out, expected, dtype):
    expected = [wrapped(n, dtype) for n in expected]
    assert (out.dtype, out.astype(int).tolist()) == (dtype, expected)


def sign(x):
    return (x > 0) - (x < 0)


def arithmetic_shift(x, y):
    x = wrapped(x, ml_dtypes.int4)  # the highest bit of unsigned integers is copied, too
    return x >> min(y % 16, 4)


UNARY = {
    "neg": operator.neg,
    "abs": abs,
    "sign": sign,
    "square": lambda x: x * x,
    "bitwise_not": operator.invert,
    "population_count": lambda x: (x % 16).bit_count(),
    "clz": lambda x: 4 - (x % 16).bit_length(),
    "stop_gradient": lambda x: x,
    "round": lambda x: x,
    "conj": lambda x: x,
}
BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "shift_left": lambda x, y: x << min(y % 16, 4),
    "shift_right_logical": lambda x, y: (x % 16) >> min(y % 16, 4),
    "shift_right_arithmetic": arithmetic_shift,
}
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
QUOTIENTS = {"div": lambda x, y: math.trunc(x / y), "rem": math.fmod}


@over_dtypes
@pytest.mark.parametrize("name", UNARY)
def test_unary_operations_wrap_around(name, dtype):
    ns = numbers(dtype)
    check(getattr(lax, name)(np.array(ns, dtype)), map(UNARY[name], ns), dtype)
    one = getattr(lax, name)(dtype.type(3))
    assert (one.dtype, int(one)) == (dtype, wrapped(UNARY[name](3), dtype))


@over_dtypes
@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_wrap_around(name, dtype):
    ns = numbers(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(ns, ns))
    out = getattr(lax, name)(x.astype(dtype), y.astype(dtype))
    check(out, [BINARY[name](int(a), int(b)) for a, b in zip(x, y)], dtype)
    check(getattr(lax, name)(np.array(ns, dtype), 2), [BINARY[name](a, 2) for a in ns], dtype)


@over_dtypes
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_are_truncated_and_zero_divisors_refused(name, dtype):
    ns = numbers(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(ns, [n for n in ns if n]))
    out = getattr(lax, name)(x.astype(dtype), y.astype(dtype))
    check(out, [QUOTIENTS[name](int(a), int(b)) for a, b in zip(x, y)], dtype)
    with pytest.raises(ZeroDivisionError, match="an integer divisor is zero"):
        getattr(lax, name)(np.ones(2, dtype), np.zeros(2, dtype))


@over_dtypes
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_those_of_the_numbers(name, dtype):
    ns = numbers(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(ns, ns))
    out = getattr(lax, name)(x.astype(dtype), y.astype(dtype))
    assert out.tolist() == getattr(operator, name)(x, y).tolist()


@over_dtypes
def test_powers_clamps_and_choices(dtype):
    ns = numbers(dtype)
    x = np.array(ns, dtype)
    for power in range(5):
        check(lax.integer_pow(x, power), [n**power for n in ns], dtype)
    check(lax.clamp(1, x, 5), [min(max(n, 1), 5) for n in ns], dtype)
    check(lax.select(lax.gt(x, 2), x, 0), [n if n > 2 else 0 for n in ns], dtype)


REDUCTIONS = {
    "sum": sum,
    "prod": math.prod,
    "max": max,
    "min": min,
    "and": lambda ns: int(np.bitwise_and.reduce(ns)),
    "or": lambda ns: int(np.bitwise_or.reduce(ns)),
    "xor": lambda ns: int(np.bitwise_xor.reduce(ns)),
}


@over_dtypes
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_wrap_around(name, dtype):
    ns = np.random.default_rng(0).choice(numbers(dtype), (5, 9))
    out = getattr(lax, f"reduce_{name}")(ns.astype(dtype), 1)
    check(out, [REDUCTIONS[name](row.tolist()) for row in ns], dtype)
    assert getattr(lax, f"reduce_{name}")(ns.astype(dtype)).dtype == dtype


@over_dtypes
def test_running_sums_products_and_extremes(dtype):
    ns = np.random.default_rng(1).choice(numbers(dtype), 9)
    x = ns.astype(dtype)
    check(lax.cumsum(x), np.cumsum(ns), dtype)
    check(lax.cumprod(x), np.cumprod(ns), dtype)
    check(lax.cummax(x), np.maximum.accumulate(ns), dtype)
    check(lax.cummin(x, reverse=True), np.minimum.accumulate(ns[::-1])[::-1], dtype)


@over_dtypes
def test_products_wrap_around_unless_the_result_is_wider(dtype):
    ns = np.random.default_rng(2).choice(numbers(dtype), (3, 4))
    x = ns.astype(dtype)
    check(lax.dot(x, x.T).ravel(), (ns @ ns.T).ravel(), dtype)
    wide = lax.dot(x, x.T, preferred_element_type=np.int32)
    assert (wide.dtype, wide.tolist()) == (np.int32, (ns @ ns.T).tolist())


@over_dtypes
def test_orders(dtype):
    ns = np.random.default_rng(3).choice(numbers(dtype), 12)
    x = ns.astype(dtype)
    check(lax.sort(x), np.sort(ns), dtype)
    assert lax.sort((x, np.arange(12)))[1].tolist() == np.argsort(ns, kind="stable").tolist()
    assert (lax.argmax(x, 0), lax.argmin(x, 0)) == (np.argmax(ns), np.argmin(ns))
    check(lax.top_k(x, 3)[0], np.sort(ns)[::-1][:3], dtype)


@over_dtypes
def test_elements_read_and_updated_at_an_index(dtype):
    ns = numbers(dtype)
    x = np.array(ns, dtype)
    rows = lax.GatherDimensionNumbers((), (0,), (0,))
    out = lax.gather(x, np.array([[3], [99]]), rows, (1,), mode="fill")
    fill = -8 if dtype == ml_dtypes.int4 else 15
    assert int(default_fill(dtype)) == fill
    check(out, [ns[3], fill], dtype)
    places = lax.ScatterDimensionNumbers((), (0,), (0,))
    at = np.array([[1], [1], [2]])
    updates = np.array([7, 7, 3], dtype)
    check(lax.scatter_add(x, at, updates, places)[:3], [ns[0], ns[1] + 14, ns[2] + 3], dtype)
    check(lax.scatter_mul(x, at, updates, places)[:3], [ns[0], ns[1] * 49, ns[2] * 3], dtype)
    check(lax.scatter_max(x, at, updates, places)[:3], [ns[0], max(ns[1], 7), max(ns[2], 3)], dtype)
    check(lax.scatter_min(x, at, updates, places)[:3], [ns[0], min(ns[1], 7), min(ns[2], 3)], dtype)


@over_dtypes
def test_counters_wrap_around(dtype):
    check(lax.iota(dtype, 20), range(20), dtype)


@over_dtypes
@pytest.mark.parametrize("wide", ["int8", "uint8", "int32", "uint64"])
def test_integers_are_converted_modulo_16_and_back(wide, dtype):
    ns = numbers(dtype)
    high = np.arange(128).astype(wide)
    check(lax.convert_element_type(high, dtype), high, dtype)
    out = lax.convert_element_type(np.array(ns, dtype), wide)
    assert (out.dtype, out.tolist()) == (wide, np.array(ns).astype(wide).tolist())


@over_dtypes
@pytest.mark.parametrize(
    "other", ["bool", "float16", "float32", "complex64", "bfloat16", "float8_e4m3fn", "int4", "uint4"]
)
def test_small_numbers_survive_a_conversion_to_each_kind_and_back(other, dtype):
    x = np.array([0, 1, 1], dtype)
    there = lax.convert_element_type(x, other)
    assert there.dtype == np.dtype(getattr(ml_dtypes, other, other))
    check(lax.convert_element_type(there, dtype), [0, 1, 1], dtype)


def test_the_two_dtypes_of_4_bits_convert_modulo_16():
    signed, unsigned = DTYPES
    check(lax.convert_element_type(np.array([-8, -1, 7], signed), unsigned), [8, 15, 7], unsigned)
    check(lax.convert_element_type(np.array([8, 15, 7], unsigned), signed), [-8, -1, 7], signed)


@over_dtypes
def test_two_elements_share_the_bits_of_a_byte(dtype):
    x = np.array([[0x21, 0x43], [0x65, 0x87 - 256]], np.int8)
    halves = lax.bitcast_convert_type(x, dtype)
    assert halves.shape == (2, 2, 2)
    check(halves.ravel(), range(1, 9), dtype)
    np.testing.assert_array_equal(lax.bitcast_convert_type(halves, np.int8), x)
    words = lax.bitcast_convert_type(np.array([0x76543210], np.int32), dtype)
    check(words.ravel(), range(8), dtype)
    assert lax.bitcast_convert_type(words, np.int32).tolist() == [0x76543210]
    with pytest.raises(TypeError, match=r"the last axis must hold 2 elements"):
        lax.bitcast_convert_type(np.zeros(3, dtype), np.int8)


@over_dtypes
@pytest.mark.parametrize("name", ["sin", "exp", "sqrt", "log", "tanh"])
def test_functions_of_real_numbers_give_the_floats_that_numpy_gives(name, dtype):
    x = np.array([1, 2, 3], dtype)
    out, expected = getattr(lax, name)(x), getattr(np, name)(x.astype(np.int8))
    assert (out.dtype, out.tolist()) == (expected.dtype, expected.tolist())


@over_dtypes
def test_floats_cannot_be_made_by_an_operation_that_keeps_the_dtype(dtype):
    for name in ("erf", "erfc"):
        assert typeof(getattr(lax, name)(np.ones(2, dtype))).dtype == np.float16
    with pytest.raises(TypeError, match="integers cannot be raised to the negative power -1"):
        lax.integer_pow(np.ones(2, dtype), -1)
