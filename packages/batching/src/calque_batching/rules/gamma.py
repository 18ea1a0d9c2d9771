"""Batching the operations of `calque_core.ops.gamma`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
from calque_core.lax import digamma_p, lgamma_p, polygamma_p, zeta_p

defvectorized(lgamma_p, digamma_p)
defbroadcasting(zeta_p, polygamma_p)
