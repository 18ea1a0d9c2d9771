"""`map` in batches under the other transformations: what the loop over elements gives."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize
from calque_batching import map, vmap
from calque_core import lax
from calque_xla_backend import jit

SIZES = [None, 2, 5, 9]
XS, WEIGHTS = np.linspace(-1.0, 1.0, 10).reshape(5, 2), np.array([0.5, -1.5])


def total(xs, weights, size):
    """Square sums of waves, whose number differs from row to row: so a batch is a loop with a mapped condition."""

    def row(x):
        shrunk = lax.while_loop(lambda v: lax.reduce_sum(v * v) > 0.3, lambda v: v * 0.7, x)
        return lax.reduce_sum(lax.sin(shrunk * weights)), lax.reduce_sum(x) > 0.0

    values, is_positive = map(row, xs, batch_size=size)
    return lax.reduce_sum(values * values * lax.select(is_positive, 2.0, 1.0))


@pytest.mark.parametrize("size", SIZES)
def test_its_derivatives_are_those_of_the_elements(size):
    f = lambda xs, weights: total(xs, weights, size)
    one_by_one = lambda xs, weights: sum(total(xs[i : i + 1], weights, None) for i in range(5))
    dots = (np.cos(XS), np.array([1.0, 0.3]))
    for derive in (
        lambda f: grad(f, (0, 1))(XS, WEIGHTS),
        lambda f: jit(grad(f, (0, 1)))(XS, WEIGHTS),
        lambda f: jvp(f, (XS, WEIGHTS), dots),
        lambda f: [linearize(f, XS, WEIGHTS)[1](*dots)],
        lambda f: [vmap(f, in_axes=(None, 0))(XS, np.stack([WEIGHTS, -WEIGHTS]))],
    ):
        for found, want in zip(derive(f), derive(one_by_one)):
            np.testing.assert_allclose(found, want, 1e-12, 1e-14)


@pytest.mark.parametrize("size", [1, 4, 5, 6])
def test_derivatives_of_a_vmap_in_pieces_are_those_of_the_elements(size):
    def values(xs, weights, **options):
        return lax.reduce_sum(
            vmap(lambda x, w: lax.sin(x * w) * x, in_axes=(0, None), out_axes=1, **options)(xs, weights)
        )

    dots = np.cos(XS), np.array([1.0, 0.3])
    for derive in (
        lambda f: grad(f, (0, 1))(XS, WEIGHTS),
        lambda f: jit(grad(f, (0, 1)))(XS, WEIGHTS),
        lambda f: jvp(f, (XS, WEIGHTS), dots),
    ):
        found = derive(lambda xs, weights: values(xs, weights, batch_size=size))
        for x, y in zip(found, derive(values)):
            np.testing.assert_allclose(x, y, 1e-12, 1e-14)
