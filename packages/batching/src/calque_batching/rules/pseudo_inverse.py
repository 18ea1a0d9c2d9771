"""Batching pseudo-inverses: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import pinv_p

defleading(pinv_p)
