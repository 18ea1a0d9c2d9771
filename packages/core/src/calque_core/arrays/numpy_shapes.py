"""NumPy's functions that move, convert or bound elements, for which arrays have a method of the same name.

One idea: a method and NumPy's function are one function, with NumPy's arguments, so the two cannot differ.

Read next: `methods.py` for the methods whose spelling differs, `numpy_reductions.py`, `numpy_products.py`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.devices import on_device
from calque_core.arrays.numpy_arithmetic import as_dtype
from calque_core.arrays.numpy_protocol import implements, refuse
from calque_core.arrays.numpy_ufuncs import rint
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.axes import Axes, canonical_axes, canonical_axis, integer, one_or_several
from calque_core.ops.operands import check_operands
from calque_core.traces.tracer import copy_of, own_array, view_of
from calque_core.types.array_methods import array_method, array_operation, elementwise_function
from calque_core.types.avals import Shape, is_array_like, typeof
from calque_core.types.dtypes import canonicalize_dtype
from calque_core.types.promotion import can_cast

Value = Any

# Shapes


@implements(np.shape)
def shape(a: Value) -> Shape:
    """Return the sizes of the axes."""
    return typeof(a).shape  # type: ignore[no-any-return]


@implements(np.ndim)
def ndim(a: Value) -> int:
    """Return the number of axes."""
    return len(typeof(a).shape)


@implements(np.size)
def size(a: Value, axis: Axes = None) -> int:
    """Return the number of elements, or the size along `axis`.

    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> print(make_jaxpr(lambda x: (np.size(x), np.size(x, 1)))(np.zeros((2, 3))))
    { lambda ; a:f64[2,3]. let  in (6, 3) }
    """
    sizes = typeof(a).shape
    return math.prod(sizes[position] for position in canonical_axes("size", axis, len(sizes)))


@implements(np.reshape)
def reshape(a: Value, shape: Any = None, order: str = "C", *, copy: bool | None = None) -> Value:
    """Return the elements with another shape; a size of -1 is computed from the other sizes.

    `order` is "C" (the last axis varies fastest) or "F" (the first axis does).  With a true `copy`, operators in place
    on the result leave `a` as it is.
    Raises: ShapeError if the number of elements does not fit; ValueError for another `order`.

    >>> import numpy as np
    >>> from calque_core import eval_shape
    >>> eval_shape(lambda x: np.reshape(x, (2, -1)), np.arange(6))
    ShapeDtypeStruct(shape=(2, 3), dtype=int64)
    """
    sizes = _known_sizes(a, shape)
    if order not in ("C", "F"):  # "A" and "K" depend on the order in memory, which no program knows
        raise ValueError(f"the order of elements{where()} is {order!r}. Use 'C' or 'F'.")
    out = lax.reshape(a, sizes) if order == "C" else transpose(lax.reshape(transpose(a), sizes[::-1]))
    return own_array(a, out) if copy else view_of(a, out)


def _known_sizes(a: Value, shape: Any) -> Shape:
    """Return the new sizes as a tuple, with -1 replaced."""
    sizes = one_or_several("reshape", "shape", shape)
    if sizes.count(-1) != 1:
        return sizes
    product, size = -math.prod(sizes), typeof(a).size  # of the other sizes
    if product <= 0 or size % product:
        raise ShapeError(
            f"reshape of {typeof(a)} to {sizes}{where()}: {size} elements do not fill this shape. The product of the "
            "sizes must divide the number of elements."
        )
    return tuple(size // product if n == -1 else n for n in sizes)


@implements(np.ravel)
@array_operation
def ravel(a: Value, order: str = "C") -> Value:
    """Return the elements along one axis, in the order of `reshape`."""
    return reshape(a, (-1,) if typeof(a).size else (0,), order)


@implements(np.transpose)
def transpose(a: Value, axes: Any = None) -> Value:
    """Return the array with its axes in the order `axes`; in reverse order for None.  One axis may be an integer.

    Raises: ValueError if `axes` does not name each axis once.

    >>> import numpy as np
    >>> from calque_core import eval_shape
    >>> eval_shape(lambda x: np.transpose(x, (1, 0, -1)), np.zeros((2, 3, 4)))
    ShapeDtypeStruct(shape=(3, 2, 4), dtype=float64)
    """
    n = len(typeof(a).shape)
    if axes is None:
        return view_of(a, lax.transpose(a, range(n)[::-1]))
    axes = (axes,) if is_array_like(axes) and not typeof(axes).ndim else axes
    return view_of(a, lax.transpose(a, [canonical_axis("transpose", axis, n) for axis in axes]))


@implements(np.swapaxes)
@array_operation
def swapaxes(a: Value, axis1: int, axis2: int) -> Value:
    """Return the array with two axes exchanged.

    >>> import numpy as np
    >>> from calque_core import eval_shape
    >>> eval_shape(lambda x: np.swapaxes(x, 0, -1), np.zeros((2, 3, 4)))
    ShapeDtypeStruct(shape=(4, 3, 2), dtype=float64)
    """
    n = len(typeof(a).shape)
    one, other = canonical_axis("swapaxes", axis1, n), canonical_axis("swapaxes", axis2, n)
    order = list(range(n))
    order[one], order[other] = other, one
    return view_of(a, lax.transpose(a, order))


@implements(np.squeeze)
@array_operation
def squeeze(a: Value, axis: Axes = None) -> Value:
    """Return the array without the axes in `axis`, which have size 1; for None, without all such axes.

    Raises: ValueError if an axis in `axis` has another size.

    >>> import numpy as np
    >>> from calque_core import eval_shape
    >>> eval_shape(np.squeeze, np.zeros((1, 3, 1)))
    ShapeDtypeStruct(shape=(3,), dtype=float64)
    """
    if axis is None:
        axis = tuple(position for position, n in enumerate(typeof(a).shape) if n == 1)
    return view_of(a, lax.squeeze(a, axis))


# Elements


@array_operation
def astype(
    x: Value,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: Any = None,
) -> Value:
    """Return the array in another dtype; `order` and `subok` are about memory, and have no effect here.

    Without `copy`, an array that has the dtype is returned unchanged, so that operators in place change it.
    As in NumPy, a nonzero number becomes True, and a warning tells of lost imaginary parts.
    Raises: TypeError if `casting` does not allow it, or `dtype` is not a number or bool dtype; ValueError for an
    unknown device.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([1.7])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: x.astype(np.int32))(x))(x)
    [array([1], dtype=int32)]
    """
    old, new = typeof(x).dtype, canonicalize_dtype(dtype)
    if not can_cast(old, new, casting):
        raise TypeError(f"astype{where()} cannot cast {old} to {new} with casting={casting!r}. Use casting='unsafe'.")
    out = _converted(x, old, new)
    return on_device("astype", copy_of(out) if out is x and copy else out, device)


def _converted(x: Value, old: np.dtype[Any], new: np.dtype[Any]) -> Value:
    if old.kind == "c" and new.kind == "b":
        return lax.ne(x, 0)
    if old.kind == "c" and new.kind != "c":
        text = f"astype{where()} from {old} to {new} loses the imaginary part. Use x.real to take the real part."
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=3)
    return lax.convert_element_type(x, new)


@implements(np.copy)
@array_method
def copy(a: Value, order: str = "K", subok: bool = False) -> Value:
    """Return the array as an array of its own: an operator in place on it keeps `a`.

    Raises: ValueError for an `order` other than "C", "F", "A" and "K".
    """
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"copy{where()}: the order of elements is {order!r}. Use 'C', 'F', 'A' or 'K'.")
    return a.copy() if isinstance(a, np.ndarray) else copy_of(a)


@implements(np.clip)
@array_operation
@elementwise_function
def clip(a: Value, a_min: Value = None, a_max: Value = None, out: None = None, **bounds: Any) -> Value:
    """Return the elements; an element outside the bounds becomes the nearer bound.  A bound may be None.

    Dtype: promoted; a Python number `a` has the default dtype of its kind.  The bounds may also be `min=` and `max=`.
    Raises: TypeError for complex numbers, `out`, and options that apply only to arrays in memory.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([-1.0, 0.5, 2.0])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.clip(x, 0.0, 1.0))(x))(x)
    [array([0. , 0.5, 1. ])]
    """
    if (a_min is not None and "min" in bounds) or (a_max is not None and "max" in bounds):
        raise ValueError(f"clip{where()} got one bound twice, by position and by min= or max=. Pass it once.")
    low, high = bounds.pop("min", a_min), bounds.pop("max", a_max)
    refuse("clip", out=out, **bounds)
    check_operands("clip", *[x for x in (a, low, high) if x is not None])
    aval = typeof(a)
    a = lax.convert_element_type(a, aval.dtype) if aval.weak_type else a  # NumPy makes an array of `a`, not of a bound
    a = a if low is None else lax.max(a, low)
    return a if high is None else lax.min(a, high)


@implements(np.round, np.around)
@array_operation
def round(a: Value, decimals: int = 0, out: None = None) -> Value:
    """Return the nearest number of `decimals` decimals, ties to even.

    Dtype: kept; integers stay as they are, or with a negative number of decimals are rounded as float64.
    Raises: TypeError for `out`; with a negative number of decimals for bools, and with 32 bits for integers.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([0.125, 2.5])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: (np.round(x, 1), np.round(x)))(x))(x)
    [array([0.1, 2.5]), array([0., 2.])]
    """
    refuse("round", out=out)
    decimals, kind = integer("round", "decimals", decimals), typeof(a).kind
    if decimals and kind == "b":
        raise TypeError(f"round of {typeof(a)}{where()} to {decimals} decimals. Convert it to float first.")
    if kind in "iu":
        return a if decimals >= 0 else _round_integers(a, decimals)
    if decimals == 0:
        return rint(a)
    return _round_floats(a, decimals)


def _round_floats(a: Value, decimals: int) -> Value:
    if typeof(a).kind == "c":
        return lax.complex(_round_floats(lax.real(a), decimals), _round_floats(lax.imag(a), decimals))
    dtype = typeof(a).dtype
    if dtype.itemsize < 4:  # a power of ten may exceed the range
        return as_dtype(_round_floats(as_dtype(a, np.dtype(np.float32)), decimals), dtype)
    most = int(math.log10(np.finfo(dtype).max)) - 1  # so that 1 / 10**most is a normal number, too
    if abs(decimals) > most:  # each float has fewer decimals, or is less than half of 10**-decimals
        return lax.stop_gradient(a) if decimals > 0 else _rounded_to_zero(a)
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return lax.mul(rint(lax.div(a, scale)), scale)
    has_decimals = lax.lt(lax.abs(a), 2.0 ** (np.finfo(dtype).nmant + 1) / scale)
    scaled = lax.mul(lax.select(has_decimals, a, 0.0), scale)  # that of a large number overflows
    return lax.select(has_decimals, lax.div(rint(scaled), scale), lax.stop_gradient(a))


def _rounded_to_zero(a: Value) -> Value:
    """Return zeros with the signs of the elements; infinities and NaN stay."""
    return lax.select(lax.is_finite(a), rint(lax.mul(lax.div(a, np.finfo(typeof(a).dtype).max), 0.25)), a)


def _round_integers(a: Value, decimals: int) -> Value:
    """Return integers rounded to tens by floats, as in NumPy; float32 would lose digits.

    A result beyond the range of 8 or 16 bits wraps, in compiled code too: its conversion is from int64.
    Raises: TypeError where there are only 32 bits.
    """
    wide = canonicalize_dtype(np.float64)
    if wide.itemsize < 8:
        raise TypeError(f"round of {typeof(a)}{where()} to {decimals} decimals. Convert it to float first.")
    dtype, rounded = typeof(a).dtype, round(as_dtype(a, wide), decimals)
    return as_dtype(rounded if dtype.itemsize > 2 else as_dtype(rounded, np.dtype(np.int64)), dtype)
