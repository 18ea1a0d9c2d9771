"""Batching the polar form and the square root: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import polar_p, sqrtm_p

defleading(polar_p, sqrtm_p)
