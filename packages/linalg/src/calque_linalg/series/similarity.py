"""Hessenberg, tridiagonal and Schur forms have no Taylor series, as they have no derivatives."""

from __future__ import annotations

from calque_linalg.ops.similarity import hessenberg_p, schur_p, tridiagonal_p

for primitive in (hessenberg_p, tridiagonal_p, schur_p):
    primitive.def_hole("jet", "it has no derivative; take that of lax.linalg.eig or eigh")
