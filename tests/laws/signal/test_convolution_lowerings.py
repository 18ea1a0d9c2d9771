"""Lowering of convolutions against their evaluation."""

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

# Shapes of both operands, and the arguments of the convolution.
CASES = {
    "no spatial axis": ((3, 2), (4, 2), (), []),
    "no spatial axis, groups": ((4, 2), (4, 2), (), [], None, None, None, 1, 2),
    "one axis": ((2, 3, 7), (2, 3, 3), (1,), "SAME"),
    "image": ((2, 3, 6, 5), (4, 3, 2, 3), (1, 2), "SAME_LOWER"),
    "image, features last": ((2, 6, 5, 3), (2, 3, 3, 4), (2, 1), "SAME", None, None, ("NHWC", "HWIO", "NHWC")),
    "gaps": ((2, 2, 5, 4), (3, 2, 2, 2), (1, 2), [(1, 2), (0, 1)], (2, 1), (1, 2)),
    "negative padding": ((2, 2, 8), (2, 2, 3), (1,), [(-2, -1)], (2,)),
    "kernel larger than the operand": ((2, 1, 2), (1, 1, 4), (1,), [(0, 0)]),
    "feature groups": ((2, 4, 5), (6, 2, 2), (2,), [(1, 1)], None, None, None, 2),
    "batch groups": ((4, 2, 5), (6, 2, 2), (1,), [(1, 0)], None, (2,), None, 1, 2),
    "volume": ((1, 2, 4, 3, 3), (2, 2, 2, 1, 3), (1, 2, 1), "SAME"),
    "no batch": ((0, 2, 4), (3, 2, 2), (1,), "VALID"),
    "no elements": ((2, 2, 0), (3, 2, 2), (1,), "VALID"),
    "no features": ((2, 0, 4), (3, 0, 2), (1,), "VALID"),
}


def draw(rng, dtype, shape):
    """Return numbers of one sign, so that sums have few ulps of error; integers that may overflow."""
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return rng.integers(0, 2 if kind == "b" else 100, shape).astype(dtype)
    return rng.uniform(0.5, 1, shape).astype(dtype)


@pytest.mark.parametrize("name", CASES)
def test_convolutions_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    lhs_shape, rhs_shape, *arguments = CASES[name]
    rng = np.random.default_rng(0)
    exact, rounded = (
        [(draw(rng, dtype, lhs_shape), draw(rng, dtype, rhs_shape)) for dtype in dtypes_of(kinds)]
        for kinds in ("biu", "fc")
    )
    check_compiled(lambda x, k: lax.conv_general_dilated(x, k, *arguments), exact)
    check_compiled(lambda x, k: lax.conv_general_dilated(x, k, *arguments), rounded, ulps=16)


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [("int8", "int32"), ("bool", "int32"), ("float16", "float32"), ("float64", "float32"), ("float32", "complex64")],
)
def test_sums_are_made_in_the_preferred_dtype(dtype, preferred, check_compiled):
    rng = np.random.default_rng(1)
    operands = draw(rng, dtype, (2, 3, 40)), draw(rng, dtype, (2, 3, 20))
    check_compiled(lambda x, k: lax.conv(x, k, (1,), "VALID", preferred_element_type=preferred), [operands], ulps=8)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_convolutions_have_the_digits_of_their_parts(dtype, check_compiled):
    rng = np.random.default_rng(2)
    x, k = (rng.uniform(0.5, 1, shape) - 1e-6j * rng.uniform(0.5, 1, shape) for shape in ((2, 3, 9), (4, 3, 3)))
    operands = x.astype(dtype), k.astype(dtype)
    check_compiled(lambda x, k: lax.real(lax.conv(x, k, (1,), "SAME")), [operands], ulps=16)
    check_compiled(lambda x, k: lax.imag(lax.conv(x, k, (1,), "SAME")), [operands], ulps=16)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_convolutions_of_short_floats_compile_to_what_they_evaluate_to(name, check_compiled):
    short = pytest.importorskip("ml_dtypes", reason="ml_dtypes comes with jaxlib").__dict__[name]
    x, k = (np.random.default_rng(3).integers(-2, 3, shape).astype(np.float32) for shape in ((2, 2, 6), (3, 2, 3)))

    def in_short(x, k):
        out = lax.conv(lax.convert_element_type(x, short), lax.convert_element_type(k, short), (1,), "SAME")
        return lax.convert_element_type(out, np.float32)

    check_compiled(in_short, [(x, k)])  # sums of few small integers are exact in float32; one rounding is left


def test_products_of_single_precision_lose_no_bits(check_compiled):
    x = np.full((1, 1, 4), 1 + 2**-20, np.float32)  # a product with 10 or 16 bits of mantissa would give 1
    check_compiled(lambda x, k: lax.conv(x, k, (1,), "VALID"), [(x, np.ones((1, 1, 1), np.float32))])


def test_transposed_and_local_convolutions_and_patches_compile(check_compiled):
    rng = np.random.default_rng(4)
    x, k = rng.uniform(0.5, 1, (2, 5, 3)), rng.uniform(0.5, 1, (2, 3, 4))
    check_compiled(lambda x, k: lax.conv_transpose(x, k, (2,), "VALID"), [(x, k)], ulps=8)
    check_compiled(lambda x: lax.conv_general_dilated_patches(x, (2,), (1,), [(1, 0)], (2,)), [(x,)])
    kernels = rng.uniform(0.5, 1, (2, 10, 2))
    check_compiled(lambda x, k: lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,)), [(x, kernels)], ulps=8)


@pytest.mark.parametrize("result", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("operand", ["int16", "uint16", "int64", "float16", "bfloat16", "float32"])
def test_sums_have_a_dtype_also_where_numpy_has_no_common_one(operand, result, regime):
    x, y = np.arange(6).reshape(2, 1, 3).astype(operand), np.full((1, 1, 2), 3, operand)
    convolve = lambda x, y: lax.conv(x, y, (1,), "VALID", preferred_element_type=result)
    try:
        want = convolve(x, y)
    except TypeError:  # sums that would lose information
        return
    out = jit(convolve)(x, y)
    assert out.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(out, float), np.asarray(want, float))


def test_the_host_convolves_integers_for_a_gpu():
    x, kernel = np.ones((1, 1, 5), int), np.ones((1, 1, 2), int)
    lowered = jit(lambda x, k: lax.conv(x, k, (1,), "VALID")).trace
    texts = [lowered(x.astype(t), kernel.astype(t)).lower(platform="cuda").as_text() for t in ("int32", "float32")]
    assert ["custom_call @xla_ffi_python_gpu_callback(" in text for text in texts] == [True, False]
    assert "custom_call" not in texts[1]
