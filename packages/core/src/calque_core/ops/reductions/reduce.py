"""Reductions: one value for all elements along some axes.

They keep the dtype; NumPy's wider sums of bools and small integers belong to the array functions.  An empty axis gives
the identity of the operation; `argmax` and `argmin`, which have no identity, refuse it.  An equation has the parameter
`keepdims` only where it is true, so a rule that knows `axes` alone serves every other reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.ops.elementwise.declare import ANY, BITS, NUMBER, as_result, undefined_message
from calque_core.ops.shapes.axes import Axes, canonical_axes, canonical_axis
from calque_core.ops.shapes.create import dtype_argument
from calque_core.primitives.primitive import ImplForTypes, Linearity, Primitive, bind_checked
from calque_core.types.array_methods import in_every_size
from calque_core.types.avals import Shape, ShapedArray, shaped_array, short_repr, typeof
from calque_core.types.dtypes import dtype_name, kind_of, native_dtype
from calque_core.types.limits import highest, iinfo, lowest, wide_dtype

Value = Any

_BOOL = np.dtype(bool)


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool = False) -> Shape:
    """Return `shape` without the axes `axes`; with `keepdims` they have size 1.

    >>> from calque_core.engine import reduced_shape
    >>> reduced_shape((2, 3, 4), (0, 2)), reduced_shape((2, 3, 4), (0, 2), keepdims=True)
    ((3,), (1, 3, 1))
    """
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


Impls = tuple[Callable[..., Value], ImplForTypes]
"""The evaluation of a reduction, and the one for known types."""


def _declare(name: str, kinds: str, impls: Impls, linearity: Linearity | None = None) -> Primitive:
    primitive = Primitive(name, linearity=linearity)

    @primitive.def_abstract_eval(cached=True)
    def abstract_eval(x_aval: ShapedArray, *, axes: Shape, keepdims: bool = False) -> ShapedArray:
        if x_aval.kind not in kinds:
            raise TypeError(undefined_message(name, x_aval))
        return shaped_array(reduced_shape(x_aval.shape, axes, keepdims), x_aval.dtype)

    primitive.def_impl(impls[0], leaf=True, for_types=impls[1], makes_arrays=True)
    return primitive


def _reduce(primitive: Primitive, operand: Value, axis: Axes, keepdims: bool) -> Value:
    """Bind a reduction over canonical axes, its dtype checked by the type rule; over no axes it is the identity."""
    aval = typeof(operand)
    axes = canonical_axes(primitive.name, axis, aval.ndim)
    params: dict[str, Any] = {"axes": axes}
    if keepdims is not False and _is_true(primitive.name, keepdims):
        params["keepdims"] = True
    primitive.abstract(aval, **params)
    return primitive.bind(operand, **params) if axes else as_result(operand)


def _is_true(name: str, keepdims: Any) -> bool:
    if not isinstance(keepdims, (bool, np.bool_, int)):
        raise TypeError(f"{name}{where()}: keepdims is {short_repr(keepdims)}. Give True or False.")
    return bool(keepdims)


Identity = Callable[[np.dtype[Any]], Value] | None


def _in_its_dtype(ufunc: np.ufunc, identity: Identity = None) -> Impls:
    def impl(x: Value, *, axes: Shape, keepdims: bool = False) -> Value:
        x = np.asarray(x)
        options = _options(x.dtype, identity, keepdims)
        wide = options["dtype"]
        if wide == x.dtype:
            return ufunc.reduce(x, axes, **options)
        return ufunc.reduce(x.astype(wide), axes, **options).astype(native_dtype(x.dtype))

    def impl_for_types(x_aval: ShapedArray, *, axes: Shape, keepdims: bool = False) -> Callable[..., Value] | None:
        options = _options(x_aval.dtype, identity, keepdims)
        return partial(ufunc.reduce, axis=axes, **options) if options["dtype"] == x_aval.dtype else None

    return impl, impl_for_types


@cache  # 1 us for the identity, and 0.3 us for the dtype
def _options(dtype: np.dtype[Any], identity: Identity, keepdims: bool) -> dict[str, Any]:
    """Return NumPy's options: the dtype of the sum for arrays of `dtype`, the result for no elements if it has none."""
    options: dict[str, Any] = {"dtype": wide_dtype(dtype)}
    if identity is not None:
        options["initial"] = identity(dtype).astype(options["dtype"])
    return {**options, "keepdims": True} if keepdims else options


def _bitwise(on_bools: np.ufunc, on_integers: np.ufunc) -> Impls:
    bools, integers = _in_its_dtype(on_bools), _in_its_dtype(on_integers)

    def impl(x: Value, **params: Any) -> Value:
        return (bools if np.asarray(x).dtype == _BOOL else integers)[0](x, **params)

    def impl_for_types(x_aval: ShapedArray, **params: Any) -> Callable[..., Value] | None:
        return (bools if x_aval.dtype == _BOOL else integers)[1](x_aval, **params)

    return impl, impl_for_types


reduce_sum_p = _declare("reduce_sum", NUMBER, _in_its_dtype(np.add), linearity="linear")
in_every_size(reduce_sum_p)(reduce_sum_p)
reduce_prod_p = _declare("reduce_prod", NUMBER, _in_its_dtype(np.multiply))
reduce_max_p = in_every_size("code")(_declare("reduce_max", ANY, _in_its_dtype(np.maximum, lowest)))
reduce_min_p = in_every_size("code")(_declare("reduce_min", ANY, _in_its_dtype(np.minimum, highest)))
reduce_and_p = _declare("reduce_and", BITS, _bitwise(np.logical_and, np.bitwise_and), linearity="constant")
reduce_or_p = _declare("reduce_or", BITS, _bitwise(np.logical_or, np.bitwise_or), linearity="constant")
reduce_xor_p = _declare("reduce_xor", BITS, _bitwise(np.logical_xor, np.bitwise_xor), linearity="constant")


def reduce_sum(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the sum along `axis`: one axis, several, or all of them for None.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Raises: ValueError if an axis is out of range or named twice; TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_sum
    >>> reduce_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    >>> reduce_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0, keepdims=True)
    array([[4., 6.]])
    """
    return _reduce(reduce_sum_p, operand, axis, keepdims)


def reduce_prod(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the product along `axis`: one axis, several, or all of them for None.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Raises: ValueError if an axis is out of range or named twice; TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_prod
    >>> reduce_prod(np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
    array([3., 8.])
    """
    return _reduce(reduce_prod_p, operand, axis, keepdims)


def reduce_max(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the greatest element along `axis`: one axis, several, or all of them for None.  NaN wins.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Of no elements: -inf, or the dtype's least number.
    Complex numbers are compared by the real part first.
    Raises: ValueError if an axis is out of range or named twice.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_max
    >>> reduce_max(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([2., 4.])
    """
    return _reduce(reduce_max_p, operand, axis, keepdims)


def reduce_min(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the least element along `axis`: one axis, several, or all of them for None.  NaN wins.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Of no elements: inf, or the dtype's greatest number.
    Complex numbers are compared by the real part first.
    Raises: ValueError if an axis is out of range or named twice.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_min
    >>> reduce_min(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([1., 3.])
    """
    return _reduce(reduce_min_p, operand, axis, keepdims)


def reduce_and(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Tell whether all elements along `axis` hold; on integers, the bitwise and.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Raises: ValueError if an axis is out of range or named twice; TypeError for floats and complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_and
    >>> reduce_and(np.array([True, False]))
    np.False_
    """
    return _reduce(reduce_and_p, operand, axis, keepdims)


def reduce_or(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Tell whether any element along `axis` holds; on integers, the bitwise or.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Raises: ValueError if an axis is out of range or named twice; TypeError for floats and complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_or
    >>> reduce_or(np.array([True, False]))
    np.True_
    """
    return _reduce(reduce_or_p, operand, axis, keepdims)


def reduce_xor(operand: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the bitwise exclusive or along `axis`; for bools, whether an odd number of them are true.

    Shapes: operand [*s] -> [*s without the axes]; with `keepdims` they have size 1.  Dtype: kept.
    Raises: ValueError if an axis is out of range or named twice; TypeError for floats and complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import reduce_xor
    >>> reduce_xor(np.array([6, 3]))
    np.int64(5)
    """
    return _reduce(reduce_xor_p, operand, axis, keepdims)


# Positions of extreme elements


def _declare_arg(name: str, numpy_function: Callable[..., Value]) -> Primitive:
    primitive = Primitive(name, linearity="constant")

    @primitive.def_abstract_eval(cached=True)
    def abstract_eval(x_aval: ShapedArray, *, axes: Shape, index_dtype: np.dtype[Any]) -> ShapedArray:
        (axis,) = axes
        size = x_aval.shape[axis]
        if kind_of(index_dtype) not in "iu" or size - 1 > iinfo(index_dtype).max:
            raise TypeError(
                f"{name} of {x_aval}{where()}: {dtype_name(index_dtype)} cannot hold the indices along axis {axis} of "
                f"size {size}. Use a wider integer dtype."
            )
        if size == 0:
            raise ValueError(f"{name} of {x_aval}{where()}: axis {axis} is empty. Give an axis with elements.")
        return shaped_array(reduced_shape(x_aval.shape, axes), index_dtype)

    def impl(x: Value, *, axes: Shape, index_dtype: np.dtype[Any]) -> Value:
        return numpy_function(x, axes[0]).astype(index_dtype)

    primitive.def_impl(impl, leaf=True)
    return primitive


argmax_p = _declare_arg("argmax", np.argmax)
argmin_p = _declare_arg("argmin", np.argmin)


def argmax(operand: Value, axis: int, index_dtype: Any = int) -> Value:
    """Return the position of the greatest element along `axis`, the first of several; the first NaN if there is one.

    Shapes: operand [*a, n, *b] -> [*a, *b].  Dtype: `index_dtype`.
    Complex numbers are compared by the real part first.
    Raises: ValueError if the axis is out of range or empty; TypeError if `index_dtype` is not an integer dtype that
    holds the positions.

    >>> import numpy as np
    >>> from calque_core.lax import argmax
    >>> argmax(np.array([1.0, 3.0, 2.0]), 0)
    np.int64(1)
    """
    return _arg(argmax_p, operand, axis, index_dtype)


def argmin(operand: Value, axis: int, index_dtype: Any = int) -> Value:
    """Return the position of the least element along `axis`, the first of several; the first NaN if there is one.

    Shapes: operand [*a, n, *b] -> [*a, *b].  Dtype: `index_dtype`.
    Complex numbers are compared by the real part first.
    Raises: ValueError if the axis is out of range or empty; TypeError if `index_dtype` is not an integer dtype that
    holds the positions.

    >>> import numpy as np
    >>> from calque_core.lax import argmin
    >>> argmin(np.array([3.0, 1.0, 2.0]), 0)
    np.int64(1)
    """
    return _arg(argmin_p, operand, axis, index_dtype)


def _arg(primitive: Primitive, operand: Value, axis: int, index_dtype: Any) -> Value:
    position = canonical_axis(primitive.name, axis, typeof(operand).ndim)
    params = {"axes": (position,), "index_dtype": dtype_argument(index_dtype)}
    return bind_checked(primitive, operand, **params)
