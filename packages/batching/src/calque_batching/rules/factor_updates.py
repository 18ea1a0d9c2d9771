"""Batching updates of factors: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import cholesky_update_p

defleading(cholesky_update_p)
