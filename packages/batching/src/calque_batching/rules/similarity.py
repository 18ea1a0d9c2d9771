"""Batching Hessenberg, tridiagonal and Schur forms: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import hessenberg_p, schur_p, tridiagonal_p

defleading(hessenberg_p, tridiagonal_p, schur_p)
