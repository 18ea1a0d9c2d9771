"""Calls of public functions on operands of every dtype, for the law that all evaluators agree.

One idea: a row names functions and says once how they are called, `lambda f, x: f(x, axis=0)`; the table gives its
operands, with nan, infinities, zeros of both signs and the extremes of integers among them, in three sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Value = Any
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "int4",
]  # fmt: skip
SIZES = ("many", "one", "none")
FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.25, 3.0, 6.5, -11.5)
COMPLEX = (complex(np.nan, 0), complex(np.inf, -1), complex(0, -np.inf), 0j, complex(-0.0, 0), complex(0, -0.0), 1, -1,
           1j, 0.5 - 2j, -2.25 + 0.5j, 3 + 6.5j)  # fmt: skip


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float8"))


def is_inexact(dtype: np.dtype[Any]) -> bool:
    return is_float(dtype) or dtype.kind == "c"


def specials(dtype: np.dtype[Any]) -> np.ndarray:
    """Return twelve numbers of a dtype at the ends of its range and inside of it."""
    if is_float(dtype):
        return np.array(FLOATS).astype(dtype)
    if dtype.kind == "c":
        return np.array(COMPLEX).astype(dtype)
    if dtype.kind == "b":
        return np.array([True, False, True, True] * 3)
    info = ml_dtypes.iinfo(dtype)
    numbers = [int(info.min), int(info.max), 0, 1, 2, 3, 5, 7, 4, 6, 0, int(info.max) - 1]
    return np.array(numbers, np.int64 if info.min < 0 else np.uint64).astype(dtype)


def finites(dtype: np.dtype[Any]) -> np.ndarray:
    """Return twelve numbers of a dtype near 1, of which some are negative."""
    numbers = np.array([1.5, -0.5, 2.0, 0.75, -1.25, 3.0, 0.25, 1.0, -2.0, 0.5, 1.75, -0.75])
    if dtype.kind == "c":
        return (numbers + 1j * np.roll(numbers, 5)).astype(dtype)
    return (np.abs(numbers) if dtype.kind == "u" else numbers).astype(dtype)


Maker = Callable[[np.dtype[Any], str], Value]


def filled(numbers: Callable[[np.dtype[Any]], np.ndarray], **shapes: tuple[int, ...]) -> Maker:
    """Return a maker of arrays with the numbers in turn, in a shape for each size."""

    def make(dtype: np.dtype[Any], size: str) -> np.ndarray:
        return np.resize(numbers(dtype), shapes[size])

    return make


def positive(dtype: np.dtype[Any]) -> np.ndarray:
    if dtype.kind in "iu" or dtype.name.endswith("int4"):
        return np.arange(1, 13).astype(dtype) % 7 + dtype.type(1)
    return np.abs(finites(dtype)) if dtype.kind not in "bc" else finites(dtype)


def regular(dtype: np.dtype[Any], size: str) -> np.ndarray:
    """Return a matrix far from singular ones."""
    n = {"many": 3, "one": 1, "none": 0}[size]
    x = np.resize(finites(dtype), (n, n))
    return (x.astype(complex if dtype.kind == "c" else float) + 6 * np.eye(n)).astype(dtype)


def hermitian(dtype: np.dtype[Any], size: str) -> np.ndarray:
    x = regular(dtype, size)
    wide = x.astype(complex if dtype.kind == "c" else float)
    return ((wide + wide.conj().T) / 2).astype(dtype)


def sorted_numbers(x: np.ndarray) -> np.ndarray:
    return x[np.argsort(x.astype(float).real if x.dtype.kind != "c" else x)]


def fixed(value: Value) -> Maker:
    """Return the maker of one value, whatever dtype and size are."""
    return lambda dtype, size: value


V = filled(specials, many=(12,), one=(1,), none=(0,))  # a vector
M = filled(specials, many=(3, 4), one=(1, 1), none=(0, 4))  # a matrix
N = filled(specials, many=(4, 3), one=(1, 1), none=(4, 0))  # a matrix that M can be multiplied by
FV = filled(finites, many=(12,), one=(1,), none=(0,))  # finite numbers
FM = filled(finites, many=(3, 4), one=(1, 1), none=(0, 4))
FN = filled(finites, many=(4, 3), one=(1, 1), none=(4, 0))
W = filled(positive, many=(12,), one=(1,), none=(0,))  # positive numbers
C = filled(lambda dtype: np.array([True, False, False]), many=(12,), one=(1,), none=(0,))  # a condition
X = filled(lambda d: np.repeat(specials(d), 12), many=(144,), one=(1,), none=(0,))  # with Y, all pairs
Y = filled(lambda d: np.tile(specials(d), 12), many=(144,), one=(1,), none=(0,))
S = lambda dtype, size: specials(dtype)[5]  # a number
Z = lambda dtype, size: specials(dtype)[4]  # the negative zero of floats
R, H = regular, hermitian
A = lambda dtype, size: sorted_numbers(FV(dtype, size))  # increasing numbers


@dataclass(frozen=True)
class Row:
    """How functions are called, and how far apart their values may be, in units of the last place."""

    call: Callable[..., Value]
    operands: tuple[Maker, ...]
    ulps: float = 4.0
    by_array: bool = False  # in units of the last place of the largest element
    complex_ulps: float = 16.0
    sizes: tuple[str, ...] = SIZES
    makes: bool = False  # the results depend on types alone: beside device arrays they may be NumPy's


Table = dict[str, list[Row]]


def add(table: Table, names: str, call: Callable[..., Value], *operands: Maker, **options: Any) -> None:
    """Give each of the names a row."""
    for name in names.split():
        table.setdefault(name, []).append(Row(call, operands, **options))
