"""Batching the operations of `calque_core.ops.incomplete`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting
from calque_core.lax import igamma_grad_a_p, igamma_p, igammac_p, random_gamma_grad_p

defbroadcasting(igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p)
