"""Functions that are special cases of a convolution, and the windows themselves.

Read next: `convolution.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from calque_core import ShapeError, typeof
from calque_core.engine import check_product_dtypes, stated_precision
from calque_core.engine.numpy_functions import dtype_argument, integers
from calque_core.extend import Shape, where
from calque_core.lax import (
    PrecisionLike,
    convert_element_type,
    dot_general,
    pad,
    reshape,
    rev,
    slice,
    stack,
    transpose,
    zeros_like,
)
from calque_signal.ops.convolution import canonical_slide, conv_general_dilated
from calque_signal.ops.convolution_layouts import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    sizes_of,
)
from calque_signal.ops.convolution_products import Slide
from calque_signal.ops.paddings import PadsLike, canonical_pads, dilated_shape, positive_per_axis, window_counts

Value = Any


def conv(
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: PadsLike,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the convolution of `lhs` with the kernel `rhs`.

    The layout is ("NCHW", "OIHW", "NCHW"); the arguments are as for `conv_general_dilated`.
    Shapes: lhs [n, c, *s], rhs [o, c, *k] -> [n, o, *windows].  Dtype: promoted, or `preferred_element_type`.
    Raises: as `conv_general_dilated`.

    >>> import numpy as np
    >>> from calque_signal import conv
    >>> conv(np.ones((1, 2, 4)), np.ones((3, 2, 4)), (1,), "SAME_LOWER").shape
    (1, 3, 4)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(  # noqa: PLR0913, PLR0917 -- JAX's parameters
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: PadsLike,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the convolution of `lhs` with the kernel `rhs`, with gaps in either.

    The layout is ("NCHW", "OIHW", "NCHW"); the arguments are as for `conv_general_dilated`.
    Shapes: lhs [n, c, *s], rhs [o, c, *k] -> [n, o, *windows].  Dtype: promoted, or `preferred_element_type`.
    Raises: as `conv_general_dilated`.

    >>> import numpy as np
    >>> from calque_signal import conv_with_general_padding
    >>> conv_with_general_padding(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (1,), [(1, 1)], (2,), None)
    array([[[1., 1., 1., 1., 1., 1.]]])
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# The transposed convolution

_DEFAULT_LAYOUTS = [("NC", "IO", "NC"), ("NHC", "HIO", "NHC"), ("NHWC", "HWIO", "NHWC"), ("NHWDC", "HWDIO", "NHWDC")]


def conv_transpose(  # noqa: PLR0913, PLR0917 -- JAX's parameters
    lhs: Value,
    rhs: Value,
    strides: Sequence[int],
    padding: PadsLike,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Value:
    """Return the convolution with `strides - 1` zeros between the neighbours of `lhs`, which enlarges an array.

    "SAME" and "VALID" are the padding of the convolution that this one turns back; so are pairs (low, high) with
    `use_consistent_padding`, otherwise they are the padding of the enlarged operand.  With `transpose_kernel` the
    kernel is reversed and its features change places: the result is then the transpose of a convolution with it.
    The default layout is ("NHWC", "HWIO", "NHWC"), for up to three spatial axes.
    `precision` and `preferred_element_type` are as for `dot_general`.
    Shapes: lhs [n, *s, c], rhs [*k, c, o] -> [n, *larger, o]; "SAME" gives s * stride per axis, "VALID" adds
    max(k - stride, 0).
    Dtype: promoted, or `preferred_element_type`.
    Raises: as `conv_general_dilated`; ValueError without a layout for four spatial axes or more.

    >>> import numpy as np
    >>> from calque_signal import conv_transpose
    >>> conv_transpose(np.array([[[1.0], [2.0]]]), np.ones((2, 1, 1)), (2,), "SAME")[0, :, 0]
    array([1., 1., 2., 2.])
    """
    lhs_shape, rhs_shape = typeof(lhs).shape, typeof(rhs).shape
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers or _default_layout(lhs_shape))
    kernel_axes = numbers.rhs_spec[2:]
    steps = positive_per_axis("conv_transpose", "strides", strides, len(kernel_axes))
    gaps = positive_per_axis("conv_transpose", "rhs_dilation", rhs_dilation, len(kernel_axes))
    spans = dilated_shape(sizes_of(rhs_shape, kernel_axes), gaps)
    if isinstance(padding, str) and padding in ("SAME", "VALID"):
        padding = tuple(_PADS_OF_TRANSPOSE[padding](span, step) for span, step in zip(spans, steps))
    elif use_consistent_padding:
        pads = canonical_pads("conv_transpose", padding, sizes_of(lhs_shape, numbers.lhs_spec[2:]), spans, steps)
        padding = tuple((span - 1 - low, span - 1 - high) for span, (low, high) in zip(spans, pads))
    if transpose_kernel:
        rhs = rev(rhs, kernel_axes)
        out_axis, in_axis, *_ = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(in_axis, out_axis, *kernel_axes))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(steps),
        padding,
        steps,
        gaps,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _default_layout(shape: Shape) -> tuple[str, str, str]:
    if not 2 <= len(shape) < 2 + len(_DEFAULT_LAYOUTS):
        raise ShapeError(
            f"conv_transpose of an operand of shape {shape}{where()}: there is a default layout for 0 to "
            f"{len(_DEFAULT_LAYOUTS) - 1} spatial axes. Give dimension_numbers."
        )
    return _DEFAULT_LAYOUTS[len(shape) - 2]


def _same_pads(span: int, stride: int) -> tuple[int, int]:
    """Return the padding that makes n * stride windows on an axis of n elements."""
    total = span + stride - 2
    low = span - 1 if stride > span - 1 else (total + 1) // 2
    return low, total - low


def _valid_pads(span: int, stride: int) -> tuple[int, int]:
    """Return the padding that gives each element of the operand a whole window."""
    return span - 1, stride - 1 + max(span - stride, 0)


_PADS_OF_TRANSPOSE = {"SAME": _same_pads, "VALID": _valid_pads}


# Windows without products


def conv_general_dilated_patches(  # noqa: PLR0913, PLR0917 -- JAX's parameters
    lhs: Value,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: PadsLike,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the windows that a convolution with a kernel of `filter_shape` reads, side by side as features.

    The features of the result are those of `lhs`, and for each all elements of its window, in the order of the kernel's
    spatial axes.  The other arguments are as for `conv_general_dilated`; no element is computed with, so that all keep
    their bits in any precision.
    Shapes: lhs [n, c, *s], in any order of axes -> [n, c * the product of filter_shape, *windows].
    Dtype: kept, or `preferred_element_type`.
    Raises: as `conv_general_dilated`.

    >>> import numpy as np
    >>> from calque_signal import conv_general_dilated_patches
    >>> conv_general_dilated_patches(np.arange(4).reshape(1, 1, 4), (2,), (1,), "VALID")
    array([[[0, 1, 2],
            [1, 2, 3]]])
    """
    name, aval = "conv_general_dilated_patches", typeof(lhs)
    dtype = None if preferred_element_type is None else dtype_argument(preferred_element_type)
    check_product_dtypes(name, aval, aval, dtype)
    stated_precision(name, precision)
    numbers = conv_dimension_numbers(
        aval.shape, (1, 1, *integers(name, "filter_shape", filter_shape)), dimension_numbers
    )
    (_, features, *spatial), shape = numbers.lhs_spec, sizes_of(aval.shape, numbers.lhs_spec[2:])
    window = positive_per_axis(name, "filter_shape", filter_shape, len(shape))
    slide = canonical_slide(name, shape, window, window_strides, padding, lhs_dilation, rhs_dilation)
    places = window_counts(shape, window, *slide)
    padded = _padded(lhs, spatial, slide)
    entries = [
        _strided(padded, spatial, [i * gap for i, gap in zip(entry, slide.rhs_dilation)], places, slide.window_strides)
        for entry in product(*map(range, window))
    ]
    patches = stack(entries, features + 1)  # the features, and beside them the entries of a window
    sizes = list(typeof(entries[0]).shape)
    sizes[features] *= len(entries)
    patches = _in_layout(reshape(patches, sizes), numbers.lhs_spec, numbers.out_spec)
    return patches if dtype is None else convert_element_type(patches, dtype)


def _padded(x: Value, spatial: Sequence[int], slide: Slide) -> Value:
    """Return `x` with zeros around and between the elements of its spatial axes."""
    config = [(0, 0, 0)] * typeof(x).ndim
    for axis, (low, high), step in zip(spatial, slide.padding, slide.lhs_dilation):
        config[axis] = (low, high, step - 1)
    return pad(x, zeros_like(x, shape=()), config)


def _strided(x: Value, axes: Sequence[int], starts: Sequence[int], counts: Shape, strides: Shape) -> Value:
    """Return `counts` elements from `starts` on by `strides`, along some axes."""
    shape = typeof(x).shape
    first, end, step = [0] * len(shape), list(shape), [1] * len(shape)
    for axis, start, count, stride in zip(axes, starts, counts, strides):
        first[axis], end[axis], step[axis] = (start, start + (count - 1) * stride + 1, stride) if count else (0, 0, 1)
    return slice(x, first, end, step)


def _in_layout(x: Value, spec: Shape, new_spec: Shape) -> Value:
    """Return `x`, whose axes are in the order of `spec`, with its axes in the order of `new_spec`."""
    return transpose(x, [axis for _, axis in sorted(zip(new_spec, spec))])


def conv_general_dilated_local(  # noqa: PLR0913, PLR0917 -- JAX's parameters
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: PadsLike,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Value:
    """Return the products of the windows of `lhs` with kernels that differ from place to place.

    The spatial axes of `rhs` are the places of the result; its input features are the features of
    `conv_general_dilated_patches`.  The other arguments are as for `conv_general_dilated`.
    Shapes: lhs [n, c, *s], rhs [o, c * the product of filter_shape, *windows], in any order of axes ->
    [n, o, *windows].
    Dtype: promoted.
    Raises: as `conv_general_dilated`; ShapeError if `rhs` has not one kernel per window.

    >>> import numpy as np
    >>> from calque_signal import conv_general_dilated_local
    >>> kernels = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> conv_general_dilated_local(np.array([[[3.0, 4.0, 5.0]]]), kernels, (1,), "VALID", (2,))
    array([[[3., 5.]]])
    """
    name = "conv_general_dilated_local"
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers
    )
    shape, rhs_aval = typeof(patches).shape, typeof(rhs)
    numbers = conv_dimension_numbers(shape, rhs_aval.shape, dimension_numbers)
    if sizes_of(shape, numbers.out_spec[1:]) != sizes_of(rhs_aval.shape, numbers.rhs_spec[1:]):
        raise ShapeError(
            f"{name} of {typeof(lhs)} and {rhs_aval}{where()}: the windows have {shape[numbers.out_spec[1]]} features "
            f"at {sizes_of(shape, numbers.out_spec[2:])} places. Give a kernel with these sizes of its input features "
            "and its spatial axes."
        )
    pairs = ((numbers.out_spec[1:2], numbers.rhs_spec[1:2]), (numbers.out_spec[2:], numbers.rhs_spec[2:]))
    out = dot_general(patches, rhs, pairs, stated_precision(name, precision))
    n_spatial = len(shape) - 2
    return _in_layout(out, (n_spatial, n_spatial + 1, *range(n_spatial)), numbers.out_spec)
