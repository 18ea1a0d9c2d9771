"""Lowering of dtype changes against their evaluation."""

import numpy as np
import pytest

from calque_core import canonicalize_dtype, lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

ALL = "biufc"
SOURCES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SOURCES += ["float16", "float32", "float64", "complex64", "complex128"]


def convert(x, dtype):
    """Apply the primitive also where there is nothing to do."""
    return lax.convert_element_type_p.bind(x, new_dtype=canonicalize_dtype(dtype), weak_type=False)


def numbers(dtype):
    """Return numbers that every integer dtype holds; of integers, also the extreme ones."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([True, False])
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 100, info.max, info.min, info.max // 3], dtype)
    fractions = np.array([0.0, 0.4, 0.5, 1.0, 1.7, 2.5, 100.9, 127.0], dtype)
    return fractions + np.array([0, 1, -1, 2, 0, 0, 0, 0], dtype) * 1j if kind == "c" else fractions


@pytest.mark.parametrize("source", SOURCES)
def test_conversions_compile_to_what_they_evaluate_to(source, regime, dtypes_of, check_compiled):
    x = numbers(source)
    targets = dtypes_of(ALL)
    cases = [(x.reshape(2, -1),), (x[1],), (x[:0],)]
    check_compiled(lambda x: [convert(x, target) for target in targets], cases)


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_negative_floats_are_truncated_towards_zero(source, check_compiled):
    x = np.array([-0.9, -1.0, -1.5, -2.5, -100.7, -128.0], source)
    signed = ["int8", "int16", "int32", "int64"]
    check_compiled(lambda x: [lax.convert_element_type(x, target) for target in signed], [(x,)])


def test_floats_out_of_range_saturate_and_nan_becomes_zero():
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan])
    for target in ("int8", "int32", "int64", "uint8", "uint32", "uint64"):
        out = np.asarray(jit(lambda x, target=target: lax.convert_element_type(x, target))(x))
        info = np.iinfo(target)
        np.testing.assert_array_equal(out, np.array([info.max, info.min, info.max, info.min, 0], target))


def test_everything_but_zero_is_true(dtypes_of, check_compiled):
    floats = [0.0, -0.0, 0.1, -0.1, 1e-3, 256.0, np.inf, np.nan]
    cases = [(np.array(floats, dtype),) for dtype in dtypes_of("f")]
    cases += [(np.array([0, 2, 4, 64], dtype),) for dtype in dtypes_of("iu")]
    cases += [(np.array([0, 256, 1 << 14], dtype),) for dtype in ("int16", "uint32", "int64")]
    check_compiled(lambda x: convert(x, "bool"), cases)
    check_compiled(lambda z: convert(z, "bool"), [(np.array([0, 1j, 0.5, 2 + 1j], dtype),) for dtype in dtypes_of("c")])


def test_narrowing_floats_rounds_to_nearest_even(check_compiled):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=2000), [1e39, -1e39, 65520.0, 65519.9, np.inf, np.nan, -0.0]])
    check_compiled(lambda x: [lax.convert_element_type(x, target) for target in ("float16", "float32")], [(x,)])


def test_conversion_of_a_weak_scalar_to_its_own_dtype_is_strong(check_compiled):
    check_compiled(lambda x: lax.convert_element_type(x, float), [(2.0,)])
    check_compiled(lambda x: convert(x, "int64"), [(2,)])


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("int32", "float32"), ("float64", "uint64"), ("float16", "int16"), ("uint8", "int8")],
)
def test_bitcasts_of_equal_width_keep_the_bits(source, target, check_compiled):
    bits = np.arange(24, dtype=np.uint8) * 11 + 1
    x = bits.view(source)
    cases = [(x,), (x[0],), (x[:0],), (x.reshape(-1, 1),)]
    check_compiled(lambda x: lax.bitcast_convert_type(x, target), cases)


@pytest.mark.parametrize("wide", ["float32", "int64", "float64", "uint16"])
@pytest.mark.parametrize("narrow", ["uint8", "int8"])
def test_bitcasts_add_or_remove_the_last_axis(wide, narrow, check_compiled):
    x = (np.arange(48, dtype=np.uint8) * 5 + 1).view(wide)
    check_compiled(lambda x: lax.bitcast_convert_type(x, narrow), [(x,), (x[0],), (x[:0],), (x.reshape(2, -1),)])
    words = x[:, None].view(narrow)
    check_compiled(lambda x: lax.bitcast_convert_type(x, wide), [(words,), (words[0],), (words[:0],)])


def test_stop_gradient_is_the_identity(regime, dtypes_of, check_compiled):
    check_compiled(lax.stop_gradient, [(numbers(dtype),) for dtype in dtypes_of(ALL)] + [(2.0,), (True,)])
