"""`jax.typing`: types for annotations."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from calque_as_jax.values import Array

__all__ = ["ArrayLike", "DTypeLike"]


class SupportsDType(Protocol):
    """A value that has a dtype."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype[Any] | SupportsDType
