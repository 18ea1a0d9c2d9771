"""Householder reflections: their product has the derivative of its decomposition, the factorisation has none here."""

from __future__ import annotations

from calque_core.extend import defleading, not_linear
from calque_linalg.ops.reflections import geqrf_p, householder_product_p

geqrf_p.def_hole("jvp", "it is LAPACK's form of the factorisation; differentiate lax.linalg.qr")
not_linear(geqrf_p, householder_product_p)
defleading(geqrf_p, householder_product_p)
