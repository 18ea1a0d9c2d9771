"""The products of all numbers of a row but one: the derivative of a product.

One idea: the running products from both ends need no division, so that a zero does no harm; they take most of the time
of a derivative.  Where no product of some of the numbers can overflow or underflow, the product of all is divided.

Read next: `cumulative.py`, the running products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core.ops.elementwise.arithmetic import mul
from calque_core.ops.reductions.cumulative import cumprod, cumprod_p
from calque_core.ops.shapes.shape import pad
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, typeof
from calque_core.types.limits import finfo, wide_dtype

Value = Any

leave_one_out_products_p = Primitive("leave_one_out_products")


def leave_one_out_products(x: Value, total: Value) -> Value:
    """Return, for each number, the product of all others along the last axis; `total` is the product of all.

    Shapes: x [*s, n], total [*s] -> [*s, n].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_core.engine import leave_one_out_products
    >>> leave_one_out_products(np.array([2.0, 3.0, 0.0]), np.float64(0.0))
    array([0., 0., 6.])
    """
    return leave_one_out_products_p.bind(x, total)


@leave_one_out_products_p.def_abstract_eval
def leave_one_out_products_abstract_eval(x_aval: ShapedArray, total_aval: ShapedArray) -> ShapedArray:
    return x_aval.strip_weak_type()


def leave_one_out_products_impl(x: Value, total: Value) -> Value:
    if _has_normal_products(x):
        return np.divide(np.asarray(total)[..., None], x)
    last, before, after = x.ndim - 1, np.ones_like(x), np.ones_like(x)
    before[..., 1:], after[..., :-1] = x[..., :-1], x[..., 1:]
    return cumprod_p.impl(before, axis=last, reverse=False) * cumprod_p.impl(after, axis=last, reverse=True)


def _has_normal_products(x: Value) -> bool:
    """Tell whether the product of any numbers of a row is a normal number, by the size of the extreme ones."""
    if not x.size or x.dtype != wide_dtype(x.dtype):
        return False
    lowest, highest = _extremes(x)
    if not lowest > 0:
        lowest, highest = _extremes(np.abs(x))
    if not 0 < lowest <= highest < math.inf:
        return False
    info = finfo(x.dtype)
    least, most = (x.shape[-1] * math.log2(bound) for bound in (min(lowest, 1.0), max(highest, 1.0)))
    return bool(least > info.minexp and most < info.maxexp)


def _extremes(x: Value) -> tuple[Value, Value]:
    return np.minimum.reduce(x, None), np.maximum.reduce(x, None)


def leave_one_out_products_decomposition(x: Value, total: Value) -> Value:
    """Return the products of the numbers before and of those after."""
    last = typeof(x).ndim - 1
    return mul(cumprod(_moved(x, 1), last), cumprod(_moved(x, -1), last, reverse=True))


def _moved(x: Value, places: int) -> Value:
    """Return the elements moved along the last axis, with ones in the places that become free."""
    no_axis = [(0, 0, 0)] * (typeof(x).ndim - 1)
    return pad(x, typeof(x).dtype.type(1), [*no_axis, (places, -places, 0)])


leave_one_out_products_p.def_impl(leave_one_out_products_impl, leaf=True, makes_arrays=True)
leave_one_out_products_p.def_rule("decomposition", leave_one_out_products_decomposition)
