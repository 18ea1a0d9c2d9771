"""Batching Householder reflections: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import geqrf_p, householder_product_p

defleading(geqrf_p, householder_product_p)
