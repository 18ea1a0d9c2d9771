"""Programs on one of NVIDIA's GPUs: skipped on a machine without one.

Where the plugin is installed, the GPU is the default device, so the law of compilation in `test_laws.py` is asked of it
too: `pytest tests/laws/test_on_gpu.py tests/laws/test_laws.py -k "gpu or compile"`.  This file has what is a GPU's own.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import calque
import calque.numpy as cnp
from calque import device_put, devices, grad, jit, lax
from calque_xla_backend.runtime.clients import default_platform

pytestmark = pytest.mark.skipif(
    default_platform() != "cuda", reason="there is no GPU here, or its plugin is not installed"
)
RANDOM = np.random.default_rng(0)


def matrix(dtype, n=6):
    x = RANDOM.normal(size=(2, n, n)) + n * np.eye(n)
    return (x + 1j * RANDOM.normal(size=x.shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def close(got, want, dtype):
    assert type(got) is calque.Array
    assert got.device == devices("gpu")[0]
    assert got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e3 * np.finfo(dtype).eps, atol=1e3 * np.finfo(dtype).eps)


over_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])


@over_dtypes
def test_factors_multiply_to_the_matrix(dtype):
    x = matrix(dtype)
    positive = x @ np.conj(x.swapaxes(-1, -2))
    lower = np.asarray(jit(cnp.linalg.cholesky)(positive))
    np.testing.assert_allclose(lower @ np.conj(lower.swapaxes(-1, -2)), positive, rtol=1e-4)
    for pivoting in (False, True):
        q, r, *order = map(np.asarray, jit(lambda x, p=pivoting: lax.linalg.qr(x, pivoting=p))(x))
        columns = np.take_along_axis(x, order[0][:, None, :], 2) if pivoting else x
        np.testing.assert_allclose(q @ r, columns, rtol=1e-3, atol=1e-4)
    values, vectors = map(np.asarray, jit(cnp.linalg.eigh)(positive))
    product = (vectors * values[:, None, :]) @ np.conj(vectors.swapaxes(-1, -2))
    np.testing.assert_allclose(product, positive, rtol=1e-3, atol=1e-3)
    u, s, v = map(np.asarray, jit(lambda x: cnp.linalg.svd(x, full_matrices=False))(x[:, :3]))
    np.testing.assert_allclose((u * s[:, None, :]) @ v, x[:, :3], rtol=1e-3, atol=1e-4)


@over_dtypes
@pytest.mark.parametrize("name", ["eig", "schur", "hessenberg"])
def test_the_host_computes_forms_that_a_gpu_lacks(name, dtype):
    x = matrix(dtype)
    function = cnp.linalg.eig if name == "eig" else getattr(lax.linalg, name)
    want = [np.asarray(w) for w in function(x)]
    compiled = jit(lambda x: [*function(x)])(x)
    eager = [*function(device_put(x))]
    for got, one, w in zip(compiled, eager, want, strict=True):
        assert got.device == one.device == devices("gpu")[0]
        np.testing.assert_allclose(np.asarray(got), w, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(np.asarray(one), w, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@over_dtypes
def test_tridiagonal_systems_of_any_size(n, dtype):
    lower, upper = np.ones(n, dtype), np.ones(n, dtype)
    lower[0] = upper[-1] = 0
    b = np.arange(2 * n).reshape(n, 2).astype(dtype)
    args = lower, np.full(n, 4, dtype), upper, b
    close(jit(lax.linalg.tridiagonal_solve)(*args), np.asarray(lax.linalg.tridiagonal_solve(*args)), dtype)


def test_a_reduction_keeps_its_order_and_takes_the_initial_value_once():
    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]  # of affine functions: not commutative

    slopes, shifts = RANDOM.uniform(0.5, 1.5, (3, 1000)), RANDOM.normal(size=(3, 1000))
    program = lambda x, y: lax.reduce((x, y), (2.0, 3.0), compose, (1,))
    for got, want in zip(jit(program)(slopes, shifts), program(slopes, shifts), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16"])
def test_convolutions_of_integers(dtype):
    x = RANDOM.integers(0, 100, (2, 3, 8, 8)).astype(dtype)
    kernel = RANDOM.integers(0, 100, (4, 3, 3, 3)).astype(dtype)
    convolve = lambda x, k: lax.conv(x, k, (1, 1), "SAME")
    got, want = jit(convolve)(x, kernel), convolve(x, kernel)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got), want)


def test_eager_derivatives_stay_on_the_gpu():
    x = RANDOM.normal(size=50)
    f = lambda x: (cnp.sin(x) * x[::-1]).sum() + (x[1:] * x[:-1]).sum()
    close(grad(f)(device_put(x)), grad(f)(x), "float64")


def test_the_host_and_the_gpu_exchange_arrays():
    host, gpu = devices("cpu")[0], devices("gpu")[0]
    x = np.arange(5.0)
    there = device_put(x, gpu)
    back = device_put(there, host)
    assert (there.device, back.device) == (gpu, host)
    assert jit(lambda x: x * 2, backend="cpu")(x).device == host
    assert jit(lambda x: x * 2)(back).device == host
    with pytest.raises(ValueError, match="got arrays on cpu:0 and cuda:0"):
        jit(lambda x, y: x + y)(there, back)


def test_torch_shares_the_memory_of_the_gpu():
    torch = pytest.importorskip("torch", reason="torch, which only this test needs, is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this torch is made without CUDA")
    tensor = torch.arange(6.0, device="cuda").reshape(2, 3) * 1
    shared = calque.dlpack.from_dlpack(tensor, copy=False)
    assert shared.unsafe_buffer_pointer() == tensor.data_ptr()
    close(jit(lambda x: x * 2)(shared), tensor.cpu().numpy() * 2, "float32")
    copied = calque.dlpack.from_dlpack(tensor)
    tensor += 1
    np.testing.assert_array_equal(np.asarray(copied), np.arange(6.0).reshape(2, 3))
    back = torch.from_dlpack(jit(lambda x: x * 3)(copied))
    assert back.is_cuda
    np.testing.assert_array_equal(back.cpu().numpy(), np.arange(0.0, 18.0, 3).reshape(2, 3))
    short = calque.dlpack.from_dlpack(tensor.to(torch.bfloat16))
    assert short.dtype.name == "bfloat16"
    with pytest.raises(BufferError, match=r"shape \(3, 2\) is not in C order .* x\.contiguous\(\)\."):
        calque.dlpack.from_dlpack(tensor.T)


def test_cupy_reads_the_memory_of_the_gpu():
    cupy = pytest.importorskip("cupy", reason="cupy, which only this test needs, is not installed")
    x = device_put(np.arange(6.0))
    view = cupy.asarray(x)
    assert view.data.ptr == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(cupy.asnumpy(view * 2), np.arange(0.0, 12.0, 2))
    np.testing.assert_array_equal(cupy.asnumpy(cupy.from_dlpack(x)), np.arange(6.0))


def test_numpy_reads_by_dlpack_if_it_asks_for_the_host():
    x = device_put(np.arange(3.0))
    assert x.__dlpack_device__() == (2, 0)
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), np.arange(3.0))
    with pytest.raises(
        BufferError, match=r"bfloat16\[3\] cannot be exported at .* to the host, since NumPy has no such"
    ):
        lax.convert_element_type(x, "bfloat16").__dlpack__(dl_device=(1, 0), max_version=(1, 0))


def test_too_little_memory_is_a_memory_error_and_the_next_call_works():
    for wait in (np.asarray, calque.block_until_ready):
        with pytest.raises(MemoryError, match=r"(?s)the device has not enough memory: .*\. Use smaller arrays"):
            wait(jit(lambda: cnp.ones(1 << 38) + 1)())
    assert float(jit(lambda x: x + 1)(1.0)) == 2.0


def test_costs_are_known_before_and_after_compilation():
    lowered = jit(lambda x: x @ x).lower(np.eye(50))
    assert lowered.cost_analysis()["flops"] >= 2 * 50**3 - 50**2
    assert lowered.compile().cost_analysis()["flops"] >= 2 * 50**3 - 50**2


@pytest.mark.parametrize("order", [("calque", "jax"), ("jax", "calque")], ids=" before ".join)
def test_jax_computes_beside_us(order):
    pytest.importorskip("jax", reason="jax, which only this test needs, is not installed")
    programs = {
        "jax": "import jax; x = jax.numpy.linalg.cholesky(jax.numpy.eye(3)); print(x.device, x[0, 0])",
        "calque": "import calque; y = calque.jit(calque.numpy.linalg.cholesky)(np.eye(3)); print(y.device, y[0, 0])",
    }
    exchange = "z = calque.dlpack.from_dlpack(x); print(z.device, jax.numpy.from_dlpack(z + z)[0, 0])"
    program = "; ".join(["import numpy as np", *(programs[name] for name in order), exchange])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("cuda:0 1.0\ncuda:0 1.0\ncuda:0 2.0\n", 0), done.stderr


QUIET = """
import sys
sys.modules["jax"] = None  # an import of jax would fail
import numpy as np, calque
x = calque.jit(lambda x: calque.numpy.linalg.cholesky(x @ x) + 1)(calque.device_put(np.eye(3)))
print(np.asarray(x)[0, 0], float(x[1, 1]), x.unsafe_buffer_pointer() > 0, repr(x)[:5])
"""
FORKED = """
import os, numpy as np, calque
step = calque.jit(lambda x: x + 1)
x = step(np.arange(3.0))
child = os.fork()
if child == 0:
    y = x
    del x, step
    calque.clear_caches()
    assert (np.arange(3.0) @ np.arange(3.0)) == 5
    try:
        np.asarray(y)
    except RuntimeError as error:
        assert "forked after XLA had started" in str(error), error
        del y
        import sys
        sys.exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(np.asarray(x))
"""


@pytest.mark.parametrize(
    ("program", "words"), [(QUIET, "2.0 2.0 True Array\n"), (FORKED, "[1. 2. 3.]\n")], ids=["quiet", "forked"]
)
def test_a_process_prints_no_more_than_its_program(program, words):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (words, "", 0)
