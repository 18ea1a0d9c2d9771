"""Arrays that the user writes to while a function is traced: results are those of the same program on copies."""

from __future__ import annotations

import ctypes
import mmap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.integrate import odeint

from calque_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import jaxpr_as_fun, lax, make_jaxpr
from calque_pytree import tree_leaves
from calque_xla_backend import jit


def potential(y):
    return np.sum(y**4) / 4.0 - np.sum(y * y) / 2.0


def test_a_solver_whose_buffer_is_not_numpys_calls_a_gradient():
    kept = []

    def velocity(y, t):
        kept.append((y, vjp(potential, y)[1], y.copy()))
        return -grad(potential)(y)

    start = np.array([0.1, -2.0, 3.0])
    path = odeint(velocity, start, np.linspace(0.0, 20.0, 5))
    np.testing.assert_allclose(path[-1], [1.0, -1.0, 1.0], atol=1e-5)
    for y, pull, then in kept:
        assert y.flags.writeable
        np.testing.assert_allclose(pull(1.0)[0], then**3 - then)


MEMORIES = {
    "NumPy's": lambda: np.zeros(4),
    "a view of a view": lambda: np.zeros((4, 6))[:, 1:][::-1, 2],
    "ctypes'": lambda: np.ctypeslib.as_array((ctypes.c_double * 4)()),
    "a memory map's": lambda: np.frombuffer(mmap.mmap(-1, 32)),
    "a bytearray's": lambda: np.frombuffer(bytearray(32)),
}
LINEAR = {  # a function, a point -> the derivative of its sum there
    "grad": lambda f, x: grad(lambda y: np.sum(f(y)))(x),
    "vjp": lambda f, x: vjp(f, x)[1](np.ones(x.shape))[0],
    "linearize": lambda f, x: linearize(f, x)[1](np.ones(x.shape)),
    "jvp": lambda f, x: jvp(f, (x,), (np.ones(x.shape),))[1],
    "grad of jit": lambda f, x: grad(jit(lambda y: np.sum(f(y))))(x),
    "vmap of grad": lambda f, x: vmap(grad(lambda y: np.sum(f(y))))(x[None])[0],
    "a program": lambda f, x: jaxpr_as_fun(make_jaxpr(grad(lambda y: np.sum(f(y))))(x))(x)[0],
}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("use"), st.sampled_from(["multiply", "add"]), st.integers(0, 2)),
        st.tuples(st.just("write"), st.integers(0, 3), st.integers(0, 2)),
        st.tuples(st.just("write all"), st.integers(1, 3), st.integers(0, 2)),
    ),
    min_size=1,
    max_size=8,
)


def run(steps: Any, x: Any, buffers: list[np.ndarray], view: Any) -> Any:
    """Interleave writes to buffers with operations on them; `view` is what an operation gets of a buffer."""
    for kind, what, which in steps:
        buffer = buffers[which]
        if kind == "write":
            buffer[what] += 1.5
        elif kind == "write all":
            buffer[:] = what + 0.25
        else:
            x = x * view(buffer) if what == "multiply" else x * x + view(buffer)
    return x


@pytest.mark.parametrize("transformation", LINEAR)
@given(STEPS, st.lists(st.sampled_from(sorted(MEMORIES)), min_size=3, max_size=3))
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_a_program_that_writes_between_uses_equals_the_program_on_copies(is_drawn, transformation, steps, memories):
    if not is_drawn((steps, memories), 0.3):
        return
    x = np.array([0.5, -1.0, 2.0, 0.25])

    def derivative(view):
        buffers = [MEMORIES[m]() for m in memories]
        result = LINEAR[transformation](lambda y: run(steps, y, buffers, view), x)
        assert all(b.flags.writeable for b in buffers)
        return np.asarray(result)

    want = derivative(np.copy)
    np.testing.assert_array_equal(derivative(lambda b: b), want)
    np.testing.assert_array_equal(derivative(lambda b: b[::-1][::-1]), want)


def read_only(x):
    x.flags.writeable = False
    return x


SHOWN = {  # a memory of a size, whose array is then shown otherwise
    "NumPy's": lambda n: np.arange(n) + 1.0,
    "read-only": lambda n: read_only(np.arange(n) + 1.0),
    "bytes": lambda n: np.frombuffer((np.arange(n) + 1.0).tobytes()),
    "every third": lambda n: np.ones((n, 3)).cumsum(0)[:, 1],
    "a bytearray's": lambda n: np.frombuffer(bytearray(np.arange(n).tobytes())),
}
WRAPPED = {  # transformations that run the function in a program or in a loop
    **LINEAR,
    "jit": lambda f, x: jit(f)(x),
    "vmap": lambda f, x: vmap(f)(x[None])[0],
    "cond": lambda f, x: grad(lambda y: np.sum(lax.cond(np.sum(y) > -9.0, f, lambda y: y, y)))(x),
    "scan": lambda f, x: grad(lambda y: np.sum(lax.scan(lambda c, _: (f(c), None), y, None, length=2)[0]))(x),
    "checkpoint": lambda f, x: grad(lambda y: np.sum(checkpoint(f)(y)))(x),
    "second grad": lambda f, x: grad(lambda z: np.sum(grad(lambda y: np.sum(f(y)))(z)))(x),
}
CHANGES = {
    "shape": [(-1,), (2, -1), (1, -1)],
    "dtype": [np.dtype(np.float64), np.dtype(np.int64), np.dtype(">i8")],
    "strides": [(8,), (0,), (8, 16)],
}
SHOWING_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("use"), st.sampled_from(["multiply", "add"]), st.integers(0, 1)),
        st.tuples(st.sampled_from(sorted(CHANGES)), st.integers(0, 2), st.integers(0, 1)),
    ),
    min_size=2,
    max_size=8,
)


def run_showing(steps: Any, x: Any, buffers: list[np.ndarray], view: Any) -> Any:
    """Interleave operations on arrays with changes of what they show of their memory, where NumPy allows these."""
    for kind, what, which in steps:
        if kind == "use":
            operand = view(buffers[which])
            y = x.reshape(operand.shape)
            x = (y * operand if what == "multiply" else y * y + operand).reshape(-1)
            continue
        with suppress(AttributeError, ValueError, TypeError):
            setattr(buffers[which], kind, CHANGES[kind][what])
    return x


@pytest.mark.filterwarnings("ignore:Setting the .* has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("transformation", WRAPPED)
@given(
    SHOWING_STEPS,
    st.lists(st.sampled_from(sorted(SHOWN)), min_size=2, max_size=2),
    st.sampled_from([4, 4, 4, 10_000]),
)
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_a_program_that_sets_shapes_dtypes_and_strides_equals_the_program_on_copies(
    is_drawn, transformation, steps, memories, size
):
    if not is_drawn((steps, memories, size), 0.3):
        return
    x = np.resize([0.5, -1.0, 2.0, 0.25], size)

    def result(view):
        buffers = [SHOWN[m](size) for m in memories]
        with np.errstate(all="ignore"):
            return np.asarray(WRAPPED[transformation](lambda y: run_showing(steps, y, buffers, view), x))

    np.testing.assert_allclose(result(lambda b: b), result(np.copy), rtol=1e-12)


def show_otherwise(tree):
    """Set the shape of each array in a tree, and write to it, where NumPy allows it."""
    for x in tree_leaves(tree):
        if isinstance(x, np.ndarray):
            with suppress(AttributeError, ValueError):
                x.shape = (2, -1)
            with suppress(ValueError):
                x[...] = 100.0


RETURNING = {  # transformations of functions of one array
    "vjp": lambda f: lambda x: vjp(f, x)[0],
    "jvp": lambda f: lambda x: jvp(f, (x,), (np.ones(x.shape),)),
    "jit": jit,
    "vmap": lambda f: lambda x: vmap(f)(x[None]),
    "cond": lambda f: lambda x: lax.cond(True, f, f, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2),
    "checkpoint": checkpoint,
    "a program": lambda f: lambda x: jaxpr_as_fun(make_jaxpr(f)(np.ones(x.shape)))(x),
}


@pytest.mark.filterwarnings("ignore:Setting the .* has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("transformation", RETURNING)
@pytest.mark.parametrize("memory", SHOWN)
@pytest.mark.parametrize("size", [4, 10_000])
def test_a_result_that_is_shown_otherwise_changes_no_argument_and_no_constant(transformation, memory, size):
    x, c = SHOWN[memory](size), SHOWN[memory](size)
    function = RETURNING[transformation](lambda y: (y, c, y * c, np.broadcast_to(np.sum(y), c.shape)))
    first = function(x)
    want = [np.array(leaf) for leaf in tree_leaves(first)]
    show_otherwise(first)
    for leaf, value in zip(tree_leaves(function(x)), want, strict=True):
        np.testing.assert_array_equal(leaf, value)


@pytest.mark.filterwarnings("ignore:Setting the .* has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("transformation", [vjp, linearize])
@pytest.mark.parametrize("memory", SHOWN)
@pytest.mark.parametrize("size", [4, 10_000])
def test_a_result_that_is_shown_otherwise_changes_no_residual(transformation, memory, size):
    x, c = SHOWN[memory](size), SHOWN[memory](size)
    out, pending = transformation(lambda y: (y, np.broadcast_to(y[0], c.shape), y * y * c), x)
    tangent = tuple(np.ones(size) for _ in out) if transformation is vjp else np.ones(size)
    want = [np.array(leaf) for leaf in tree_leaves(pending(tangent))]
    show_otherwise((out, x, c))
    for leaf, value in zip(tree_leaves(pending(tangent)), want, strict=True):
        np.testing.assert_array_equal(leaf, value)


@pytest.mark.parametrize("transformation", [vjp, linearize])
@pytest.mark.parametrize("size", [3, 10_000])
def test_what_is_written_afterwards_changes_nothing_kept(transformation, size):
    c, x = np.full(size, 2.0), np.ones(size)
    pending = transformation(lambda y: y * y * c, x)[1]
    c[:], x[:] = 100.0, 100.0
    np.testing.assert_array_equal(np.ravel(pending(np.ones(size))), np.full(size, 4.0))


def test_a_view_from_before_the_trace_changes_no_derivative():
    c = np.ones(3)
    view = c.view()

    def f(w):
        y = w * c
        view[:] = 100.0
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(np.ones(3)), np.ones(3))


def test_an_argument_is_what_it_was_on_entry():
    x = np.ones(3)

    def f(y):
        z = y * y
        x[:] = 100.0
        return np.sum(z)

    np.testing.assert_array_equal(grad(f)(x), np.full(3, 2.0))


@pytest.mark.parametrize("size", [3, 10_000])
def test_arrays_that_a_derivative_rule_closes_over_are_captured_too(size):
    scale, x = np.full(size, 2.0), np.ones(size)

    @custom_jvp
    def scaled(y):
        return y * 2.0

    @scaled.defjvp
    def scaled_jvp(primals, tangents):
        return primals[0] * 2.0, tangents[0] * scale

    @custom_vjp
    def kept(y):
        return y * 2.0

    kept.defvjp(lambda y: (y * 2.0, scale), lambda residual, ct: (ct * residual,))
    for function in (scaled, kept):
        pull = vjp(function, x)[1]
        scale[:] = 100.0
        np.testing.assert_array_equal(pull(np.ones(size))[0], np.full(size, 2.0))
        scale[:] = 2.0


def test_eight_threads_differentiate_with_arrays_of_one_owner():
    data, barrier = np.arange(40_000.0).reshape(4, 10_000), threading.Barrier(8)
    small = data[:, :3]

    def work(number):
        rows, barrier_passed = data[:, number:], barrier.wait()
        for _ in range(20):
            gradient = grad(lambda w: np.sum((rows @ w) * lax.reduce_sum(w[:3] * small)))(np.ones(10_000 - number))
            assert np.isfinite(gradient).all()
        return barrier_passed, rows

    with ThreadPoolExecutor(8) as pool:
        views = [rows for _, rows in pool.map(work, range(8))]
    assert all(array.flags.writeable for array in (data, small, *views))


def test_another_thread_cannot_write_to_a_large_array_that_is_needed():
    data, errors = np.zeros(10_000), []

    def write():
        try:
            data[0] = 1.0
        except ValueError as error:
            errors.append(str(error))

    def f(w):
        y = w * data
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return lax.reduce_sum(y)

    np.testing.assert_array_equal(grad(f)(np.ones(10_000)), np.zeros(10_000))
    assert errors == ["assignment destination is read-only"]
    write()
    assert data[0] == 1.0


def test_a_large_array_is_held_until_the_backward_half_has_run():
    scale, x = np.full(10_000, 2.0), np.ones(10_000)

    @custom_vjp
    def careless(y):
        return y

    def backward(_, ct):
        scale[:] = 100.0
        return (ct,)

    careless.defvjp(lambda y: (y, None), backward)
    with pytest.raises(ValueError, match="read-only"):
        grad(lambda y: np.sum(careless(y * scale)))(x)
    scale[:] = 1.0


@pytest.mark.parametrize("size", [6, 10_000])
def test_a_rolling_window_over_a_buffer_keeps_the_numbers_of_its_use(size):
    buffer = np.ones(size)
    windows = np.lib.stride_tricks.sliding_window_view(buffer, 2)
    pull = vjp(lambda w: windows * w, 3.0)[1]
    buffer[:] = 100.0
    np.testing.assert_array_equal(pull(np.ones(windows.shape))[0], 2.0 * (size - 1))


def test_a_large_array_of_a_subclass_is_held_itself_after_a_checkpoint():
    class Samples(np.ndarray):
        pass

    samples = np.ones(10_000).view(Samples)

    def f(w):
        y = checkpoint(lambda w: w * samples)(w)
        with pytest.raises(ValueError, match="read-only"):
            samples[:] = 100.0
        return np.sum(y * y)

    assert grad(f)(3.0) == 60_000.0
    assert samples.flags.writeable
