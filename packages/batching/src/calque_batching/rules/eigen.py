"""Batching eigenvalues and singular values: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import eig_p, eigh_p, svd_p

defleading(eigh_p, eig_p, svd_p)
