"""`jax.scipy.ndimage`: the grid continues as SciPy's modes with "grid-" say, under the names without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque.scipy import ndimage
from calque_as_jax.values import to_arrays

__all__ = ["map_coordinates"]

_MODES = {"constant": "grid-constant", "wrap": "grid-wrap"}


def map_coordinates(
    input: Any,
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """Return the values of a grid at places between its points."""
    return to_arrays(ndimage.map_coordinates(input, coordinates, order, _MODES.get(mode, mode), cval))
