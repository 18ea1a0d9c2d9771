"""Running reductions: each element combined with all elements before it along one axis.

One idea: evaluation is NumPy's sequential `accumulate`; all transformations see an `associative_scan`, whose number of
parallel steps is the logarithm of the length.  Half precision is combined in single precision.

Read next: `reduce.py`, the reductions of a whole axis.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from calque_core.ops.calls.mapping import associative_scan
from calque_core.ops.elementwise.arithmetic import add, max, min, mul
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import ANY, FLOAT, NUMBER, undefined_message
from calque_core.ops.elementwise.exponential import log_add_exp
from calque_core.ops.reductions.reduce import reduce_prod_p, reduced_shape
from calque_core.ops.shapes.axes import canonical_axis
from calque_core.ops.shapes.create import full
from calque_core.ops.shapes.shape import reshape, slice
from calque_core.primitives.primitive import Linearity, Primitive
from calque_core.types.array_methods import in_every_size
from calque_core.types.avals import Shape, ShapedArray, typeof
from calque_core.types.dtypes import native_dtype
from calque_core.types.limits import wide_dtype

Value = Any
Combine = Callable[[Value, Value], Value]


def _declare(name: str, kinds: str, combine: Combine, ufunc: np.ufunc, linearity: Linearity | None = None) -> Primitive:
    primitive = Primitive(name, linearity=linearity)

    @primitive.def_abstract_eval(cached=True)
    def abstract_eval(x_aval: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if x_aval.kind not in kinds:
            raise TypeError(undefined_message(name, x_aval))
        return x_aval.strip_weak_type()

    def impl(x: Value, *, axis: int, reverse: bool) -> Value:
        x = np.flip(x, axis) if reverse else np.asarray(x)
        out = ufunc.accumulate(x, axis, dtype=wide_dtype(x.dtype)).astype(native_dtype(x.dtype), copy=False)
        return np.flip(out, axis) if reverse else out

    def decomposition(x: Value, *, axis: int, reverse: bool) -> Value:
        dtype = typeof(x).dtype
        wide = convert_element_type(x, wide_dtype(dtype))
        return convert_element_type(associative_scan(combine, wide, reverse=reverse, axis=axis), dtype)

    primitive.def_impl(impl, leaf=True, makes_arrays=True)
    primitive.def_rule("decomposition", decomposition)
    return primitive


cumsum_p = in_every_size("code")(_declare("cumsum", NUMBER, add, np.add, linearity="linear"))
cumprod_p = _declare("cumprod", NUMBER, mul, np.multiply)
cummax_p = _declare("cummax", ANY, max, np.maximum)
cummin_p = _declare("cummin", ANY, min, np.minimum)
cumlogsumexp_p = _declare("cumlogsumexp", FLOAT, log_add_exp, np.logaddexp)


def _accumulate(primitive: Primitive, operand: Value, axis: int, reverse: bool) -> Value:
    aval = typeof(operand)
    position = canonical_axis(primitive.name, axis, aval.ndim)
    primitive.abstract(aval, axis=position, reverse=bool(reverse))
    return primitive.bind(operand, axis=position, reverse=bool(reverse))


def cumsum(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the running sum along `axis`, from the end if `reverse`.

    Shapes: operand [*s] -> [*s].  Dtype: kept.
    Raises: ValueError if the axis is out of range; TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import cumsum
    >>> cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    return _accumulate(cumsum_p, operand, axis, reverse)


def cumprod(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the running product along `axis`, from the end if `reverse`.

    Shapes: operand [*s] -> [*s].  Dtype: kept.
    Raises: ValueError if the axis is out of range; TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import cumprod
    >>> cumprod(np.array([1.0, 2.0, 3.0]), reverse=True)
    array([6., 6., 3.])
    """
    return _accumulate(cumprod_p, operand, axis, reverse)


def cummax(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the running maximum along `axis`, from the end if `reverse`.  NaN wins.

    Shapes: operand [*s] -> [*s].  Dtype: kept; complex numbers are compared by the real part first.
    Raises: ValueError if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import cummax
    >>> cummax(np.array([2, 1, 3]))
    array([2, 2, 3])
    """
    return _accumulate(cummax_p, operand, axis, reverse)


def cummin(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the running minimum along `axis`, from the end if `reverse`.  NaN wins.

    Shapes: operand [*s] -> [*s].  Dtype: kept; complex numbers are compared by the real part first.
    Raises: ValueError if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import cummin
    >>> cummin(np.array([2, 1, 3]), reverse=True)
    array([1, 1, 3])
    """
    return _accumulate(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return the logarithm of the running sum of exponentials along `axis`, from the end if `reverse`.

    Shapes: operand [*s] -> [*s].  Dtype: kept.
    Raises: ValueError if the axis is out of range; TypeError unless `operand` is a real float.

    >>> import numpy as np
    >>> from calque_core.lax import cumlogsumexp
    >>> cumlogsumexp(np.array([1000.0, 1000.0]))
    array([1000.        , 1000.69314718])
    """
    return _accumulate(cumlogsumexp_p, operand, axis, reverse)


# A product, for transformations that have no rule of their own


@reduce_prod_p.def_rule("decomposition")
def reduce_prod_decomposition(x: Value, *, axes: Shape, keepdims: bool = False) -> Value:
    """Return the last of the running products."""
    aval = typeof(x)
    out_shape = reduced_shape(aval.shape, axes, keepdims)
    kept = [d for d in range(aval.ndim) if d not in axes]
    sizes = [aval.shape[d] for d in kept]
    count = prod(aval.shape[d] for d in axes)
    if not count:
        return full(out_shape, 1, aval.dtype)
    products = cumprod(reshape(x, (*sizes, count), (*kept, *axes)), len(kept))
    last = slice(products, (*[0] * len(kept), count - 1), (*sizes, count))
    return reshape(last, out_shape)
