"""Discrete Fourier transforms over the last one to three axes.

One idea: four kinds, as in XLA: complex forward and inverse, and the same for real numbers, whose spectrum is
symmetric: of the last axis, it has the frequencies from 0 to n // 2.  The inverse kinds divide by the number of points.

Read next: `calque_numpy.fft` for any axes, lengths that crop or pad, and other scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, canonicalize_dtype, typeof
from calque_core.engine import scalar_dtype
from calque_core.engine.numpy_functions import integers
from calque_core.extend import Shape, complex_dtype, real_dtype, shaped_array, where
from calque_core.lax import convert_element_type

Value = Any
Params = dict[str, Any]


class FftType(IntEnum):
    """The kind of a Fourier transform; `R` stands for real numbers on the side of positions.

    >>> from calque_signal import FftType
    >>> FftType["RFFT"]
    <FftType.RFFT: 2>
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


fft_p = Primitive("fft", linearity="linear")
_FLOATS, _COMPLEX = ("float32", "float64"), ("complex64", "complex128")
_SINGLE = np.dtype("float32")
_MOST_AXES = 3


@fft_p.def_abstract_eval(cached=True)
def fft_abstract_eval(x_aval: ShapedArray, *, fft_type: FftType, fft_lengths: Shape) -> ShapedArray:
    kinds = _FLOATS if fft_type is FftType.RFFT else _COMPLEX
    if x_aval.dtype.name not in kinds:
        raise TypeError(f"{_call(x_aval, fft_type)}: the transform takes {' or '.join(kinds)}. Convert the operand.")
    sizes, out_sizes = _sizes(fft_type, fft_lengths)
    batch = x_aval.ndim - len(sizes)
    if x_aval.shape[max(batch, 0) :] != sizes:
        raise ShapeError(
            f"{_call(x_aval, fft_type)}: fft_lengths {fft_lengths} need last axes of sizes {sizes}. "
            "Slice or pad the operand, or give other lengths."
        )
    dtype = {FftType.RFFT: complex_dtype, FftType.IRFFT: real_dtype}.get(fft_type, np.dtype)(x_aval.dtype)
    return shaped_array(x_aval.shape[:batch] + out_sizes, dtype)


def _sizes(fft_type: FftType, lengths: Shape) -> tuple[Shape, Shape]:
    """Return the sizes of the transformed axes of the operand, and of the result."""
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    return half if fft_type is FftType.IRFFT else lengths, half if fft_type is FftType.RFFT else lengths


def _call(x_aval: ShapedArray, fft_type: FftType) -> str:
    return f"fft of {x_aval} of type {fft_type.name}{where()}"


_EVALUATIONS: dict[FftType, Any] = {
    FftType.FFT: np.fft.fftn, FftType.IFFT: np.fft.ifftn, FftType.RFFT: np.fft.rfftn, FftType.IRFFT: np.fft.irfftn,
}  # fmt: skip


def fft_impl(x: Value, *, fft_type: FftType, fft_lengths: Shape) -> Value:
    return _EVALUATIONS[fft_type](x, fft_lengths, tuple(range(-len(fft_lengths), 0)))


fft_p.def_impl(fft_impl, leaf=True)


@fft_p.def_pp
def fft_pp(params: Params) -> Params:
    return {**params, "fft_type": params["fft_type"].name}


def fft(x: Value, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Value:
    """Return the discrete Fourier transform of `x` over its last axes, one for each of `fft_lengths`.

    `FFT` gives the sums over positions j of x[j] exp(-2 pi i j k / n), for each frequency k from 0 to n - 1; `IFFT`
    undoes it.  `RFFT` takes real numbers and gives the frequencies from 0 to n // 2 of the last axis; `IRFFT` undoes
    it, and its last length says whether n is even or odd.
    Shapes: x [*s, *n] -> [*s, *n]; for `RFFT` the last size of the result is n // 2 + 1, for `IRFFT` of the operand.
    Dtype: complex128, or complex64 for float32, complex64 and shorter floats; `IRFFT` gives the dtype of the parts.
    Raises: ShapeError if the last axes do not have these lengths; ValueError unless there are one to three lengths of
    at least 1, or for an unknown type; TypeError for complex numbers and `RFFT`.

    >>> import numpy as np
    >>> from calque_signal import fft
    >>> fft(np.array([1.0, 2.0, 3.0, 4.0]), "RFFT", (4,))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    kind, lengths = _canonical_type(fft_type), _canonical_lengths(fft_lengths)
    aval = typeof(x)
    if kind is FftType.RFFT and aval.kind == "c":
        raise TypeError(f"{_call(aval, kind)}: it takes real numbers. Use FFT, or the real part.")
    x = _operand(x, aval, kind)
    fft_p.abstract(typeof(x), fft_type=kind, fft_lengths=lengths)
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths)


def _canonical_type(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if isinstance(fft_type, str) and fft_type.upper() in FftType.__members__:
        return FftType[fft_type.upper()]
    names = ", ".join(FftType.__members__)
    raise ValueError(f"fft{where()}: fft_type is {fft_type!r}. Give a lax.FftType, or one of the names {names}.")


def _canonical_lengths(fft_lengths: Any) -> Shape:
    lengths = integers("fft", "fft_lengths", fft_lengths)
    if not 1 <= len(lengths) <= _MOST_AXES or min(lengths) < 1:
        raise ValueError(
            f"fft{where()}: fft_lengths is {lengths}. Give one to {_MOST_AXES} lengths of at least 1; transform more "
            "axes by several calls."
        )
    return lengths


def _operand(x: Value, aval: ShapedArray, kind: FftType) -> Value:
    """Return `x` as floats of 32 or 64 bits, integers with 64; as complex numbers unless the kind takes real ones."""
    dtype = aval.dtype
    if aval.kind in "biu":
        dtype = scalar_dtype(float) if aval.weak_type else canonicalize_dtype(np.float64)
    dtype = dtype if dtype.itemsize >= _SINGLE.itemsize else _SINGLE
    return convert_element_type(x, dtype if kind is FftType.RFFT else complex_dtype(dtype))
