"""What a derivative is where there is none: the same choice as jax makes, where that is installed."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp
from calque_core import lax

jax = pytest.importorskip("jax", reason="jax is not installed")

EDGES = {
    **{name: [(0.0,), (-0.0,), (1.0,), (-1.0,)] for name in ("abs", "sign", "sqrt", "rsqrt", "log", "log1p")},
    **{name: [(0.0, 0.0), (2.0, 2.0), (0.0, 1.0), (-1.0, 0.0)] for name in ("max", "min")},
    "div": [(0.0, 0.0)],  # not (1, 0): see below
    "pow": [(0.0, 1.0), (0.0, 2.0), (2.0, 0.0), (0.0, 0.5), (0.0, -1.0)],  # not (0, 0): jax has nan there, we have 0
    "clamp": [(0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 2.0, 1.0), (0.0, -1.0, 1.0), (1.0, 1.0, 1.0), (2.0, 1.0, 0.0)],
    "round": [(0.5,), (1.5,)],
    "floor": [(1.0,)],
    "ceil": [(1.0,)],
}
CASES = [(name, args) for name, points in EDGES.items() for args in points]


@pytest.fixture(autouse=True)
def wide_and_quiet():
    with jax.enable_x64(True), np.errstate(all="ignore"):
        yield


def slopes(lib, fun, args):
    """Return all derivatives of a function, in reverse and in forward mode."""
    reverse = lib.grad(fun, tuple(range(len(args))))(*args)
    forward = [lib.jvp(fun, args, tuple(np.float64(i == j) for j in range(len(args))))[1] for i in range(len(args))]
    return [np.asarray(reverse), np.asarray(forward)]


class _Ours:
    grad, jvp = staticmethod(grad), staticmethod(jvp)


@pytest.mark.parametrize(("name", "args"), CASES, ids=[f"{name}{args}" for name, args in CASES])
def test_an_operation_at_its_edge(name, args):
    args = tuple(map(np.float64, args))
    ours, theirs = slopes(_Ours, getattr(lax, name), args), slopes(jax, getattr(jax.lax, name), args)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_the_slope_of_a_quotient_in_a_zero_divisor_is_infinite_in_both_modes():
    """jax has nan in forward mode, where the other tangent is a zero array: it divides that by zero too."""
    ours, theirs = (slopes(lib, div, (1.0, 0.0)) for lib, div in ((_Ours, lax.div), (jax, jax.lax.div)))
    np.testing.assert_array_equal(ours, [[np.inf, -np.inf], [np.nan, -np.inf]])
    np.testing.assert_array_equal(theirs, [[np.inf, -np.inf], [np.nan, np.nan]])


TIES = [[3.0, 1.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, -0.0, 1.0, 1.0]]


@pytest.mark.parametrize("x", TIES, ids=str)
@pytest.mark.parametrize("name", ["max", "min", "sort"])
def test_reductions_and_sorts_over_ties(name, x):
    x, weights = np.array(x), np.array([1.0, 10.0, 100.0, 1000.0])

    def ours(x):
        return lax.dot(lax.sort(x), weights) if name == "sort" else getattr(lax, f"reduce_{name}")(x)

    def theirs(x):
        numbers = jax.numpy
        return numbers.dot(numbers.sort(x), weights) if name == "sort" else getattr(numbers, name)(x)

    np.testing.assert_array_equal(grad(ours)(x), np.asarray(jax.grad(theirs)(x)))
    dot = np.array([0.1, 0.2, 0.4, 0.8])
    np.testing.assert_allclose(jvp(ours, (x,), (dot,))[1], np.asarray(jax.jvp(theirs, (x,), (dot,))[1]), rtol=1e-15)


@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -1.0])
def test_a_maximum_with_zero(x):
    ours, theirs = grad(lambda x: lax.max(x, 0.0))(x), jax.grad(lambda x: jax.numpy.maximum(x, 0.0))(x)
    assert ours == np.asarray(theirs)


def test_a_norm_at_zero_has_no_gradient():
    ours = grad(lambda x: lax.sqrt(lax.reduce_sum(lax.square(x))))(np.zeros(2))
    theirs = jax.grad(jax.numpy.linalg.norm)(np.zeros(2))
    assert np.isnan(ours).all()
    assert np.isnan(np.asarray(theirs)).all()
