"""Kernels of one's own under transformations: those of `examples/ffi`, built with the compiler of this machine."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from calque_autodiff import check_grads, grad, jvp, vjp
from calque_batching import vmap
from calque_core import ShapeDtypeStruct, ffi_call, lax, make_jaxpr
from calque_xla_backend import jit

EXAMPLE = Path(__file__).parents[2] / "examples" / "ffi" / "rms_norm.py"
COMPILER = shutil.which("c++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 3, 5))


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("rms_norm_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register(module.build(str(tmp_path_factory.mktemp("rms_norm"))))
    return module


def by_numpy(x):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)


@pytest.mark.parametrize("of", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_the_value_and_the_derivative_are_those_of_numpys_program(example, of):
    np.testing.assert_allclose(of(example.rms_norm)(X), by_numpy(X), rtol=1e-14)
    loss = lambda f: lambda x: np.sum(np.sin(f(x)))
    kernels, operations = of(grad(loss(example.rms_norm)))(X), grad(loss(by_numpy))(X)
    np.testing.assert_allclose(kernels, operations, rtol=1e-11, atol=1e-14)
    check_grads(of(loss(example.rms_norm)), (X,), order=1, modes=["rev"])


@pytest.mark.parametrize("axis", [0, 1])
def test_a_kernel_that_takes_leading_axes_is_called_once_for_a_batch(example, axis):
    batched = vmap(example.rms_norm, in_axes=axis, out_axes=axis)
    np.testing.assert_allclose(batched(X), by_numpy(X), rtol=1e-14)
    assert str(make_jaxpr(batched)(X)).count("ffi_call") == 1
    gradient = vmap(grad(lambda x: np.sum(example.rms_norm(x) ** 3)), in_axes=axis, out_axes=axis)
    np.testing.assert_allclose(gradient(X), grad(lambda x: np.sum(by_numpy(x) ** 3))(X), rtol=1e-10, atol=1e-13)


def call_of(method):
    def call(x):
        outs = (ShapeDtypeStruct(x.shape, x.dtype), ShapeDtypeStruct(x.shape[:-1], x.dtype))
        return ffi_call("rms_norm", outs, vmap_method=method)(x, eps=1e-6)[0]

    return call


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
@pytest.mark.parametrize("of", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_every_method_of_vmap_gives_the_same(example, method, of):
    np.testing.assert_allclose(of(vmap(call_of(method)))(X), by_numpy(X), rtol=1e-14)
    np.testing.assert_allclose(of(vmap(vmap(call_of(method)), in_axes=1))(X), by_numpy(X).swapaxes(0, 1), rtol=1e-14)
    assert of(vmap(call_of(method)))(X[:0]).shape == (0, 3, 5)


def test_vmap_without_a_method_says_which_there_are(example):
    with pytest.raises(TypeError, match=r"ffi_call of 'rms_norm'.* has no vmap_method.*'sequential'.*'broadcast_all'"):
        vmap(call_of(None))(X)


def test_without_a_rule_a_derivative_is_refused_with_the_way_out(example):
    with pytest.raises(NotImplementedError, match=r"'ffi_call' not implemented") as caught:
        jvp(call_of(None), (X,), (X,))
    assert "made with custom_jvp or custom_vjp" in str(caught.value)


def test_a_constant_call_inside_a_derivative_is_a_constant(example):
    _, pullback = vjp(lambda x: lax.reduce_sum(x * call_of(None)(X), (0, 1, 2)), X)
    np.testing.assert_allclose(pullback(1.0)[0], by_numpy(X), rtol=1e-14)


def test_loops_and_branches_call_kernels(example):
    def program(x):
        x = lax.cond(lax.gt(x[0, 0, 0], -100.0), call_of(None), lambda x: x, x)
        return lax.fori_loop(0, 3, lambda _, x: call_of(None)(x * 2.0), x)

    np.testing.assert_allclose(jit(program)(X), program(X), rtol=1e-14)
    np.testing.assert_allclose(program(X), by_numpy(X), rtol=1e-5)


def test_an_error_of_the_kernel_names_its_cause(example):
    scalar = ShapeDtypeStruct((), np.float64)
    with pytest.raises(RuntimeError, match=r"rms_norm needs rows of a number or more"):
        jit(lambda x: ffi_call("rms_norm", (scalar, scalar))(x, eps=1e-6))(1.0)[0].block_until_ready()
