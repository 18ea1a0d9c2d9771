"""Batching factorisations of matrices: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import cholesky_p, lu_p, lu_pivots_to_permutation_p, qr_p

defleading(cholesky_p, lu_p, lu_pivots_to_permutation_p, qr_p)
