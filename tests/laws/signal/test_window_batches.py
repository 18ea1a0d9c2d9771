import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.3)

WINDOW = ((2, 2), (1, 2), ((1, 0), (0, 1)), (1, 2), (2, 1))
OPERATIONS = {
    "sum": lambda x: lax.reduce_window(x, 0.0, lax.add, *WINDOW),
    "max": lambda x: lax.reduce_window(x, -np.inf, lax.max, *WINDOW),
    "min": lambda x: lax.reduce_window(x, np.inf, lax.min, *WINDOW),
    "product": lambda x: lax.reduce_window(x, 2.0, lax.mul, *WINDOW),
    "select_and_scatter": lambda x: lax.select_and_scatter(x, lax.ge, (2, 1), None, "SAME", x, 0.0, lax.add),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_windows_map_over_every_axis(name, check_batching):
    check_batching(OPERATIONS[name], [(3, 4)], ["float64"])


@pytest.mark.parametrize("name", ["select_and_gather_add", "select_and_scatter_add"])
def test_winners_map_over_either_operand(name, check_batching):
    operation = getattr(lax, name)
    other = np.arange(12.0).reshape(3, 4) % 5
    check_batching(lambda v: operation(v, other, lax.ge_p, (2, 2), None, "SAME"), [(3, 4)], ["float64"])
    check_batching(lambda x: operation(other, x, lax.ge_p, (2, 2), None, "SAME"), [(3, 4)], ["float64"])
    check_batching(lambda x: operation(x + 1.0, x, lax.ge_p, (2, 2), None, "SAME"), [(3, 4)], ["float64"])


def test_a_mapped_window_is_one_equation():
    f = vmap(lambda x: lax.reduce_window(x, 1.0, lax.mul, (2,)), in_axes=1)
    (eqn,) = make_jaxpr(f)(np.ones((4, 3))).eqns[:1]
    assert (eqn.primitive.name, eqn.params["window_dimensions"]) == ("reduce_window", (2, 1))


def test_mapped_starts_and_mapped_values_that_the_function_closes_over():
    x, y = np.arange(1.0, 5.0), np.array([1.0, 2.0, 3.0])
    started = lambda y: lax.reduce_window(x, y, lambda a, b: a + b + 0 * a * b, (2,), None, [(1, 0)])
    np.testing.assert_allclose(vmap(started)(y), y[:, None] + [1, 3, 5, 7])
