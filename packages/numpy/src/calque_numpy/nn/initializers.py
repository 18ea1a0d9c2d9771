"""Initial parameters of networks: functions that make functions `(key, shape, dtype) -> array`.

One idea: `variance_scaling` divides a variance by the number of inputs or outputs of a unit; the initializers named
after authors are choices of its arguments.  The numbers are those of `jax.nn.initializers` for the same key; complex
normal numbers that are cut are 0.991 times jax's, whose variance is 2 % too large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import expm1, pi, prod, sqrt
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, typeof
from calque_core.engine import is_array_like, kind_of, short_repr
from calque_core.engine.numpy_functions import as_dtype, canonical_axes, dtype_argument
from calque_core.extend import real_dtype, where
from calque_numpy import random
from calque_numpy.random.arguments import check_shape, float_argument

Value = Any
DType = Any
Axis = int | Sequence[int]
Initializer = Callable[..., Value]

_CUT_DEVIATION = 0.87962566103423978  # of the standard normal distribution between -2 and 2
# Of complex normal numbers z with |z| < 2: |z|**2 is exponential, of mean 1 - 4 exp(-4) / (1 - exp(-4)) below 4
_CUT_COMPLEX_DEVIATION = sqrt(1 + 4 / expm1(-4) + 4)
_MODES, _DISTRIBUTIONS = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"), ("truncated_normal", "normal", "uniform")


def zeros(key: Value, shape: Sequence[int], dtype: DType = None) -> Value:
    """Return zeros; the key is not used.

    >>> from calque_numpy.nn.initializers import zeros
    >>> zeros(None, (2,))
    array([0., 0.])
    """
    return constant(0)(key, shape, dtype)


def ones(key: Value, shape: Sequence[int], dtype: DType = None) -> Value:
    """Return ones; the key is not used.

    >>> from calque_numpy.nn.initializers import ones
    >>> ones(None, (2,))
    array([1., 1.])
    """
    return constant(1)(key, shape, dtype)


def constant(value: Value, dtype: DType = None) -> Initializer:
    """Return an initializer whose elements are all `value`; its key is not used.

    >>> import numpy as np
    >>> from calque_numpy.nn.initializers import constant
    >>> constant(3.0)(None, (2,), np.float32)
    array([3., 3.], dtype=float32)
    """
    return _initializer("constant", dtype, lambda key, shape, dtype: lax.full(shape, value, dtype))


def _initializer(name: str, default: DType, draw: Callable[[Value, tuple[int, ...], Any], Value]) -> Initializer:
    """Return `draw` with its shape and its dtype checked, and with a default dtype."""

    def initializer(key: Value, shape: Sequence[int], dtype: DType = None) -> Value:
        return draw(key, check_shape(name, shape), _dtype(name, default if dtype is None else dtype))

    initializer.__code__ = initializer.__code__.replace(co_name=name)  # messages name the code that the user calls
    return initializer


def _dtype(name: str, dtype: DType) -> Any:
    """Return the dtype for an argument: a float, or a complex one of an initializer that has complex numbers."""
    may_be_complex = name not in ("uniform", "truncated_normal") and dtype is not None
    is_complex = may_be_complex and kind_of(dtype_argument(dtype)) == "c"
    return dtype_argument(dtype) if is_complex else float_argument(name, dtype)


def _scaling(name: str, option: str, factor: Value) -> Callable[[Value], Value]:
    """Return the function that multiplies by an option, in the dtype of its argument.

    Raises: TypeError if the option is not a number.
    """
    if not is_array_like(factor):
        raise TypeError(f"{name}{where()}: {option} is {short_repr(factor)}. Give a number.")
    return lambda x: _times(x, factor)


def _times(x: Value, factor: Value) -> Value:
    return lax.mul(x, as_dtype(factor, typeof(x).dtype))


def uniform(scale: float = 1e-2, dtype: DType = None) -> Initializer:
    """Return an initializer with uniform numbers in [0, scale).

    >>> from calque_numpy import random
    >>> from calque_numpy.nn.initializers import uniform
    >>> uniform(5.0)(random.key(0), (1000,)).max() < 5.0
    np.True_
    """
    scaled = _scaling("uniform", "scale", scale)
    return _initializer("uniform", dtype, lambda key, shape, dtype: scaled(random.uniform(key, shape, dtype)))


def normal(stddev: float = 1e-2, dtype: DType = None) -> Initializer:
    """Return an initializer with normal numbers of mean 0 and this standard deviation.

    >>> from calque_numpy import random
    >>> from calque_numpy.nn.initializers import normal
    >>> abs(normal(5.0)(random.key(0), (10000,)).std() - 5.0) < 0.1
    np.True_
    """
    scaled = _scaling("normal", "stddev", stddev)
    return _initializer("normal", dtype, lambda key, shape, dtype: scaled(random.normal(key, shape, dtype)))


def truncated_normal(stddev: float = 1e-2, dtype: DType = None, lower: float = -2.0, upper: float = 2.0) -> Initializer:
    """Return an initializer with `stddev` times normal numbers between `lower` and `upper`.

    >>> from calque_numpy import random
    >>> from calque_numpy.nn.initializers import truncated_normal
    >>> abs(truncated_normal(5.0)(random.key(0), (1000,))).max() < 10.0
    np.True_
    """
    scaled = _scaling("truncated_normal", "stddev", stddev)
    cut = lambda key, shape, dtype: scaled(random.truncated_normal(key, lower, upper, shape, dtype))
    return _initializer("truncated_normal", dtype, cut)


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axis = -2,
    out_axis: Axis = -1,
    batch_axis: Axis = (),
    dtype: DType = None,
) -> Initializer:
    """Return an initializer with numbers of mean 0 and variance `scale` / n.

    The mode says what n is: the number of inputs of a unit ("fan_in"), of its outputs ("fan_out"), or the arithmetic or
    geometric mean of both ("fan_avg", "fan_geo_avg").  All axes but `in_axis`, `out_axis` and `batch_axis` are places
    of a window, and count for both.  The distribution is "truncated_normal" (within two deviations), "normal" or
    "uniform"; of complex numbers, in a disk.
    Raises: ValueError for another mode or distribution, and for a negative scale; the initializer, ShapeError for a
    shape without these axes.

    >>> from calque_numpy import random
    >>> from calque_numpy.nn.initializers import variance_scaling
    >>> draw = variance_scaling(2.0, "fan_in", "normal")
    >>> abs(draw(random.key(0), (200, 100)).std() - 0.1) < 0.01
    np.True_
    """
    if mode not in _MODES:
        raise ValueError(f"variance_scaling{where()}: mode is {mode!r}. Use one of {', '.join(_MODES)}.")
    if distribution not in _DISTRIBUTIONS:
        raise ValueError(
            f"variance_scaling{where()}: distribution is {distribution!r}. Use one of {', '.join(_DISTRIBUTIONS)}."
        )

    if not isinstance(scale, (int, float, np.number)) or not scale >= 0:
        raise ValueError(f"variance_scaling{where()}: scale is {short_repr(scale)}. Give a number of zero or more.")

    def draw(key: Value, shape: tuple[int, ...], dtype: Any) -> Value:
        n = _fan(mode, shape, in_axis, out_axis, batch_axis)
        deviation = sqrt(scale / n) if n else 0.0
        if distribution == "normal":
            return _times(random.normal(key, shape, dtype), deviation)
        if kind_of(dtype) == "c":
            return _times(*_in_disk(key, shape, dtype, distribution, deviation))
        if distribution == "uniform":
            return _times(random.uniform(key, shape, dtype, -1.0, 1.0), sqrt(3.0) * deviation)
        return _times(random.truncated_normal(key, -2.0, 2.0, shape, dtype), deviation / _CUT_DEVIATION)

    return _initializer("variance_scaling", dtype, draw)


def _in_disk(
    key: Value, shape: tuple[int, ...], dtype: Any, distribution: str, deviation: float
) -> tuple[Value, float]:
    """Return complex numbers, uniform or normal in a disk, and the factor that gives them a deviation.

    The square of the modulus is uniform below 2, or exponential below 4; the angle is uniform.
    """
    u, angle = (random.uniform(k, shape, real_dtype(dtype)) for k in random.split(key))
    if distribution == "uniform":
        square, scale = u * 2.0, deviation
    else:
        square, scale = -lax.log1p(u * expm1(-4.0)), deviation / _CUT_COMPLEX_DEVIATION
    modulus, angle = lax.sqrt(square), angle * (2.0 * pi)
    return lax.complex(modulus * lax.cos(angle), modulus * lax.sin(angle)), scale


def _fan(mode: str, shape: tuple[int, ...], in_axis: Axis, out_axis: Axis, batch_axis: Axis) -> float:
    if len(shape) < 2:
        raise ShapeError(
            f"variance_scaling{where()}: the shape {shape} has fewer than two axes. Give inputs and outputs."
        )
    axes = [canonical_axes("variance_scaling", axis, len(shape)) for axis in (in_axis, out_axis, batch_axis)]
    inputs, outputs, batch = (prod(shape[d] for d in group) for group in axes)
    places = prod(shape) / max(inputs * outputs * batch, 1)
    fan_in, fan_out = inputs * places, outputs * places
    means = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
    return means[mode] if mode in means else sqrt(fan_in * fan_out)


def _scaled(name: str, source: str, scale: float, mode: str, distribution: str) -> Initializer:
    def make(in_axis: Axis = -2, out_axis: Axis = -1, batch_axis: Axis = (), dtype: DType = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Return `variance_scaling({scale}, "{mode}", "{distribution}")`.

    Source: {source}.
    """
    return make


_GLOROT = "Glorot & Bengio (2010), Understanding the difficulty of training deep feedforward neural networks"
_LECUN = "LeCun et al. (1998), Efficient backprop"
_HE = "He et al. (2015), Delving deep into rectifiers"
glorot_uniform = xavier_uniform = _scaled("glorot_uniform", _GLOROT, 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _scaled("glorot_normal", _GLOROT, 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _scaled("lecun_uniform", _LECUN, 1.0, "fan_in", "uniform")
lecun_normal = _scaled("lecun_normal", _LECUN, 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _scaled("he_uniform", _HE, 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _scaled("he_normal", _HE, 2.0, "fan_in", "truncated_normal")


def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Return an initializer with `scale` times orthonormal columns, or rows if these are shorter, uniform among them.

    The columns lie along `column_axis`; the rows are all other axes together.
    Raises: the initializer, ShapeError for a shape with fewer than two axes, or without `column_axis`.
    Source: Saxe et al. (2014), Exact solutions to the nonlinear dynamics of learning in deep linear neural networks.

    >>> import numpy as np
    >>> from calque_numpy import random
    >>> from calque_numpy.nn.initializers import orthogonal
    >>> q = orthogonal(2.0)(random.key(0), (4, 3))
    >>> np.allclose(q.T @ q, 4.0 * np.eye(3))
    True
    """
    scaled = _scaling("orthogonal", "scale", scale)

    def draw(key: Value, shape: tuple[int, ...], dtype: Any) -> Value:
        return scaled(_orthogonal("orthogonal", key, shape, dtype, column_axis))

    return _initializer("orthogonal", dtype, draw)


def _orthogonal(name: str, key: Value, shape: tuple[int, ...], dtype: Any, column_axis: int) -> Value:
    if len(shape) < 2 or not -len(shape) <= column_axis < len(shape):
        raise ShapeError(
            f"{name}{where()}: the shape {shape} has no matrices with columns along axis {column_axis}. "
            "Give two axes or more."
        )
    axis = column_axis % len(shape)
    columns, others = shape[axis], shape[:axis] + shape[axis + 1 :]
    rows = prod(others)
    matrix = random.orthogonal(key, max(rows, columns), dtype=dtype, m=min(rows, columns))
    matrix = matrix if rows >= columns else lax.transpose(matrix, (1, 0))
    order = (*range(axis), len(others), *range(axis, len(others)))
    return lax.transpose(lax.reshape(matrix, (*others, columns)), order)


def delta_orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: DType = None) -> Initializer:
    """Return an initializer of convolutions that keep norms: an orthogonal matrix amid the window, zeros elsewhere.

    The shape is the window's, of one to three axes, then inputs and outputs; there are no more inputs than outputs.
    Raises: the initializer, ShapeError for another shape.
    Source: Xiao et al. (2018), Dynamical isometry and a mean field theory of CNNs.

    >>> from calque_numpy import random
    >>> from calque_numpy.nn.initializers import delta_orthogonal
    >>> delta_orthogonal()(random.key(0), (3, 2, 2))[::2].any()
    np.False_
    """
    scaled = _scaling("delta_orthogonal", "scale", scale)

    def draw(key: Value, shape: tuple[int, ...], dtype: Any) -> Value:
        if len(shape) not in (3, 4, 5) or shape[-2] > shape[-1]:
            raise ShapeError(
                f"delta_orthogonal{where()}: the shape {shape} is none of a window of one to three axes, inputs and "
                "at least as many outputs."
            )
        matrix = scaled(_orthogonal("delta_orthogonal", key, shape[-2:], dtype, column_axis))
        pads = [((n - 1) // 2, n - 1 - (n - 1) // 2, 0) for n in shape[:-2]]
        block = lax.reshape(matrix, (*[1] * len(pads), *shape[-2:]))
        return lax.pad(block, np.zeros((), dtype), [*pads, (0, 0, 0), (0, 0, 0)])

    return _initializer("delta_orthogonal", dtype, draw)


__all__ = [
    "zeros", "ones", "constant", "uniform", "normal", "truncated_normal", "variance_scaling", "glorot_uniform",
    "glorot_normal", "xavier_uniform", "xavier_normal", "lecun_uniform", "lecun_normal", "he_uniform", "he_normal",
    "kaiming_uniform", "kaiming_normal", "orthogonal", "delta_orthogonal",
]  # fmt: skip
