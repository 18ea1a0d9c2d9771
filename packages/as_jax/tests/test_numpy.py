"""`jax.numpy` in jax's dialect: functions that tell something about their operands."""

import jax
import jax.numpy as jnp
import numpy as np


class Sparse:
    """A matrix that is no array."""

    shape = (2, 3)


def test_any_object_with_a_shape_has_one():
    assert jnp.shape(Sparse()) == (2, 3)
    assert jnp.ndim(Sparse()) == 2
    assert [jnp.shape(x) for x in (1.0, np.ones(2), jnp.ones((1, 2)))] == [(), (2,), (1, 2)]
    assert [jnp.ndim(x) for x in (1, True, np.ones(2), jax.ShapeDtypeStruct((1, 2), "float32"))] == [0, 0, 1, 2]
    assert jax.jit(lambda x: x * jnp.ndim(x) + jnp.shape(x)[0])(np.ones(3))[0] == 4
