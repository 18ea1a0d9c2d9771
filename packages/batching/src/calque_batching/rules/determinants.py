"""Batching determinants and adjugates: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_batching.define import defleading
from calque_core.lax.linalg import adjugate_p, det_p

defleading(det_p, adjugate_p)
