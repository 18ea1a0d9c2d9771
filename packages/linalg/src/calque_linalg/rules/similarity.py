"""Hessenberg, tridiagonal and Schur forms have no derivatives here; eigenvalues have."""

from __future__ import annotations

from calque_core.extend import defleading, not_linear
from calque_linalg.ops.similarity import hessenberg_p, schur_p, tridiagonal_p

for primitive in (hessenberg_p, tridiagonal_p):
    primitive.def_hole("jvp", "it is a step on the way to eigenvalues; differentiate lax.linalg.eig or eigh")
schur_p.def_hole("jvp", "no derivative of the Schur form is known here; differentiate lax.linalg.eig")

not_linear(hessenberg_p, tridiagonal_p, schur_p)
defleading(hessenberg_p, tridiagonal_p, schur_p)
