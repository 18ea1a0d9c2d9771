"""Batching the operations of `calque_core.ops.bessel`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defvectorized
from calque_core.lax import bessel_i0e_p, bessel_i1e_p

defvectorized(bessel_i0e_p, bessel_i1e_p)
