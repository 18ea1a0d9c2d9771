"""Images of other sizes, by the names of `jax.image`.

One idea: along each axis, the new pixels are the product of a matrix of weights with the old ones.  A weight is a
kernel of the distance between an old pixel and the place of a new one; the weights of a new pixel sum to 1.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from calque_core import ShapeError, ensure_compile_time_eval, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, canonical_axis, integers
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.elementwise import sinc
from calque_numpy.masks import where
from calque_numpy.padding import pad
from calque_numpy.ranges import arange
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.shapes import moveaxis
from calque_numpy.taking import take

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

Value = Any

_NO_WEIGHT = 1.2e-4  # a new pixel with a smaller sum of weights is 0; jax has this number


class ResizeMethod(enum.Enum):
    """The kernels of `resize` and `scale_and_translate`.

    >>> from calque_numpy.image import ResizeMethod
    >>> ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name.  Raises: ValueError, with all names, if there is none."""
        if s not in _METHODS:
            raise ValueError(f"the method of a resize{place()} is {s!r}. Choose one of {', '.join(_METHODS)}.")
        return _METHODS[s]


_METHODS = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
    **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def resize(
    image: Value,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Value:
    """Return the image with another shape; pixels are squares, and the corners of the image stay corners.

    With `antialias`, a kernel is as wide as a new pixel where the image shrinks.  The method "nearest" repeats or
    drops pixels.  `precision` is that of the products with the weights.
    Shapes: image [*s] -> [*shape].  Dtype: kept by "nearest"; otherwise integers become floats.
    Raises: ShapeError if the number of axes differs; ValueError for an unknown method.

    >>> import numpy as np
    >>> from calque_numpy.image import resize
    >>> resize(np.array([0.0, 4.0]), (4,), "linear")
    array([0., 1., 3., 4.])
    """
    image, shape, method = _arguments("resize", image, shape, method)
    sizes = typeof(image).shape
    axes = [axis for axis, size in enumerate(sizes) if size != shape[axis]]
    if method is ResizeMethod.NEAREST:
        for axis in axes:
            new = shape[axis]
            image = take(image, (2 * arange(new) + 1) * sizes[axis] // (2 * new), axis)
        return image
    scale = [max(shape[axis], 1) / sizes[axis] for axis in axes]
    image = as_dtype(image, float_dtype("resize", image, takes_complex=True))
    return _resampled(image, shape, axes, scale, [0.0] * len(axes), _Kernel.of(method, antialias), precision)


def scale_and_translate(  # noqa: PLR0913, PLR0917 -- jax's parameters
    image: Value,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Value,
    translation: Value,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Value:
    """Return the image whose place x along an axis is moved to `scale * x + translation`; 0 outside of the image.

    Places are distances from the edge of the image, in pixels: the middle of the first pixel is at 0.5.  There are
    derivatives by `scale` and `translation`, too.  Read `resize` for `antialias` and `precision`.
    Shapes: image [*s], k axes spatial_dims, scale [k], translation [k] -> [*shape], which may differ from s along
    `spatial_dims`.  Dtype: kept; integers become floats.
    Raises: ShapeError if the shapes do not fit; ValueError for an axis out of range, an unknown method or "nearest".

    >>> import numpy as np
    >>> from calque_numpy.image import scale_and_translate
    >>> scale_and_translate(np.array([1.0, 2.0, 3.0]), (3,), [0], np.array([1.0]), np.array([0.5]), "linear")
    array([1. , 1.5, 2.5])
    """
    image, shape, method = _arguments("scale_and_translate", image, shape, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(f"scale_and_translate{place()} has no method 'nearest'. Use resize, or the method 'linear'.")
    axes = [canonical_axis("scale_and_translate", axis, len(shape)) for axis in spatial_dims]
    scale, translation = asarray(scale), asarray(translation)
    _check_places(image, shape, axes, scale, translation)
    dtype = float_dtype("scale_and_translate", scale, translation)
    scale, translation = ([as_dtype(x[i], dtype) for i in range(len(axes))] for x in (scale, translation))
    image = as_dtype(image, float_dtype("scale_and_translate", image, takes_complex=True))
    return _resampled(image, shape, axes, scale, translation, _Kernel.of(method, antialias), precision)


def _arguments(
    caller: str, image: Value, shape: Sequence[int], method: str | ResizeMethod
) -> tuple[Value, tuple[int, ...], ResizeMethod]:
    """Return the arguments of both functions, converted and checked."""
    image, shape = asarray(image), integers(caller, "shape", shape)
    sizes = typeof(image).shape
    if len(shape) != len(sizes) or min(shape, default=0) < 0 or any(old == 0 and new for old, new in zip(sizes, shape)):
        raise ShapeError(
            f"{caller}{place()}: the image has the shape {sizes}, and the new shape is {shape}. Give a size for each "
            "axis of the image: 0 for an axis without pixels, and never a negative number."
        )
    return image, shape, method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


def _check_places(image: Value, shape: tuple[int, ...], axes: list[int], scale: Value, translation: Value) -> None:
    shapes = [typeof(x).shape for x in (scale, translation)]
    if shapes != [(len(axes),)] * 2 or len(set(axes)) < len(axes):
        raise ShapeError(
            f"scale_and_translate{place()}: the axes {tuple(axes)} have a scale of shape {shapes[0]} and a translation "
            f"of shape {shapes[1]}. Give one number of each for each axis, and name an axis once."
        )
    kept = [i for i, size in enumerate(typeof(image).shape) if i not in axes and size != shape[i]]
    if kept:
        raise ShapeError(
            f"scale_and_translate{place()}: axis {kept[0]} has size {typeof(image).shape[kept[0]]}, the new shape has "
            f"{shape[kept[0]]}, and spatial_dims lacks the axis. Add it to spatial_dims, or keep its size."
        )


# Kernels: functions of the distance of two places, in old pixels, and of the width of a new pixel


def _linear(x: Value, width: Value) -> Value:
    return lax.max(1.0 - x, 0.0)


def _cubic(a: float, x: Value, width: Value) -> Value:
    """Source: Keys (1981), Cubic convolution interpolation, equation 4, with any slope `a` at 1."""
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    return where(x < 1.0, near, where(x < 2.0, far, 0.0))


def _lanczos(radius: float, x: Value, width: Value) -> Value:
    """Source: Duchon (1979), Lanczos filtering in one and two dimensions."""
    return where(x > radius, 0.0, sinc(x) * sinc(x / radius))


def _area(x: Value, width: Value) -> Value:
    """Return the length that an old pixel and a new one share."""
    return lax.max(lax.min(0.5 * (1.0 + width) - x, lax.min(width, 1.0)), 0.0)


class _Kernel(NamedTuple):
    """A kernel; `widens` where a new pixel is wider than an old one; `margin` of repeated pixels around the image."""

    fun: Callable[[Value, Value], Value]
    widens: bool
    margin: int = 0

    @classmethod
    def of(cls, method: ResizeMethod, antialias: bool) -> _Kernel:
        if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
            return cls(partial(_cubic, -0.75), widens=False, margin=2)
        return cls(_KERNELS[method], antialias and method is not ResizeMethod.AREA)


_KERNELS: dict[ResizeMethod, Callable[[Value, Value], Value]] = {
    ResizeMethod.LINEAR: _linear,
    ResizeMethod.LANCZOS3: partial(_lanczos, 3.0),
    ResizeMethod.LANCZOS5: partial(_lanczos, 5.0),
    ResizeMethod.CUBIC: partial(_cubic, -0.5),
    ResizeMethod.CUBIC_PYTORCH: partial(_cubic, -0.5),
    ResizeMethod.AREA: _area,
}


# Products with weights


def _resampled(
    image: Value,
    shape: tuple[int, ...],
    axes: list[int],
    scale: Sequence[Value],
    translation: Sequence[Value],
    kernel: _Kernel,
    precision: Any,
) -> Value:
    """Return an image of floats with other numbers of pixels along `axes`, by products with weights."""
    for axis, factor, offset in zip(axes, scale, translation):
        with ensure_compile_time_eval():  # weights of known scales are constants of a traced program
            weights = _weights(typeof(image).shape[axis], shape[axis], factor, offset, kernel)
            weights = as_dtype(weights, typeof(image).dtype)
        if kernel.margin:
            image = pad(image, [(kernel.margin * (i == axis),) * 2 for i in range(len(shape))], "edge")
        image = lax.dot_general(image, weights, (((axis,), (0,)), ((), ())), precision=precision)
        image = moveaxis(image, -1, axis)
    return image


def _weights(old: int, new: int, scale: Value, translation: Value, kernel: _Kernel) -> Value:
    """Return the weights of old pixels, margins included, in new ones.  Shapes: [old + 2 margin, new]."""
    width = 1.0 / scale
    places = (arange(new) + 0.5 - translation) * width - 0.5
    distances = abs(places - arange(-kernel.margin, old + kernel.margin)[:, None])
    weights = kernel.fun(distances / lax.max(width, 1.0) if kernel.widens else distances, width)
    sums = weights.sum(0)
    has_weight = abs(sums) > _NO_WEIGHT
    if not kernel.margin:
        has_weight = has_weight & (places >= -0.5) & (places <= old - 0.5)
    return where(has_weight, weights / where(has_weight, sums, 1.0), 0.0)
