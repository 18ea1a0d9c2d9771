import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_xla_backend import device_put, jit, lower_jaxpr_to_module
from calque_xla_backend.modules.module import EMBEDDED_BYTES

X = np.array([1.0, 2.0, 3.0])


def text_of(f, *args):
    return lower_jaxpr_to_module(make_jaxpr(f)(*args)).as_text()


def test_constants_are_embedded_if_small_and_arguments_if_large():
    small, large = np.arange(EMBEDDED_BYTES // 8.0), np.arange(EMBEDDED_BYTES // 8.0 + 1)
    lowered = lower_jaxpr_to_module(make_jaxpr(lambda x: (x + small, x + large))(1.0))
    assert [aval.shape for _, aval in lowered.const_args] == [large.shape]
    text = lowered.as_text()
    assert text.count("stablehlo.constant") == 1
    assert f"@main(%arg0: tensor<{large.size}xf64>, %arg1: tensor<f64>)" in text


def test_a_small_device_array_is_embedded_on_the_host_s_processor():
    one, large = device_put(np.float32(1.5)), device_put(np.arange(EMBEDDED_BYTES // 8.0 + 1))
    lowered = lower_jaxpr_to_module(make_jaxpr(lambda x: x + one + large)(np.float32(2.0)))
    assert [aval.shape for _, aval in lowered.const_args] == [large.shape]
    assert "dense<1.500000e+00>" in lowered.as_text()


def test_a_large_constant_of_many_nested_functions_is_one_argument():
    large = np.arange(10_000.0)
    f = jit(lambda x: x + large[0] + large[1])
    g = jit(lambda x: f(x) * lax.cond(True, lambda y: y + large[2], lambda y: y - large[3], f(x)))
    jaxpr = make_jaxpr(lambda x: g(x) + g(x) + large[4])(2.0)
    assert g(2.0) == 3.0 * 5.0
    assert len(lower_jaxpr_to_module(make_jaxpr(lambda x: g(x) + large[4])(2.0)).const_args) <= 5
    assert len(lower_jaxpr_to_module(jaxpr).as_text()) < 10_000


def test_a_nested_function_is_one_function_however_often_it_is_called():
    inner = jit(lambda x: lax.sin(x))
    text = text_of(lambda x: inner(inner(inner(x * 1.0))), X)
    assert text.count("func.func private") == 1
    assert text.count("func.call") + text.count(" call @") == 3


def test_functions_of_one_name_are_told_apart():
    f, g = jit(lambda x: lax.sin(x)), jit(lambda x: lax.cos(x))
    out = jit(lambda x: f(x) + g(x))(X)
    np.testing.assert_allclose(out, np.sin(X) + np.cos(X), rtol=1e-14)


def test_names_of_any_kind_become_identifiers():
    f = lambda x: x + 1.0
    f.__name__ = 'strange "name" @%{}'
    assert jit(f)(1.0) == 2.0
    assert jit(lambda x: jit(f)(x))(1.0) == 2.0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3)])
def test_constants_of_every_dtype_and_shape(dtype, shape):
    import ml_dtypes  # noqa: F401, PLC0415  NumPy then knows its names

    size = int(np.prod(shape))
    for value in (np.arange(size).reshape(shape).astype(dtype), np.ones(shape, dtype), np.zeros(shape, dtype)):
        out = jit(lambda value=value: value + np.zeros((), value.dtype))()
        assert (out.dtype, out.shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(out, value)


def test_many_modules_in_one_thread_outlive_their_context():
    for k in range(70):
        text = lower_jaxpr_to_module(make_jaxpr(lambda x, k=k: x + float(k))(1.0)).as_text()
        assert "stablehlo.add" in text
