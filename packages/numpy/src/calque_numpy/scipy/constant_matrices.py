"""Matrices that follow from their size alone, by scipy's names.

One idea: integers are computed exactly, as Python's, and must fit the dtype of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

from calque_core import canonicalize_dtype
from calque_core.extend import integer, where

Value = Any

_DOUBLE = np.dtype("float64")
_KINDS = ("symmetric", "lower", "upper")


def _size(name: str, n: Any, least: int = 0) -> int:
    size = integer(name, "n", n)
    if size < least:
        raise ValueError(f"{name}{where()}: n is {size}. Give a size of at least {least}.")
    return size


def _table(name: str, n: int, element: Callable[[int, int], int], dtype: np.dtype[Any]) -> Value:
    """Return the matrix of `element(i, j)` in a dtype, or in the dtype of its kind that the settings allow."""
    dtype = canonicalize_dtype(dtype)
    elements = [[element(i, j) for j in range(n)] for i in range(n)]
    try:
        return np.array(elements, dtype).reshape(n, n)
    except OverflowError:
        advice = "Use a smaller n." if dtype.kind == "f" else "Use exact=False, or a smaller n."
        raise ValueError(f"{name}{where()}: elements for n={n} do not fit {dtype}. {advice}") from None


def _alternating(k: int) -> int:
    return -1 if k % 2 else 1


def hilbert(n: int) -> Value:
    """Return the matrix of 1 / (i + j + 1), which is hard to invert.

    Shapes: -> [n, n].  Dtype: float64.
    Raises: ValueError if `n` is negative.

    >>> from calque_numpy.scipy.linalg import hilbert
    >>> hilbert(2)[1, 0]
    np.float64(0.5)
    """
    rows = np.arange(_size("hilbert", n))
    return (1.0 / (rows[:, None] + rows + 1.0)).astype(canonicalize_dtype(_DOUBLE))


def invhilbert(n: int, exact: bool = False) -> Value:
    """Return the inverse of `hilbert(n)`, whose elements are integers.

    Shapes: -> [n, n].  Dtype: float64; int64 with `exact`.
    Raises: ValueError if `n` is negative, or the elements do not fit the dtype.

    >>> from calque_numpy.scipy.linalg import invhilbert
    >>> invhilbert(2, exact=True)
    array([[ 4, -6],
           [-6, 12]])
    """
    size = _size("invhilbert", n)

    def element(i: int, j: int) -> int:
        binomials = comb(size + i, size - j - 1) * comb(size + j, size - i - 1) * comb(i + j, i) ** 2
        return _alternating(i + j) * (i + j + 1) * binomials

    return _table("invhilbert", size, element, np.dtype("int64") if exact else _DOUBLE)


def pascal(n: int, kind: str = "symmetric", exact: bool = True) -> Value:
    """Return the matrix of the binomial coefficients of i + j and i; for `kind` "lower", of i and j, or its transpose.

    Shapes: -> [n, n].  Dtype: uint64; float64 without `exact`.
    Raises: ValueError if `n` is negative, for another `kind`, or if the elements do not fit the dtype.

    >>> from calque_numpy.scipy.linalg import pascal
    >>> pascal(3)
    array([[1, 1, 1],
           [1, 2, 3],
           [1, 3, 6]], dtype=uint64)
    """
    elements = {
        "symmetric": lambda i, j: comb(i + j, i),
        "lower": comb,
        "upper": lambda i, j: comb(j, i),
    }
    dtype = np.dtype("uint64") if exact else _DOUBLE
    return _table("pascal", _size("pascal", n), elements[_kind("pascal", kind)], dtype)


def _kind(name: str, kind: Any) -> str:
    if kind not in _KINDS:
        raise ValueError(f"{name}{where()}: kind is {kind!r}. Use 'symmetric', 'lower' or 'upper'.")
    return str(kind)


def invpascal(n: int, kind: str = "symmetric", exact: bool = True) -> Value:
    """Return the inverse of `pascal(n, kind)`.

    Shapes: -> [n, n].  Dtype: int64; float64 without `exact`.
    Raises: as `pascal`.

    >>> from calque_numpy.scipy.linalg import invpascal
    >>> invpascal(3, "lower")
    array([[ 1,  0,  0],
           [-1,  1,  0],
           [ 1, -2,  1]])
    """
    size = _size("invpascal", n)
    elements = {
        "symmetric": lambda i, j: _alternating(i + j) * sum(comb(k, i) * comb(k, j) for k in range(max(i, j), size)),
        "lower": lambda i, j: _alternating(i + j) * comb(i, j),
        "upper": lambda i, j: _alternating(i + j) * comb(j, i),
    }
    dtype = np.dtype("int64") if exact else _DOUBLE
    return _table("invpascal", size, elements[_kind("invpascal", kind)], dtype)


def hadamard(n: int, dtype: Any = int) -> Value:
    """Return the symmetric matrix of 1 and -1 whose rows are orthogonal to one another.

    Shapes: -> [n, n].  Dtype: `dtype`; int64 for `int`.
    Raises: ValueError unless `n` is a power of 2.

    >>> from calque_numpy.scipy.linalg import hadamard
    >>> hadamard(2)
    array([[ 1,  1],
           [ 1, -1]])
    """
    size = _size("hadamard", n, 1)
    if size & (size - 1):
        raise ValueError(f"hadamard{where()}: n is {size}, which is no power of 2. Give 1, 2, 4, 8, ...")
    out = np.ones((1, 1), canonicalize_dtype(dtype))
    while len(out) < size:
        out = np.block([[out, out], [out, -out]])
    return out


def helmert(n: int, full: bool = False) -> Value:
    """Return orthonormal rows, of which row k - 1 compares the first k of n numbers with the next one.

    `full` puts a row of equal elements before them, so that the matrix is orthogonal.
    Shapes: -> [n - 1, n], or [n, n] with `full`.  Dtype: float64.
    Raises: ValueError unless `n` is positive.

    >>> from calque_numpy.scipy.linalg import helmert
    >>> helmert(2).round(2)
    array([[ 0.71, -0.71]])
    """
    size = _size("helmert", n, 1)
    counts = np.arange(size)
    rows = np.tri(size, k=-1) - np.diag(counts)
    rows[0] = 1.0
    lengths = np.sqrt(counts * (counts + 1.0))
    lengths[0] = np.sqrt(size)
    out = rows / lengths[:, None]
    return (out if full else out[1:]).astype(canonicalize_dtype(_DOUBLE))


def dft(n: int, scale: str | None = None) -> Value:
    """Return the matrix that transforms a vector as `fft` does.

    `scale="sqrtn"` divides it by the square root of n, so that it is unitary, and "n" by n.
    Shapes: -> [n, n].  Dtype: complex128.
    Raises: ValueError if `n` is negative, or for another `scale`.

    >>> from calque_numpy.scipy.linalg import dft
    >>> dft(2).real.round()
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft{where()}: scale is {scale!r}. Use 'sqrtn', 'n' or None.")
    size = _size("dft", n)
    rows = np.arange(size)
    turns = rows[:, None] * rows % max(size, 1) / max(size, 1)
    divisor = {None: 1.0, "sqrtn": np.sqrt(size), "n": float(size)}[scale]
    return (np.exp(-2j * np.pi * turns) / (divisor or 1.0)).astype(canonicalize_dtype(np.complex128))
