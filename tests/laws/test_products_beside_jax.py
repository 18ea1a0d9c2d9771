"""Products by algorithms, evaluated and compiled, beside jax's."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

jax = pytest.importorskip("jax", reason="products are compared with jax's")

X = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)


@pytest.mark.parametrize("name", ["F16_F16_F16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "F64_F64_F64", "DEFAULT"])
def test_an_algorithm_gives_the_bits_of_jax(name):
    with jax.enable_x64(True):
        want = np.asarray(jax.lax.dot(X, X, precision=name))
    product = lambda x: lax.dot(x, x, precision=lax.DotAlgorithmPreset[name])
    np.testing.assert_array_equal(jit(product)(X), want, strict=True)
    np.testing.assert_allclose(product(X), want, rtol=1e-3, atol=1e-5)


def test_an_algorithm_reaches_the_program():
    algorithm = lax.DotAlgorithm(np.float16, np.float16, np.float32)
    text = jit(lambda x: lax.dot(x, x, precision=algorithm)).lower(X).as_text()
    assert "lhs_precision_type = f16" in text
    assert "accumulation_type = f32" in text
