"""Names of `jax.numpy` that differ from calque's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

import calque.lax as clax
import calque.numpy as cnp
from calque_as_jax.keys import Key, KeyDtype
from calque_as_jax.values import Array, NoSharding, to_arrays, with_arrays
from calque_core import typeof

__all__ = [
    "ComplexWarning", "asarray", "astype", "c_", "convolve", "correlate", "cumprod", "cumsum", "einsum", "load",
    "mgrid", "ndarray", "ogrid", "polyder", "polymul", "r_", "reciprocal", "result_type", "take", "take_along_axis",
    "vectorize",
]  # fmt: skip

ndarray = Array
ComplexWarning = np.exceptions.ComplexWarning

_divide = with_arrays(cnp.divide, keeps_weak=True)
_einsum = with_arrays(cnp.einsum)
_astype = with_arrays(cnp.astype)
_asarray = with_arrays(cnp.asarray, keeps_weak=True)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **_: Any) -> Any:
    """Return an array, a number or a list of these as a device array.

    >>> asarray([1, 2])
    Array([1, 2], dtype=int32)
    """
    del order, copy
    return _asarray(a) if dtype is None else _asarray(a, dtype)


class Indexed:
    """An object that makes arrays of what stands in its brackets: they are device arrays.

    >>> r_[1:3, 5]
    Array([1, 2, 5], dtype=int32)
    """

    def __init__(self, maker: Any) -> None:
        self.maker = maker

    def __getitem__(self, index: Any) -> Any:
        return to_arrays(self.maker[index])


c_, mgrid, ogrid, r_ = (Indexed(maker) for maker in (cnp.c_, cnp.mgrid, cnp.ogrid, cnp.r_))


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose operands that are integers become floats first."""
    make = with_arrays(function)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return make(*map(_floating, args[:2]), *args[2:], **options)

    call.__module__ = "jax.numpy"  # pickled by the name there
    return call


def _floating(x: Any) -> Any:
    is_integer = not isinstance(x, (str, int)) and typeof(cnp.asarray(x)).kind in "biu"
    return cnp.asarray(x) * 1.0 if is_integer else x


convolve, correlate = _of_floats(cnp.convolve), _of_floats(cnp.correlate)
polyder, polymul = _of_floats(cnp.polyder), _of_floats(cnp.polymul)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return an array in another dtype; keys have their own alone.

    >>> astype(np.array([1.5, 2.5]), int)
    Array([1, 2], dtype=int32)
    """
    del copy, device
    return x.astype(dtype) if isinstance(x, Key) else _astype(x, dtype)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running sums, in the dtype of the operand; bools are summed as integers.

    >>> cumsum(np.array([1, 2], np.int8))
    Array([1, 3], dtype=int8)
    """
    return to_arrays(cnp.cumsum(a, axis, _running_dtype(a, dtype)))


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running products, in the dtype of the operand; bools are multiplied as integers."""
    return to_arrays(cnp.cumprod(a, axis, _running_dtype(a, dtype)))


def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: Any = None, fill_value: Any = None, **_: Any
) -> Any:
    """Return the elements at indices; an index out of bounds gives NaN, or `fill_value`, unless `mode` says otherwise.

    >>> take(np.array([1.0, 2.0]), [1, 5])
    Array([ 2., nan], dtype=float32)
    """
    return to_arrays(cnp.take(a, indices, axis, mode=mode or "fill", fill_value=fill_value))


def take_along_axis(
    arr: Any, indices: Any, axis: int | None = -1, mode: Any = None, fill_value: Any = None, **options: Any
) -> Any:
    """Return the elements whose positions along an axis `indices` has; out of bounds as `take` does."""
    return to_arrays(cnp.take_along_axis(arr, indices, axis, mode or "fill", fill_value, **options))


def _running_dtype(a: Any, dtype: Any) -> Any:
    return dtype if dtype is not None or typeof(a).kind == "b" else typeof(a).dtype


def reciprocal(x: Any) -> Any:
    """Return 1 / x, a float for integers, too.

    >>> reciprocal(2)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return _divide(1, x)


def load(file: Any, *args: Any, **options: Any) -> Any:
    """Return the array of one of NumPy's files on a device, or an archive of arrays as NumPy has it."""
    return to_arrays(np.load(file, *args, **options))


def einsum(*operands: Any, _dot_general: Any = None, out_sharding: Any = None, **options: Any) -> Any:
    """Return sums of products of the operands' elements.  Raises: NotImplementedError for a product of one's own.

    >>> einsum("i,i->", [1, 2], [3, 4])
    Array(11, dtype=int32)
    """
    if _dot_general is not None and getattr(_dot_general, "__wrapped__", _dot_general) is not clax.dot_general:
        raise NotImplementedError(f"einsum got _dot_general={_dot_general}. Leave it out, or write the products.")
    if out_sharding is not None and type(out_sharding) is not NoSharding:
        raise NotImplementedError(f"einsum got out_sharding={out_sharding}. Use jax.lax.with_sharding_constraint.")
    labels, arrow, result = operands[0].partition("->") if isinstance(operands[0], str) else ("", "", "")
    if arrow and "..." in labels and "..." not in result:  # jax sums the axes that '...' names
        out = _einsum(f"{labels}->...{result}", *operands[1:], **options)
        return out.sum(axis=tuple(range(out.ndim - len(result.replace(" ", "")))))
    return _einsum(*operands, **options)


def result_type(*args: Any) -> Any:
    """Return the dtype to which the operands promote; that of keys for one array of keys.

    >>> result_type(1.0, np.int8(1))
    dtype('float32')
    """
    dtype = getattr(args[0], "dtype", args[0]) if len(args) == 1 else None
    return dtype if isinstance(dtype, KeyDtype) else cnp.result_type(*args)


def vectorize(pyfunc: Any, *, excluded: Any = frozenset(), signature: str | None = None) -> Any:
    """Return a function of elements as one of arrays; its results are device arrays."""
    mapped = cnp.vectorize(pyfunc, excluded=excluded, signature=signature)
    return lambda *args, **kwargs: to_arrays(mapped(*args, **kwargs))
