"""Householder reflections have no Taylor series, as they have no derivatives."""

from __future__ import annotations

from calque_linalg.ops.reflections import geqrf_p, householder_product_p

for primitive in (geqrf_p, householder_product_p):
    primitive.def_hole("jet", "it is LAPACK's form of the factorisation, which has no derivative")
