"""Batching equations of Sylvester's kind: the batch axis becomes the first of the leading axes."""

from __future__ import annotations

from calque_core.extend import defleading
from calque_core.lax.linalg import sylvester_solve_p

defleading(sylvester_solve_p)
