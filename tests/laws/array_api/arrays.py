"""Operands for programs of the array API: of every dtype, and of shapes without, with one and with many elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from standard import kind_of

Array = np.ndarray[Any, Any]

NUMBER, EMPTY, ONE, VECTOR, MATRIX, BOX = (), (0, 3), (1,), (5,), (3, 4), (2, 1, 3)
FULL = (NUMBER, ONE, VECTOR, MATRIX, BOX)
SHAPES = (*FULL, EMPTY)
MATRICES = (MATRIX, BOX, EMPTY, (1, 1))


def numbers(dtype: str, shape: tuple[int, ...] = (7,), seed: int = 0) -> Array:
    """Return numbers of both signs, among them 0; the square of an integer fits its dtype."""
    rng = np.random.default_rng(seed)
    kind, size = kind_of(dtype), math.prod(shape)
    if kind == "b":
        values = rng.integers(0, 2, size)
    elif kind == "i":
        values = rng.integers(0 if dtype.startswith("u") else -7, 8, size)
    else:
        values = rng.uniform(-3, 3, size) + (1j * rng.uniform(-3, 3, size) if kind == "c" else 0)
    return values.astype(dtype).reshape(shape)
