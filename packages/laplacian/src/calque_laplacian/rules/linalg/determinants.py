"""The Laplacians of the logarithm and of the sign of a determinant."""

from __future__ import annotations

from calque_core import lax, moveaxis, typeof
from calque_core.lax import linalg, mul, reduce_sum
from calque_laplacian.triple import InnerProduct, Triple, Value


def transposed(x: Value) -> Value:
    """Return the transposes of matrices."""
    ndim = typeof(x).ndim
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def trace_of(x: Value, y: Value) -> Value:
    """Return tr(x y)."""
    return total(mul(transposed(x), y))


def total(x: Value) -> Value:
    """Return the sums of the elements of matrices."""
    ndim = typeof(x).ndim
    return reduce_sum(x, (ndim - 2, ndim - 1))


def product_in_each_direction(x: Value, y: Value) -> Value:
    """Return the products of matrices.  Shapes: x [*s, k, k], y [n, *s, k, m] -> [n, *s, k, m]."""
    axes = tuple(range(typeof(x).ndim - 2))
    place = len(axes) + 1
    numbers = (((place,), (place,)), (axes, tuple([axis + 1 for axis in axes])))
    return moveaxis(lax.dot_general(x, y, numbers), place, 0)


@linalg.slogdet_p.def_rule("laplacian")
def slogdet_rule(inner: InnerProduct, x: Triple) -> list[Triple]:
    """With b_i = x^-1 d_i x: d_i log det = tr(b_i), and lap log det = tr(x^-1 lap(x)) - sum_i tr(b_i b_i).

    The lax.real part changes the logarithm; the imaginary part turns the sign s, so that lap(s) = (i lap - <d, d>) s.
    """
    sign, logarithm = linalg.slogdet_p.bind(x.value)
    inverse = linalg.inv(x.value)
    slopes = product_in_each_direction(inverse, x.jacobian)
    jacobian = trace_of(inverse, x.jacobian)
    laplacian = lax.sub(trace_of(inverse, x.laplacian), total(inner(slopes, transposed(slopes))))
    if typeof(x.value).kind != "c":
        return [Triple(sign), Triple(logarithm, jacobian, laplacian)]
    turn, turns = lax.imag(laplacian), lax.imag(jacobian)
    zeros = lax.zeros_like(turns)
    curve = lax.complex(lax.neg(inner(turns, turns)), turn)
    return [
        Triple(sign, mul(lax.complex(zeros, turns), sign), mul(curve, sign)),
        Triple(logarithm, lax.real(jacobian), lax.real(laplacian)),
    ]
