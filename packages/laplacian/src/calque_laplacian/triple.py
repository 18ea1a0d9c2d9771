"""Values with their derivatives, and the inner product of two gradients.

One idea: under `laplacian`, an array is a `Triple`: its value, its Jacobian with respect to the n inputs, and its
Laplacian.  A rule takes triples and returns a triple; the Laplacian of y = f(x) is f'(x) lap(x) + f''(x) <grad x, grad
x>, and the inner product <.,.> holds the weights.

Read next: `laplacian_trace.py`, which applies rules; `rules`, the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core import Primitive, lax, typeof
from calque_core.lax import add, mul

Value = Any
Part = Any  # a Jacobian or a Laplacian; None is zero
Shape = tuple[int, ...]


class Triple(NamedTuple):
    """An array with its derivatives with respect to n inputs; a constant has None for both.

    Shapes: value [*s], jacobian [n, *s], laplacian [*s].  `inputs` is for the trace alone: it names the inputs of a
    Jacobian that has rows for few of them.
    """

    value: Value
    jacobian: Part = None
    laplacian: Part = None
    inputs: Any = None


class InnerProduct:
    """The inner product sum_ij A_ij a_i b_j of two Jacobians, with the weights A of a Laplacian.

    `weights` is None for the identity, a vector for a diagonal matrix, or a symmetric matrix.

    >>> import numpy as np
    >>> from calque_laplacian import InnerProduct
    >>> a, b = np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])
    >>> InnerProduct()(a, b), InnerProduct(np.array([1.0, 10.0]))(a, b)
    (array([11.]), array([83.]))
    """

    __slots__ = ("weights",)

    def __init__(self, weights: Value = None) -> None:
        self.weights = weights

    def weighted(self, a: Value) -> Value:
        """Return sum_j A_ij a_j.  Shapes: a [n, *s] -> [n, *s]."""
        if self.weights is None:
            return a
        aval = typeof(a)
        weights = lax.convert_element_type(self.weights, aval.dtype)
        if typeof(weights).ndim == 2:
            return lax.dot_general(weights, a, (((1,), (0,)), ((), ())))
        return mul(a, lax.expand_dims(weights, tuple(range(1, aval.ndim))))

    def __call__(self, a: Value, b: Value) -> Value:
        """Return the inner product.  Shapes: a [n, *s], b [n, *s] -> [*s]."""
        return lax.reduce_sum(mul(self.weighted(a), b), 0)


# Sums in which None is zero


def plus(x: Part, y: Part) -> Part:
    """Return x + y."""
    if x is None or y is None:
        return y if x is None else x
    return add(x, y)


# Triples as a whole


def with_zeros(x: Triple, n: int) -> Triple:
    """Return `x` with arrays for both derivatives, of zeros for a constant."""
    if x.jacobian is not None:
        return x
    zero = lax.zeros_like(x.value)
    return Triple(x.value, in_each_direction(zero, n), zero)


def spread(x: Triple, shape: Shape) -> Triple:
    """Return an elementwise operand with derivatives of the shape of the result, which it has unless its rank is 0."""
    if x.jacobian is None or typeof(x.laplacian).shape == shape:
        return x
    jacobian = lax.broadcast_in_dim(x.jacobian, (typeof(x.jacobian).shape[0], *shape), (0,))
    return x._replace(jacobian=jacobian, laplacian=lax.broadcast_in_dim(x.laplacian, shape, ()))


def in_each_direction(x: Value, n: int) -> Value:
    """Return the same array for each direction.  Shapes: x [*s] -> [n, *s]."""
    shape = typeof(x).shape
    return lax.broadcast_in_dim(x, (n, *shape), tuple(range(1, len(shape) + 1)))


def directions(triples: Sequence[Triple]) -> int:
    """Return the number of inputs, from the first operand that depends on them."""
    return int(next(typeof(x.jacobian).shape[0] for x in triples if x.jacobian is not None))


# Short forms of rules

Derivatives = Callable[..., tuple[Value, Part]]


def defelementwise(primitive: Primitive, derivatives: Derivatives) -> None:
    """Give the rule of a function of each element: `derivatives(x, out, **params)` returns f'(x) and f''(x).

    The second may be None, for zero.

    >>> import numpy as np
    >>> from calque_core import Primitive, lax
    >>> from calque_laplacian import defelementwise, laplacian
    >>> cube_p = Primitive("cube")
    >>> _ = cube_p.def_impl(lambda x: x**3)
    >>> _ = cube_p.def_abstract_eval(lambda x: x)
    >>> defelementwise(cube_p, lambda x, out: (3.0 * x * x, 6.0 * x))
    >>> laplacian(lambda x: lax.reduce_sum(cube_p.bind(x)))(np.array([1.0, 2.0]))
    np.float64(18.0)
    """

    def rule(inner: InnerProduct, x: Triple, **params: Any) -> Triple:
        out = primitive.bind(x.value, **params)
        first, second = derivatives(x.value, out, **params)
        curvature = None if second is None else mul(second, inner(x.jacobian, x.jacobian))
        return Triple(out, mul(first, x.jacobian), plus(mul(first, x.laplacian), curvature))

    primitive.def_rule("laplacian", rule)
