"""Spectra of signals by overlapping segments, by scipy's names: `detrend`, `welch`, `csd`, `stft`, `istft`.

One idea: indices cut the segments out of the last axis; each loses its trend, is weighted by the window and
transformed.

Read next: `convolutions.py`; `spectra.py` of the front, for sums over frequencies.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, at, canonical_axis, conjugate, mean, real
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import integer, real_dtype
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.order_statistics import median
from calque_numpy.padding import pad
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.shapes import moveaxis
from calque_numpy.transforms import fft, ifft, irfft, rfft

Value = Any

_WINDOWS: dict[str, Callable[[int], Any]] = {
    "hann": np.hanning,
    "hamming": np.hamming,
    "blackman": np.blackman,
    "bartlett": np.bartlett,
    "boxcar": np.ones,
}
_BOUNDARIES = {"even": "reflect", "zeros": "constant", "constant": "edge"}


def _floats(name: str, x: Value, axis: int) -> Value:
    """Return a signal of floats or complex numbers, with its axis at the end."""
    x = asarray(x)
    x = as_dtype(x, float_dtype(name, x, takes_complex=True))
    return moveaxis(x, canonical_axis(name, axis, typeof(x).ndim), -1)


# Trends


def detrend(
    data: Value,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: bool | None = None,
) -> Value:
    """Return the data less the least-squares line along the axis, one for each piece between the positions `bp`.

    The type "constant" subtracts the mean of all.  `overwrite_data` is SciPy's, and has no effect.
    Shapes: data [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: ValueError for another type, an axis out of range, or a position outside of the data.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import detrend
    >>> np.round(detrend(np.array([1.0, 3.0, 5.0, 9.0])), 12)
    array([ 0.4, -0.2, -0.8,  0.6])
    """
    x = _floats("detrend", data, axis)
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend{place()}: type is {type!r}. Use 'linear' or 'constant'.")
    if type == "constant":
        return moveaxis(x - mean(x, -1, keepdims=True), -1, axis)
    n = typeof(x).shape[-1]
    ends = sorted({0, n, *(int(b) for b in np.atleast_1d(np.asarray(bp)))})
    if ends[0] < 0 or ends[-1] > n:
        raise ValueError(f"detrend{place()}: bp is {bp!r}, and there are {n} elements. Give positions from 0 to {n}.")
    pieces = [_without_line(x[..., low:high]) for low, high in itertools.pairwise(ends)]
    return moveaxis(lax.concatenate(pieces, typeof(x).ndim - 1), -1, axis)


def _without_line(x: Value) -> Value:
    n = typeof(x).shape[-1]
    times = np.arange(n) - (n - 1) / 2
    line = as_dtype(times / max(float((times**2).sum()), 1.0), typeof(x).dtype)
    slope = total(x * line, -1, keepdims=True)
    return x - mean(x, -1, keepdims=True) - slope * as_dtype(times, typeof(x).dtype)


# Segments


@dataclass(frozen=True)
class Plan:
    """The lengths of segments and of their transforms, the distance of segments, and the window."""

    size: int
    step: int
    nfft: int
    window: Any

    def starts(self, n: int) -> Any:
        return np.arange(0, n - self.size + 1, self.step)

    def places(self, n: int) -> Any:
        """Return the positions of the elements of each segment."""
        return self.starts(n)[:, None] + np.arange(self.size)

    def frequencies(self, is_onesided: bool, fs: Value, dtype: Any) -> Value:
        """Return the frequencies of the transform of a segment, as floats like the signal."""
        numbers = np.fft.rfftfreq(self.nfft) if is_onesided else np.fft.fftfreq(self.nfft)
        return numbers.astype(real_dtype(dtype)) * as_dtype(asarray(fs), real_dtype(dtype))


def _plan(
    name: str, window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None, n: int | None = None
) -> Plan:
    """Return the plan of a call; segments are no longer than the signal of n elements."""
    is_named = isinstance(window, (str, tuple))
    if nperseg is None:
        nperseg = 256 if is_named else typeof(asarray(window)).size
    size = integer(name, "nperseg", nperseg)
    size = size if n is None or not is_named else min(size, n)
    overlap = size // 2 if noverlap is None else integer(name, "noverlap", noverlap)
    length = size if nfft is None else integer(name, "nfft", nfft)
    if not 0 <= overlap < size <= length:
        raise ValueError(
            f"{name}{place()}: nperseg is {size}, noverlap {overlap} and nfft {length}. "
            "Let 0 <= noverlap < nperseg <= nfft."
        )
    return Plan(size, size - overlap, length, _window(name, window, size))


def _window(name: str, window: Any, size: int) -> Any:
    """Return the periodic window of a name, or the elements of a vector."""
    if isinstance(window, (str, tuple)):
        if window not in _WINDOWS:
            choices = ", ".join(map(repr, _WINDOWS))
            raise ValueError(f"{name}{place()}: window is {window!r}. Use {choices}, or give its elements.")
        return _WINDOWS[window](size + 1)[:-1]
    window = asarray(window)
    if typeof(window).shape != (size,):
        raise ShapeError(f"{name}{place()}: the window is {typeof(window)}. Give a vector of {size} elements.")
    return window


def _spectra(x: Value, plan: Plan, trend: Any, is_onesided: bool) -> Value:
    """Return the transforms of the segments.  Shapes: [*s, n] -> [*s, segments, frequencies]."""
    pieces = at(x)[..., plan.places(typeof(x).shape[-1])].get()
    if callable(trend):
        pieces = trend(pieces)
    elif trend:
        pieces = detrend(pieces, type=trend)
    transform = rfft if is_onesided else fft
    return transform(pieces * as_dtype(plan.window, real_dtype(typeof(x).dtype)), plan.nfft)


# Densities over frequencies


def csd(  # noqa: PLR0913, PLR0917  (SciPy's signature)
    x: Value,
    y: Value,
    fs: Value = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Value, Value]:
    """Return the frequencies, and the cross-spectrum of two signals there: an average over overlapping segments.

    `window` is "hann", "hamming", "blackman", "bartlett", "boxcar", or a vector; `scaling` is "density" or "spectrum",
    `average` "mean" or "median", `detrend` the type for `detrend`, a function, or False.  The shorter signal is
    continued by zeros.  Spectra of complex signals have two sides.
    Shapes: x [*s, n], y [*s, m], broadcast -> [k] and [*s, k]; the signals lie along `axis`.  Dtypes: real, and complex
    for two signals, of their precision; 64 bits for integers.  Source: Welch (1967).
    Raises: ValueError for another option, or lengths that do not fit; ShapeError for a window of another length.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import csd
    >>> frequencies, spectrum = csd(np.arange(8.0), np.ones(8), nperseg=4)
    >>> frequencies
    array([0.  , 0.25, 0.5 ])
    """
    if scaling not in ("density", "spectrum") or average not in ("mean", "median"):
        raise ValueError(
            f"csd{place()}: scaling is {scaling!r} and average {average!r}. "
            "Use 'density' or 'spectrum', and 'mean' or 'median'."
        )
    is_one = y is None or y is x
    first = _floats("csd", x, axis)
    second = first if is_one else _floats("csd", y, axis)
    n = max(typeof(first).shape[-1], typeof(second).shape[-1])
    first, second = (_longer(each, n) for each in (first, second))
    plan = _plan("csd", window, nperseg, noverlap, nfft, n)
    is_onesided = return_onesided and "c" not in (typeof(first).kind, typeof(second).kind)
    spectra = _spectra(first, plan, detrend, is_onesided)
    others = spectra if is_one else _spectra(second, plan, detrend, is_onesided)
    powers = conjugate(spectra) * others
    powers = real(powers) if is_one else powers
    dtype = real_dtype(typeof(powers).dtype)
    powers = powers * _scale(scaling, as_dtype(plan.window, dtype), as_dtype(asarray(fs), dtype))
    if is_onesided:
        powers = powers * as_dtype(_sides(plan.nfft), dtype)
    out = _averaged(powers, average)
    return plan.frequencies(is_onesided, fs, dtype), moveaxis(out, -1, axis)


def _scale(scaling: str, weights: Value, fs: Value) -> Value:
    """Return the factor of powers, by the weights of the window."""
    return 1.0 / (fs * total(weights * weights)) if scaling == "density" else 1.0 / total(weights) ** 2


def _longer(x: Value, n: int) -> Value:
    missing = n - typeof(x).shape[-1]
    return pad(x, [(0, 0)] * (typeof(x).ndim - 1) + [(0, missing)]) if missing else x


def _sides(nfft: int) -> Any:
    """Return the number of two-sided frequencies that each one-sided frequency stands for."""
    sides = np.full(nfft // 2 + 1, 2.0)
    sides[0] = 1.0
    if nfft % 2 == 0:
        sides[-1] = 1.0
    return sides


def _averaged(powers: Value, average: str) -> Value:
    """Return the average over segments; a median over its ratio to the mean for normal noise."""
    if average == "mean":
        return mean(powers, -2)
    n = typeof(powers).shape[-2]
    bias = 1.0 + sum(1.0 / (2 * k + 1) - 1.0 / (2 * k) for k in range(1, (n - 1) // 2 + 1))
    if typeof(powers).kind == "c":
        return lax.complex(median(lax.real(powers), -2), median(lax.imag(powers), -2)) / bias
    return median(powers, -2) / bias


def welch(  # noqa: PLR0913, PLR0917  (SciPy's signature)
    x: Value,
    fs: Value = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Value, Value]:
    """Return the frequencies, and the power spectrum of a signal there: `csd` of the signal with itself.

    Shapes, options and errors: as `csd`.  Dtypes: real, of the signal's precision; float64 for integers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import welch
    >>> frequencies, power = welch(np.sin(np.pi / 2 * np.arange(64)), nperseg=16, scaling="spectrum")
    >>> frequencies[power.argmax()]
    np.float64(0.25)
    """
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


# Transforms of short times


def stft(  # noqa: PLR0913, PLR0917  (SciPy's signature)
    x: Value,
    fs: Value = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Value, Value, Value]:
    """Return frequencies, times, and the transforms of segments around the times, divided by the sum of the window.

    `boundary` continues the signal by half a segment at both ends: by "zeros", "even", "constant", or not for None;
    zeros at its end complete the last segment if `padded`.  The other options are those of `csd`.
    Shapes: x [*s, n] -> [k], [t] and [*s, k, t].  Dtypes: real, real and complex, of the signal's precision.
    Raises: as `csd`; ValueError for another boundary.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import stft
    >>> frequencies, times, z = stft(np.ones(8), nperseg=4)
    >>> times, z.shape
    (array([0., 2., 4., 6., 8.]), (3, 5))
    """
    signal = _floats("stft", x, axis)
    n = typeof(signal).shape[-1]
    plan = _plan("stft", window, nperseg, noverlap, nfft, n)
    half = plan.size // 2
    if boundary is not None:
        if boundary not in _BOUNDARIES:
            raise ValueError(f"stft{place()}: boundary is {boundary!r}. Use 'zeros', 'even', 'constant' or None.")
        signal = pad(signal, [(0, 0)] * (typeof(signal).ndim - 1) + [(half, half)], _BOUNDARIES[boundary])
        n += 2 * half
    if padded:
        n += -(n - plan.size) % plan.step % plan.size
        signal = _longer(signal, n)
    is_onesided = return_onesided and typeof(signal).kind != "c"
    spectra = _spectra(signal, plan, detrend, is_onesided)
    dtype = real_dtype(typeof(spectra).dtype)
    spectra = moveaxis(spectra / total(as_dtype(plan.window, dtype)), -1, -2)
    middles = plan.starts(n) + (0 if boundary is not None else plan.size / 2)
    times = middles.astype(dtype) / as_dtype(asarray(fs), dtype)
    position = canonical_axis("stft", axis, typeof(spectra).ndim - 1)
    return plan.frequencies(is_onesided, fs, dtype), times, moveaxis(spectra, -2, position)


def istft(  # noqa: PLR0913, PLR0917  (SciPy's signature)
    Zxx: Value,
    fs: Value = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Value, Value]:
    """Return times and the signal whose `stft` with these options is nearest to `Zxx`.

    Source: Griffin & Lim (1984), Signal estimation from modified short-time Fourier transform.
    Shapes: Zxx [*s, k, t] -> [n] and [*s, n].  Where all windows are 0, so is the signal.
    Raises: as `csd`; ValueError if the two axes are one.

    >>> import numpy as np
    >>> from calque_numpy.scipy.signal import istft, stft
    >>> np.round(istft(stft(np.arange(8.0), nperseg=4)[2], nperseg=4)[1], 12)
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    z = asarray(Zxx)
    axes = [canonical_axis("istft", axis, typeof(z).ndim) for axis in (freq_axis, time_axis)]
    if axes[0] == axes[1]:
        raise ValueError(f"istft{place()}: freq_axis and time_axis are both {freq_axis}. Give two axes.")
    z = moveaxis(z, axes, (-1, -2))
    count, k = typeof(z).shape[-2:]
    length = 2 * (k - 1) if input_onesided else k
    size = length if nperseg is None else nperseg
    if nfft is None and input_onesided and size == length + 1:
        length = size
    plan = _plan("istft", window, size, noverlap, length if nfft is None else nfft)
    pieces = (irfft if input_onesided else ifft)(z, plan.nfft)[..., : plan.size]
    weights = as_dtype(plan.window, real_dtype(typeof(pieces).dtype))
    n = plan.size + (count - 1) * plan.step
    places = plan.places(n)
    sums = at(lax.full_like(pieces, 0.0, shape=(*typeof(pieces).shape[:-2], n)))[..., places].add(pieces * weights)
    norms = at(lax.full_like(weights, 0.0, shape=(n,)))[places].add((weights * weights)[None, :])
    signal = sums * total(weights) / lax.select(norms > 1e-10, norms, 1.0)
    if boundary:
        half = plan.size // 2
        signal = signal[..., half : n - half]
    times = np.arange(typeof(signal).shape[-1], dtype=typeof(weights).dtype)
    return times / as_dtype(asarray(fs), typeof(weights).dtype), signal
