"""Attention: means of values, weighted by how well their keys fit a query.

Read next: `normalizers.py`, which owns `softmax`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, result_type, typeof
from calque_core.engine import scalar_dtype
from calque_core.engine.numpy_functions import array_of, as_dtype, broadcast_to, floating
from calque_core.extend import by_types, integer, where
from calque_numpy.contractions import einsum
from calque_numpy.nn.normalizers import logsumexp, softmax

Value = Any


@by_types
def dot_product_attention(  # noqa: PLR0913 -- JAX's parameters
    query: Value,
    key: Value,
    value: Value,
    bias: Value = None,
    mask: Value = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Value = None,
    key_value_seq_lengths: Value = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return, for each query, the mean of the values, weighted by the softmax of scale * query . key + bias.

    Heads of the query share the heads of the key and value in groups, in their order.  `mask` says which keys a query
    sees, `is_causal` shows only those at or before the query's position, and `local_window_size` only those so many
    positions before and after it: a pair, or one number for both.  The lengths of a row's queries and keys say how many
    at its start count: other keys are not seen, and the result of other queries is 0.  The default of `scale` is
    1 / sqrt(h).  A query that sees no key gives the mean of all values.  With `return_residual`, the pair with the
    logarithms of the sums of the weights' exponentials.  `implementation` is None or "xla".
    Shapes: query [b, t, n, h], key and value [b, s, k, h] -> [b, t, n, h], where k divides n; or all without b.  `bias`
    and `mask` broadcast to [b, n, t, s]; lengths [b]; residual [b, t, n].
    Dtype: the query's, integers become floats; scores and weights are computed in at least float32.
    Raises: ShapeError if the shapes do not fit; TypeError for a mask that is not bool, or lengths that are no integers;
    ValueError for a negative window, or another implementation.
    Source: Vaswani et al. (2017), Attention is all you need, section 3.2.

    >>> import numpy as np
    >>> from calque_numpy.nn import dot_product_attention
    >>> value = np.array([1.0, 2.0, 6.0]).reshape(3, 1, 1)
    >>> dot_product_attention(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)), value, is_causal=True).ravel()
    array([1. , 1.5, 3. ])
    """
    _check_shapes(query, key, value)
    query = floating(query)
    if mask is not None and typeof(mask).dtype.kind != "b":
        raise TypeError(f"dot_product_attention{where()}: the mask is {typeof(mask)}. Give bools, or add it as bias.")
    if implementation not in (None, "xla"):
        raise ValueError(
            f"dot_product_attention{where()}: implementation is {implementation!r}. Use None: XLA computes it on every "
            "device."
        )
    has_batch = typeof(query).ndim == 4
    if not has_batch:
        query, key, value = (lax.expand_dims(x, (0,)) for x in (query, key, value))
    (b, t), s = typeof(query).shape[:2], typeof(key).shape[1]
    visible = [] if mask is None else [mask]
    if is_causal:
        visible.append(np.tri(t, s, dtype=bool))
    if local_window_size is not None:
        visible.append(_window(t, s, local_window_size))
    is_query = None
    if query_seq_lengths is not None:
        is_query = _is_counted("query_seq_lengths", query_seq_lengths, b, t)
        visible.append(lax.expand_dims(is_query, (1, 3)))
    if key_value_seq_lengths is not None:
        visible.append(lax.expand_dims(_is_counted("key_value_seq_lengths", key_value_seq_lengths, b, s), (1, 2)))
    scores = _scores(query, key, bias, visible, scale)
    out = _means(scores, value, typeof(query).dtype)
    if is_query is not None:
        out = lax.select(broadcast_to(lax.expand_dims(is_query, (2, 3)), typeof(out).shape), out, lax.zeros_like(out))
    results = [out]
    if return_residual:
        results.append(as_dtype(lax.transpose(logsumexp(scores, -1), (0, 2, 1)), typeof(query).dtype))
    results = results if has_batch else [lax.squeeze(x, (0,)) for x in results]
    return tuple(results) if return_residual else results[0]


def _window(t: int, s: int, size: int | tuple[int, int]) -> Value:
    """Return which keys lie in the window of each query.  Shapes: -> [t, s]."""
    before, after = size if isinstance(size, tuple) else (size, size)
    before, after = (integer("dot_product_attention", "local_window_size", x) for x in (before, after))
    if min(before, after) < 0:
        raise ValueError(
            f"dot_product_attention{where()}: local_window_size is {size}. Give numbers of positions, zero or more."
        )
    distance = np.arange(s) - np.arange(t)[:, None]
    return (-before <= distance) & (distance <= after)


def _is_counted(name: str, lengths: Value, rows: int, count: int) -> Value:
    """Return which of `count` positions lie before the length of each row.  Shapes: lengths [b] -> [b, count]."""
    lengths = array_of(lengths) if isinstance(lengths, (list, tuple)) else lengths
    aval = typeof(lengths)
    if aval.kind not in "iu":
        raise TypeError(f"dot_product_attention{where()}: {name} is {aval}. Give integers.")
    if aval.shape != (rows,):
        raise ShapeError(f"dot_product_attention{where()}: {name} is {aval}. Give one length for each of {rows} rows.")
    dtype = scalar_dtype(int)  # a small one does not hold all positions
    return lax.lt(np.arange(count, dtype=dtype), lax.expand_dims(as_dtype(lengths, dtype), (1,)))


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


def _scores(query: Value, key: Value, bias: Value, visible: list[Value], scale: float | None) -> Value:
    """Return the scores of each query and key.  Shapes: -> [b, n, t, s]."""
    wide = result_type(typeof(query).dtype, np.float32)
    (b, t, n, h), (s, k) = typeof(query).shape, typeof(key).shape[1:3]
    groups = lax.reshape(as_dtype(query, wide), (b, t, k, n // k, h))
    scores = lax.reshape(einsum("btkgh,bskh->bkgts", groups, as_dtype(key, wide)), (b, n, t, s))
    scores = lax.mul(scores, 1 / sqrt(h) if scale is None else scale)
    if bias is not None:
        scores = lax.add(scores, as_dtype(bias, wide))
    for mask in visible:
        scores = _hidden(scores, mask)
    return scores


def _means(scores: Value, value: Value, dtype: np.dtype[Any]) -> Value:
    """Return the means of the values, weighted by the softmax of the scores.  Shapes: -> [b, t, n, h]."""
    (b, n, t, s), (k, h) = typeof(scores).shape, typeof(value).shape[2:]
    weights = lax.reshape(softmax(scores), (b, k, n // k, t, s))
    out = einsum("bkgts,bskh->btkgh", weights, as_dtype(value, typeof(scores).dtype))
    return as_dtype(lax.reshape(out, (b, t, n, h)), dtype)


def _hidden(scores: Value, mask: Value) -> Value:
    """Return scores that are low, and finite, outside of the mask: a row without keys has equal weights."""
    aval = typeof(scores)
    return lax.select(broadcast_to(mask, aval.shape), scores, -0.7 * float(np.finfo(aval.dtype).max))
