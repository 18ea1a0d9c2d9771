"""Batching adjugates and their derivatives: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import adjugate_p, adjugate_slope_p

defleading(adjugate_p, adjugate_slope_p)
