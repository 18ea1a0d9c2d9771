"""Batching determinants: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import det_p, slogdet_p

defleading(det_p, slogdet_p)
