"""Names of `jax.numpy` that differ from calque's."""

from __future__ import annotations

from typing import Any

import numpy as np

import calque.numpy as cnp
from calque_as_jax.values import Array, to_arrays, with_arrays
from calque_core import typeof

__all__ = ["ComplexWarning", "asarray", "cumprod", "cumsum", "ndarray", "reciprocal", "vectorize"]

ndarray = Array
ComplexWarning = np.exceptions.ComplexWarning

_divide = with_arrays(cnp.divide, keeps_weak=True)
_asarray = with_arrays(cnp.asarray, keeps_weak=True)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **_: Any) -> Any:
    """Return an array, a number or a list of these as a device array.

    >>> asarray([1, 2])
    Array([1, 2], dtype=int32)
    """
    del order, copy
    return _asarray(a) if dtype is None else _asarray(a, dtype)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running sums, in the dtype of the operand; bools are summed as integers.

    >>> cumsum(np.array([1, 2], np.int8))
    Array([1, 3], dtype=int8)
    """
    return to_arrays(cnp.cumsum(a, axis, _running_dtype(a, dtype)))


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running products, in the dtype of the operand; bools are multiplied as integers."""
    return to_arrays(cnp.cumprod(a, axis, _running_dtype(a, dtype)))


def _running_dtype(a: Any, dtype: Any) -> Any:
    return dtype if dtype is not None or typeof(a).kind == "b" else typeof(a).dtype


def reciprocal(x: Any) -> Any:
    """Return 1 / x, a float for integers, too.

    >>> reciprocal(2)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return _divide(1, x)


def vectorize(pyfunc: Any, *, excluded: Any = frozenset(), signature: str | None = None) -> Any:
    """Return a function of elements as one of arrays; its results are device arrays."""
    mapped = cnp.vectorize(pyfunc, excluded=excluded, signature=signature)
    return lambda *args, **kwargs: to_arrays(mapped(*args, **kwargs))
