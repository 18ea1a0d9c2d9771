"""Names of `jax.numpy` that differ from calque's."""

from __future__ import annotations

from typing import Any

import numpy as np

import calque.numpy as cnp
from calque_as_jax.values import Array, to_arrays, with_arrays

__all__ = ["ComplexWarning", "asarray", "load", "ndarray", "vectorize"]

ndarray = Array
ComplexWarning = np.exceptions.ComplexWarning

_asarray = with_arrays(cnp.asarray, keeps_weak=True)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **_: Any) -> Any:
    """Return an array, a number or a list of these as a device array.

    >>> asarray([1, 2])
    Array([1, 2], dtype=int32)
    """
    del order, copy
    return _asarray(a) if dtype is None else _asarray(a, dtype)


def load(file: Any, *args: Any, **options: Any) -> Any:
    """Return the array of one of NumPy's files on a device, or an archive of arrays as NumPy has it."""
    return to_arrays(np.load(file, *args, **options))


def vectorize(pyfunc: Any, *, excluded: Any = frozenset(), signature: str | None = None) -> Any:
    """Return a function of elements as one of arrays; its results are device arrays."""
    mapped = cnp.vectorize(pyfunc, excluded=excluded, signature=signature)
    return lambda *args, **kwargs: to_arrays(mapped(*args, **kwargs))
