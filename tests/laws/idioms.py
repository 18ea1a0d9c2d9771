"""One-line idioms of NumPy's users, written with plain `import numpy as np`, in the order of NumPy's reference manual.

One idea: the table was written before it was run, and keeps the idioms that cannot work.  `EDGES` names these, with the
transformations that refuse them and the words of the error; the page of calque-numpy lists them with a way out.

Read next: `test_idioms.py`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import Polynomial, chebyshev
from program import numbers


class Idiom(NamedTuple):
    """A row of the table: a function, and one function of `(rng, dtype)` for each argument."""

    name: str
    fun: Callable[..., Any]
    makers: Sequence[Callable[..., Any]]

    def example(self, seed: int) -> list[Any]:
        """Return arguments of doubles; other seeds give other values."""
        rng = np.random.default_rng(seed)
        return [make(rng, np.dtype(float)) for make in self.makers]


V, M, S = numbers((5,)), numbers((3, 4)), numbers((3, 3))
POSITIVE, PAIR = numbers((5,), 0.5, 2.0), numbers((2, 5))
LONG = numbers((8,))
NUMBER = numbers((), 0.5, 2.0)
KNOWN = np.array([True, False, True, True, False])
LABELS = np.array([0, 2, 1, 0, 2])
GRID = np.array([-3.0, -1.0, 0.5, 1.0, 3.0])


def added_in_place(x):
    y = 2.0 * x
    y += 1.0
    y *= x
    return y


def unpacked(x):
    a, b, *rest = x
    return a * b + sum(rest)


def printed(x):
    text = f"sum {x.sum():.3f}, first {x[0]}, all {x}"
    return x * bool(text)


def halved_until_small(x):
    while np.linalg.norm(x) > 0.1:
        x = 0.5 * x
    return x


def at_the_largest(x):
    i, j = np.unravel_index(np.argmax(x), x.shape)
    return x[i, j] ** 2


def filtered(x):
    spectrum = np.fft.rfft(x)
    return np.fft.irfft(spectrum * (np.fft.rfftfreq(len(x)) < 0.3), n=len(x))


def spectral_root(x):
    w, v = np.linalg.eigh(x @ x.T)
    return v @ np.diag(np.sqrt(w)) @ v.T


def group_sums(x):
    groups, places = np.unique(LABELS, return_inverse=True)
    return [x[places == i].sum() for i, _ in enumerate(groups)]


def row(name, fun, *makers):
    return Idiom(name, fun, makers or (V,))


CREATION = [
    row("zeros_like", lambda x: np.zeros_like(x) + x),
    row("ones_like", lambda x: np.ones_like(x) * x.mean()),
    row("full_like of a constant", lambda x: np.full_like(x, 2.0) ** x),
    row("full of a value", lambda x: np.full(4, x[0])),
    row("array of elements", lambda x: np.array([x[0], 2 * x[1], x[0] * x[1]])),
    row("array of a list that was filled", lambda x: np.array([r.sum() for r in x]), M),
    row("asarray on entry", lambda x: np.asarray(x) ** 2),
    row("copy", lambda x: np.copy(x) * 2),
    row("linspace between values", lambda x: np.linspace(x[0], x[1], 5)),
    row("logspace", lambda x: np.logspace(x[0], x[1], 4)),
    row("geomspace", lambda x: np.geomspace(x[0], x[1], 4), POSITIVE),
    row("arange of the size", lambda x: np.arange(len(x)) * x),
    row("eye", lambda x: x + 0.1 * np.eye(3), S),
    row("eye of the size", lambda x: np.eye(x.shape[0], dtype=x.dtype) * x),
    row("diag", lambda x: np.diag(np.diag(x)), S),
    row("diag off", lambda x: np.diag(x, k=1)),
    row("tril triu", lambda x: np.tril(x) - np.triu(x, 1), S),
    row("vander", lambda x: np.vander(x, 3, increasing=True)),
    row("meshgrid", lambda x, y: np.hypot(*np.meshgrid(x, y)), V, V),
    row("meshgrid ij", lambda x: np.prod(np.meshgrid(x, x[:2], indexing="ij", sparse=False)[0], axis=1)),
    row("fromfunction", lambda x: np.fromfunction(lambda i, j: np.exp(-x * (i - j) ** 2), (3, 4)), NUMBER),
    row("block", lambda x: np.block([[x, np.zeros((3, 1))], [np.ones((1, 3)), np.eye(1)]]), S),
    row("indices", lambda x: np.sum(np.indices(x.shape) * x, axis=0), M),
]

INDEXING = [
    row("last", lambda x: x[-1]),
    row("reversed", lambda x: x[::-1] * x),
    row("differences by slices", lambda x: (x[1:] - x[:-1]) / (2 * 0.1)),
    row("inner part", lambda x: x[1:-1, 1:-1] - 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1]), numbers((4, 5))),
    row("distances by newaxis", lambda x: np.abs(x[:, None] - x[None, :]).sum(axis=1)),
    row("distances of points", lambda x: ((x[:, np.newaxis, :] - x) ** 2).sum(-1), M),
    row("ellipsis", lambda x: x[..., 0] + x[..., -1], M),
    row("list of indices", lambda x: x[[0, 2, 2]]),
    row("pairs of indices", lambda x: -x[np.arange(3), [0, 1, 3]], M),
    row("known mask", lambda x: x[KNOWN] ** 2),
    row("mask of values", lambda x: x[x > 0].sum()),
    row("assigned copy by where", lambda x: np.where(x < 0, 0.1 * x, x)),
    row("where with a number", lambda x: np.where(x > 0.5, 1.0, x)),
    row("ix_", lambda x: x[np.ix_([0, 2], [1, 3])], M),
    row("take", lambda x: np.take(x, [2, 0], axis=1), M),
    row("at argmax", lambda x: x[np.argmax(np.abs(x))]),
    row("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), M),
    row("compress", lambda x: np.compress([True, False, True], x, axis=0), M),
    row("delete", lambda x: np.delete(x, 1)),
    row("insert", lambda x: np.insert(x, 2, 7.0)),
    row("diag_indices", lambda x: x[np.diag_indices(3)], S),
    row("triu_indices", lambda x: x[np.triu_indices(3, k=1)].sum(), S),
    row("r_", lambda x: np.r_[x, 1.0, x[:2]]),
    row("c_", lambda x: np.c_[x, x**2, np.ones(5)]),
    row("known nonzero", lambda x: x[np.nonzero(KNOWN)[0]]),
    row("unravel_index", at_the_largest, M),
    row("choose", lambda x, y: np.choose([0, 1, 1, 0, 1], [x, y]), V, V),
    row("sliding windows", lambda x: sliding_window_view(x, 3).mean(axis=-1)),
]

PROTOCOL = [
    row("loop over rows", lambda x: sum(np.sum(r**2) for r in x), M),
    row("enumerate", lambda x: sum(i * r.sum() for i, r in enumerate(x, 1)), M),
    row("unpacking", unpacked),
    row("zip", lambda x, y: sum(a * np.sin(b) for a, b in zip(x, y)), V, V),
    row("sum of a list", lambda x: sum([x[0], x[1] ** 2, np.exp(x[2])])),
    row("min of Python", lambda x: min(x) * 2),
    row("sorted of Python", lambda x: sorted(x)[1] ** 2),
    row("abs and round", lambda x: abs(x) + round(x.sum(), 2)),
    row("divmod", lambda x: divmod(x, 0.7)[1]),
    row("len", lambda x: x.sum() / len(x)),
    row("in place on a result", added_in_place),
    row("functools.reduce", lambda x: functools.reduce(operator.mul, x)),
    row("branch on the shape", lambda x: x.sum() if x.ndim == 1 and x.shape[0] > 3 else x),
    row("text of a result", printed),
    row("powers", lambda x: x**2 + 2**x + x**-1 + x**0.5, POSITIVE),
    row("floor and remainder", lambda x: x // 0.3 + x % 0.7),
    row("comparisons as weights", lambda x: ((x > -1) & ~(x >= 1)) * x),
    row("matrix product", lambda x, y: x.T @ x @ y, M, numbers((4,))),
    row("math.sqrt of an element", lambda x: math.sqrt(x[0]) * x, POSITIVE),
    row("constants of NumPy on the left", lambda x: np.pi * x + np.float32(2) * x + np.arange(5) / x, POSITIVE),
    row("a list as an operand", lambda x: x * [1.0, 2.0, 3.0, 4.0, 5.0] + (1, 2, 3, 4, 5)),
    row("a loop that waits for values", halved_until_small),
]

METHODS = [
    row("x.sum", lambda x: x.sum(axis=0) + x.sum(axis=(0, 1)), M),
    row("x.mean", lambda x: x - x.mean(axis=1, keepdims=True), M),
    row("x.std x.var", lambda x: x.std(axis=0) + x.var(axis=0, ddof=1), M),
    row("x.max x.min", lambda x: (x - x.min()) / (x.max() - x.min())),
    row("x.argmax", lambda x: x[x.argmax()] + x.argmin(axis=0)),
    row("x.reshape", lambda x: x.reshape(2, -1) @ x.reshape((6, 2)), M),
    row("x.ravel", lambda x: np.concatenate([x.ravel(), x.T.flatten()]), M),
    row("x.transpose", lambda x: x.transpose(1, 0).swapaxes(0, 1) + x.squeeze(), M),
    row("x.repeat", lambda x: x.repeat(2, axis=0), M),
    row("x.cumsum x.cumprod", lambda x: x.cumsum() + x.cumprod()),
    row("x.dot", lambda x, y: x.dot(y), M, numbers((4,))),
    row("x.trace", lambda x: x.trace() * x.diagonal(), S),
    row("x.clip", lambda x: x.clip(-0.5, 0.5) + x.clip(min=0)),
    row("x.astype", lambda x: (x > 0).astype(float) * x.astype(np.float32)),
    row("x.copy", lambda x: x.copy() + x.conj()),
    row("x.argsort", lambda x: x[x.argsort()[::-1]]),
    row("x.prod", lambda x: x.prod(axis=0) + x.round(1)[0], M),
    row("x.any x.all", lambda x: x * (x > 9).any() + (x > -9).all()),
    row("x.size", lambda x: x.sum() / x.size * x.ndim),
    row("x.take", lambda x: x.take([1, 1, 0], axis=0), M),
]

UFUNCS = [
    row("dtype of a ufunc", lambda x, y: np.add(x, y, dtype=np.float32), V, V),
    row("add.reduce", lambda x: np.add.reduce(x, axis=0), M),
    row("multiply.reduce", lambda x: np.multiply.reduce(x, axis=1, keepdims=True), M),
    row("multiply.accumulate", lambda x: np.multiply.accumulate(x)),
    row("maximum.accumulate", lambda x: np.maximum.accumulate(x, axis=1), M),
    row("subtract.outer", lambda x: np.subtract.outer(x, x) ** 2),
    row("multiply.outer", lambda x, y: np.multiply.outer(x, y), M, V),
    row("logaddexp.reduce", lambda x: np.logaddexp.reduce(x)),
    row("add.reduceat", lambda x: np.add.reduceat(x, [0, 2, 3])),
    row("safe division", lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.1)),
    row("where and initial", lambda x: np.sum(x, where=x > 0, initial=2.0) + np.max(x, initial=0.0, where=KNOWN)),
    row("mean where", lambda x: np.mean(x, where=KNOWN) * np.std(x, where=KNOWN)),
    row("axis tuple keepdims", lambda x: x / np.sum(x**2, axis=(0, 1), keepdims=True), M),
    row("clip with None", lambda x: np.clip(x, None, 1.0) + np.clip(x, -x[0], a_max=9), V),
    row("relu", lambda x: np.maximum(0, x) + np.minimum(x, [0.1] * 5)),
    row("arctan2 hypot", lambda x, y: np.arctan2(y, x) * np.hypot(x, y), V, V),
    row("log1p expm1", lambda x: np.log1p(np.exp(-np.abs(x))) + np.expm1(x)),
    row("sinc", lambda x: np.sinc(x)),
    row("rounding", lambda x: x - np.floor(x) + np.rint(x) + np.trunc(x) + np.sign(x)),
    row("roots and powers", lambda x: np.sqrt(x) + np.cbrt(x) + np.power(x, 3) + np.square(x), POSITIVE),
    row("nan_to_num", lambda x: np.nan_to_num(x / (x > -9), nan=0.0)),
    row("logical functions", lambda x: np.logical_and(x > -1, np.isfinite(x)) * x),
    row("complex phases", lambda x: np.abs(np.exp(1j * x) + 0.5).real + np.angle(1j + x)),
    row("degrees", lambda x: np.sin(np.deg2rad(x)) + np.degrees(x)),
]

STATISTICS = [
    row("median", lambda x: np.median(x, axis=1), M),
    row("percentile", lambda x: np.percentile(x, [25, 75])),
    row("quantile method", lambda x: np.quantile(x, 0.3, axis=0, method="midpoint"), M),
    row("average", lambda x: np.average(x, axis=0, weights=[1, 2, 3]), M),
    row("cov corrcoef", lambda x: np.cov(x) + np.corrcoef(x[0], x[1])[0, 1], M),
    row("z-score", lambda x: (x - x.mean(0)) / x.std(0), M),
    row("ptp", lambda x: np.ptp(x, axis=1), M),
    row("histogram with weights", lambda x: np.histogram(GRID, bins=[-4, 0, 4], weights=x)[0]),
    row("bincount with weights", lambda x: np.bincount(LABELS, weights=x)),
    row("digitize", lambda x: GRID[np.digitize(x, GRID) - 1] * x),
    row("nanmean", lambda x: np.nanmean(np.where(KNOWN, x, np.nan))),
    row("sort descending", lambda x: np.sort(x)[::-1]),
    row("largest three", lambda x: x[np.argsort(-x)[:3]]),
    row("partition", lambda x: np.partition(x, 2)[2]),
    row("searchsorted", lambda x: np.searchsorted(GRID, x) * x),
    row("unique groups", group_sums),
    row("isin", lambda x: np.isin(LABELS, [0, 1]) * x),
    row("count_nonzero", lambda x: np.count_nonzero(x > 0) * x),
    row("isclose", lambda x: np.isclose(x, 0.0) + np.allclose(x, x[::-1]) + x),
]

POLYNOMIALS_AND_SIGNALS = [
    row("polyval", lambda x: np.polyval([1, 2, 3], x)),
    row("polyfit", lambda x: np.polyfit(np.arange(5.0), x, 2)),
    row("poly1d", lambda x: np.poly1d([1.0, -2.0, 0.5])(x)),
    row("Polynomial", lambda x: Polynomial([1.0, 2.0, 3.0])(x)),
    row("chebval", lambda x: chebyshev.chebval(x, [1.0, 2.0, 3.0])),
    row("convolve", lambda x: np.convolve(x, [1, 2, 1], mode="same")),
    row("interp", lambda x: np.interp(x, GRID, GRID**2)),
    row("gradient", lambda x: np.gradient(x, 0.1)),
    row("trapezoid", lambda x: np.trapezoid(x**2, dx=0.1) + np.trapezoid(x, GRID)),
    row("diff", lambda x: np.diff(x, n=2, axis=1), M),
    row("window", lambda x: np.hanning(5) * x + np.kaiser(5, 3.0)),
    row("power spectrum", lambda x: np.abs(np.fft.rfft(x)) ** 2),
    row("low-pass filter", filtered, LONG),
    row("fft2", lambda x: np.fft.fftshift(np.fft.fft2(x)).imag, M),
]

LINALG = [
    row("norm", lambda x: x / np.linalg.norm(x)),
    row("norm of rows", lambda x: np.linalg.norm(x, axis=1, keepdims=True) + np.linalg.norm(x, 1), M),
    row("solve", lambda a, b: np.linalg.solve(a @ a.T + np.eye(3), b), S, numbers((3,))),
    row("inv det", lambda x: np.linalg.inv(x + 5 * np.eye(3)) * np.linalg.det(x), S),
    row("slogdet", lambda x: np.linalg.slogdet(x @ x.T + np.eye(3))[1], S),
    row("lstsq", lambda x, y: np.linalg.lstsq(x.T, y, rcond=None)[0], M, numbers((4,))),
    row("eigh", spectral_root, M),
    row("svd values", lambda x: np.linalg.svd(x, compute_uv=False), M),
    row("cholesky", lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)), M),
    row("matrix_power", lambda x: np.linalg.matrix_power(x, 3), S),
    row("einsum", lambda x: np.einsum("ij,kj->ik", x, x) + np.einsum("ij->", x), M),
    row("tensordot kron outer", lambda x: np.tensordot(x, x, axes=([1], [1])) + np.outer(x[:, 0], x[:, 1]), M),
]

SHAPES = [
    row("stack", lambda x: np.stack([x[0], x[1] * x[2], np.sum(x)])),
    row("vstack hstack", lambda x: np.hstack([np.vstack([x, x[0]]), np.ones((4, 1))]), M),
    row("column_stack", lambda x: np.column_stack((np.ones(5), x, x**2))),
    row("append", lambda x: np.append(x, [1.0, 2.0])),
    row("split", lambda x: np.subtract(*np.split(x, 2)), LONG),
    row("tile roll flip", lambda x: np.tile(x, (2, 1)) + np.roll(x, 1) + np.flip(x)),
    row("broadcast_to", lambda x: np.broadcast_to(x, (3, 5)).sum(axis=0) * np.expand_dims(x, 1)),
    row("pad constant", lambda x: np.pad(x, ((1, 1), (0, 2)), constant_values=1.0), M),
    row("pad edge", lambda x: np.pad(x, 2, mode="edge") + np.pad(x, 2, mode="reflect")),
    row("atleast_2d", lambda x: np.atleast_2d(x) + np.moveaxis(x[None, :, None], 1, 0)[..., 0]),
]

FUNCTIONAL = [
    row("apply_along_axis", lambda x: np.apply_along_axis(lambda r: r / r.sum(), 1, x), M),
    row("vectorize", lambda x: np.vectorize(lambda a, b: a * b + 1)(x, 2.0)),
    row("piecewise", lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v**2])),
    row("select", lambda x: np.select([x < -1, x < 1], [x, x**2], default=1.0)),
    row("constants drawn inside", lambda x: np.random.default_rng(0).normal(size=5) @ x),
    row("random order", lambda x: x[np.random.default_rng(0).permutation(len(x))]),
    row("machine epsilon", lambda x: x / (np.abs(x) + np.finfo(x.dtype).eps)),
]

GROUPS = {
    "creation": CREATION,
    "indexing": INDEXING,
    "protocol": PROTOCOL,
    "methods": METHODS,
    "ufuncs": UFUNCS,
    "statistics": STATISTICS,
    "polynomials and signals": POLYNOMIALS_AND_SIGNALS,
    "linear algebra": LINALG,
    "shapes": SHAPES,
    "functional": FUNCTIONAL,
}


class Edge(NamedTuple):
    """Why an idiom does not work: the transformations that refuse it, and words of their error."""

    refused_by: tuple[str, ...]
    words: str


ALWAYS = ("grad", "vmap", "jit")
WITHOUT_VALUES = ("vmap", "jit")  # a derivative knows the values

EDGES = {
    # NumPy asks no class before it makes an array of its own
    "full of a value": Edge(ALWAYS, r"Use calque\.numpy\.full\."),
    "array of elements": Edge(ALWAYS, r"numpy\.stack\(\[x, y\]\), or calque\.numpy\.array\(\[x, y\]\)"),
    "array of a list that was filled": Edge(ALWAYS, r"numpy\.stack\(\[x, y\]\), or calque\.numpy\.array\(\[x, y\]\)"),
    "asarray on entry": Edge(ALWAYS, r"In place of numpy\.asarray\(x\) write x, or calque\.numpy\.asarray\(x\)"),
    "r_": Edge(ALWAYS, r"Use numpy\.concatenate and numpy\.column_stack"),
    "c_": Edge(ALWAYS, r"Use numpy\.concatenate and numpy\.column_stack"),
    "Polynomial": Edge(ALWAYS, r"numpy\.polynomial\.polynomial\.polyval\(x, p\.coef\)"),
    "vectorize": Edge(ALWAYS, r"Use calque\.numpy\.vectorize, or call the function with arrays"),
    "digitize": Edge(WITHOUT_VALUES, r"use calque\.numpy\.take\(x, i, axis=0\), or calque\.numpy\.at\(x\)\[i\]\.get"),
    # the result would be a Python number
    "math.sqrt of an element": Edge(ALWAYS, r"numpy\.sqrt\(x\) in place of math\.sqrt\(x\)"),
    # memory would be written to
    "safe division": Edge(ALWAYS, r"numpy\.where\(mask, numpy\.log\(numpy\.where\(mask, x, 1\)\), 0\)"),
    # the course of the program depends on values
    "mask of values": Edge(WITHOUT_VALUES, r"Use numpy\.where\(mask, x, other\), which keeps the shape"),
    "min of Python": Edge(WITHOUT_VALUES, r"Use numpy\.where, lax\.cond or lax\.while_loop"),
    "sorted of Python": Edge(WITHOUT_VALUES, r"Use numpy\.where, lax\.cond or lax\.while_loop"),
    "a loop that waits for values": Edge(WITHOUT_VALUES, r"Use numpy\.where, lax\.cond or lax\.while_loop"),
}
