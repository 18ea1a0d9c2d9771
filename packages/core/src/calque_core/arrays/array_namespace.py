"""The array API's entry for programs that know only an array: `x.__array_namespace__()`.

One idea: the namespace is `calque_numpy`, which core loads when a program asks for it, as for NumPy's functions.

Read next: `numpy_protocol.py`, which loads it for NumPy's functions; `devices.py`.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

from types import ModuleType
from typing import Any

from calque_core.distributions import install_advice
from calque_core.frames.source import where
from calque_core.late import import_at_rest
from calque_core.types.array_methods import array_method

Value = Any

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


@array_method
def __array_namespace__(self: Value, *, api_version: str | None = None) -> ModuleType:
    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(
            f"x.__array_namespace__{where()} got api_version={api_version!r}, but calque_numpy has the array API of "
            f"{', '.join(API_VERSIONS)}. Use one of them, or None for the newest."
        )
    try:
        return import_at_rest("calque_numpy")
    except ModuleNotFoundError as error:
        if error.name != "calque_numpy":
            raise
        raise ModuleNotFoundError(
            f"x.__array_namespace__{where()} needs the package calque-numpy. {install_advice('calque_numpy')}",
            name=error.name,
        ) from None
