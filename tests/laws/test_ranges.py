"""The law of ranges: every elementwise and special function at numbers of every size, beside mpmath."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

import numpy as np
import pytest

import calque.nn
import calque.numpy
from calque import grad, jit, lax, make_jaxpr

pytest.importorskip("mpmath", reason="mpmath is not installed")
ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
if np.finfo(np.longdouble).maxexp < 16384:
    pytest.skip("right results need long doubles of a wider range than doubles", allow_module_level=True)

import ranges  # noqa: E402
import ranges_distributions  # noqa: E402
import ranges_elementwise  # noqa: E402
import ranges_parameters  # noqa: E402
import ranges_special  # noqa: E402
from ranges_exceptions import ALLOWANCES, COMPILED, EVALUATED, WAYS, Allowance  # noqa: E402

ROWS = {
    row.name: row
    for row in [*ranges_elementwise.ROWS, *ranges_special.ROWS, *ranges_parameters.ROWS, *ranges_distributions.ROWS]
}
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


def allowed(row: ranges.Row, dtype: str, way: str, order: int, points: ranges.Points) -> np.ndarray:
    """Return the number of ulps that results may be off."""
    size, right, kind = np.abs(points.x), points.right[order], np.dtype(dtype)
    is_end = np.isin(points.x, [0, np.inf, -np.inf, *row.domain])
    out = np.full(size.shape, float(ranges.ULPS))
    for case in ALLOWANCES:
        is_meant = any(fnmatch(row.name, name) for name in case.names)
        if is_meant and order in case.orders and way in case.ways and dtype in case.dtypes:
            larger = ranges.spacing_of(np.maximum(np.abs(right), case.of), kind) / ranges.spacing_of(right, kind)
            is_inside = (size >= case.low) & (size <= case.high) & (is_end | (not case.only_at_ends))
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
@pytest.mark.sampled(keep=0.005)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_value_and_derivatives_are_right_at_every_size(name, dtype, way, thinning):
    points = ranges.points(ROWS[name], dtype, *thinning)
    # A sample asks twice the distance: the full run alone has seen every number, and tells of a few ulps too many.
    complaints = complaints_of(ROWS[name], dtype, way, points, slack=1 if thinning[0] == 1 else 2)
    assert not complaints, "\n".join([f"{name}, {dtype}, {way}", *complaints])


def complaints_of(row: ranges.Row, dtype: str, way: str, points: ranges.Points, slack: int = 1) -> list[str]:
    """Return lines on the wrong results of a row, in each order."""
    kind, flushes, lines = np.dtype(dtype), way != EVALUATED, []
    smallest = float(np.finfo(kind).smallest_normal)
    args = [points.x] if points.y is None else [points.x, points.y]
    for order in range(1 + row.derivatives):
        got = computed(derivative(row.function, order), args, way)
        least = smallest * ranges.SMALL_FACTOR if flushes else smallest if order else 0.0
        off = ranges.ulps_off(got, points.right[order], points.effect[order], kind, least)
        is_judged = points.is_judged[order] & ~(flushed(points, kind) & flushes)
        is_wrong = is_judged & ~(off <= slack * allowed(row, dtype, way, order, points))
        lines += report(order, points, got, off, is_wrong)
    return lines


def report(order: int, points: ranges.Points, got: np.ndarray, off: np.ndarray, is_wrong: np.ndarray) -> list[str]:
    """Return lines on the wrong results of one order: how many, their range, and some of them."""
    if not is_wrong.any():
        return []
    where = np.flatnonzero(is_wrong)
    chosen = where[np.unique(np.linspace(0, len(where) - 1, 8).astype(int))]
    worst = np.nan_to_num(off[where], nan=np.inf).max()
    lines = [f"order {order}: {len(where)} of {len(got)} are wrong, by up to {worst:.3g} ulps"]
    for i in chosen:
        operand = repr(points.x[i]) if points.y is None else f"{points.x[i]!r}, {points.y[i]!r}"
        lines.append(f"  at {operand}: {got[i]!r}, right is {points.right[order][i]!r} ({off[i]:.3g} ulps)")
    return lines


# Half precisions

OTHER_IN_HALVES = {
    "numpy.sinc": "NumPy's own sinc of single precision overflows",
    "lax.pow(x, 0.5)": "the power of -inf is inf in half precision, and NaN in NumPy's loop of single precision",
    "lax.pow(x, 0.0)": "the power of NaN is NaN in half precision",
    "lax.pow(1.0, x)": "the power of NaN is NaN in half precision",
    "lax.pow(1.0009765625, x)": "the base is 1 in half precision",
    "lax.integer_pow(x, -2)": "the power is subnormal beside the largest results, and loses its digits",
    "lax.integer_pow(x, -3)": "the power is subnormal beside the largest results, and loses its digits",
}
HALVES = [name for name, row in ROWS.items() if row.second is None and name not in OTHER_IN_HALVES]
HALVES = [name for name in HALVES if name.startswith(("lax.", "numpy.", "nn.")) and "_grad" not in name]


@pytest.mark.parametrize("way", [EVALUATED, COMPILED])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.sampled(keep=0.015)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_half_precisions_have_the_values_of_single_precision_rounded(name, dtype, way):
    kind, function = np.dtype(getattr(ml_dtypes, dtype, dtype)), ROWS[name].function
    x = np.arange(2**16, dtype=np.uint16).view(kind)
    single = x.astype(np.float32)
    want = np.asarray(function(single)).astype(np.float32)
    got = computed(function, [x], way)
    assert got.dtype == kind
    slope = np.abs(np.asarray(derivative(function, 1)(single)).astype(np.float32))
    with np.errstate(all="ignore"):
        rounded = want.astype(kind).astype(np.float32)
        distance = np.abs(got.astype(np.float32) - rounded) - slope * ulps_of_halves(single, kind)
        off = distance / ulps_of_halves(rounded, kind)
    is_same = (got.astype(np.float32) == rounded) | (np.isnan(got.astype(np.float32)) & np.isnan(want))
    least = float(ml_dtypes.finfo(kind).smallest_normal) * (1 if way == EVALUATED else ranges.SMALL_FACTOR)
    is_flushed = (np.abs(want) < least) | ((np.abs(single) < least) & (way != EVALUATED))
    wrong = np.flatnonzero(~(is_same | (off <= ranges.ULPS) | is_flushed))
    some = wrong[:: len(wrong) // 8 + 1]
    assert not len(wrong), f"{len(wrong)} are wrong: of {x[some]} there are {got[some]}, right are {want[some]}"


def ulps_of_halves(x: np.ndarray, kind: np.dtype) -> np.ndarray:
    info = ml_dtypes.finfo(kind)
    exponent = np.frexp(np.where(np.isfinite(x), x, 1))[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, int(info.minexp)) - int(info.nmant))


# Coverage


MODULES = {"lax": lax, "numpy": calque.numpy, "nn": calque.nn}


def names_of_elementwise_functions(module):
    """Return the public functions of one or two arrays of floats that act on each element alone."""
    names = sorted(getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")])
    functions = {name: getattr(module, name) for name in names if callable(getattr(module, name))}
    return [name for name, f in functions.items() if not isinstance(f, type) and acts_on_elements(f)]


def acts_on_elements(function):
    operands = np.array([0.25, 0.5, 0.75, 0.3, 0.9]), np.array([0.5, 0.2, 0.7, 0.6, 0.1])
    return any(is_by_element(function, operands[:n], shift) for n in (1, 2) for shift in (0, 1))


def is_by_element(function, operands, shift):
    operands = [x + shift for x in operands]
    try:
        with np.errstate(all="ignore"):
            whole, turned, part = (
                np.asarray(function(*(x[index] for x in operands)))
                for index in (slice(None), slice(None, None, -1), slice(1, 3))
            )
    except Exception:  # noqa: BLE001  (functions of other operands refuse these, each in its way)
        return False
    if whole.shape != (5,) or whole.dtype.kind != "f" or turned.shape != (5,) or part.shape != (2,):
        return False
    return np.allclose(whole[::-1], turned, equal_nan=True) and np.allclose(whole[1:3], part, equal_nan=True)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_every_elementwise_function_has_a_row_or_a_reason(module):
    rows = {re.match(r"\w+\.\w+", name)[0] for name in ROWS}
    known = rows | set(ranges_elementwise.SAME) | set(ranges_elementwise.WITHOUT_ROW)
    names = [f"{module}.{name}" for name in names_of_elementwise_functions(MODULES[module])]
    assert [name for name in names if name not in known] == []


def test_a_function_without_a_row_of_its_own_makes_the_program_of_another():
    function = lambda name: getattr(MODULES[name.split(".")[0]], name.split(".")[1])
    for name, other in ranges_elementwise.SAME.items():
        for dtype in (np.float32, np.float64):
            args = [np.full(3, 0.5, dtype)] * ranges_elementwise.OPERANDS.get(name, 1)
            assert str(make_jaxpr(function(name))(*args)) == str(make_jaxpr(function(other))(*args)), name


def name_of(case: Allowance) -> str:
    """Return the rows, orders, dtypes and region of an exception, as the name of a test."""
    return f"{' '.join(case.names)} {case.orders} {' '.join(case.dtypes)} {case.region} {case.ulps:g}"


@pytest.mark.parametrize("case", ALLOWANCES, ids=name_of)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_exception_is_still_needed(case, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ALLOWANCES", [other for other in ALLOWANCES if other is not case])
    rows = [row for row in ROWS.values() if any(fnmatch(row.name, name) for name in case.names)]
    assert any(
        complaints_of(row, dtype, way, ranges.points(row, dtype, 1, 0))
        for row in rows
        for dtype in case.dtypes
        for way in case.ways
    ), "no row needs this exception; remove it from ranges_exceptions.py"


def test_an_exception_cannot_hide_a_number_lost():
    right = np.array([1.0, 1.0, 1.0, 0.0], np.longdouble)
    got = np.array([np.nan, np.inf, 0.0, 0.0])
    off = ranges.ulps_off(got, right, np.zeros(4, np.longdouble), np.dtype("float64"), 0.0)
    assert (off <= np.inf).tolist() == [False, False, False, True]


# Faults of programs, where the law has functions


def test_known_powers_of_two_do_not_overflow_together():
    assert float(jit(lambda x: calque.numpy.ldexp(x, 2000))(1e-300)) == np.ldexp(1e-300, 2000)
    assert float(jit(lambda: calque.numpy.ldexp(np.float64(1e300), -2000))()) == np.ldexp(1e300, -2000)


def test_the_derivative_of_a_quotient_survives_the_compiler():
    x, y = np.float32(1.5e-25), np.float32(1.4e-25)
    assert float(jit(grad(lambda y: x / y))(y)) == pytest.approx(-1.5e-25 / 1.4e-25**2, rel=1e-5)


def test_the_parts_of_a_subnormal_number_are_zero_in_a_compiled_program():
    mantissa, exponent = jit(calque.numpy.frexp)(np.array([1e-310, 4.0]))
    assert mantissa.tolist() == [0.0, 0.5]
    assert exponent.tolist() == [0, 3]
