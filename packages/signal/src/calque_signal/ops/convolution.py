"""Convolution: sums of products of a kernel with the windows of an array, in any layout.

One idea: everything that the user may write in several ways (layout, padding, strides) is made canonical once, in
`conv_general_dilated`; the rules get positions of axes and one number or pair per spatial axis.

Read next: `paddings.py`, the arithmetic of windows; `convolution_products.py`, the evaluation; `convolution_forms.py`,
the special cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, lax, typeof
from calque_core.engine import check_product_dtypes, stated_precision, sum_dtype
from calque_core.engine.numpy_functions import dtype_argument
from calque_core.extend import Shape, integer, late_function, of_one_dtype, shaped_array, where
from calque_core.lax import PrecisionLike, Precisions
from calque_signal.ops.convolution_layouts import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    layout_text,
    sizes_of,
)
from calque_signal.ops.convolution_products import Slide, convolve, windows_of
from calque_signal.ops.paddings import (
    Pads,
    PadsLike,
    canonical_pads,
    dilated_shape,
    padded_shape,
    positive_per_axis,
    window_counts,
)

Value = Any
Params = dict[str, Any]

_NAME = "conv_general_dilated"
_patches = late_function("calque_signal.ops.convolution_forms", "conv_general_dilated_patches")
conv_general_dilated_p = Primitive("conv_general_dilated", linearity="bilinear")


@conv_general_dilated_p.def_abstract_eval(cached=True)
def conv_general_dilated_abstract_eval(  # noqa: PLR0913 -- JAX's parameters
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    *,
    window_strides: Shape,
    padding: Pads,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Precisions | None,
    preferred_element_type: np.dtype[Any] | None,
) -> ShapedArray:
    check_product_dtypes(_NAME, lhs_aval, rhs_aval, preferred_element_type)
    misfit = _misfit(lhs_aval, rhs_aval, dimension_numbers, feature_group_count, batch_group_count)
    if misfit is not None:
        raise ShapeError(f"{_call(lhs_aval, rhs_aval, dimension_numbers)}: {misfit}")
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    shape, window = sizes_of(lhs_aval.shape, lhs_spec[2:]), sizes_of(rhs_aval.shape, rhs_spec[2:])
    padded = padded_shape(shape, padding, lhs_dilation)
    if 0 in window or min(padded, default=0) < 0:
        raise ShapeError(
            f"{_call(lhs_aval, rhs_aval, dimension_numbers)}: the kernel has spatial sizes {window}, and the operand "
            f"{padded} after padding by {padding}. Give a kernel of 1 or more, and cut no more than there is."
        )
    counts = window_counts(shape, window, window_strides, padding, lhs_dilation, rhs_dilation)
    sizes = (lhs_aval.shape[lhs_spec[0]] // batch_group_count, rhs_aval.shape[rhs_spec[0]], *counts)
    dtype = lhs_aval.dtype if preferred_element_type is None else preferred_element_type
    return shaped_array(tuple(sizes[out_spec.index(axis)] for axis in range(lhs_aval.ndim)), dtype)


def _misfit(
    lhs_aval: ShapedArray, rhs_aval: ShapedArray, numbers: ConvDimensionNumbers, feature_groups: int, batch_groups: int
) -> str | None:
    """Return a sentence about sizes that do not fit each other or the groups, or None."""
    batch, features = sizes_of(lhs_aval.shape, numbers.lhs_spec[:2])
    out_features, in_features = sizes_of(rhs_aval.shape, numbers.rhs_spec[:2])
    groups = max(feature_groups, batch_groups)
    if min(feature_groups, batch_groups) != 1:
        return (
            f"feature_group_count is {feature_groups} and batch_group_count is {batch_groups}. Give counts of 1 or "
            "more, of which one is 1."
        )
    if features != in_features * feature_groups:
        return (
            f"the operand has {features} features, but the kernel has {in_features} for each of the {feature_groups} "
            "feature groups. Give an operand with as many features as all groups have."
        )
    if out_features % groups:
        return f"the kernel has {out_features} features of the result for {groups} groups. Give a multiple of {groups}."
    if batch % batch_groups:
        return f"the batch has {batch} elements for {batch_groups} groups. Give a multiple of {batch_groups}."
    return None


def _call(lhs_aval: ShapedArray, rhs_aval: ShapedArray, numbers: ConvDimensionNumbers) -> str:
    return f"{_NAME} of {lhs_aval} and {rhs_aval} in the layout {layout_text(numbers)}{where()}"


def conv_general_dilated_impl(  # noqa: PLR0913 -- JAX's parameters
    lhs: Value,
    rhs: Value,
    *,
    window_strides: Shape,
    padding: Pads,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Precisions | None,
    preferred_element_type: np.dtype[Any] | None,
) -> Value:
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    wide = sum_dtype(lhs.dtype, dtype)
    lhs, rhs = lhs.astype(wide, copy=False), rhs.astype(wide, copy=False)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    slide = Slide(window_strides, padding, lhs_dilation, rhs_dilation)
    windows = windows_of(lhs, lhs_spec, sizes_of(rhs.shape, rhs_spec[2:]), slide)
    out = convolve(windows, rhs.transpose(rhs_spec), feature_group_count, batch_group_count)
    return out.transpose([out_spec.index(axis) for axis in range(lhs.ndim)]).astype(dtype, copy=False)


conv_general_dilated_p.def_impl(conv_general_dilated_impl, leaf=True)


@conv_general_dilated_p.def_rule("decomposition")
def conv_general_dilated_decomposition(  # noqa: PLR0913 -- JAX's parameters
    lhs: Value,
    rhs: Value,
    *,
    window_strides: Shape,
    padding: Pads,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Precisions | None,
    preferred_element_type: np.dtype[Any] | None,
) -> Value:
    """Write it as a product of the windows and the kernel: for transformations without a rule of their own.

    The windows are [groups, batch, features * window, *places], the kernel is [groups, features, features * window].
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = feature_group_count * batch_group_count
    kernel = lax.transpose(rhs, rhs_spec)
    (features, *_), window = kernel.shape, kernel.shape[2:]
    slide = (window_strides, padding, lhs_dilation, rhs_dilation)
    patches = _patches(lax.transpose(lhs, lhs_spec), window, *slide)
    batch, count, *places = patches.shape
    if batch_group_count > 1:
        windows = lax.reshape(patches, (groups, batch // groups, count, *places))
    else:
        grouped = lax.reshape(patches, (batch, groups, count // groups, *places))
        windows = lax.transpose(grouped, (1, 0, *range(2, grouped.ndim)))
    taps = lax.reshape(kernel, (groups, features // groups, windows.shape[2]))
    numbers = (((2,), (2,)), ((0,), (0,)))
    out = lax.dot_general(windows, taps, numbers, precision, preferred_element_type)
    axes = range(2, out.ndim - 1)  # those of places; the last axis counts the features of a group
    out = lax.transpose(out, (1, 0, out.ndim - 1, *axes))
    out = lax.reshape(out, (windows.shape[1], features, *places))
    return lax.transpose(out, [out_spec.index(axis) for axis in range(out.ndim)])


@conv_general_dilated_p.def_pp
def conv_general_dilated_pp(params: Params) -> Params:
    """Print the layout as words, and the precision if the program states one."""
    shown = {name: value for name, value in params.items() if name != "precision" or value is not None}
    return shown | {"dimension_numbers": layout_text(params["dimension_numbers"])}


def conv_general_dilated(  # noqa: PLR0913, PLR0917 -- JAX's parameters
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: PadsLike,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the sums of products of the kernel `rhs` with the windows of `lhs`, for each element of the batch.

    `dimension_numbers` says which axis is which, as for `conv_dimension_numbers`; the default is ("NCHW", "OIHW",
    "NCHW").  All sequences have one entry per spatial axis, in the order of the kernel's word.  `padding` is "VALID",
    "SAME", "SAME_LOWER", or pairs (low, high), where negative numbers cut.  A dilation of d puts d - 1 zeros between
    neighbours: `lhs_dilation` in the operand, `rhs_dilation` in the kernel.  The kernel is not reversed.
    `feature_group_count` cuts the features into groups, each with its part of the kernel's output features;
    `batch_group_count` does so with the batch.
    `precision` and `preferred_element_type` are as for `dot_general`.
    Shapes: lhs [n, c, *s], rhs [o, c / feature groups, *k], in any order of axes -> [n / batch groups, o, *windows].
    Dtype: promoted, or `preferred_element_type`; sums are computed in the wider of the two, short floats in float32.
    Raises: ShapeError for shapes that do not fit each other or the groups; ValueError for a layout, a padding, strides
    or dilations that are none, or for a named padding of a dilated operand; TypeError if `preferred_element_type` would
    drop fractions or imaginary parts.

    >>> import numpy as np
    >>> from calque_signal import conv_general_dilated
    >>> image, kernel = np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, 10.0]]])
    >>> conv_general_dilated(image, kernel, (2,), "VALID")
    array([[[10., 32.]]])
    """
    lhs, rhs = of_one_dtype(_NAME, lhs, rhs)
    lhs_aval, rhs_aval = typeof(lhs), typeof(rhs)
    numbers = conv_dimension_numbers(lhs_aval.shape, rhs_aval.shape, dimension_numbers)
    shape, window = sizes_of(lhs_aval.shape, numbers.lhs_spec[2:]), sizes_of(rhs_aval.shape, numbers.rhs_spec[2:])
    slide = canonical_slide(_NAME, shape, window, window_strides, padding, lhs_dilation, rhs_dilation)
    params: Params = {
        **slide._asdict(),
        "dimension_numbers": numbers,
        "feature_group_count": integer(_NAME, "feature_group_count", feature_group_count),
        "batch_group_count": integer(_NAME, "batch_group_count", batch_group_count),
        "precision": stated_precision(_NAME, precision),
        "preferred_element_type": None if preferred_element_type is None else dtype_argument(preferred_element_type),
    }
    conv_general_dilated_p.abstract(lhs_aval, rhs_aval, **params)
    return conv_general_dilated_p.bind(lhs, rhs, **params)


def canonical_slide(
    name: str,
    shape: Shape,
    window: Shape,
    window_strides: Sequence[int],
    padding: PadsLike,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
) -> Slide:
    """Return the movement of the windows of `name`, from its arguments and the sizes of the spatial axes.

    Raises: ValueError for a padding, strides or dilations that are none, or that do not fit each other.
    """
    strides = positive_per_axis(name, "window_strides", window_strides, len(shape))
    lhs_steps = positive_per_axis(name, "lhs_dilation", lhs_dilation, len(shape))
    rhs_steps = positive_per_axis(name, "rhs_dilation", rhs_dilation, len(shape))
    if isinstance(padding, str) and any(step != 1 for step in lhs_steps):
        raise ValueError(
            f"{name}{where()}: padding is {padding!r} and lhs_dilation is {lhs_steps}. Give pairs (low, high) for a "
            "dilated operand, or use conv_transpose."
        )
    pads = canonical_pads(name, padding, shape, dilated_shape(window, rhs_steps), strides)
    return Slide(strides, pads, lhs_steps, rhs_steps)
