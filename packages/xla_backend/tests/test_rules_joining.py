"""Lowering of the operations that join and cut arrays, against evaluation."""

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

ALL = "biufc"


def counted(shape, dtype):
    """Return an array with different elements as far as its dtype has them."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def test_concatenate_joins_any_number_of_any_size(regime, dtypes_of, check_compiled):
    shapes = [[(2, 3)], [(2, 3), (1, 3)], [(0, 3), (2, 3)], [(0, 3), (0, 3)], [(1, 3)] * 4]
    for dimension in (0, 1):
        sized = [[s if dimension == 0 else s[::-1] for s in case] for case in shapes]
        cases = [tuple(counted(s, dtype) for s in case) for dtype in dtypes_of(ALL) for case in sized]
        check_compiled(lambda *xs, d=dimension: lax.concatenate(xs, d), cases)


@pytest.mark.parametrize("rows", range(2, 7))
def test_joins_of_arithmetic_are_those_of_evaluation(rows):
    # XLA of jaxlib 0.10 makes wrong code of a concatenation of a and -b * a of the shape (4, 5).
    for width in range(2, 11):
        a, b = np.random.default_rng(0).normal(size=(2, rows, width))
        for join in (lambda xs: lax.concatenate(xs, 1), lambda xs: lax.stack(xs, 1), lambda xs: lax.concatenate(xs, 0)):
            f = lambda a, b, join=join: join([a, lax.neg(lax.mul(b, a)), lax.neg(lax.div(b, a))])
            np.testing.assert_allclose(jit(f)(a, b), f(a, b), rtol=1e-14)


def test_split_cuts_along_every_axis(regime, dtypes_of, check_compiled):
    cases = [(counted((4, 4, 4), dtype),) for dtype in dtypes_of(ALL)]
    for axis in (0, 1, 2):
        check_compiled(lambda x, axis=axis: lax.split(x, (1, 0, 3), axis), cases)


def test_stack_and_unstack_add_and_remove_an_axis(regime, dtypes_of, check_compiled):
    shapes = [(2, 3), (0, 3), ()]
    cases = [(counted(s, dtype), counted(s, dtype) * 0) for dtype in dtypes_of(ALL) for s in shapes]
    for axis in (0, -1):
        check_compiled(lambda x, y, axis=axis: lax.stack([x, y, x], axis), cases)
        check_compiled(lambda x, axis=axis: lax.unstack(x, axis), [(x,) for x, _ in cases if x.ndim])


def test_tile_repeats_along_every_axis(regime, dtypes_of, check_compiled):
    cases = [(counted(s, dtype),) for dtype in dtypes_of(ALL) for s in [(2, 3), (0, 3), (1, 1)]]
    for reps in ((2, 1), (1, 3), (3, 2), (0, 2)):
        check_compiled(lambda x, reps=reps: lax.tile(x, reps), cases)
