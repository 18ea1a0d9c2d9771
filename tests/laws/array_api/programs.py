"""Programs of the functions that are not elementwise: each calls a function with the arguments that it may have.

One idea: a program takes the namespace and an array, and loops over the axes and options itself, so that one trace and
one compilation cover a function.  NumPy says which values, shapes and dtypes are right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from arrays import BOX, EMPTY, FULL, MATRICES, MATRIX, ONE, SHAPES, VECTOR

Value = Any
ALL = "bifc"


@dataclass(frozen=True)
class Program:
    """A program, and the kinds of dtypes and the shapes of its operand."""

    name: str
    kinds: str
    run: Callable[[Any, Value], Any]
    shapes: tuple[tuple[int, ...], ...] = SHAPES
    ulps: float = 4.0
    knows_shapes: bool = True  # if not, the shapes of results depend on values, and a trace refuses it


def axes(x: Value) -> list[int]:
    """Return each axis by both of its names."""
    return list(range(-x.ndim, x.ndim))


def axes_and_tuples(x: Value) -> list[Any]:
    return [None, *axes(x), (), *([(0, -1), tuple(range(x.ndim))] if x.ndim > 1 else [])]


def reduced(name: str, **options: Any) -> Callable[[Any, Value], Any]:
    return lambda m, x: [
        getattr(m, name)(x, axis=axis, keepdims=keepdims, **options)
        for axis in axes_and_tuples(x)
        for keepdims in (False, True)
    ]


def along(name: str, **options: Any) -> Callable[[Any, Value], Any]:
    return lambda m, x: [getattr(m, name)(x, axis=axis, **options) for axis in axes(x)]


def extreme(name: str) -> Callable[[Any, Value], Any]:
    return lambda m, x: [getattr(m, name)(x, axis=a, keepdims=k) for a in (None, *axes(x)) for k in (False, True)]


STATISTICS = [
    *[Program(name, ALL, reduced(name)) for name in ("all", "any", "count_nonzero")],
    *[Program(name, "if", reduced(name), FULL) for name in ("max", "min")],
    *[Program(name, "ifc", reduced(name), ulps=16) for name in ("prod", "sum")],
    Program("sum in a dtype", "if", reduced("sum", dtype=np.float32), ulps=16),
    Program("prod in a dtype", "i", reduced("prod", dtype=np.int16)),
    Program("mean", "fc", reduced("mean"), FULL, ulps=16),
    *[Program(name, "f", reduced(name), FULL, ulps=16) for name in ("std", "var")],
    Program("var with a correction", "f", reduced("var", correction=0.5), FULL, ulps=16),
    Program("std with a correction", "f", reduced("std", correction=-1), FULL, ulps=16),
    *[Program(name, "if", extreme(name), FULL) for name in ("argmax", "argmin")],
    Program("cumulative_sum", "ifc", along("cumulative_sum"), ulps=16),
    Program("cumulative_sum of a vector", "ifc", lambda m, x: m.cumulative_sum(x), (VECTOR,), ulps=16),
    Program("cumulative_sum with the initial", "if", along("cumulative_sum", include_initial=True), ulps=16),
    Program("cumulative_sum in a dtype", "if", along("cumulative_sum", dtype=np.float64), ulps=16),
    Program("cumulative_prod", "ifc", along("cumulative_prod"), ulps=16),
    Program("cumulative_prod with the initial", "if", along("cumulative_prod", include_initial=True), ulps=16),
    Program("diff", "ifc", along("diff")),
    Program("diff of the second order", "if", along("diff", n=2)),
    Program("diff of more", "if", lambda m, x: [m.diff(x, axis=a, prepend=x, append=x) for a in axes(x)]),
    Program("sort", "if", lambda m, x: [m.sort(x), *along("sort", stable=True)(m, x)], (ONE, VECTOR, MATRIX, EMPTY)),
    Program("argsort", "if", along("argsort", stable=True)),
]


def squeezed(m: Any, x: Value) -> list[Value]:
    ones = tuple(axis for axis, n in enumerate(x.shape) if n == 1)
    return [m.squeeze(x, axis=axis) for axis in (*ones, *[axis - x.ndim for axis in ones], ones)]


def rolled(m: Any, x: Value) -> list[Value]:
    pairs = [m.roll(x, (1, -2), axis=(0, -1)), m.roll(x, 2, axis=(0, 1))] if x.ndim > 1 else []
    return [m.roll(x, 1), m.roll(x, -9), *[m.roll(x, 1, axis=axis) for axis in axes(x)], *pairs]


def stacked(m: Any, x: Value) -> list[Value]:
    joined = [m.concat([x, x, m.ones_like(x)], axis=axis) for axis in axes(x)]
    return [
        *joined,
        m.concat((x, x), axis=None),
        *[m.stack([x, x], axis=axis) for axis in range(-x.ndim - 1, x.ndim + 1)],
    ]


def moved(m: Any, x: Value) -> list[Value]:
    several = [m.moveaxis(x, (0, 1), (-1, 0))] if x.ndim > 1 else []
    return [m.moveaxis(x, a, b) for a in axes(x) for b in axes(x)] + [m.moveaxis(x, (), ())] + several


def searched(m: Any, x: Value) -> list[Value]:
    return [m.searchsorted(m.sort(x), x, side=side) for side in ("left", "right")]


MANIPULATION = [
    Program("broadcast_arrays", ALL, lambda m, x: m.broadcast_arrays(x, m.zeros((2, *x.shape)), x)),
    Program("broadcast_to", ALL, lambda m, x: [m.broadcast_to(x, x.shape), m.broadcast_to(x, (2, *x.shape))]),
    Program("concat and stack", ALL, stacked),
    Program("expand_dims", ALL, lambda m, x: [m.expand_dims(x, axis=a) for a in range(-x.ndim - 1, x.ndim + 1)]),
    Program("flip", ALL, lambda m, x: [m.flip(x), *[m.flip(x, axis=a) for a in axes_and_tuples(x)]]),
    Program("moveaxis", ALL, moved),
    Program("permute_dims", ALL, lambda m, x: m.permute_dims(x, tuple(range(x.ndim))[::-1])),
    Program("repeat", ALL, lambda m, x: [m.repeat(x, n, axis=a) for n in (0, 2) for a in (None, *axes(x))]),
    Program("repeat by row", ALL, lambda m, x: m.repeat(x, np.array([2, 0, 1]), axis=0), (MATRIX,)),
    Program("reshape", ALL, lambda m, x: [m.reshape(x, s) for s in ((1, *x.shape), x.shape[::-1], (x.size,))]),
    Program("reshape to -1", ALL, lambda m, x: [m.reshape(x, (-1,), copy=copy) for copy in (None, True, False)], FULL),
    Program("roll", ALL, rolled),
    Program("squeeze", ALL, squeezed),
    Program("tile", ALL, lambda m, x: [m.tile(x, n) for n in ((), (2,), (1, 2, 1, 3), (0,))]),
    Program("unstack", ALL, lambda m, x: [m.unstack(x, axis=axis) for axis in axes(x)]),
    Program("tril triu", ALL, lambda m, x: [f(x, k=k) for f in (m.tril, m.triu) for k in (-1, 0, 2)], MATRICES),
    Program("transposed", ALL, lambda m, x: [m.matrix_transpose(x), m.linalg.matrix_transpose(x), x.mT], MATRICES),
    Program("T", ALL, lambda m, x: x.T, (MATRIX, EMPTY)),
    Program("meshgrid", ALL, lambda m, x: [m.meshgrid(x, x[:1], indexing=i) for i in ("ij", "xy")], (ONE, VECTOR)),
    Program("take", ALL, lambda m, x: [m.take(x, m.asarray([0, 0]), axis=a) for a in axes(x)], FULL),
    Program("take from a vector", ALL, lambda m, x: m.take(x, m.asarray([2, 0])), (VECTOR,)),
    Program(
        "take_along_axis",
        ALL,
        lambda m, x: [m.take_along_axis(x, m.argsort(m.real(x), axis=a, stable=True), axis=a) for a in axes(x)],
    ),
    Program("zeros_like", ALL, lambda m, x: [m.zeros_like(x), m.ones_like(x), m.zeros_like(x, dtype=m.float32)]),
    Program("full_like", ALL, lambda m, x: [m.full_like(x, 1), m.full_like(x, True, dtype=m.bool)]),
    Program("where", ALL, lambda m, x: [m.where(m.astype(x, m.bool), x, m.ones_like(x)), m.where(m.isnan(x), x, x)]),
    Program("where of scalars", "ifc", lambda m, x: [m.where(x == x, x, 1), m.where(x == x, 0, x)]),
    Program(
        "searchsorted", "if", lambda m, x: [m.searchsorted(m.sort(x), x, side=s) for s in ("left", "right")], (VECTOR,)
    ),
    Program(
        "searchsorted by a permutation",
        "if",
        lambda m, x: m.searchsorted(x, x[None], sorter=m.argsort(x, stable=True)),
        (ONE, VECTOR),
    ),
    Program("clip", "if", lambda m, x: [m.clip(x), m.clip(x, 1, 3), m.clip(x, min=2), m.clip(x, max=x, min=x)]),
]
SETS = [
    Program("nonzero", ALL, lambda m, x: m.nonzero(x), (ONE, VECTOR, MATRIX, BOX, EMPTY), knows_shapes=False),
    Program("unique_all", "bif", lambda m, x: tuple(m.unique_all(x)), knows_shapes=False),
    Program("unique_counts", "bif", lambda m, x: tuple(m.unique_counts(x)), knows_shapes=False),
    Program("unique_inverse", "bif", lambda m, x: tuple(m.unique_inverse(x)), knows_shapes=False),
    Program("unique_values", "bif", lambda m, x: m.sort(m.unique_values(x)), knows_shapes=False),
    Program("boolean mask", ALL, lambda m, x: [x[x != x], x[x == x]], knows_shapes=False),
]
PROGRAMS = {program.name: program for program in (*STATISTICS, *MANIPULATION, *SETS)}
