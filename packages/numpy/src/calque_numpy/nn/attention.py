"""Attention: means of values, weighted by how well their keys fit a query.

Read next: `normalizers.py`, which owns `softmax`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, result_type, typeof
from calque_core.extend import where
from calque_core.extend.numpy_functions import as_dtype, broadcast_to
from calque_numpy.contractions import einsum
from calque_numpy.nn.normalizers import softmax

Value = Any


def dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    bias: Value = None,
    mask: Value = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
) -> Value:
    """Return softmax(query key^T * scale + bias) value, for each head.

    Only keys where `mask` holds are seen; with `is_causal`, only those at or before the query's position.  The default
    of `scale` is 1 / sqrt(h).  A query that sees no key gives the mean of all values.
    Shapes: query [b, t, n, h], key and value [b, s, k, h] -> [b, t, n, h], where k divides n; or all without b.  `bias`
    and `mask` broadcast to [b, n, t, s].
    Dtype: the query's; scores and weights are computed in at least float32.
    Raises: ShapeError if the shapes do not fit; TypeError for a mask that is not bool.
    Source: Vaswani et al. (2017), Attention is all you need, section 3.2.

    >>> import numpy as np
    >>> from calque_numpy.nn import dot_product_attention
    >>> value = np.array([1.0, 2.0, 6.0]).reshape(3, 1, 1)
    >>> dot_product_attention(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)), value, is_causal=True).ravel()
    array([1. , 1.5, 3. ])
    """
    _check_shapes(query, key, value)
    if mask is not None and typeof(mask).dtype.kind != "b":
        raise TypeError(f"dot_product_attention{where()}: the mask is {typeof(mask)}. Give bools, or add it as bias.")
    if typeof(query).ndim == 3:
        query, key, value = (lax.expand_dims(x, (0,)) for x in (query, key, value))
        return lax.squeeze(_attend(query, key, value, bias, mask, scale, is_causal), (0,))
    return _attend(query, key, value, bias, mask, scale, is_causal)


def _check_shapes(query: Value, key: Value, value: Value) -> None:
    q, k, v = (typeof(x).shape for x in (query, key, value))
    if len(q) not in (3, 4) or len(k) != len(q) or k != v or q[:-3] != k[:-3] or q[-1] != k[-1]:
        raise ShapeError(
            f"dot_product_attention{where()}: query, key and value have the shapes {q}, {k} and {v}. "
            "Give [b, t, n, h], [b, s, k, h] and [b, s, k, h], or all without b."
        )
    if not k[-2] or q[-2] % k[-2]:
        raise ShapeError(
            f"dot_product_attention{where()}: {q[-2]} heads of the query do not divide among {k[-2]} heads of the key. "
            "Give a multiple."
        )


def _attend(
    query: Value, key: Value, value: Value, bias: Value, mask: Value, scale: float | None, is_causal: bool
) -> Value:
    dtype = typeof(query).dtype
    wide = result_type(dtype, np.float32)
    (b, t, n, h), (s, k) = typeof(query).shape, typeof(key).shape[1:3]
    groups = lax.reshape(as_dtype(query, wide), (b, t, k, n // k, h))
    scores = lax.reshape(einsum("btkgh,bskh->bkgts", groups, as_dtype(key, wide)), (b, n, t, s))
    scores = lax.mul(scores, 1 / sqrt(h) if scale is None else scale)
    if bias is not None:
        scores = lax.add(scores, as_dtype(bias, wide))
    if mask is not None:
        scores = _hidden(scores, mask)
    if is_causal:
        scores = _hidden(scores, np.tri(t, s, dtype=bool))
    weights = lax.reshape(softmax(scores), (b, k, n // k, t, s))
    out = einsum("bkgts,bskh->btkgh", weights, as_dtype(value, wide))
    return as_dtype(lax.reshape(out, (b, t, n, h)), dtype)


def _hidden(scores: Value, mask: Value) -> Value:
    """Return scores that are very low, and finite, outside of the mask: a row without keys has equal weights."""
    aval = typeof(scores)
    return lax.select(broadcast_to(mask, aval.shape), scores, -0.7 * float(np.finfo(aval.dtype).max))
