"""The laws of derivatives, as one fixture that the tables of programs share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from calque_autodiff import check_grads, jvp, linearize, vjp
from calque_core import check_jaxpr, eval_jaxpr, hoist_tracers, make_jaxpr, stage, trace_state_clean, typeof
from calque_core.context import DEFAULT_SETTINGS, here
from calque_core.lax import jit_p
from calque_pytree import tree_leaves, tree_structure


@pytest.fixture(autouse=True)
def at_rest():
    """Every test leaves the thread as it found it, also those of errors."""
    yield
    assert trace_state_clean()
    assert here().axis_env == ()
    assert here().settings is DEFAULT_SETTINGS
    assert here().source is None


TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-10, "complex64": 1e-4, "complex128": 1e-10}


@pytest.fixture
def spaced():
    """Return `spaced(shape, low, high, dtype)`: distinct numbers in no order, no two of them near each other."""

    def spaced(shape, low=-2.0, high=2.0, dtype="float64", seed=0):
        size = int(np.prod(shape))
        values = low + (high - low) * (np.arange(size) + 0.37) / max(size, 1)
        return np.random.default_rng(seed).permutation(values).reshape(shape).astype(dtype)[()]

    return spaced


@pytest.fixture
def called():
    """Return `called(f)`: `f`, a function of arrays that returns one, as a program inside the program around it."""
    return as_program


def as_program(f):
    def call(*args):
        jaxpr, captured = hoist_tracers(stage(lambda *xs: [f(*xs)], [typeof(x) for x in args], user_fun=f))
        return jit_p.bind(*captured, *args, jaxpr=jaxpr, name=f.__name__, compiler=None)[0]

    return call


@pytest.fixture
def laws():
    """Return `laws(f, *args, order=2)`, which checks every law for `f` in each choice of perturbed arguments."""
    return check_laws


def check_laws(f, *args, order=2):
    check_grads(f, args, order)
    floating = [i for i, x in enumerate(args) if typeof(x).dtype.kind in "fc"]
    for count in range(1, len(floating) + 1):
        for chosen in combinations(floating, count):
            g, xs = restricted(f, args, chosen), [args[i] for i in chosen]
            if count < len(args):
                check_grads(g, xs, 1)
            check_adjoint(g, xs)
            check_stage(g, xs)


def restricted(f, args, chosen):
    def g(*xs):
        merged = list(args)
        for i, x in zip(chosen, xs):
            merged[i] = x
        return f(*merged)

    return g


def check_adjoint(f, args):
    """<u, J v> == <J^T u, v> to rounding, and linearize agrees with jvp in value, shape and dtype."""
    rng = np.random.default_rng(7)
    vs = [random_like(rng, x) for x in args]
    out, out_dot = jvp(f, args, vs)
    out_again, f_lin = linearize(f, *args)
    assert_same(out, out_again)
    assert_close(out_dot, f_lin(*vs))
    us = [random_like(rng, x) for x in tree_leaves(out)]
    _, f_vjp = vjp(lambda *xs: tree_leaves(f(*xs)), *args)
    bars = f_vjp(us)
    assert [types_of(b) for b in bars] == [types_of(v) for v in vs]
    forward, size = product(us, tree_leaves(out_dot))
    backward, _ = product(bars, vs)
    worst = max((TOLERANCE[np.dtype(x.dtype).name] for x in [*vs, *us] if x.dtype.kind in "fc"), default=0)
    assert abs(forward - backward) <= worst * (1 + size)


def check_stage(f, args):
    """The staged derivative type-checks and computes what the eager one does."""
    rng = np.random.default_rng(8)
    vs = [random_like(rng, x) for x in args]

    def derivatives(*both):
        xs, vs = both[: len(args)], both[len(args) :]
        out, f_vjp = vjp(f, *xs)
        cts = [random_like(np.random.default_rng(9), x) for x in tree_leaves(out)]
        return *tree_leaves(jvp(f, xs, vs)), *f_vjp(vjp_tree(out, cts))

    jaxpr = make_jaxpr(derivatives)(*args, *vs)
    check_jaxpr(jaxpr)
    found = eval_jaxpr(jaxpr, jaxpr.consts, *args, *vs)
    for staged, eager in zip(found, derivatives(*args, *vs)):
        assert_close(staged, eager)


def vjp_tree(out, cts):
    return tree_structure(out).unflatten(cts)


def random_like(rng, x):
    aval = typeof(x)
    if aval.dtype.kind not in "fc":
        return np.zeros(aval.shape, aval.to_tangent_aval().dtype)
    values = rng.standard_normal(aval.shape)
    if aval.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(aval.shape)
    return np.asarray(values).astype(aval.dtype)[()]


def types_of(tree):
    return [typeof(x).str_short() for x in tree_leaves(tree)]


def assert_same(a, b):
    assert types_of(a) == types_of(b)
    for x, y in zip(tree_leaves(a), tree_leaves(b)):
        np.testing.assert_array_equal(x, y)


def assert_close(a, b):
    assert types_of(a) == types_of(b)
    for x, y in zip(tree_leaves(a), tree_leaves(b)):
        if typeof(x).dtype.kind in "fc":
            tolerance = TOLERANCE[typeof(x).dtype.name]
            np.testing.assert_allclose(x, y, tolerance, tolerance)


def product(us, vs):
    """Return the real part of sum(u v), and the sum of the sizes of its terms."""
    terms = [np.asarray(u) * np.asarray(v) for u, v in zip(us, vs) if np.asarray(u).dtype.kind in "fc"]
    return sum(float(np.sum(t).real) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms)
