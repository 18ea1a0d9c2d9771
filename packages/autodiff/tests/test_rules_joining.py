from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import vjp
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = ["float32", "float64", "complex128"]
JOINS = [[(2,), (3,)], [(2, 3), (2, 1), (2, 0)], [(1,), (1,)], [(0, 2), (0, 1)]]
ONE_OPERAND = {
    "split": (lambda x: lax.split(x, (1, 0, 2), 1), (2, 3)),
    "unstack": (lax.unstack, (2, 3)),
    "unstack of the last axis": (lambda x: lax.unstack(x, -1), (2, 3)),
    "tile": (lambda x: lax.tile(x, (2, 3)), (2, 3)),
    "tile to nothing": (lambda x: lax.tile(x, (0, 3)), (2, 3)),
    "tile of nothing": (lambda x: lax.tile(x, (2, 3)), (0, 3)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", JOINS, ids=str)
def test_joins_obey_the_laws_in_each_operand(shapes, dtype, spaced, laws):
    operands = [spaced(shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    laws(lambda *xs: lax.concatenate(xs, -1), *operands)


def test_an_array_joined_with_itself_and_a_constant_gets_the_sum(spaced, laws):
    laws(lambda x: lax.concatenate([x, np.ones(2), x], 0), spaced((3,)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE_OPERAND)
def test_cuts_and_tiles_obey_the_laws(name, dtype, spaced, laws):
    fun, shape = ONE_OPERAND[name]
    laws(fun, spaced(shape, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_stacks_obey_the_laws_in_each_operand(axis, dtype, spaced, laws):
    laws(lambda *xs: lax.stack(xs, axis), *(spaced((2, 3), dtype=dtype, seed=seed) for seed in range(3)))


def test_a_section_without_a_cotangent_gets_zeros():
    _, pullback = vjp(lambda x: lax.split(x, (1, 2))[1], np.ones(3))

    np.testing.assert_array_equal(pullback(np.array([4.0, 5.0]))[0], [0.0, 4.0, 5.0])


@pytest.mark.parametrize(
    ("fun", "transpose"),
    [
        (lambda *xs: lax.stack(xs), "unstack"),
        (lambda *xs: lax.concatenate(xs, 0), "split"),
        (lambda *xs: lax.unstack(xs[0] + xs[1]), "stack"),
        (lambda *xs: lax.split(xs[0] + xs[1], (1, 1)), "concatenate"),
    ],
)
def test_the_transpose_is_the_partner(fun, transpose):
    x = np.ones((2, 2))
    out, pullback = vjp(fun, x, x)

    assert [eqn.primitive.name for eqn in make_jaxpr(pullback)(out).eqns] == [transpose]
