"""Convolutions and correlations of arrays of any rank, by scipy's names.

One idea: the full convolution is `lax.conv_general_dilated`, or a product of Fourier transforms; the other modes are
its middle.

Read next: `periodograms.py`, for spectra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, result_type, typeof
from calque_core.engine import kind_of, scalar_dtype
from calque_core.engine.numpy_functions import as_dtype, canonical_axis, conjugate
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.padding import pad
from calque_numpy.rearranging import flip
from calque_numpy.transforms import fftn, ifftn, irfftn, rfftn
from calque_signal import conv_general_dilated

Value = Any
Shape = tuple[int, ...]

_MODES = ("full", "same", "valid")
_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve(in1: Value, in2: Value, mode: str = "full", method: str = "auto") -> Value:
    """Return the convolution: the sums of in1[i] in2[n - i], over all axes.

    The mode "same" gives the middle of the full convolution, with the sizes of `in1`; "valid" gives the sums without
    zeros around the arrays.  The method "fft" is `fftconvolve`; "auto" and "direct" add products.
    Shapes: in1 [*n], in2 [*m] -> [*(n + m - 1)] by "full".  Dtype: promoted.
    Raises: ShapeError for different ranks, or if neither array contains the other for "valid"; ValueError for an empty
    array, another mode or method.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import convolve
    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]), mode="same")
    array([1. , 2.5, 4. ])
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"convolve{place()}: method is {method!r}. Use 'auto', 'direct' or 'fft'.")
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    x, y = _operands("convolve", in1, in2, mode)
    return _middle("convolve", _full(x, y), typeof(x).shape, typeof(y).shape, mode)


def correlate(in1: Value, in2: Value, mode: str = "full", method: str = "auto") -> Value:
    """Return the cross-correlation: `convolve` of `in1` with the conjugate of `in2` in reverse order.

    Shapes, dtypes and errors: as `convolve`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import correlate
    >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))
    array([0.5, 2. , 3.5, 3. , 0. ])
    """
    return convolve(in1, conjugate(flip(asarray(in2))), mode, method)


def fftconvolve(in1: Value, in2: Value, mode: str = "full", axes: int | Sequence[int] | None = None) -> Value:
    """Return the convolution by Fourier transforms, over all axes or `axes`; along other axes arrays broadcast.

    Shapes and errors: as `convolve`.  Dtype: promoted; float64 for integers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import fftconvolve
    >>> np.round(fftconvolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])), 12) + 0.0
    array([0., 1., 2., 3.])
    """
    x, y = _operands("fftconvolve", in1, in2, mode)
    dtype = typeof(x).dtype if kind_of(typeof(x).dtype) not in "biu" else scalar_dtype(float)
    x, y, ndim = as_dtype(x, dtype), as_dtype(y, dtype), typeof(x).ndim
    chosen = range(ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    places = [canonical_axis("fftconvolve", axis, ndim) for axis in chosen]
    shapes = typeof(x).shape, typeof(y).shape
    if not places:
        return x * y
    full = [shapes[0][d] + shapes[1][d] - 1 for d in places]
    forward, back = (fftn, ifftn) if dtype.kind == "c" else (rfftn, irfftn)
    out = back(forward(x, full, places) * forward(y, full, places), full, places)
    return as_dtype(_middle("fftconvolve", out, *shapes, mode, places), dtype)


def convolve2d(in1: Value, in2: Value, mode: str = "full", boundary: str = "fill", fillvalue: Value = 0) -> Value:
    """Return the convolution of two matrices, the first continued at its edges.

    The boundary "fill" continues it by `fillvalue`, "wrap" repeats it, "symm" reflects it.
    Shapes, dtypes and errors: as `convolve`.
    Raises: ShapeError unless both are matrices; ValueError for another boundary.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import convolve2d
    >>> convolve2d(np.eye(2), np.ones((1, 2)), mode="same", boundary="wrap")
    array([[1., 1.],
           [1., 1.]])
    """
    x, y = _operands("convolve2d", in1, in2, mode)
    if typeof(x).ndim != 2 or boundary not in _BOUNDARIES:
        if typeof(x).ndim != 2:
            raise ShapeError(f"convolve2d of {typeof(x)} and {typeof(y)}{place()}: they are no matrices. Use convolve.")
        raise ValueError(f"convolve2d{place()}: boundary is {boundary!r}. Use 'fill', 'wrap' or 'symm'.")
    shapes = typeof(x).shape, typeof(y).shape
    if mode == "valid":
        return _middle("convolve2d", _full(x, y), *shapes, mode)
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    wide = pad(x, [(m - 1, m - 1) for m in shapes[1]], _BOUNDARIES[boundary], **options)
    out = _middle("convolve2d", _full(wide, y), typeof(wide).shape, shapes[1], "valid")
    return _middle("convolve2d", out, *shapes, mode)


def correlate2d(in1: Value, in2: Value, mode: str = "full", boundary: str = "fill", fillvalue: Value = 0) -> Value:
    """Return the cross-correlation of two matrices: `convolve2d` with the conjugate of `in2` in reverse order.

    Shapes, dtypes and errors: as `convolve2d`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import correlate2d
    >>> correlate2d(np.eye(2), np.array([[1.0, 2.0]]), mode="valid")
    array([[1.],
           [2.]])
    """
    reverse = convolve2d(flip(asarray(in1)), conjugate(asarray(in2)), mode, boundary, fillvalue)
    return flip(reverse)  # so that "same" of an even size has SciPy's middle


def _operands(name: str, in1: Value, in2: Value, mode: str) -> tuple[Value, Value]:
    """Return two arrays of one dtype.  Raises: see `convolve`."""
    x, y = asarray(in1), asarray(in2)
    x_aval, y_aval = typeof(x), typeof(y)
    if mode not in _MODES:
        raise ValueError(f"{name}{place()}: mode is {mode!r}. Use 'full', 'same' or 'valid'.")
    if x_aval.ndim != y_aval.ndim:
        raise ShapeError(f"{name} of {x_aval} and {y_aval}{place()}: their ranks differ. Give as many axes.")
    if not x_aval.size or not y_aval.size:
        raise ValueError(f"{name} of {x_aval} and {y_aval}{place()}: an array is empty. Give elements.")
    dtype = result_type(x_aval.dtype, y_aval.dtype)
    dtype = np.dtype("int32") if kind_of(dtype) == "b" else dtype
    return as_dtype(x, dtype), as_dtype(y, dtype)


def _full(x: Value, y: Value) -> Value:
    shape, window = typeof(x).shape, typeof(y).shape
    out = conv_general_dilated(
        lax.reshape(x, (1, 1, *shape)),
        lax.reshape(lax.rev(y, tuple(range(len(window)))), (1, 1, *window)),
        (1,) * len(shape),
        [(m - 1, m - 1) for m in window],
        precision=lax.Precision.HIGHEST,
    )
    return lax.reshape(out, typeof(out).shape[2:])


def _middle(name: str, full: Value, first: Shape, second: Shape, mode: str, axes: Sequence[int] | None = None) -> Value:
    """Return the middle of the full convolution of arrays with these shapes; along `axes` only, if they are given."""
    if mode == "full":
        return full
    axes = range(len(first)) if axes is None else axes
    if mode == "valid" and not (_contains(first, second, axes) or _contains(second, first, axes)):
        raise ShapeError(
            f"{name} of shapes {first} and {second}{place()}: neither contains the other. Use 'same' or 'full'."
        )
    starts, shape = [0] * len(first), list(typeof(full).shape)
    for d in axes:
        size = first[d] if mode == "same" else abs(first[d] - second[d]) + 1
        starts[d], shape[d] = (shape[d] - size) // 2, size
    return lax.slice(full, starts, [start + size for start, size in zip(starts, shape, strict=True)])


def _contains(larger: Shape, smaller: Shape, axes: Sequence[int]) -> bool:
    return all(larger[d] >= smaller[d] for d in axes)
