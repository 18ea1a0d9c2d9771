"""One call by three evaluators: NumPy, a compiled program, and single operations on device arrays.

One idea: an outcome is a tree of results or a refusal.  Two outcomes are alike in structure, class, dtype, shape and
value, or in the type of the refusal and the first sentence of its message; nan, infinities and the signs of zeros are
alike exactly.  A difference of values says which operands it has, so that an exception can name them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from calls import Row, dtype_of
from calls import is_inexact as dtype_is_inexact

from calque import Array, device_put, jit
from calque_core import typeof
from calque_pytree import tree_flatten, tree_leaves

Value = Any
_PYTHON = (bool, int, float, complex, str, type(None))


@dataclass(frozen=True)
class Refusal:
    """The error in the place of results."""

    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error)[:150]}"


@dataclass(frozen=True)
class Difference:
    """What an evaluator does otherwise than NumPy, by a kind of `other_answers`, and for which kind of operands."""

    kind: str
    text: str
    evaluator: str = ""
    size: str = ""
    operands: str = "ordinary"

    def __str__(self) -> str:
        return f"{self.evaluator} of size {self.size}, {self.operands} operands: {self.kind}: {self.text}"


PLACE = re.compile(r" at [\w.<>/-]+:\d+( \(<?\w+>?\))?")
OPERANDS = ("ordinary", "zero", "infinite")  # finite without a zero part, finite with one, others


def outcome(call: Callable[..., Value], *args: Value) -> Value:
    """Return the results of a call, or its refusal."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call(*args)
        except Exception as error:  # noqa: BLE001  (refusals are compared)
            return Refusal(error)


def differences(function: Callable[..., Value], row: Row, dtype: str) -> Iterator[Difference]:
    """Yield what the evaluators do differently for a row and a dtype."""
    ulps = row.complex_ulps if dtype_of(dtype).kind == "c" else row.ulps
    for size in row.sizes:
        args = [make(dtype_of(dtype), size) for make in row.operands]
        call = lambda *xs: row.call(function, *xs)
        want = outcome(call, *args)
        for x in [] if isinstance(want, Refusal) else tree_leaves(want):
            if not isinstance(x, (np.ndarray, np.generic, *_PYTHON)):
                yield Difference("class", type(x).__name__, "numpy", size)
        results = {"jit": outcome(jit(call), *args), "device": outcome(call, *map(device_put, args))}
        for name, got in results.items():
            for difference in between(got, want, ulps, row, args):
                if not (difference.kind == "class" and name == "device" and row.makes):
                    yield replace(difference, evaluator=name, size=size)


def between(got: Value, want: Value, ulps: float, row: Row, args: Sequence[Value]) -> Iterator[Difference]:
    """Yield the differences of two outcomes."""
    if isinstance(got, Refusal) or isinstance(want, Refusal):
        yield from of_refusals(got, want)
        return
    (xs, tree), (ys, expected) = tree_flatten(got), tree_flatten(want)
    if tree != expected:
        yield Difference("structure", f"{tree} for {expected}")
        return
    for x, y in zip(xs, ys):
        if not isinstance(x, Array):
            if type(x) is not type(y) or not isinstance(x, _PYTHON):
                yield Difference("class", f"{type(x).__name__} for {type(y).__name__}")
            elif x != y and x == x:
                yield Difference("value", f"{x!r} for {y!r}")
        elif typeof(x).strip_weak_type() != typeof(y).strip_weak_type():
            yield Difference("type", f"{typeof(x).str_short()} for {typeof(y).str_short()}")
        else:
            yield from of_values(np.asarray(x), np.asarray(y), ulps, row.by_array, args)


def of_refusals(got: Value, want: Value) -> Iterator[Difference]:
    """Yield the difference of two outcomes, of which at least one is a refusal."""
    errors = [x.error if isinstance(x, Refusal) else None for x in (got, want)]
    text = " for ".join("a value" if x is None else str(Refusal(x)) for x in errors)
    if type(errors[0]) is not type(errors[1]):
        yield Difference("refusal", text)
    elif len({what_is_wrong(x) for x in errors}) == 2:
        yield Difference("message", text)


def what_is_wrong(error: Exception | None) -> str:
    """Return the first sentence of a message without the place of the call, which a compiled program alone may name."""
    message = PLACE.sub("", str(error))
    return re.split(r"(?<=\.)\s", message, maxsplit=1)[0]


def of_values(
    got: np.ndarray, want: np.ndarray, ulps: float, by_array: bool, args: Sequence[Value]
) -> Iterator[Difference]:
    """Yield the first difference of two arrays in a value, and in the sign of a zero, for each kind of operands."""
    is_inexact = dtype_is_inexact(got.dtype)
    unit = float(ml_dtypes.finfo(got.dtype).eps) if is_inexact else 0.0
    wide = np.dtype(complex if got.dtype.kind == "c" else float if is_inexact else got.dtype)
    x, y = got.astype(wide), want.astype(wide)
    with np.errstate(all="ignore"):
        bad = ~(alike(x, y) | (near(x, y, unit * ulps, by_array) if is_inexact else False))
    for kind, mask in (("value", bad), ("zero", ~bad & other_zeros(x, y) if is_inexact else np.zeros(bad.shape, bool))):
        for operands in OPERANDS if mask.any() else ():
            here = mask & (operands_of(args, got.shape) == OPERANDS.index(operands))
            if here.any():
                place = tuple(map(int, np.argwhere(here)[0]))
                text = f"{got.dtype} at {place}: {got[place]!r} for {want[place]!r} ({here.sum()} of {here.size})"
                yield Difference(kind, text, operands=operands)


def operands_of(args: Sequence[Value], shape: tuple[int, ...]) -> np.ndarray:
    """Return the kind of operands, as a place in OPERANDS, of each element of a result.

    These are the elements at the same place; for operands of another shape, all elements.
    """
    kinds = [operand_kinds(np.asarray(x)) for x in args]
    if not shape or any(x.shape not in (shape, ()) for x in kinds):
        return np.full(shape, max((x.max(initial=0) for x in kinds), default=0))
    return np.broadcast_to(np.max([np.broadcast_to(x, shape) for x in kinds], axis=0), shape)


def operand_kinds(x: np.ndarray) -> np.ndarray:
    """Return the kind of each element, as a place in OPERANDS; those of integers and bools are ordinary."""
    if not dtype_is_inexact(x.dtype):
        return np.zeros(x.shape, int)
    components = parts(x.astype(complex if x.dtype.kind == "c" else float))
    has_zero, is_infinite = np.any(np.equal(components, 0), axis=0), ~np.all(np.isfinite(components), axis=0)
    return np.maximum(has_zero * OPERANDS.index("zero"), is_infinite * OPERANDS.index("infinite"))


def parts(x: np.ndarray) -> tuple[np.ndarray, ...]:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def alike(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return where both numbers are equal or nan, in each part."""
    return np.all([(a == b) | ((a != a) & (b != b)) for a, b in zip(parts(x), parts(y))], axis=0)


def near(x: np.ndarray, y: np.ndarray, tolerance: float, by_array: bool) -> np.ndarray:
    """Return where two finite numbers are apart by less than the tolerance of their size, or of the largest one."""
    if x.dtype.kind == "c" and not (np.isfinite(x) & np.isfinite(y)).all():
        each = [(a == b) | ((a != a) & (b != b)) | near(a, b, tolerance, by_array) for a, b in zip(parts(x), parts(y))]
        return np.where(np.isfinite(x) & np.isfinite(y), near(*finite(x, y), tolerance, by_array), np.all(each, axis=0))
    is_finite = np.isfinite(x) & np.isfinite(y)
    size = np.where(is_finite, np.maximum(np.abs(x), np.abs(y)), 0)
    return is_finite & (np.abs(x - y) <= tolerance * (size.max(initial=0) if by_array else size))


def finite(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Return both arrays with zeros where one of them is not finite."""
    return [np.where(np.isfinite(x) & np.isfinite(y), each, 0) for each in (x, y)]


def other_zeros(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return where both numbers have a zero, of two signs."""
    pairs = zip(parts(x), parts(y))
    return np.any([(a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)) for a, b in pairs], axis=0)
