"""Batching the operation of `calque_core.ops.incomplete_beta`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting
from calque_core.lax import regularized_incomplete_beta_p

defbroadcasting(regularized_incomplete_beta_p)
