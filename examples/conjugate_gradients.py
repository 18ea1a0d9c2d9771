"""Conjugate gradients, the linear solver of the examples: the matrix is a function.

Source: Hestenes & Stiefel (1952), section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque import lax


def conjugate_gradients(matvec: Callable[[Any], Any], b: Any, tolerance: float = 1e-2) -> Any:
    """Return x with |matvec(x) - b| <= tolerance |b|, for a `matvec` that is symmetric and positive.  Shapes: [n]."""

    def step(state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        x, residual, direction, size = state
        image = matvec(direction)
        length = size / (direction @ image)
        residual = residual - length * image
        new_size = residual @ residual
        return x + length * direction, residual, residual + new_size / size * direction, new_size

    limit = tolerance**2 * (b @ b)
    return lax.while_loop(lambda state: state[3] > limit, step, (0.0 * b, b, b, b @ b))[0]
