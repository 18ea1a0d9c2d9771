"""Batching the operations of `calque_core.ops.elementwise.special`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defvectorized
from calque_core.lax import erf_inv_p, erf_p, erfc_p, logistic_p, logistic_slope_p

defvectorized(logistic_p, logistic_slope_p, erf_p, erfc_p, erf_inv_p)
