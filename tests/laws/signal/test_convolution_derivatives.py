"""The transposes of a convolution: every stride, padding, dilation, layout and kind of groups, to second order."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint_policies, grad, vjp
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.2)

# Shapes of both operands, and the arguments of the convolution.
CASES = {
    "no spatial axis": ((3, 2), (4, 2), (), []),
    "one axis": ((2, 3, 5), (2, 3, 3), (1,), "SAME"),
    "stride": ((2, 2, 7), (2, 2, 3), (2,), [(1, 0)]),
    "stride that skips the end": ((1, 2, 8), (2, 2, 2), (3,), [(0, 0)]),
    "gaps in the operand": ((2, 1, 4), (2, 1, 3), (2,), [(2, 1)], (3,)),
    "gaps in the kernel": ((2, 1, 7), (2, 1, 3), (1,), [(0, 1)], None, (2,)),
    "padding beyond the kernel": ((1, 2, 3), (2, 2, 2), (1,), [(3, 4)]),
    "negative padding": ((2, 1, 8), (2, 1, 3), (1,), [(-2, -1)], (2,)),
    "kernel larger than the operand": ((2, 1, 2), (1, 1, 4), (1,), [(0, 0)]),
    "image": ((2, 2, 4, 3), (3, 2, 2, 2), (1, 2), "SAME_LOWER"),
    "layout": ((4, 3, 2, 2), (2, 3, 2, 2), (2, 1), "SAME", None, (1, 2), ("HWNC", "WOHI", "CHNW")),
    "feature groups": ((2, 4, 4), (6, 2, 2), (2,), [(1, 1)], (2,), (1,), None, 2),
    "a kernel per feature": ((1, 3, 4), (3, 1, 2), (1,), "VALID", None, None, None, 3),
    "batch groups": ((4, 2, 4), (6, 2, 2), (1,), [(1, 0)], (1,), (2,), None, 1, 2),
    "batch groups in a layout": ((3, 6, 2), (2, 2, 3), (2,), "SAME", None, None, ("WNC", "IWO", "CNW"), 1, 3),
    "no batch": ((0, 2, 4), (3, 2, 2), (1,), "VALID"),
    "no elements": ((2, 2, 0), (3, 2, 2), (1,), "SAME"),
    "no features": ((2, 0, 4), (3, 0, 2), (1,), "VALID"),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_convolutions_obey_the_laws_in_each_operand(name, dtype, spaced, laws):
    lhs, rhs, *arguments = CASES[name]
    convolve = lambda x, k: lax.conv_general_dilated(x, k, *arguments)
    laws(convolve, spaced(lhs, dtype=dtype), spaced(rhs, dtype=dtype, seed=1))


def test_a_convolution_of_an_array_with_itself_obeys_the_laws(spaced, laws):
    laws(lambda x: lax.conv(x, x, (1,), [(2, 1)]), spaced((2, 2, 3)))


@pytest.mark.parametrize("transpose_kernel", [False, True])
def test_transposed_convolutions_obey_the_laws(transpose_kernel, spaced, laws):
    convolve = lambda x, k: lax.conv_transpose(x, k, (2,), "SAME", None, None, transpose_kernel)
    laws(convolve, spaced((2, 3, 2)), spaced((3, 2, 2), seed=1))


def test_patches_and_local_convolutions_obey_the_laws(spaced, laws):
    laws(lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 2), "SAME"), spaced((2, 2, 3, 3)))
    local = lambda x, k: lax.conv_general_dilated_local(x, k, (2,), "VALID", (3,))
    laws(local, spaced((2, 2, 5)), spaced((3, 6, 2), seed=1))


@pytest.mark.parametrize("operands", ["float32", "float16"])
def test_sums_in_another_dtype_give_cotangents_in_the_operands_dtypes(operands, spaced):
    x, k = spaced((2, 2, 4), dtype=operands), spaced((3, 2, 2), dtype=operands, seed=1)
    convolve = lambda x, k: lax.conv(x, k, (1,), "SAME", preferred_element_type=np.float64)
    out, pull = vjp(convolve, x, k)
    x_bar, k_bar = pull(np.cos(out))
    assert (out.dtype, x_bar.dtype, k_bar.dtype) == (np.float64, operands, operands)
    _, pull = vjp(convolve, x.astype(float), k.astype(float))
    for bar, wide in zip((x_bar, k_bar), pull(np.cos(out)), strict=True):
        np.testing.assert_allclose(bar, wide, rtol=2e-3)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_derivatives_of_convolutions_keep_the_dtypes_that_numpy_does_not_have(name):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    x, k = np.ones((1, 1, 4), getattr(ml_dtypes, name)), np.ones((1, 1, 2), getattr(ml_dtypes, name))
    for preferred in (None, np.float32):
        total = lambda x, k: lax.reduce_sum(lax.conv(x, k, (1,), "VALID", preferred_element_type=preferred))  # noqa: B023
        x_bar, k_bar = grad(total, argnums=(0, 1))(x, k)
        assert x_bar.dtype == k_bar.dtype == x.dtype
        assert (x_bar.tolist(), k_bar.tolist()) == ([[[1, 2, 2, 1]]], [[[3, 3]]])


def test_the_gradient_of_a_convolution_is_two_convolutions():
    total = lambda x, k: lax.reduce_sum(lax.conv(x, k, (2,), "SAME"))
    jaxpr = make_jaxpr(grad(total, argnums=(0, 1)))(np.ones((2, 3, 7)), np.ones((4, 3, 3)))
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("conv_general_dilated") == 3


def test_derivatives_keep_the_precision_of_each_operand():
    convolve = lambda x, k: lax.conv(x, k, (), "VALID", precision=("high", "default"))
    x, k, ct = (np.ones(shape, np.float32) for shape in ((2, 3), (4, 3), (2, 4)))
    jaxpr = make_jaxpr(lambda x, k, ct: vjp(convolve, x, k)[1](ct))(x, k, ct)
    stated = [[one.name for one in eqn.params["precision"]] for eqn in jaxpr.eqns if "precision" in eqn.params]
    assert stated == [["HIGH", "DEFAULT"]] * 3


def test_convolutions_count_as_products_for_checkpoints():
    assert checkpoint_policies.dots_saveable(lax.conv_general_dilated_p)
