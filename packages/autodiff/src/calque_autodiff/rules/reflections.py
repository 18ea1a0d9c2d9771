"""Householder reflections have no derivatives here: the factorisation that they store has one."""

from __future__ import annotations

from calque_autodiff.define import not_linear
from calque_core.lax.linalg import geqrf_p, householder_product_p

for primitive in (geqrf_p, householder_product_p):
    primitive.def_hole("jvp", "it is LAPACK's form of the factorisation; differentiate lax.linalg.qr")

not_linear(geqrf_p, householder_product_p)
