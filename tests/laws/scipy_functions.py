"""SciPy's functions on our arrays, for a process with SCIPY_ARRAY_API=1: `python scipy_functions.py`.

For each function a line of JSON: its name and whether device arrays, `jit` and `grad` give NumPy's numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import calque

X = np.linspace(0.1, 0.9, 8)
ON_TRACED: dict[str, Callable[[Any], Any]] = {
    "special.softmax": scipy.special.softmax,
    "special.xlogy": lambda x: scipy.special.xlogy(x, x),
    "stats.directional_stats": lambda x: scipy.stats.directional_stats(x[:, None] + 1.0).mean_direction,
    "signal.fftconvolve": lambda x: scipy.signal.fftconvolve(x, x),
    "signal.freqz": lambda x: abs(scipy.signal.freqz(x, 1.0, worN=8)[1]),
    "fft.fft": lambda x: abs(scipy.fft.fft(x)),
    "integrate.trapezoid": scipy.integrate.trapezoid,
    "integrate.cumulative_trapezoid": scipy.integrate.cumulative_trapezoid,
}
WITH_VALUES: dict[str, Callable[[Any], Any]] = {
    "stats.skew": scipy.stats.skew,
    "stats.kurtosis": scipy.stats.kurtosis,
    "stats.sem": scipy.stats.sem,
    "stats.gmean": scipy.stats.gmean,
    "stats.kstat": lambda x: scipy.stats.kstat(x, 2),
    "stats.describe": lambda x: scipy.stats.describe(x).variance,
    "stats.moment": lambda x: scipy.stats.moment(x, 2),
    "stats.hmean": scipy.stats.hmean,
}  # they branch on values, some since SciPy 1.18
BY_NUMPY: dict[str, Callable[[Any], Any]] = {
    "linalg.inv": lambda x: scipy.linalg.inv(x[:4].reshape(2, 2)),
    "special.erf": scipy.special.erf,
    "signal.detrend": scipy.signal.detrend,
}


def agrees(compute: Callable[[], Any], expected: Any) -> bool:
    """Tell whether the computation gives the expected numbers; it may raise."""
    try:
        return bool(np.allclose(np.asarray(compute()), expected, rtol=1e-5, atol=1e-7))
    except (TypeError, ValueError):
        return False


def slopes(fun: Callable[[Any], Any]) -> np.ndarray:
    """Return the derivatives of the sum of a function's results, by central differences."""
    steps = 1e-6 * np.eye(len(X))
    return np.array([(np.sum(fun(X + step)) - np.sum(fun(X - step))) / 2e-6 for step in steps])


if __name__ == "__main__":
    for name, fun in (ON_TRACED | WITH_VALUES | BY_NUMPY).items():
        value = fun(X)
        results = {"name": name, "device": agrees(lambda: fun(calque.device_put(X)), value)}  # noqa: B023
        if name in ON_TRACED:
            results["jit"] = agrees(lambda: calque.jit(fun)(X), value)  # noqa: B023
        if name not in BY_NUMPY:
            results["grad"] = agrees(lambda: calque.grad(lambda x: np.sum(fun(x)))(X), slopes(fun))  # noqa: B023
        print(json.dumps(results))
