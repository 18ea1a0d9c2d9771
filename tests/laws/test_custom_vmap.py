"""Derivatives of functions with a rule for batches that `vmap` takes inside: Jacobians, second derivatives, series."""

from __future__ import annotations

import numpy as np
import pytest
from custom_batches import unmappable_p

from calque import custom_vmap, grad, hessian, jacfwd, jacrev, jet, jit, jvp, sequential_vmap, vmap
from calque_core import lax

X = np.linspace(0.1, 0.9, 3)


def plain(x):
    return lax.sin(x) * x.sum()


def by_rule():
    f = custom_vmap(lambda x: unmappable_p.bind(plain(x)))
    f.def_vmap(lambda size, in_batched, x: (lax.sin(x) * x.sum(axis=1, keepdims=True), True))
    return f


TRANSFORMS = {
    "jacfwd": jacfwd,
    "jacrev": lambda f: jit(jacrev(f)),  # without jit, no batch follows the derivative, and operations are mapped
    "jacfwd of jacfwd": lambda f: jacfwd(jacfwd(f)),
    "hessian": lambda f: hessian(lambda x: f(x).sum()),
    "jit of jacfwd": lambda f: jit(jacfwd(f)),
    "vmap of jacfwd": lambda f: lambda x: vmap(jacfwd(f))(np.stack([x, 2.0 * x])),
    "a batch of tangents": lambda f: lambda x: vmap(lambda t: jvp(f, (x,), (t,)), out_axes=(None, 0))(np.eye(3)),
    "a batch of series": lambda f: lambda x: vmap(lambda t: jet(f, (x,), ([t, x],)), out_axes=(None, 0))(np.eye(3)),
    "a batch of gradients": lambda f: lambda x: vmap(grad(lambda x, y: (f(x) * y).sum()), (None, 0))(x, np.eye(3)),
}


@pytest.mark.parametrize("make", [by_rule, lambda: sequential_vmap(lambda x: unmappable_p.bind(plain(x)))])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_batch_of_derivatives_is_that_of_the_function_without_a_rule(transform, make):
    got, expected = transform(make())(X), transform(plain)(X)
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-14)


def leaves(tree):
    return [leaf for x in tree for leaf in leaves(x)] if isinstance(tree, (tuple, list)) else [tree]


@pytest.mark.parametrize("transform", [lambda f: f, jit], ids=["evaluated", "compiled"])
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, t: jvp(f, (0.5,), (t,)),
        lambda f, t: jvp(lambda x: f(2.0 * x), (0.25,), (0.5 * t,)),
        lambda f, t: jvp(jit(f), (0.5,), (t,)),
        lambda f, t: jvp(lambda x: f(x * np.ones(())), (0.5,), (t,)),
    ],
)
def test_a_mapped_tangent_alone_takes_the_rule_for_value_and_tangent(derivative, transform):
    """The rule computes another function, so that the numbers tell which of both ran."""
    f = custom_vmap(lambda x: lax.sin(x))
    f.def_vmap(lambda size, in_batched, x: (10.0 * lax.sin(x), in_batched[0]))
    tangents = np.array([1.0, -2.0])
    mapped = vmap(lambda t: derivative(f, t), out_axes=(None, 0))
    value, slopes = transform(mapped)(tangents)
    np.testing.assert_allclose(value, 10.0 * np.sin(0.5), rtol=1e-12)
    np.testing.assert_allclose(slopes, 10.0 * np.cos(0.5) * tangents, rtol=1e-12)
    assert mapped(np.zeros(0))[1].shape == (0,)
