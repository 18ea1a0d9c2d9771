"""Names of `jax.experimental` that calque has elsewhere."""

from __future__ import annotations

import calque
from calque_as_jax.dialect.transformations import jit as pjit

__all__ = ["jet", "pjit", "shard_map"]

jet = calque.jet
shard_map = calque.shard_map
