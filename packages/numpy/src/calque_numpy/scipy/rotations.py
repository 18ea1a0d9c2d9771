"""Rotations of space.

One idea: a rotation is a unit quaternion (x, y, z, w); other forms are read and written by formulas whose derivatives
exist at no rotation, too, from power series in the square of the angle.

Read next: `euler.py`, the angles of three turns; `slerp.py`, turns in time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, lax, typeof
from calque_core.engine import polynomial
from calque_core.engine.numpy_functions import argmax, as_dtype, at, matmul
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import where as place
from calque_linalg import eigh
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate, stack
from calque_numpy.random import normal
from calque_numpy.scipy.euler import angles_of, turns_of
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.scipy.quaternions import conjugate, product
from calque_numpy.taking import take_along_axis
from calque_pytree import register_pytree_node

Value = Any

_SMALL = 1e-4  # the series have all digits for smaller squares


def _floats(name: str, x: Value, last: tuple[int, ...]) -> Value:
    """Return x as an array of floats whose last axes have the sizes `last`."""
    x = asarray(x)
    if typeof(x).shape[-len(last) :] != last:
        raise ShapeError(
            f"Rotation.{name} of {typeof(x)}{place()}: the last axes must have the sizes {last}. Give such."
        )
    return as_dtype(x, float_dtype(f"Rotation.{name}", x))


def _square(x: Value) -> Value:
    return total(x * x, -1, keepdims=True)


def _unit(quat: Value) -> Value:
    return quat / lax.sqrt(_square(quat))


def _by_size(is_small: Value, square: Value, series: Sequence[float], far: Any) -> Value:
    """Return the power series of small squares, and `far(square)` of other ones."""
    near = polynomial(lax.select(is_small, square, 0.0), series)
    return lax.select(is_small, near, far(lax.select(is_small, 1.0, square)))


class Rotation:
    """Rotations: a unit quaternion (x, y, z, w), or an array of them.  Build them by `Rotation.from_...`.

    The product `p * q` rotates by q, then by p.  Dtype: that of floats is kept; float64 for integers.  It is a pytree.
    Raises: ShapeError for operands of wrong shapes; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.rotations import Rotation
    >>> turn = Rotation.from_euler("z", 90, degrees=True)
    >>> np.round(turn.apply(np.array([1.0, 0.0, 0.0])), 12)
    array([0., 1., 0.])
    """

    __slots__ = ("quat",)

    def __init__(self, quat: Value) -> None:
        self.quat = quat

    @classmethod
    def from_quat(cls, quat: Value) -> Rotation:
        """Return the rotations of quaternions (x, y, z, w), divided by their lengths.  Shapes: [*s, 4]."""
        return cls(_unit(_floats("from_quat", quat, (4,))))

    @classmethod
    def from_rotvec(cls, rotvec: Value, degrees: bool = False) -> Rotation:
        """Return the rotations around vectors, by their lengths as angles.  Shapes: [*s, 3]."""
        rotvec = _floats("from_rotvec", rotvec, (3,)) * (math.pi / 180 if degrees else 1.0)
        square = _square(rotvec)
        is_small = square < _SMALL
        sine = _by_size(
            is_small,
            square,
            (1 / 2, -1 / 48, 1 / 3840, -1 / 645120),
            lambda s: lax.sin(0.5 * lax.sqrt(s)) / lax.sqrt(s),
        )
        cosine = _by_size(is_small, square, (1.0, -1 / 8, 1 / 384, -1 / 46080), lambda s: lax.cos(0.5 * lax.sqrt(s)))
        return cls(concatenate([rotvec * sine, cosine], -1))

    @classmethod
    def from_mrp(cls, mrp: Value) -> Rotation:
        """Return the rotations of modified Rodrigues parameters: tan(angle / 4) times the axis.  Shapes: [*s, 3]."""
        mrp = _floats("from_mrp", mrp, (3,))
        square = _square(mrp)
        return cls(concatenate([2.0 * mrp, 1.0 - square], -1) / (1.0 + square))

    @classmethod
    def from_matrix(cls, matrix: Value) -> Rotation:
        """Return the rotations of orthogonal matrices.  Shapes: [*s, 3, 3].

        Of four formulas the one with the largest divisor serves.  Source: Shepperd (1978), Quaternion from rotation
        matrix, Journal of Guidance and Control 1.
        """
        m = _floats("from_matrix", matrix, (3, 3))
        trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
        rows = []
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            row = {i: 1.0 - trace + 2.0 * m[..., i, i], j: m[..., j, i] + m[..., i, j], k: m[..., k, i] + m[..., i, k]}
            rows.append(stack([row[0], row[1], row[2], m[..., k, j] - m[..., j, k]], -1))
        turns = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
        rows.append(stack([*turns, 1.0 + trace], -1))
        best = argmax(stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], -1), -1, keepdims=True)
        chosen = take_along_axis(stack(rows, -2), lax.expand_dims(best, (typeof(best).ndim,)), -2)
        return cls(_unit(lax.squeeze(chosen, (typeof(chosen).ndim - 2,))))

    @classmethod
    def from_euler(cls, seq: str, angles: Value, degrees: bool = False) -> Rotation:
        """Return the rotations of turns around the axes `seq`: "xyz" are those of space, "XYZ" those of the body.

        Shapes: angles [*s, k] for k axes; [*s] for one axis.
        """
        return cls(turns_of(seq, angles, degrees))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """Return the identity, or `num` of them."""
        quat = np.array([0.0, 0.0, 0.0, 1.0], canonicalize_dtype(dtype))
        return cls(quat if num is None else np.tile(quat, (num, 1)))

    @classmethod
    def random(cls, random_key: Value, num: int | None = None) -> Rotation:
        """Return a uniformly distributed rotation, or `num` of them."""
        return cls(_unit(normal(random_key, (4,) if num is None else (num, 4))))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Return all rotations in one array."""
        return cls(concatenate([lax.reshape(r.quat, (typeof(r.quat).size // 4, 4)) for r in rotations], 0))

    @property
    def single(self) -> bool:
        """Whether it is one rotation, and no array."""
        return int(typeof(self.quat).ndim) == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError(f"len of a single rotation{place()}: it has no length. Index an array of rotations.")
        return int(typeof(self.quat).shape[0])

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError(f"a single rotation{place()} has no elements. Index an array of rotations.")
        return Rotation(at(self.quat)[indexer].get())

    def __mul__(self, other: Rotation) -> Rotation:
        return Rotation(_unit(product(self.quat, other.quat)))

    def inv(self) -> Rotation:
        """Return the inverse rotations."""
        return Rotation(conjugate(self.quat))

    def apply(self, vectors: Value, inverse: bool = False) -> Value:
        """Return the rotated vectors; `inverse` rotates them back.  Shapes: [*s, 3], broadcast with the rotations."""
        vectors = _floats("apply", vectors, (3,))
        matrix = (self.inv() if inverse else self).as_matrix()
        column = matmul(matrix, lax.expand_dims(vectors, (typeof(vectors).ndim,)))
        return lax.squeeze(column, (typeof(column).ndim - 1,))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Value:
        """Return the quaternions (x, y, z, w), or (w, x, y, z); those with w >= 0 if `canonical`."""
        quat = _canonical(self.quat) if canonical else self.quat
        return concatenate([quat[..., 3:], quat[..., :3]], -1) if scalar_first else quat

    def as_matrix(self) -> Value:
        """Return the matrices.  Shapes: [*s, 3, 3]."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return stack([stack(row, -1) for row in rows], -2)

    def as_rotvec(self, degrees: bool = False) -> Value:
        """Return vectors along the axes, whose lengths are angles up to pi.  Shapes: [*s, 3]."""
        quat = _canonical(self.quat)
        vector, w = quat[..., :3], quat[..., 3:]
        square = _square(vector)
        is_small = square < _SMALL
        angle = lambda s: 2.0 * lax.atan2(lax.sqrt(s), lax.select(is_small, 1.0, w)) / lax.sqrt(s)
        scale = _by_size(is_small, square, (2.0, 1 / 3, 3 / 20, 5 / 56, 35 / 576), angle)
        return vector * scale * (180 / math.pi if degrees else 1.0)

    def as_mrp(self) -> Value:
        """Return modified Rodrigues parameters of angles up to pi.  Shapes: [*s, 3]."""
        quat = _canonical(self.quat)
        return quat[..., :3] / (1.0 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Value:
        """Return the angles of turns around three axes; where they are not unique, the third is 0.  Shapes: [*s, 3]."""
        return angles_of(seq, self.quat, degrees)

    def magnitude(self) -> Value:
        """Return the angles.  Shapes: [*s]."""
        vector = self.quat[..., :3]
        return 2.0 * lax.atan2(lax.sqrt(total(vector * vector, -1)), abs(self.quat[..., 3]))

    def mean(self, weights: Value = None) -> Rotation:
        """Return the mean of the rotations, which has the least weighted sum of squared distances between matrices.

        Source: Markley et al. (2007), Averaging quaternions, Journal of Guidance, Control and Dynamics 30.
        """
        quat = lax.reshape(self.quat, (typeof(self.quat).size // 4, 4))
        weighted = quat if weights is None else quat * lax.expand_dims(_floats_of(weights, quat), (1,))
        vectors, _ = eigh(matmul(lax.transpose(weighted, (1, 0)), quat))
        return Rotation(vectors[:, 3])


def _floats_of(weights: Value, like: Value) -> Value:
    return as_dtype(asarray(weights), typeof(like).dtype)


def _canonical(quat: Value) -> Value:
    return quat * lax.select(quat[..., 3:] < 0.0, -1.0, lax.full_like(quat[..., 3:], 1.0))


register_pytree_node(Rotation, lambda r: ((r.quat,), None), lambda _, children: Rotation(*children))
