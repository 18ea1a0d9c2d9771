"""Rotations as turns around axes of space or of the body, and the angles of three such turns.

Read next: `rotations.py`.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import as_dtype
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.joining import stack
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.scipy.quaternions import product

Value = Any


def _axes(name: str, seq: str, pattern: str) -> tuple[list[int], bool]:
    """Return the axes as numbers, and whether they are those of space."""
    if not re.fullmatch(f"(?:[xyz]{pattern}|[XYZ]{pattern})", seq) or any(a == b for a, b in itertools.pairwise(seq)):
        raise ValueError(
            f"Rotation.{name}{place()}: seq is {seq!r}. Use letters of 'xyz', axes of space, or of 'XYZ', axes of the "
            "body, without a neighbour twice."
        )
    return ["xyz".index(axis) for axis in seq.lower()], seq.islower()


def turns_of(seq: str, angles: Value, degrees: bool) -> Value:
    """Return the quaternions of turns one after the other.  Shapes: angles [*s, k], or [*s] for one axis -> [*s, 4]."""
    axes, is_of_space = _axes("from_euler", seq, "{1,3}")
    angles = asarray(angles)
    if len(axes) == 1 and typeof(angles).shape[-1:] != (1,):
        angles = lax.expand_dims(angles, (typeof(angles).ndim,))
    if typeof(angles).shape[-1:] != (len(axes),):
        raise ShapeError(
            f"Rotation.from_euler of {typeof(angles)}{place()}: {seq!r} has {len(axes)} axes. Give as many angles."
        )
    half = as_dtype(angles, float_dtype("Rotation.from_euler", angles)) * (math.pi / 360 if degrees else 0.5)
    out = None
    for i, axis in enumerate(axes):
        angle = half[..., i]
        zero = lax.full_like(angle, 0.0)
        turn = stack([*(lax.sin(angle) if axis == d else zero for d in range(3)), lax.cos(angle)], -1)
        out = turn if out is None else product(turn, out) if is_of_space else product(out, turn)
    return out


_EDGE = 1e-7  # from a turn by so small an angle the two turns beside it are not told apart


def angles_of(seq: str, quat: Value, degrees: bool) -> Value:
    """Return the angles of three turns.  Shapes: quat [*s, 4] -> [*s, 3].

    Source: Bernardes & Viollet (2022), Quaternion to Euler angles conversion: a direct, general and computationally
    efficient method, PLoS ONE 17.
    """
    axes, is_of_space = _axes("as_euler", seq, "{3}")
    i, j, k = axes if is_of_space else axes[::-1]
    is_proper = i == k
    k = 3 - i - j if is_proper else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x, w = [quat[..., d] for d in range(3)], quat[..., 3]
    a, b, c, d = w, x[i], x[j], x[k] * sign
    if not is_proper:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2.0 * lax.atan2(_length(c, d), _length(a, b))
    is_low, is_high = middle < _EDGE, middle > math.pi - _EDGE
    is_edge = is_low | is_high
    half_sum, half_difference = _angle(b, a, is_high), _angle(d, c, is_low)
    one, other = half_sum - half_difference, half_sum + half_difference
    first, third = (one, other) if is_of_space else (other, one)
    alone = lax.select(is_low, 2.0 * half_sum, (-2.0 if is_of_space else 2.0) * half_difference)
    first, third = lax.select(is_edge, alone, first), lax.select(is_edge, 0.0, third)
    if not is_proper:
        first, third = (first, third * sign) if is_of_space else (first * sign, third)
        middle = middle - math.pi / 2
    angles = stack([_turned(first), middle, _turned(third)], -1)
    return angles * (180 / math.pi) if degrees else angles


def _length(a: Value, b: Value) -> Value:
    """Return the length of (a, b), with the derivative 0 at 0."""
    square = a * a + b * b
    is_zero = square == 0.0
    return lax.select(is_zero, 0.0, lax.sqrt(lax.select(is_zero, 1.0, square)))


def _angle(y: Value, x: Value, is_undefined: Value) -> Value:
    return lax.atan2(lax.select(is_undefined, 0.0, y), lax.select(is_undefined, 1.0, x))


def _turned(angle: Value) -> Value:
    """Return the angle between -pi and pi."""
    turns = lax.select(
        angle > math.pi, -2 * math.pi, lax.select(angle < -math.pi, 2 * math.pi, lax.full_like(angle, 0.0))
    )
    return angle + turns
