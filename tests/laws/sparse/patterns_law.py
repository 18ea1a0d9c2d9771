"""The law of patterns: an entry that the pattern lacks is zero in the dense derivative.

One idea: a program's real float arguments become one vector, its real float results another one, so each program of the
tables is a function between vectors, with a dense Jacobian and, of a weighted sum of its results, a dense Hessian.
"""

from __future__ import annotations

import numpy as np

from calque_autodiff import grad, linearize, vjp
from calque_core import lax, typeof
from calque_pytree import tree_leaves
from calque_sparse import hessian_sparsity, jacobian_sparsity

REAL = ("float16", "float32", "float64")


def real_parts(outs):
    """Return the results that have derivatives, as one list of real vectors."""
    parts = []
    for x in tree_leaves(outs):
        name = typeof(x).dtype.name
        if name.startswith("complex"):
            parts += [lax.real(x), lax.imag(x)]
        elif name in REAL:
            parts.append(x)
    return [lax.reshape(lax.convert_element_type(x, np.float64), (typeof(x).size,)) for x in parts]


def as_vector_function(example):
    """Return a function of the float64 leaves of an example, and these leaves."""
    chosen = [i for i, x in enumerate(example.leaves) if typeof(x).dtype.name == "float64"]

    def function(xs):
        leaves = list(example.leaves)
        for i, x in zip(chosen, xs):
            leaves[i] = x
        parts = real_parts(example(*leaves))
        return lax.concatenate(parts, 0) if parts else np.zeros(0)

    return function, [np.asarray(example.leaves[i]) for i in chosen]


def weighted(function, xs):
    """Return the sum of the results and of their sines: of linear and of nonlinear functions of each."""
    weights = np.cos(1.0 + np.arange(typeof(function(xs)).size))

    def total(xs):
        out = function(xs)
        return lax.reduce_sum(lax.mul(lax.add(out, lax.sin(out)), weights), (0,))

    return total


def basis(xs):
    """Return the unit vectors of the arguments, stacked."""
    size = sum(x.size for x in xs)
    ends = np.cumsum([x.size for x in xs])[:-1]
    return [part.reshape(size, *x.shape) for part, x in zip(np.split(np.eye(size), ends, 1), xs)]


def forward_jacobian(function, xs):
    if not sum(x.size for x in xs):
        return np.zeros((typeof(function(xs)).size, 0))
    _, push = linearize(function, xs)
    return np.stack([np.asarray(push(list(unit))) for unit in zip(*basis(xs))], 1)


def reverse_jacobian(function, xs):
    out, pull = vjp(function, xs)
    size = typeof(out).size
    rows = [pull(np.eye(size)[i])[0] for i in range(size)]
    flat = [np.concatenate([np.zeros(0), *[np.ravel(np.asarray(x)) for x in row]]) for row in rows]
    return np.array(flat).reshape(size, sum(x.size for x in xs))


def check_covered(dense, pattern, what):
    """Check that a pattern has each nonzero entry of a matrix, to rounding; NaN counts as nonzero."""
    dense = np.asarray(dense)
    missing = ~(np.abs(dense) <= 1e-13 * np.max(np.abs(dense), initial=1.0)) & ~pattern.toarray()
    assert not missing.any(), f"{what} lacks the entries {np.argwhere(missing)[:5].tolist()} of {pattern}"


def check_jacobian(function, xs):
    """Check the global and the local pattern of the Jacobian, in the mode that the function has; return it."""
    dense = jacobian(function, xs)
    for local in (False, True):
        check_covered(dense, jacobian_sparsity(function, xs, local=local), f"the Jacobian's pattern ({local=})")
    return dense


def jacobian(function, xs):
    """Return the dense Jacobian, by forward mode; by reverse mode for a function that has only vjp rules."""
    try:
        return forward_jacobian(function, xs)
    except TypeError as error:
        if "only a vjp rule" not in str(error):
            raise
        return reverse_jacobian(function, xs)


def check_hessian(function, xs):
    """Check the global and the local pattern of the Hessian of a weighted sum; return the Hessian."""
    total = weighted(function, xs)
    dense = jacobian(lambda xs: lax.concatenate([lax.reshape(g, (typeof(g).size,)) for g in grad(total)(xs)], 0), xs)
    for local in (False, True):
        check_covered(dense, hessian_sparsity(total, xs, local=local), f"the Hessian's pattern ({local=})")
    return dense
