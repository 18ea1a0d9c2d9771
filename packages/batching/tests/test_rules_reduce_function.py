import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1)])
def test_reductions_by_any_function_map_over_every_axis(axes, check_batching):
    check_batching(lambda x: lax.reduce(x, 2.0, lambda a, b: a + b + a * b, axes), [(3, 4)], ["float64"])


def test_mapped_values_that_the_function_closes_over():
    x, y = np.arange(1.0, 5.0), np.array([1.0, 2.0, 3.0])
    scaled = lambda y: lax.reduce(x, 0.0, lambda a, b: a + b + a * b * y, (0,))
    np.testing.assert_allclose(vmap(scaled)(y), (np.prod(1 + np.outer(y, x), 1) - 1) / y)
