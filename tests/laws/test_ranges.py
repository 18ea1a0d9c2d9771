"""The law of ranges: every elementwise and special function at numbers of every size, beside mpmath."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import lax
from calque_xla_backend import jit

pytest.importorskip("mpmath", reason="mpmath is not installed")
if np.finfo(np.longdouble).maxexp < 16384:
    pytest.skip("right results need long doubles of a wider range than doubles", allow_module_level=True)

import ranges
import ranges_elementwise
import ranges_special
from ranges_exceptions import ALLOWANCES, COMPILED, EVALUATED, WAYS

ROWS = {row.name: row for row in [*ranges_elementwise.ROWS, *ranges_special.ROWS]}
THIN = 29  # a run of a sample asks one binade of so many


@pytest.fixture
def thinning(request):
    """Return the distance of tested binades, and the first one, which the seed of the sample draws."""
    config = request.config
    if config.getoption("full") or any("::" in str(arg) for arg in config.args):
        return 1, 0
    seed = getattr(config, "workerinput", {}).get("sample_seed", config.getoption("sample_seed"))
    return THIN, int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=4).digest())


def derivative(function: Callable[..., Any], order: int) -> Callable[..., Any]:
    """Return the derivative in the first operand, of each element."""
    for _ in range(order):
        function = grad(lambda x, *y, f=function: lax.reduce_sum(f(x, *y)))
    return function


def computed(function: Callable[..., Any], args: list[np.ndarray], way: str) -> np.ndarray:
    """Return the results by evaluation, by a compiled program, or by one that knows its operands."""
    if way == EVALUATED:
        return np.asarray(function(*args))
    return np.asarray(jit(function)(*args) if way == COMPILED else jit(lambda: function(*args))())


def allowed(name: str, dtype: str, way: str, order: int, points: ranges.Points) -> np.ndarray:
    """Return the number of ulps that results may be off."""
    size, dtype_of = np.abs(points.x), np.dtype(dtype)
    right = points.right[order]
    out = np.full(size.shape, float(ranges.ULPS))
    for case in ALLOWANCES:
        if name in case.names and order in case.orders and way in case.ways and dtype in case.dtypes:
            larger = ranges.spacing_of(np.maximum(np.abs(right), case.of), dtype_of) / ranges.spacing_of(
                right, dtype_of
            )
            is_inside = (size >= case.low) & (size <= case.high)
            out = np.where(is_inside, np.maximum(out, case.ulps * larger), out)
    return out


def flushed(points: ranges.Points, dtype: np.dtype) -> np.ndarray:
    """Tell which operands a compiled program takes as zero."""
    is_small = (np.abs(points.x) < np.finfo(dtype).smallest_normal) & (points.x != 0)
    if points.y is not None:
        is_small |= (np.abs(points.y) < np.finfo(dtype).smallest_normal) & (points.y != 0)
    return is_small


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sampled(keep=0.06)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_value_and_derivatives_are_right_at_every_size(name, dtype, way, thinning):
    points = ranges.points(ROWS[name], dtype, *thinning)
    complaints = complaints_of(ROWS[name], dtype, way, points)
    assert not complaints, "\n".join([f"{name}, {dtype}, {way}", *complaints])


def complaints_of(row: ranges.Row, dtype: str, way: str, points: ranges.Points) -> list[str]:
    """Return lines on the wrong results of a row, in each order."""
    kind, flushes, lines = np.dtype(dtype), way != EVALUATED, []
    smallest = float(np.finfo(kind).smallest_normal)
    args = [points.x] if points.y is None else [points.x, points.y]
    for order in range(1 + row.derivatives):
        got = computed(derivative(row.function, order), args, way)
        least = smallest * ranges.SMALL_FACTOR if flushes else smallest if order else 0.0
        off = ranges.ulps_off(got, points.right[order], points.effect[order], kind, least)
        is_judged = points.is_judged[order] & ~(flushed(points, kind) & flushes)
        is_wrong = is_judged & ~(off <= allowed(row.name, dtype, way, order, points))
        lines += report(order, points, got, off, is_wrong)
    return lines


def report(order: int, points: ranges.Points, got: np.ndarray, off: np.ndarray, is_wrong: np.ndarray) -> list[str]:
    """Return lines on the wrong results of one order: how many, their range, and some of them."""
    if not is_wrong.any():
        return []
    where = np.flatnonzero(is_wrong)
    chosen = where[np.unique(np.linspace(0, len(where) - 1, 8).astype(int))]
    lines = [
        f"order {order}: {len(where)} of {len(got)} are wrong, by up to {np.nan_to_num(off[where], nan=np.inf).max():.3g} ulps"
    ]
    for i in chosen:
        operand = repr(points.x[i]) if points.y is None else f"{points.x[i]!r}, {points.y[i]!r}"
        lines.append(f"  at {operand}: {got[i]!r}, right is {points.right[order][i]!r} ({off[i]:.3g} ulps)")
    return lines
