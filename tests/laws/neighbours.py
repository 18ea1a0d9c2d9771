"""calque and jax at work in one process: `python tests/laws/neighbours.py calque 64 3` loads calque first.

Each task is done by both libraries in turn, here three times, and must give NumPy's answer in the dtypes of its
library: calque's are NumPy's, jax's follow jax's own setting.  Then each takes arrays of the other.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

FIRST, X64, ROUNDS = sys.argv[1], sys.argv[2] == "64", int(sys.argv[3])
for name in ("calque", "jax") if FIRST == "calque" else ("jax", "calque"):
    importlib.import_module(name)
    if name == "jax":
        importlib.import_module("jax").config.update("jax_enable_x64", X64)
    else:
        importlib.import_module("calque").device_put(1.0)  # starts calque's client

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import calque  # noqa: E402
from calque_xla_backend import from_dlpack  # noqa: E402

X = np.linspace(0.5, 2.0, 4)
A = np.array([[3.0, 1.0, 0.0, 0.0], [1.0, 4.0, 1.0, 0.0], [0.0, 1.0, 5.0, 1.0], [0.0, 0.0, 1.0, 6.0]])
DTYPES = {calque: np.dtype("float64"), jax: np.dtype("float64" if X64 else "float32")}


def numpy_of(lib: Any) -> Any:
    return calque.numpy if lib is calque else jnp


def called_back(lib: Any, x: Any) -> Any:
    """Call NumPy from a compiled program, and from there the neighbour."""
    other = jax if lib is calque else calque
    inner = other.jit(lambda v: numpy_of(other).sin(v) + 1.0)
    declared = lib.ShapeDtypeStruct((4,), DTYPES[lib])
    host = lambda v: np.asarray(inner(np.asarray(v))).astype(DTYPES[lib])
    return lib.jit(lambda v: lib.pure_callback(host, declared, v))(x)


def looped(lib: Any, x: Any) -> Any:
    return lib.jit(lambda v: lib.lax.scan(lambda c, t: (c + t, None), v[0] * 0.0, v)[0])(x)


def donated(lib: Any, x: Any) -> Any:
    return lib.jit(lambda v: v * 2.0, donate_argnums=0)(lib.device_put(x))


Task = Callable[[Any, Any], Any]
TASKS: dict[str, tuple[Task, Any]] = {
    "jit": (lambda lib, x: lib.jit(lambda v: numpy_of(lib).sin(v) * 2.0)(x), np.sin(X) * 2.0),
    "grad": (lambda lib, x: lib.grad(lambda v: (v**3).sum())(x), 3.0 * X**2),
    "vmap": (lambda lib, x: lib.vmap(lib.grad(lambda v: numpy_of(lib).exp(v)))(x), np.exp(X)),
    "eager": (lambda lib, x: numpy_of(lib).tanh(x) + 1.0, np.tanh(X) + 1.0),
    "device_put": (lambda lib, x: lib.device_put(x), X),
    "callback": (called_back, np.sin(X) + 1.0),
    "scan": (looped, X.sum()),
    "donation": (donated, X * 2.0),
    "cholesky": (lambda lib, x: lib.jit(numpy_of(lib).linalg.cholesky)(lib.device_put(A)), np.linalg.cholesky(A)),
    "eigvalsh": (lambda lib, x: lib.jit(numpy_of(lib).linalg.eigvalsh)(lib.device_put(A)), np.linalg.eigvalsh(A)),
    "solve": (lambda lib, x: lib.jit(numpy_of(lib).linalg.solve)(lib.device_put(A), x), np.linalg.solve(A, X)),
}


def interleave_tasks() -> None:
    """Let each library do each task in turn; jax's setting must stay as it is."""
    for name, (task, wanted) in TASKS.items():
        for lib in (jax, calque):
            x = X.astype(DTYPES[lib])
            out = np.asarray(task(lib, jnp.asarray(x) if lib is jax else x))
            assert out.dtype == DTYPES[lib], (name, lib.__name__, out.dtype)
            np.testing.assert_allclose(out, wanted, rtol=1e-12 if X64 else 1e-5, err_msg=name)
    assert jax.config.jax_enable_x64 is X64


def exchange_arrays() -> None:
    """Pass arrays of one library to the other, by memory and by value."""
    theirs, ours = jnp.asarray(X), calque.device_put(X)
    for taken in (from_dlpack(theirs), calque.device_put(np.asarray(theirs))):
        assert type(taken) is calque.Array
        out = calque.jit(calque.grad(lambda v: (v**2).sum()))(taken)
        assert out.dtype == theirs.dtype
        np.testing.assert_allclose(out, 2.0 * X, rtol=1e-6)
    for taken in (jnp.from_dlpack(ours), jnp.asarray(ours), jnp.array(ours)):
        assert isinstance(taken, jax.Array)
        np.testing.assert_allclose(jax.jit(jax.grad(lambda v: (v**2).sum()))(taken), 2.0 * X, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(theirs) + np.asarray(ours), 2.0 * X)
    ours.delete()
    np.testing.assert_allclose(taken, X, rtol=1e-6)
    assert len(calque.live_arrays()) < len(jax.live_arrays())


@contextmanager
def refused(kind: type[Exception], *words: str) -> Iterator[None]:
    try:
        yield
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"no {kind.__name__}: {words}")
    assert [word for word in words if word not in message] == [], message


def mix_by_mistake() -> None:
    """Pass arrays, tracers and devices of one library where the other can't take them: each error names the value."""
    theirs, ours = jnp.asarray(X), calque.device_put(X)
    advice = ("of type ArrayImpl", "Wrap it in numpy.asarray first.")
    for call in (calque.jit(np.sin), calque.grad(np.sum), calque.vmap(np.sin), calque.device_put, calque.lax.sin):
        with refused(TypeError, *advice):
            call(theirs)
    with refused(TypeError, "DynamicJaxprTracer"):
        jax.jit(lambda v: calque.jit(np.sin)(v))(theirs)
    with refused(TypeError, "JitTracer", "not a valid JAX type"):
        calque.jit(lambda v: jnp.sin(v))(ours)
    with refused(TypeError, "not a valid JAX type"):
        jax.jit(jnp.sin)(ours)
    with refused(TypeError, "returned Array(", "of type ArrayImpl. Return arrays and scalars."):
        calque.jit(lambda v: theirs)(ours)
    belongs = ("CpuDevice(id=0)", "neighbours.py:", "belongs to another library of this process, such as jax")
    with refused(ValueError, *belongs):
        calque.device_put(X, jax.devices()[0])
    with refused(ValueError, *belongs), calque.default_device(jax.devices()[0]):
        calque.jit(np.sin)(X)
    declared = calque.ShapeDtypeStruct((4,), np.float64)
    returning = calque.jit(lambda v: calque.pure_callback(jnp.asarray, declared, v))
    with refused(TypeError, "returned a value of type ArrayImpl", "Wrap it in numpy.asarray"):
        returning(ours)


if __name__ == "__main__":
    for _ in range(ROUNDS):
        interleave_tasks()
        exchange_arrays()
        mix_by_mistake()
    print("both are right")
