"""Random choices from categories and from the elements of an array.

One idea: the position of the largest of logits plus Gumbel numbers is distributed as the softmax of the logits; the
positions of the k largest are k choices without replacement.
Source: Yellott (1977), The relationship between Luce's choice axiom, Thurstone's theory, and the double exponential.

Read next: `counts.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, lax, typeof
from calque_core.engine import scalar_dtype
from calque_core.engine.numpy_functions import at, canonical_axis
from calque_core.extend import integer, where
from calque_core.lax import broadcast_shapes
from calque_numpy.random.arguments import check_key, check_real, check_shape, float_of
from calque_numpy.random.floats import unit_uniform
from calque_numpy.random.from_uniform import gumbel_mode, gumbel_of
from calque_numpy.random.integers import randint
from calque_numpy.random.known_values import check_weights, known_values
from calque_numpy.random.permutations import permutation
from calque_numpy.random.threefry import Shape

Value = Any


def categorical(
    key: Value,
    logits: Value,
    axis: int = -1,
    shape: Sequence[int] | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> Value:
    """Return random positions along `axis`, with probabilities proportional to exp(logits).

    `mode` is as for `gumbel`.  Without `replace`, the positions along the first axes of `shape` differ.
    Shapes: one key, logits [*a, n, *b] -> [*a, *b], or `shape`, which ends with a shape to which [*a, *b] broadcasts.
    Dtype: the default integer; int32 without `replace`.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `logits` is not real; ShapeError if `shape`
    does not fit; ValueError for an axis out of range, another mode, or more choices than categories with a
    probability above 0, or if one of known `logits` is NaN, or all are minus infinity.

    >>> import numpy as np
    >>> from calque_numpy.random import categorical, key
    >>> categorical(key(42), np.log([0.1, 0.2, 0.7]), shape=(5,))
    array([2, 2, 2, 2, 2])
    """
    key = check_key("categorical", key)
    check_real("categorical", "logits", logits)
    mode = gumbel_mode("categorical", mode)
    logits = lax.convert_element_type(logits, float_of(logits))
    aval = typeof(logits)
    axis = canonical_axis("categorical", axis, aval.ndim)
    batch = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    sizes = batch if shape is None else check_shape("categorical", shape)
    _check_batch(batch, sizes)
    prefix = sizes[: len(sizes) - len(batch)]
    if prod(sizes):
        _check_logits(logits, axis, 1 if replace else prod(prefix))
    if not replace:
        return _different_categories(key, logits, axis, sizes, prefix, mode)
    whole = (*sizes[: len(prefix) + axis], aval.shape[axis], *sizes[len(prefix) + axis :])
    noisy = lax.add(gumbel_of(key, whole, aval.dtype, mode), lax.expand_dims(logits, tuple(range(len(prefix)))))
    return lax.argmax(noisy, len(prefix) + axis, scalar_dtype(int))


def _check_logits(logits: Value, axis: int, count: int) -> None:
    """Check that known logits have a number of possible categories.  Raises: ValueError."""
    values = known_values(logits)
    if values is None:
        return
    if np.isnan(values).any():
        raise ValueError(f"categorical{where()}: logits has the value nan. Give logarithms of probabilities.")
    possible = int((values > -np.inf).sum(axis).min())
    if possible < count <= values.shape[axis]:
        raise ValueError(
            f"categorical{where()}: {count} different categories are asked for, but {possible} of {values.shape[axis]} "
            "have a logit above minus infinity. Ask for fewer, or give more of them a probability."
        )


def _check_batch(batch: Shape, shape: Shape) -> None:
    try:
        fits = broadcast_shapes(batch, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"categorical{where()}: the logits without their axis have shape {batch}, which does not broadcast to the "
            f"shape {shape}. Give a shape that ends with {batch}."
        )


def _different_categories(key: Value, logits: Value, axis: int, shape: Shape, prefix: Shape, mode: str) -> Value:
    aval = typeof(logits)
    count, n = prod(prefix), aval.shape[axis]
    if count > n:
        raise ValueError(
            f"categorical{where()}: shape {shape} asks for {count} different categories of {n}. Ask for fewer, or set "
            "replace=True."
        )
    noisy = lax.add(logits, gumbel_of(key, aval.shape, aval.dtype, mode))
    return lax.reshape(_moved_first(lax.top_k(noisy, count, axis=axis)[1], axis), shape)


def _moved_first(x: Value, axis: int) -> Value:
    return lax.transpose(x, [axis, *(d for d in range(typeof(x).ndim) if d != axis)])


def choice(
    key: Value,
    a: Value,
    shape: Sequence[int] = (),
    replace: bool = True,
    p: Value = None,
    axis: int = 0,
    mode: str | None = None,
) -> Value:
    """Return random elements of `a` along `axis`, or of the numbers 0, ..., a - 1 for an integer.

    `p` holds the probabilities of the elements, or numbers proportional to them; without it, the elements are equally
    likely.  Without `replace`, no element is chosen twice; `mode` is then as for `gumbel`.
    Shapes: one key, a [*x, n, *y], p [n] -> [*x, *shape, *y].  Dtype: kept; the default integer for an integer.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `a` is a scalar that is no integer;
    ShapeError if `p` does not fit; ValueError for an axis out of range, an empty `a`, or more choices than elements;
    of known `p`, if it has a negative number, infinity or NaN, or fewer positive numbers than choices need.

    >>> import numpy as np
    >>> from calque_numpy.random import choice, key
    >>> choice(key(42), np.array([10, 20, 30]), (4,))
    array([10, 20, 10, 20])
    """
    key, sizes = check_key("choice", key), check_shape("choice", shape)
    mode = gumbel_mode("choice", mode)
    elements = a if typeof(a).shape else None
    axis = canonical_axis("choice", axis, typeof(a).ndim) if elements is not None else 0
    n = integer("choice", "a", a) if elements is None else typeof(a).shape[axis]
    count = prod(sizes)
    if count:
        _check_counts(n, count, replace)
    if p is None and not replace:
        order = permutation(key, n if elements is None else elements, axis)
        return _split_axis(lax.slice_in_dim(order, 0, count, axis=axis), axis, sizes)
    positions = randint(key, (count,), 0, n) if p is None else _weighted(key, n, count, p, replace, mode)
    chosen = positions if elements is None else at(elements)[(*(slice(None),) * axis, positions)].get()
    return _split_axis(chosen, axis, sizes)


def _split_axis(x: Value, axis: int, sizes: Shape) -> Value:
    shape = typeof(x).shape
    return lax.reshape(x, (*shape[:axis], *sizes, *shape[axis + 1 :]))


def _check_counts(n: int, count: int, replace: bool) -> None:
    if n < 1:
        raise ValueError(f"choice{where()}: there are {n} elements to choose from. Give at least one.")
    if not replace and count > n:
        raise ValueError(
            f"choice{where()}: the shape asks for {count} different elements of {n}. Ask for fewer, or set "
            "replace=True."
        )


def _weighted(key: Value, n: int, count: int, p: Value, replace: bool, mode: str) -> Value:
    """Return `count` positions with the probabilities `p`."""
    check_real("choice", "p", p)
    if typeof(p).shape != (n,):
        raise ShapeError(f"choice{where()}: p has type {typeof(p)}, for {n} elements. Give one probability for each.")
    weights = check_weights("choice", "p", p) if count else None
    if weights is not None and not replace and (weights > 0).sum() < count:
        raise ValueError(
            f"choice{where()}: the shape asks for {count} different elements, but {(weights > 0).sum()} in p have a "
            "probability above 0. Ask for fewer, or set replace=True."
        )
    dtype = float_of(p)
    p = lax.convert_element_type(p, dtype)
    if replace:
        sums = lax.cumsum(p)
        u = unit_uniform(key, (count,), dtype)
        return _first_not_below(sums, lax.mul(lax.index_in_dim(sums, n - 1, keepdims=False), lax.sub(dtype.type(1), u)))
    with np.errstate(divide="ignore"):  # a probability of 0
        noisy = lax.add(gumbel_of(key, (n,), dtype, mode), lax.log(p))
    return lax.convert_element_type(lax.top_k(noisy, count)[1], scalar_dtype(int))


def _first_not_below(sums: Value, x: Value) -> Value:
    """Return the position of the first of the rising `sums` that is at least x, by halving the range."""
    dtype = canonicalize_dtype(np.int64)
    low = lax.full(typeof(x).shape, 0, dtype)
    high = lax.full(typeof(x).shape, typeof(sums).shape[0], dtype)
    for _ in range(typeof(sums).shape[0].bit_length()):
        middle = lax.div(lax.add(low, high), dtype.type(2))
        is_below = lax.lt(at(sums)[middle].get(mode="clip"), x)
        is_open = lax.lt(low, high)
        low = lax.select(lax.bitwise_and(is_open, is_below), lax.add(middle, dtype.type(1)), low)
        high = lax.select(lax.bitwise_and(is_open, lax.bitwise_not(is_below)), middle, high)
    return lax.convert_element_type(low, scalar_dtype(int))
