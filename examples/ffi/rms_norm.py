"""A layer whose value and derivative are kernels in C++: `python examples/ffi/rms_norm.py` builds and checks it.

It needs a C++ compiler; XLA's headers come with jaxlib.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import calque
from calque import ffi

Array = Any

SOURCE = Path(__file__).with_name("rms_norm.cc")


def build(folder: str) -> ctypes.CDLL:
    """Compile the kernels into a library, and load it."""
    library = Path(folder) / "rms_norm.so"
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-shared", "-fPIC", "-isystem", ffi.include_dir()]
    subprocess.run([*command, str(SOURCE), "-o", str(library)], check=True)  # noqa: S603  our own source
    return ctypes.CDLL(str(library))


def register(library: ctypes.CDLL) -> None:
    """Give XLA the two kernels by name."""
    ffi.register_ffi_target("rms_norm", ffi.pycapsule(library.rms_norm))
    ffi.register_ffi_target("rms_norm_backward", ffi.pycapsule(library.rms_norm_backward))


def forward(x: Array, eps: float) -> tuple[Array, Array]:
    """Return the normalized rows, and the root of each row."""
    root = calque.ShapeDtypeStruct(x.shape[:-1], x.dtype)
    return ffi.ffi_call("rms_norm", (x, root), vmap_method="broadcast_all")(x, eps=eps)


@calque.custom_vjp
def rms_norm(x: Array) -> Array:
    """Return the rows of x [.., n], each divided by the root of its mean square."""
    return forward(x, 1e-6)[0]


def rms_norm_fwd(x: Array) -> tuple[Array, tuple[Array, Array]]:
    """Return the value, and what the derivative needs."""
    y, root = forward(x, 1e-6)
    return y, (y, root)


def rms_norm_bwd(residuals: tuple[Array, Array], y_bar: Array) -> tuple[Array]:
    """Return the cotangent of the rows."""
    y, root = residuals
    return (ffi.ffi_call("rms_norm_backward", y, vmap_method="broadcast_all")(y, root, y_bar),)


rms_norm.defvjp(rms_norm_fwd, rms_norm_bwd)


def main() -> None:
    """Build the kernels, and compare them with NumPy and with differences."""
    with tempfile.TemporaryDirectory() as folder:
        register(build(folder))
        x = np.random.default_rng(0).normal(size=(5, 8))
        expected = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)
        np.testing.assert_allclose(calque.jit(rms_norm)(x), expected, rtol=1e-14)
        np.testing.assert_allclose(calque.vmap(rms_norm)(x), expected, rtol=1e-14)
        calque.check_grads(lambda x: np.sum(np.sin(rms_norm(x))), (x,), order=1, modes=["rev"])
        gradient = calque.jit(calque.grad(lambda x: np.sum(np.sin(rms_norm(x)))))(x)
        print("largest slope:", np.max(np.abs(np.asarray(gradient))))


if __name__ == "__main__":
    main()
