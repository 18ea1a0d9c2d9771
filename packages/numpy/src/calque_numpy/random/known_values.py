"""Checks of values that are known when a random function is called: bounds and probabilities.

One idea: what NumPy refuses by value is refused here, too, where the value is known, as under a derivative.  A traced
value is not known; then the function takes it as it is.

Read next: `arguments.py`, the checks of types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import is_tracer, lax
from calque_core.engine import dtype_name, known, unknown
from calque_core.extend import where

Value = Any


def known_values(x: Value) -> Any:
    """Return the values of an array, or None where they are not known."""
    value = known(lax.stop_gradient(x)) if is_tracer(x) else x
    return None if value is unknown else np.asarray(value)


def check_finite(name: str, **bounds: Value) -> None:
    """Check that the known bounds of the function `name` are finite.

    Raises: ValueError.
    """
    for argument, x in bounds.items():
        values = known_values(x)
        if values is not None and not np.isfinite(values).all():
            value = values[~np.isfinite(values)].ravel()[0]
            raise ValueError(
                f"{name}{where()}: {argument} has the value {value} in {dtype_name(values.dtype)}. Give finite bounds, "
                "or a wider dtype."
            )


def check_probabilities(name: str, argument: str, p: Value) -> None:
    """Check that known probabilities of the function `name` lie between 0 and 1.

    Raises: ValueError.
    """
    values = known_values(p)
    if values is not None:
        _refuse_first(name, argument, values, ~((values >= 0) & (values <= 1)), "Give probabilities from 0 to 1.")


def check_weights(name: str, argument: str, p: Value) -> Any:
    """Return known weights of elements along the last axis, or None; the probabilities are proportional to them.

    Raises: ValueError if one is negative, infinite or nan, or if all are 0.
    """
    values = known_values(p)
    if values is None:
        return None
    remedy = "Give finite probabilities of zero or more."
    _refuse_first(name, argument, values, ~((values >= 0) & np.isfinite(values)), remedy)
    if values.shape[-1] and not (values > 0).any(-1).all():
        raise ValueError(f"{name}{where()}: all probabilities in {argument} are 0. Give at least one above 0.")
    return values


def _refuse_first(name: str, argument: str, values: Any, is_bad: Any, remedy: str) -> None:
    if is_bad.any():
        raise ValueError(f"{name}{where()}: {argument} has the value {values[is_bad].ravel()[0]}. {remedy}")
