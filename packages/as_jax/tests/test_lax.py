"""`jax.lax` in jax's dialect: bounds of loops, and arithmetic that never warns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


def test_a_loop_counts_between_floats():
    count = lambda start, stop: lax.fori_loop(start, stop, lambda i, x: (x[0] + i, x[1] + 1), (0.0, 0))
    assert [float(x) for x in count(np.float32(1), np.float32(3.7))] == [3.0, 2.0]  # the fraction of a known bound ends
    assert [float(x) for x in jax.jit(lambda n: count(0 * n, n))(np.float32(2.5))] == [3.0, 3.0]
    with pytest.raises(TypeError, match="Give an integer scalar"):
        count(0, np.float32(3))


@pytest.mark.parametrize(
    "function",
    [
        jnp.log, lambda x: jnp.divide(1, x), lambda x: jnp.exp(x + 1000), lambda x: jnp.multiply(x, np.inf),
        jax.grad(lambda x: jnp.sum(jnp.log(x))), jax.vmap(lambda x: 1 / x),
    ],
)  # fmt: skip
def test_numbers_without_bounds_are_no_warnings(function):
    assert not np.isfinite(function(np.zeros(2, np.float32))).any()
    assert np.geterr()["divide"] == "warn"


def test_an_integer_divided_by_zero_is_no_error():
    assert lax.div(np.array([6, 6]), np.array([0, 2]))[1] == 3
