from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = [
    ((), (3,), ()),
    ((), (2, 3), ()),
    ((3,), (2, 3), (1,)),
    ((2,), (2, 3), (0,)),
    ((1,), (4,), (0,)),
    ((1, 3), (2, 3), (0, 1)),
    ((2, 1), (4, 2, 5), (1, 2)),
    ((1,), (1,), (0,)),
    ((1,), (0,), (0,)),
    ((0,), (2, 0), (1,)),
    ((3,), (0, 3), (1,)),
    ((2, 3), (2, 3), (0, 1)),
    ((2, 2), (2, 2), (1, 0)),
    ((2, 1, 3), (3, 4, 2, 5), (2, 1, 0)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(("shape", "new", "dims"), CASES, ids=str)
def test_broadcasts_obey_the_laws(shape, new, dims, dtype, spaced, laws):
    laws(lambda x: lax.broadcast_in_dim_p.bind(x, shape=new, broadcast_dimensions=dims), spaced(shape, dtype=dtype))


def test_new_axes_obey_the_laws(spaced, laws):
    laws(lambda x: lax.expand_dims(lax.broadcast(x, (2,)), (0, -1)), spaced((3,)))


def test_the_gradient_of_a_scalar_is_a_scalar():
    """Cf. https://github.com/jax-ml/jax/issues/6452."""
    bar = grad(lambda x: lax.reduce_sum(lax.mul(lax.broadcast(x, (4,)), np.arange(4.0))))(2.0)
    assert np.shape(bar) == ()
    assert bar == 6.0
