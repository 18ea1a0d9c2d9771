"""Two types of one's own, as a user writes them: numbers with a unit, and quantised weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import calque
import calque_core as core
from calque import lax
from calque_autodiff import defjvp
from calque_core import OwnType, Primitive, ShapedArray, register_aval

NAMES = ("kg", "m", "s")
KILOGRAM, METRE, SECOND, ONE = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)


def times(a, b):
    return tuple(x + y for x, y in zip(a, b))


def over(a, b):
    return tuple(x - y for x, y in zip(a, b))


def text(unit):
    return " ".join(n if p == 1 else f"{n}^{p}" for n, p in zip(NAMES, unit) if p) or "1"


@dataclass(frozen=True)
class Quantity:
    """A number with a unit: one array."""

    array: Any
    unit: tuple
    __array_ufunc__ = None

    def __add__(self, other):
        if self.unit != other.unit:
            raise TypeError(f"{text(self.unit)} and {text(other.unit)} cannot be added. Convert one of them.")
        return Quantity(self.array + other.array, self.unit)

    def __mul__(self, other):
        if isinstance(other, Quantity):
            return Quantity(self.array * other.array, times(self.unit, other.unit))
        return Quantity(self.array * other, self.unit)

    __rmul__ = __mul__

    def sum(self):
        return Quantity(np.sum(self.array), self.unit)


@dataclass(frozen=True)
class QuantityType(OwnType):
    shape: tuple
    precision: str
    unit: tuple

    @classmethod
    def of(cls, x):
        aval = core.typeof(x.array)
        return cls(aval.shape, aval.dtype.name, x.unit)

    def arrays(self):
        return {"array": ShapedArray(self.shape, self.precision)}

    def make(self, array):
        return Quantity(array, self.unit)

    def gradient_aval(self, out):
        unit = out.unit if isinstance(out, QuantityType) else ONE
        return QuantityType(self.shape, self.precision, over(unit, self.unit))

    def str_short(self):
        return f"quantity[{','.join(map(str, self.shape))}]({text(self.unit)})"


register_aval(Quantity, QuantityType)


@dataclass(frozen=True)
class Quantised:
    """A matrix of small integers, with one scale for each column."""

    values: Any
    scale: Any
    __array_ufunc__ = None

    @property
    def shape(self):
        return np.shape(self.values)

    def dense(self):
        return self.values.astype(np.float32) * self.scale[..., None, :]

    def __rmatmul__(self, x):
        return matmul(x, self)


@dataclass(frozen=True)
class QuantisedType(OwnType):
    shape: tuple

    @classmethod
    def of(cls, q):
        return cls(np.shape(q.values))

    def arrays(self):
        scales = (*self.shape[:-2], self.shape[-1])
        return {"values": ShapedArray(self.shape, np.int8), "scale": ShapedArray(scales, np.float32)}

    def to_tangent_aval(self):
        return ShapedArray(self.shape, np.float32)


register_aval(Quantised, QuantisedType)

matmul_p = Primitive("quantised_matmul")


def matmul(x, q):
    """Return x @ q.  Shapes: x [.., k, n], q [.., n, m] -> [.., k, m]."""
    return matmul_p.bind(x, q)


@matmul_p.def_abstract_eval
def matmul_abstract_eval(x, q):
    return ShapedArray((*np.broadcast_shapes(x.shape[:-2], q.shape[:-2]), x.shape[-2], q.shape[-1]), np.float32)


@matmul_p.def_rule("decomposition")
def matmul_decomposition(x, q):
    return (x @ q.values.astype(np.float32)) * q.scale[..., None, :]


@matmul_p.def_rule("batch")
def matmul_batch(args, dims):
    (x, q), (x_bdim, _) = args, dims
    return matmul(core.matchaxis(x, x_bdim, 0, q.shape[0]) if x_bdim is None else core.moveaxis(x, x_bdim, 0), q), 0


@matmul_p.def_rule("transpose")
def matmul_transpose(ct, x, q):
    return [ct @ np.swapaxes(q.dense(), -1, -2), None]


defjvp(matmul_p, lambda x_dot, out, x, q: matmul(x_dot, q), lambda q_dot, out, x, q: x @ q_dot)


@calque.custom_jvp
def quantise(w):
    """Return weights as integers of one byte; the derivative passes straight through."""
    scale = np.max(np.abs(w), axis=-2) / np.float32(127)
    return Quantised(np.round(w / scale[..., None, :]).astype(np.int8), scale)


@quantise.defjvp
def quantise_jvp(primals, tangents):
    return quantise(*primals), tangents[0]


def energy(mass, speed):
    return (0.5 * (mass * speed * speed)).sum()


def layers(weights, x):
    """Apply one layer after the other: weights are stacked."""
    step = lambda h, w: (lax.tanh(h @ w), None)
    return np.sum(lax.scan(step, x, weights)[0])
