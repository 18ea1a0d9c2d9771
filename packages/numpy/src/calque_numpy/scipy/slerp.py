"""Rotations as a function of time, between rotations at known times.

Read next: `rotations.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, at, broadcast_to, clip
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.scipy.rotations import Rotation
from calque_numpy.searching import searchsorted
from calque_pytree import register_pytree_node

Value = Any


class Slerp:
    """A function of time, which turns from each rotation to the next at a constant speed.

    Shapes: times [n], increasing, and n rotations; a call takes times [*s].  Times outside give NaN.  It is a pytree.
    Raises: ShapeError if times and rotations differ in number.

    >>> import numpy as np
    >>> from calque_numpy.scipy.rotations import Rotation
    >>> from calque_numpy.scipy.slerp import Slerp
    >>> slerp = Slerp([0.0, 1.0], Rotation.from_euler("x", [0.0, 1.0]))
    >>> np.round(slerp(np.array([0.25])).as_rotvec(), 12)
    array([[0.25, 0.  , 0.  ]])
    """

    __slots__ = ("rotations", "times")

    def __init__(self, times: Value, rotations: Rotation) -> None:
        self.times, self.rotations = asarray(times), rotations
        if typeof(self.times).shape != typeof(rotations.quat).shape[:-1] or typeof(self.times).size < 2:
            raise ShapeError(
                f"Slerp{place()}: the times are {typeof(self.times)}, and the quaternions {typeof(rotations.quat)}. "
                "Give two or more times, one for each rotation."
            )

    @classmethod
    def init(cls, times: Value, rotations: Rotation) -> Slerp:
        """Return `Slerp(times, rotations)`, under jax's name for it."""
        return cls(times, rotations)

    def __call__(self, times: Value) -> Rotation:
        """Return the rotations at these times."""
        known, quat = self.times, self.rotations.quat
        times = as_dtype(asarray(times), float_dtype("Slerp", known))
        known = as_dtype(known, typeof(times).dtype)
        n = typeof(known).size
        below = clip(searchsorted(known, lax.stop_gradient(times), side="right") - 1, 0, n - 2)
        start, end = at(known)[below].get(), at(known)[below + 1].get()
        share = (times - start) / (end - start)
        share = lax.select((share >= 0.0) & (share <= 1.0), share, math.nan)
        first = Rotation(at(quat)[below].get())
        turn = (first.inv() * Rotation(at(quat)[below + 1].get())).as_rotvec()
        share = broadcast_to(lax.expand_dims(share, (typeof(share).ndim,)), typeof(turn).shape)
        return first * Rotation.from_rotvec(turn * as_dtype(share, typeof(turn).dtype))


def _slerp_of(_: None, children: Sequence[Value]) -> Slerp:
    out = object.__new__(Slerp)
    out.times, out.rotations = children
    return out


register_pytree_node(Slerp, lambda s: ((s.times, s.rotations), None), _slerp_of)
