"""Sums of products: the contraction that includes matrix, inner, outer and batched products.

One idea: evaluation brings the operands to [batch, free, contracted] and [batch, contracted, free], by views where
possible, and then calls `matmul`, which uses the BLAS; batches of vectors alone need no order of axes, but `vecdot`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.operands import check_dtypes
from calque_core.ops.reductions.dot_algorithms import DotAlgorithmPreset, algorithm_dtypes, algorithm_of
from calque_core.ops.reductions.precision import Precision, PrecisionLike, ProductPrecision, stated_precision
from calque_core.ops.shapes.axes import canonical_axis, integers
from calque_core.ops.shapes.create import dtype_argument
from calque_core.ops.shapes.shape import of_one_dtype
from calque_core.primitives.primitive import Primitive
from calque_core.types.array_methods import in_every_size
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import REGISTERED, dtype_name
from calque_core.types.limits import wide_dtype
from calque_core.types.promotion import can_cast

Value = Any
Params = dict[str, Any]
DotDimensionNumbers = tuple[tuple[Shape, Shape], tuple[Shape, Shape]]
StatedDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]

dot_general_p = in_every_size("code")(Primitive("dot_general", linearity="bilinear"))


@dot_general_p.def_abstract_eval(cached=True)
def dot_general_abstract_eval(
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: ProductPrecision | None,
    preferred_element_type: np.dtype[Any] | None,
) -> ShapedArray:
    check_product_dtypes("dot_general", lhs_aval, rhs_aval, preferred_element_type)
    _check_pairs(lhs_aval, rhs_aval, dimension_numbers)
    plan = _plan(lhs_aval.ndim, rhs_aval.ndim, dimension_numbers)
    of_lhs = [lhs_aval.shape[d] for d in (*dimension_numbers[1][0], *plan.lhs_free)]
    of_rhs = [rhs_aval.shape[d] for d in plan.rhs_free]
    dtype = lhs_aval.dtype if preferred_element_type is None else preferred_element_type
    return shaped_array((*of_lhs, *of_rhs), dtype)


def check_product_dtypes(
    name: str, lhs_aval: ShapedArray, rhs_aval: ShapedArray, preferred: np.dtype[Any] | None
) -> None:
    """Check that the operands of `name` have one dtype and that sums in `preferred` keep all of it.

    Raises: TypeError.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import check_product_dtypes
    >>> check_product_dtypes("outer", typeof(np.ones(3)), typeof(np.ones(2)), np.dtype("float32"))
    """
    if lhs_aval.dtype != rhs_aval.dtype:
        raise TypeError(f"{_call(name, lhs_aval, rhs_aval)}: the dtypes differ. Convert one of the operands first.")
    if preferred is not None and not can_cast(lhs_aval.dtype, preferred, "same_kind"):
        raise TypeError(
            f"{_call(name, lhs_aval, rhs_aval)}: sums in {dtype_name(preferred)} lose information of the products. Use "
            "a dtype of the operands' kind."
        )


def _check_pairs(lhs_aval: ShapedArray, rhs_aval: ShapedArray, dimension_numbers: DotDimensionNumbers) -> None:
    for kind, (lhs_axes, rhs_axes) in zip(("contracting", "batch"), dimension_numbers):
        lhs_sizes = tuple([lhs_aval.shape[d] for d in lhs_axes])  # lists: half of the time
        rhs_sizes = tuple([rhs_aval.shape[d] for d in rhs_axes])
        if lhs_sizes != rhs_sizes:
            raise ShapeError(
                f"{_call('dot_general', lhs_aval, rhs_aval)}: the {kind} axes {lhs_axes} and {rhs_axes} have sizes "
                f"{lhs_sizes} and {rhs_sizes}. Pair axes of equal size."
            )


def _call(name: str, lhs_aval: ShapedArray, rhs_aval: ShapedArray) -> str:
    return f"{name} of {lhs_aval} and {rhs_aval}{where()}"


class _Plan:
    """The order of axes that `matmul` needs, for operands of ranks `lhs_ndim` and `rhs_ndim`."""

    __slots__ = ("is_matmul", "is_vecdot", "lhs_free", "lhs_order", "n_batch", "n_contract", "rhs_free", "rhs_order")

    def __init__(self, lhs_ndim: int, rhs_ndim: int, dimension_numbers: DotDimensionNumbers) -> None:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
        self.n_batch, self.n_contract = len(lhs_batch), len(lhs_contract)
        self.lhs_free = tuple(d for d in range(lhs_ndim) if d not in lhs_contract and d not in lhs_batch)
        self.rhs_free = tuple(d for d in range(rhs_ndim) if d not in rhs_contract and d not in rhs_batch)
        self.lhs_order = (*lhs_batch, *self.lhs_free, *lhs_contract)
        self.rhs_order = (*rhs_batch, *rhs_contract, *self.rhs_free)
        n_free = (len(self.lhs_free), len(self.rhs_free))
        is_in_order = self.lhs_order == tuple(range(lhs_ndim)) and self.rhs_order == tuple(range(rhs_ndim))
        self.is_matmul = (
            is_in_order and self.n_contract == 1 and (n_free == (1, 1) or (not lhs_batch and max(n_free) <= 1))
        )
        self.is_vecdot = is_in_order and self.n_contract == 1 and n_free == (0, 0) and not self.is_matmul


@lru_cache(maxsize=4096)
def _plan(lhs_ndim: int, rhs_ndim: int, dimension_numbers: DotDimensionNumbers) -> _Plan:
    return _Plan(lhs_ndim, rhs_ndim, dimension_numbers)


def dot_general_impl(
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: ProductPrecision | None,
    preferred_element_type: np.dtype[Any] | None,
) -> Value:
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    plan = _plan(lhs.ndim, rhs.ndim, dimension_numbers)
    if preferred_element_type is None and lhs.dtype.isbuiltin != REGISTERED:
        product = _numpy_product(plan, lhs.dtype)
        return _contract(lhs, rhs, plan) if product is None else product(lhs, rhs)
    dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    wide = sum_dtype(lhs.dtype, dtype)
    lhs, rhs = lhs.astype(wide, copy=False), rhs.astype(wide, copy=False)
    return _contract(lhs, rhs, plan).astype(dtype, copy=False)


def _numpy_product(plan: _Plan, dtype: np.dtype[Any]) -> Callable[[Value, Value], Value] | None:
    """Return the function of NumPy that is the product of a plan; None if there is none."""
    if plan.is_vecdot and dtype.kind in "fiu":  # it conjugates complex numbers
        return np.vecdot  # 1 us less than `matmul` of matrices of one row and one column
    return np.matmul if plan.is_matmul else None


def dot_general_impl_for_types(
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: ProductPrecision | None,
    preferred_element_type: np.dtype[Any] | None,
) -> Callable[[Value, Value], Value] | None:
    is_plain = preferred_element_type is None and lhs_aval.dtype.isbuiltin != REGISTERED
    if not is_plain:
        return None
    if not (lhs_aval.shape and rhs_aval.shape):
        return np.multiply if lhs_aval.shape or rhs_aval.shape else None
    plan = _plan(lhs_aval.ndim, rhs_aval.ndim, dimension_numbers)
    return _numpy_product(plan, lhs_aval.dtype) or partial(_contract, plan=plan)


@cache  # the name of a dtype takes 5 us
def sum_dtype(operand: np.dtype[Any], result: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype for sums of products: the wider dtype, for short dtypes at least their wider one.

    >>> import numpy as np
    >>> from calque_core.engine import sum_dtype
    >>> sum_dtype(np.dtype("float32"), np.dtype("float64"))
    dtype('float64')
    """
    dtypes = [wide_dtype(dtype) if dtype.isbuiltin == REGISTERED else dtype for dtype in (operand, result)]
    return np.result_type(*dtypes)


def _contract(lhs: Value, rhs: Value, plan: _Plan) -> Value:
    lhs, rhs = lhs.transpose(plan.lhs_order), rhs.transpose(plan.rhs_order)
    lhs_shape, rhs_shape, out_shape = _matrix_shapes(lhs.shape, rhs.shape, plan.n_batch, plan.n_contract)
    return np.matmul(lhs.reshape(lhs_shape), rhs.reshape(rhs_shape)).reshape(out_shape)[()]


@lru_cache(maxsize=4096)
def _matrix_shapes(lhs: Shape, rhs: Shape, n_batch: int, n_contract: int) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of two operands in the order of `_Plan` as matrices, and the shape of their product."""
    batch, contract = lhs[:n_batch], rhs[n_batch : n_batch + n_contract]
    lhs_free, rhs_free = lhs[n_batch : len(lhs) - n_contract], rhs[n_batch + n_contract :]
    n = prod(contract)
    return (*batch, prod(lhs_free), n), (*batch, n, prod(rhs_free)), batch + lhs_free + rhs_free


dot_general_p.def_impl(dot_general_impl, leaf=True, for_types=dot_general_impl_for_types, makes_arrays=True)


@dot_general_p.def_pp
def dot_general_pp(params: Params) -> Params:
    """Leave the precision out unless the program states one."""
    return {name: value for name, value in params.items() if name != "precision" or value is not None}


def dot_general(
    lhs: Value,
    rhs: Value,
    dimension_numbers: StatedDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the sums of products of `lhs` and `rhs` over paired axes.

    `dimension_numbers` is ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)); contracted axes are summed
    over, batch axes are kept side by side.
    `precision` is one `Precision` or its name, or one per operand; None is that of `config.default_matmul_precision`,
    by default the highest, so that accelerators give the values that evaluation gives.  It may be a `DotAlgorithm`, a
    `DotAlgorithmPreset` or its name, too: the operands are converted to what it reads, and the sums to the result.
    Shapes: lhs [batch, contracted, m], rhs [batch, contracted, n], in any order of axes -> [*batch, *m, *n].
    Dtype: promoted, or `preferred_element_type`; sums are computed in the wider of the two.
    Raises: ShapeError if paired axes differ in size or number; ValueError if an axis is out of range or named twice, or
    for an unknown precision; TypeError if `preferred_element_type` would drop fractions or imaginary parts.

    >>> import numpy as np
    >>> from calque_core.lax import dot_general
    >>> dot_general(np.eye(2), np.array([3.0, 4.0]), (((1,), (0,)), ((), ())))
    array([3., 4.])
    """
    lhs, rhs = of_one_dtype("dot_general", lhs, rhs)
    preferred, algorithm = optional_dtype(preferred_element_type), algorithm_of(precision)
    if algorithm is DotAlgorithmPreset.DEFAULT:
        return dot_general(lhs, rhs, dimension_numbers, Precision.DEFAULT, preferred)
    if algorithm is None:
        return _product(lhs, rhs, dimension_numbers, stated_precision("dot_general", precision), preferred)
    operand = typeof(lhs).dtype
    result = operand if preferred is None else preferred
    read, sums = algorithm_dtypes("dot_general", algorithm, operand, result)
    lhs, rhs = convert_element_type(lhs, read), convert_element_type(rhs, read)
    return convert_element_type(_product(lhs, rhs, dimension_numbers, algorithm, sums), result)


def _product(
    lhs: Value, rhs: Value, numbers: StatedDimensionNumbers, precision: ProductPrecision | None, preferred: Any
) -> Value:
    lhs_aval, rhs_aval = typeof(lhs), typeof(rhs)
    params: Params = {
        "dimension_numbers": canonical_dimensions(lhs_aval.ndim, rhs_aval.ndim, numbers),
        "precision": precision,
        "preferred_element_type": preferred,
    }
    dot_general_p.abstract(lhs_aval, rhs_aval, **params)
    return dot_general_p.bind(lhs, rhs, **params)


def optional_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return the argument `preferred_element_type` as a dtype, or None."""
    return None if dtype is None else dtype_argument(dtype)


def canonical_dimensions(lhs_ndim: int, rhs_ndim: int, numbers: StatedDimensionNumbers) -> DotDimensionNumbers:
    """Return the dimension numbers as tuples of non-negative integers; from a cache if they are tuples already."""
    try:
        hash(numbers)
    except TypeError:
        return _canonical_dimensions_of.__wrapped__(lhs_ndim, rhs_ndim, numbers)
    return _canonical_dimensions_of(lhs_ndim, rhs_ndim, numbers)


@lru_cache(maxsize=4096)
def _canonical_dimensions_of(lhs_ndim: int, rhs_ndim: int, numbers: StatedDimensionNumbers) -> DotDimensionNumbers:
    try:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    except (TypeError, ValueError):
        raise ValueError(
            f"dot_general{where()}: dimension_numbers is {numbers!r}. "
            "Give ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), each a sequence of axes."
        ) from None
    lhs_contract, lhs_batch = _canonical_side("lhs", lhs_ndim, lhs_contract, lhs_batch)
    rhs_contract, rhs_batch = _canonical_side("rhs", rhs_ndim, rhs_contract, rhs_batch)
    return (lhs_contract, rhs_contract), (lhs_batch, rhs_batch)


def _canonical_side(side: str, ndim: int, contract: Sequence[int], batch: Sequence[int]) -> tuple[Shape, Shape]:
    contract, batch = (
        tuple(canonical_axis("dot_general", d, ndim) for d in integers("dot_general", "dimension_numbers", axes))
        for axes in (contract, batch)
    )
    if len({*contract, *batch}) != len(contract) + len(batch):
        raise ValueError(
            f"dot_general{where()}: {side}, with ndim {ndim}, has contracting axes {contract} and batch axes {batch}. "
            "Name each axis once."
        )
    return contract, batch


def dot(
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: StatedDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the product of vectors and matrices: the sum over the last axis of `lhs` and the first axis of `rhs`.

    With `dimension_numbers` it is `dot_general`, whose other arguments it has.
    Shapes: lhs [k] or [m, k], rhs [k] or [k, n] -> [], [m], [n] or [m, n].
    Dtype: promoted, or `preferred_element_type`.
    Raises: ShapeError if the operands are not vectors or matrices, or their sizes differ.

    >>> import numpy as np
    >>> from calque_core.lax import dot
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    np.float64(11.0)
    """
    check_dtypes("dot", (typeof(lhs), typeof(rhs)))
    if dimension_numbers is None:
        dimension_numbers = _vector_or_matrix_dimensions(typeof(lhs), typeof(rhs))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def _vector_or_matrix_dimensions(lhs_aval: ShapedArray, rhs_aval: ShapedArray) -> DotDimensionNumbers:
    if not (1 <= lhs_aval.ndim <= 2 and 1 <= rhs_aval.ndim <= 2) or lhs_aval.shape[-1] != rhs_aval.shape[0]:
        raise ShapeError(
            f"dot of {lhs_aval} and {rhs_aval}{where()}: the shapes do not fit. Give vectors "
            "or matrices where the last axis of the first has the size of the second's first axis, or name the axes in "
            "dimension_numbers."
        )
    return ((lhs_aval.ndim - 1,), (0,)), ((), ())


def batch_matmul(lhs: Value, rhs: Value, precision: PrecisionLike = None) -> Value:
    """Return the products of matrices in the last two axes; the other axes are equal in both operands.

    `precision` is as for `dot_general`.
    Shapes: lhs [*b, m, k], rhs [*b, k, n] -> [*b, m, n].  Dtype: promoted.
    Raises: ShapeError if the operands have different numbers of axes, fewer than two, or sizes that differ.

    >>> import numpy as np
    >>> from calque_core.lax import batch_matmul
    >>> batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    lhs_aval, rhs_aval = typeof(lhs), typeof(rhs)
    ndim = lhs_aval.ndim
    if ndim != rhs_aval.ndim or ndim < 2:
        raise ShapeError(
            f"batch_matmul of {lhs_aval} and {rhs_aval}{where()}: the numbers of axes do not fit. Give arrays with "
            "the same number of axes, two or more."
        )
    batch = tuple(range(ndim - 2))
    return dot_general(lhs, rhs, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision)
