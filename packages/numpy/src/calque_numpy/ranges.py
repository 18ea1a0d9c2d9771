"""Arrays computed from positions: evenly spaced numbers, and matrices of ones and zeros.

One idea: `iota` is an operation of a program, and the elements are computed from it; the program holds no constant.

Read next: `joining.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import (
    ConcretizationTypeError,
    canonicalize_dtype,
    iinfo,
    implements,
    is_tracer,
    lax,
    result_type,
    typeof,
)
from calque_core.engine import kind_of, scalar_dtype
from calque_core.engine.numpy_functions import (
    KINDS,
    SCALARS,
    as_dtype,
    astype,
    broadcast_to,
    canonical_axis,
    dtype_argument,
    on_device,
    power,
)
from calque_core.extend import integer, where
from calque_core.lax import broadcast_shapes
from calque_numpy.creation import asarray, full_like

Value = Any
DType = Any

# Evenly spaced numbers


def arange(start: Value, stop: Value = None, step: Value = 1, dtype: DType = None, *, device: Any = None) -> Value:
    """Return the numbers from `start` to before `stop` in steps of `step`; `arange(stop)` starts at 0.

    A step of None is 1.
    Dtype: `dtype`, or the dtype of the arguments; the default of their kind for Python numbers.
    Raises: TracerIntegerConversionError or ConcretizationTypeError for a traced argument: the length must be known;
    ValueError for an unknown device, or if `step` is 0.

    >>> from calque_numpy import arange
    >>> arange(3), arange(1.0, 2.0, 0.25)
    (array([0, 1, 2]), array([1.  , 1.25, 1.5 , 1.75]))
    """
    step = 1 if step is None else step
    bounds = (0, start, step) if stop is None else (start, stop, step)
    first, end, stride = (_number(x) for x in bounds)
    if stride == 0:
        raise ValueError(f"arange{where()}: the step is 0. Give a positive or a negative step.")
    if dtype is not None:
        dtype = dtype_argument(dtype)
    elif all(type(x) in SCALARS for x in bounds):
        dtype = scalar_dtype(KINDS[np.result_type(*map(type, bounds)).kind])
    else:
        dtype = canonicalize_dtype(np.arange(*[typeof(x).dtype.type(1) for x in bounds]).dtype)
    return on_device("arange", _range(first, end, stride, dtype), device)


def _range(first: Any, end: Any, stride: Any, dtype: np.dtype[Any]) -> Value:
    if not (kind_of(dtype) in "iu" and isinstance(end, int) and _fits(first, dtype) and _fits(stride, dtype)):
        return np.arange(first, end, stride, dtype=dtype)
    positions = lax.iota(dtype, len(range(first, end, stride)))  # an operation of a program, not a constant
    scaled = positions if stride == 1 else lax.mul(positions, dtype.type(stride))
    return scaled if first == 0 else lax.add(scaled, dtype.type(first))


def _fits(x: Any, dtype: np.dtype[Any]) -> bool:
    return isinstance(x, int) and iinfo(dtype).min <= x <= iinfo(dtype).max


def _number(x: Value) -> Any:
    """Return `x` as a Python number; a tracer of an integer raises its own error."""
    if isinstance(x, (bool, int, float)):
        return x
    aval = typeof(x)
    if aval.shape or aval.kind not in "biuf":
        raise TypeError(f"arange{where()}: an argument has type {aval}. Give real numbers.")
    if aval.kind == "f" and is_tracer(x):
        raise ConcretizationTypeError(
            f"arange{where()}: an argument is a traced value of type {aval}, but the length must be known. Write "
            "start + step * numpy.arange(n), with an n that is not traced."
        )
    return float(x) if aval.kind == "f" else int(x)


@implements(np.linspace)
def linspace(  # noqa: PLR0913 -- NumPy's arguments
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DType = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Value:
    """Return `num` evenly spaced numbers from `start` to `stop`, or to one step before it without `endpoint`.

    With `retstep`, return the pair of the numbers and the step.
    Shapes: start, stop [*s] -> [*s with num at axis].  Dtype: `dtype`, or the promoted float dtype.
    Raises: ValueError for a negative `num`, an axis out of range or an unknown device; TypeError if `num` is no
    integer; ShapeError if the ends do not broadcast.

    >>> from calque_numpy import linspace
    >>> linspace(0.0, 1.0, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    num = integer("linspace", "num", num)
    if num < 0:
        raise ValueError(f"linspace{where()}: num is {num}. Give a number of zero or more.")
    computed = result_type(start, stop, float(num))
    start, stop = asarray(start, computed), asarray(stop, computed)
    distance = lax.sub(stop, start)
    count = num - 1 if endpoint else num
    step = lax.div(distance, float(count)) if count > 0 else full_like(distance, np.nan)
    points = _points(start, stop, step, num, endpoint)
    out = _in_dtype(points, computed if dtype is None else dtype_argument(dtype))
    ndim = typeof(out).ndim
    position = canonical_axis("linspace", axis, ndim)
    out = on_device("linspace", lax.transpose(out, (*range(1, position + 1), 0, *range(position + 1, ndim))), device)
    return (out, step) if retstep else out


def _points(start: Value, stop: Value, step: Value, num: int, endpoint: bool) -> Value:
    shape = typeof(step).shape
    dtype = typeof(step).dtype
    positions = lax.broadcasted_iota(dtype, (num, *shape), 0)
    points = lax.add(lax.mul(positions, step), start) if num > 1 else broadcast_to(start, (num, *shape))
    if not endpoint or num < 2:
        return points
    return lax.select(lax.eq(positions, dtype.type(num - 1)), broadcast_to(stop, (num, *shape)), points)  # exactly stop


def _in_dtype(x: Value, dtype: np.dtype[Any]) -> Value:
    return astype(lax.floor(x) if kind_of(dtype) in "iu" else x, dtype)


# Matrices of ones and zeros


def eye(N: int, M: int | None = None, k: Value = 0, dtype: DType = float, *, device: Any = None) -> Value:
    """Return a matrix with ones on one diagonal and zeros elsewhere; k > 0 is above the main diagonal.

    Shapes: -> [N, M], or [N, N].  The integer k may be traced.
    Raises: TypeError if a size is no integer; ValueError if it is negative, or for an unknown device.

    >>> from calque_numpy import eye
    >>> eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    rows, columns = _positions("eye", N, M, k)
    out = lax.convert_element_type(lax.eq(rows, columns), dtype_argument(float if dtype is None else dtype))
    return on_device("eye", out, device)


def identity(n: int, dtype: DType = float) -> Value:
    """Return the square matrix with ones on its main diagonal.

    >>> from calque_numpy import identity
    >>> identity(2, int)
    array([[1, 0],
           [0, 1]])
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: Value = 0, dtype: DType = float) -> Value:
    """Return a matrix with ones on and below one diagonal and zeros above.

    Shapes: -> [N, M], or [N, N].  The integer k may be traced.
    Raises: TypeError if a size is no integer; ValueError if it is negative.

    >>> from calque_numpy import tri
    >>> tri(2, 3, k=1)
    array([[1., 1., 0.],
           [1., 1., 1.]])
    """
    rows, columns = _positions("tri", N, M, k)
    return lax.convert_element_type(lax.ge(rows, columns), dtype_argument(float if dtype is None else dtype))


def _positions(name: str, N: int, M: int | None, k: Value) -> tuple[Value, Value]:
    """Return for each element of a matrix its row plus k, and its column: they are equal on the k-th diagonal."""
    n_rows = integer(name, "N", N)
    shape = (n_rows, n_rows if M is None else integer(name, "M", M))
    rows, columns = (lax.broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    try:
        k = integer(name, "k", k)
    except ConcretizationTypeError:  # not known: the program computes the diagonal
        return lax.add(rows, _traced_diagonal(name, k, shape)), columns
    return lax.add(rows, np.int32(k)) if k else rows, columns


def _traced_diagonal(name: str, k: Value, shape: tuple[int, int]) -> Value:
    """Return a traced k as int32; beyond the matrix, the nearest number without an element."""
    if typeof(k).shape or typeof(k).kind not in "iu":
        raise TypeError(f"{name}{where()}: k has type {typeof(k)}. Give an integer.")
    return as_dtype(lax.clamp(-shape[0], as_dtype(k, canonicalize_dtype(np.intp)), shape[1]), np.dtype(np.int32))


@implements(np.meshgrid)
def meshgrid(*xi: Value, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Value, ...]:
    """Return for each vector an array that holds it along its own axis; all have one shape.

    Shapes: [n], [m], ... -> [m, n, ...] for indexing "xy", [n, m, ...] for "ij"; if `sparse`, all
    other axes have size 1.
    Raises: ValueError for another `indexing`.

    >>> import numpy as np
    >>> from calque_numpy import meshgrid
    >>> rows, columns = meshgrid(np.array([1, 2]), np.array([3, 4, 5]), indexing="ij")
    >>> columns
    array([[3, 4, 5],
           [3, 4, 5]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid{where()}: indexing is {indexing!r}. Use 'xy' or 'ij'.")
    vectors = [asarray(x) for x in xi]
    vectors = [lax.reshape(x, (typeof(x).size,)) for x in vectors]
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = 1, 0
    grids = [lax.expand_dims(x, [d for d in axes if d != axis]) for x, axis in zip(vectors, axes)]
    if sparse:
        return tuple(grids)
    shape = broadcast_shapes(*[typeof(x).shape for x in grids])
    return tuple(broadcast_to(x, shape) for x in grids)


@implements(np.logspace)
def logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: Value = 10.0,
    dtype: DType = None,
    axis: int = 0,
) -> Value:
    """Return `num` numbers from base**start to base**stop whose logarithms are evenly spaced.

    A base that is an array is broadcast with the ends.  Shapes and errors: as `linspace`.

    >>> from calque_numpy import logspace
    >>> logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    ndim = typeof(base).ndim
    if ndim:
        start, stop, base = _of_one_rank(start, stop, base)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    if ndim:
        base = lax.expand_dims(base, (canonical_axis("logspace", axis, typeof(exponents).ndim),))
    out = power(base, exponents)
    return out if dtype is None else astype(out, dtype)


def _of_one_rank(*arrays: Value) -> list[Value]:
    """Return the arrays with further first axes of size 1, so that all have as many axes."""
    arrays = tuple(map(asarray, arrays))
    ndim = max(typeof(x).ndim for x in arrays)
    return [lax.expand_dims(x, range(ndim - typeof(x).ndim)) for x in arrays]


@implements(np.geomspace)
def geomspace(
    start: Value, stop: Value, num: int = 50, endpoint: bool = True, dtype: DType = None, axis: int = 0
) -> Value:
    """Return `num` numbers from `start` to `stop`, each the same multiple of the one before.

    Both ends are exact; real ends have one sign, between complex ends the angle changes by less than half a turn.
    Shapes and errors: as `linspace`; ValueError for an end that is known to be zero.

    >>> from calque_numpy import geomspace
    >>> geomspace(1.0, 8.0, 4)
    array([1., 2., 4., 8.])
    """
    computed = result_type(start, stop, np.float64 if dtype is None else dtype, 1.0)  # no integer
    start, stop = asarray(start, computed), asarray(stop, computed)
    if any(isinstance(end, (np.ndarray, np.generic)) and not np.all(end) for end in (start, stop)):
        raise ValueError(f"geomspace{where()}: an end is zero. Give ends of one sign.")
    ratio = lax.log(lax.div(stop, start))
    steps = lax.exp(linspace(lax.zeros_like(ratio), ratio, num, endpoint, axis=axis))
    position = canonical_axis("geomspace", axis, typeof(steps).ndim)
    out = lax.mul(lax.expand_dims(broadcast_to(start, typeof(ratio).shape), (position,)), steps)
    if endpoint and num > 1:
        is_last = lax.eq(lax.broadcasted_iota(np.int32, typeof(steps).shape, position), num - 1)
        last = lax.expand_dims(broadcast_to(stop, typeof(ratio).shape), (position,))
        out = lax.select(is_last, broadcast_to(last, typeof(steps).shape), out)
    return out if dtype is None else astype(out, dtype)
