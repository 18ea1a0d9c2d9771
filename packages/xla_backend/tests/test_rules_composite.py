"""Lowering of composites: one operation with a name, beside its decomposition."""

import numpy as np

import calque_xla_backend as backend
from calque_core import lax, make_jaxpr

BIG = np.arange(50_000.0)


def text_of(fun, *args):
    return str(backend.lower_jaxpr_to_module(make_jaxpr(fun)(*args)).module)


def test_a_module_holds_the_name_the_attributes_and_the_decomposition():
    named = lax.composite(lambda x, *, kind, size, scale, exact: lax.sin(x), "my.sine", version=2)
    text = text_of(lambda x: named(x, kind="fast", size=3, scale=0.5, exact=True), 0.5)
    assert 'stablehlo.composite "my.sine"' in text
    assert 'composite_attributes = {exact = true, kind = "fast", scale = 5.000000e-01 : f64, size = 3 : i64}' in text
    assert "decomposition = @my_sine, version = 2 : i32" in text
    assert "func.func private @my_sine" in text


def test_a_compiled_program_computes_the_decomposition():
    named = lax.composite(lambda x, y: (lax.sin(x), lax.mul(x, y)), "my.pair")
    x = np.linspace(0.0, 1.0, 5)
    for got, want in zip(backend.jit(named)(x, 2.0), named(x, 2.0), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)


def test_large_constants_are_operands():
    named = lax.composite(lambda x: x * BIG, "my.product")
    np.testing.assert_array_equal(backend.jit(lambda x: named(x) + 1.0)(2.0), 2.0 * BIG + 1.0)
