"""Condition numbers of matrices, as in `numpy.linalg`.

Read next: `norms.py` and `spectra.py`, which it divides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, implements, lax, typeof
from calque_core.engine import numpy_functions as reductions
from calque_core.engine.numpy_functions import broadcast_to
from calque_core.extend import where
from calque_linalg.kit import identity_like
from calque_numpy.equations import as_field, inv, slogdet
from calque_numpy.norms import matrix_norm
from calque_numpy.spectra import svdvals

Value = Any


@implements(np.linalg.cond)
def cond(x: Value, p: Any = None) -> Value:
    """Return the condition number of a matrix: how much an error of b may grow in the solution of x @ y = b.

    It is the quotient of the greatest and the least singular value for `p` None or 2, its inverse for -2, and
    otherwise the product of the norms of `x` and of its inverse, of the `ord` that is `p`.
    Shapes: x [*b, m, n] -> [*b].  Dtype: of x's real part; float64 for integers.  A singular matrix has an infinite
    number.
    Raises: ShapeError unless `x` is a matrix, and square if `p` is a norm; LinAlgError, a ValueError, for a matrix
    without elements; ValueError for another `p`.

    >>> import numpy as np
    >>> from calque_numpy.linalg import cond
    >>> cond(np.array([[4.0, 0.0], [0.0, 2.0]]))
    np.float64(2.0)
    """
    if 0 in typeof(x).shape[-2:]:
        raise np.linalg.LinAlgError(f"cond of {typeof(x)}{where()}: a matrix without elements has no condition number.")
    if p not in (None, 2, -2):
        is_singular, inverse = _inverse_or_identity(*as_field("cond", x))
        out = lax.mul(matrix_norm(x, ord=p), matrix_norm(inverse, ord=p))
        return _infinite_unless_number(lax.select(is_singular, np.inf, out), x)
    values = svdvals(x)
    last = typeof(values).ndim - 1
    greatest, least = (reductions.max(values, last), reductions.min(values, last))
    above, below = (least, greatest) if p == -2 else (greatest, least)
    is_zero = lax.eq(below, 0)
    quotient = lax.div(above, lax.select(is_zero, 1, below))
    return _infinite_unless_number(lax.select(is_zero, np.inf, quotient), x)


def _inverse_or_identity(x: Value) -> tuple[Value, Value]:
    """Return which matrices are singular, whose inverse evaluation refuses, and the inverses of the other ones."""
    aval = typeof(x)
    if aval.ndim < 2 or aval.shape[-2] != aval.shape[-1]:
        raise ShapeError(f"cond of {aval}{where()}: it is no square matrix, so it has no inverse. Use p=None.")
    sign, _ = slogdet(lax.stop_gradient(x))
    is_singular = lax.eq(sign, 0)
    each = broadcast_to(lax.expand_dims(is_singular, (-2, -1)), aval.shape)
    return is_singular, inv(lax.select(each, identity_like(x), x))


def _infinite_unless_number(out: Value, x: Value) -> Value:
    """Return `out`, infinite where it is NaN although no element of `x` is."""
    has_nan = lax.reduce_or(lax.ne(x, x), (typeof(x).ndim - 2, typeof(x).ndim - 1))
    return lax.select(lax.bitwise_and(lax.ne(out, out), lax.bitwise_not(has_nan)), np.inf, out)
