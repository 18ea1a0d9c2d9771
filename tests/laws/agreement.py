"""How results are compared: types exactly, values by a stated distance.

Derivatives are never compared with another derivative rule: `differences` takes them from the values of the function.

Complex numbers are pairs of reals to these laws, since a derivative of a function of them is linear over the reals and
no more.  A direction has random real and imaginary parts; along it, differences see any such derivative.  The inner
product of u and v is the real part of the sum of u v, without conjugation: the pairing under which a transpose is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import float0, typeof
from calque_pytree import tree_leaves

Value = Any
Function = Callable[..., list[Value]]


def types_of(tree: Any) -> list[str]:
    """Return the types of the leaves in short form, weak ones as strong ones."""
    return [typeof(x).strip_weak_type().str_short() for x in tree_leaves(tree)]


def assert_same(got: Any, want: Any) -> None:
    """Check that types and values are equal; NaN equals NaN."""
    assert types_of(got) == types_of(want)
    for x, y in zip(tree_leaves(got), tree_leaves(want), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def assert_within(got: Any, want: Any, ulps: float, *, by_array: bool = False) -> None:
    """Check types exactly, and values to a number of ulps, of each value or of the largest in its array."""
    assert types_of(got) == types_of(want)
    for x, y in zip(tree_leaves(got), tree_leaves(want), strict=True):
        distance = ulps_between(np.asarray(x), np.asarray(y), by_array)
        worst = distance.max(initial=0)
        assert worst <= ulps, f"{worst:.1f} ulps apart, {ulps} allowed: {np.asarray(x)} for {np.asarray(y)}"


def ulps_between(got: np.ndarray, want: np.ndarray, by_array: bool) -> np.ndarray:
    """Return the distances; 0 between NaNs, infinity between what differs otherwise."""
    if want.dtype == float0:
        return np.zeros(want.shape)
    is_equal = (got == want) | ((got != got) & (want != want))
    if want.dtype.kind not in "fc":
        return np.where(is_equal, 0, np.inf)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(got), np.abs(want)).astype(np.float64)
        size = np.max(size, initial=0) if by_array else size
        difference = got.astype(np.result_type(got, np.float64)) - want
        distance = np.abs(difference) / (np.finfo(want.dtype).eps * size)
    return np.where(is_equal, 0, np.where(np.isfinite(distance), distance, np.inf))


def assert_close(got: Any, want: Any, tolerance: float) -> None:
    """Check types exactly, and values to `tolerance` relative to the largest of all results, or to 1."""
    assert types_of(got) == types_of(want)
    leaves = [np.asarray(x) for x in tree_leaves(want)]
    size = max((np.abs(x[np.isfinite(x)]).max(initial=1.0) for x in leaves if x.dtype.kind in "fc"), default=1.0)
    for x, y in zip(tree_leaves(got), leaves, strict=True):
        if y.dtype.kind in "fc":
            np.testing.assert_allclose(np.asarray(x), y, rtol=0, atol=tolerance * size)
        elif y.dtype != float0:
            np.testing.assert_array_equal(np.asarray(x), y)


def direction(x: Value, seed: int) -> Value:
    """Return random numbers of the tangent type of `x`: between -1 and 1, or `float0`."""
    aval = typeof(x).strip_weak_type()
    if aval.dtype.kind not in "fc":
        return np.zeros(aval.shape, float0)
    rng = np.random.default_rng(seed)
    parts = rng.uniform(-1, 1, aval.shape)
    if aval.dtype.kind == "c":
        parts = parts + 1j * rng.uniform(-1, 1, aval.shape)
    return np.asarray(parts).astype(aval.dtype)[()]


def directions(xs: Sequence[Value], seed: int) -> list[Value]:
    """Return a random direction for each of `xs`."""
    return [direction(x, seed + i) for i, x in enumerate(xs)]


def unit_roundoff(xs: Sequence[Value]) -> float:
    """Return the eps of the narrowest floating dtype among `xs`; 0 if there is none."""
    return max((float(np.finfo(typeof(x).dtype).eps) for x in xs if typeof(x).dtype.kind in "fc"), default=0.0)


# By eps: the step of the differences, and what their error stays below.
_STEPS = {0.0: (1.0, 0.0), float(np.finfo(np.float32).eps): (3e-2, 1e-4), float(np.finfo(np.float64).eps): (2e-4, 1e-8)}


def check_differences(out_dots: Sequence[Value], fun: Function, args: Sequence[Value], dots: Sequence[Value]) -> None:
    """Check the derivative of `fun` along `dots`: types exactly, values to what differences can tell."""
    want, tolerance = differences(fun, args, dots)
    assert_close(out_dots, want, tolerance)


def differences(fun: Function, args: Sequence[Value], dots: Sequence[Value]) -> tuple[list[Value], float]:
    """Return the derivative of `fun` along `dots` by differences of fourth order, and a bound of their relative error.

    Results that are not floating get `float0` zeros.  Source: Abramowitz & Stegun (1964), table 25.2.
    """
    step, tolerance = _STEPS[unit_roundoff([*args, *fun(*args)])]

    def at(distance: float) -> list[np.ndarray]:
        moved = [x if np.asarray(t).dtype == float0 else x + distance * t for x, t in zip(args, dots)]
        return [np.asarray(y) for y in fun(*moved)]

    far_below, below, above, far_above = (at(k * step) for k in (-2, -1, 1, 2))
    slopes = [
        (8 * (c - b) - (d - a)) / (12 * step) if a.dtype.kind in "fc" else np.zeros(a.shape, float0)
        for a, b, c, d in zip(far_below, below, above, far_above)
    ]
    return slopes, tolerance


def inner(us: Sequence[Value], vs: Sequence[Value]) -> tuple[float, float]:
    """Return the sum of the products of all elements, its real part, and the sum of their sizes.

    Leaves of `float0` count for nothing.
    """
    kept = [(np.asarray(u), np.asarray(v)) for u, v in zip(us, vs) if typeof(u).dtype.kind in "fc"]
    terms = [np.multiply(u, v, dtype=np.result_type(u, v, np.float64)) for u, v in kept]
    return sum(float(t.real.sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms)
