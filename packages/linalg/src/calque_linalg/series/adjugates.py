"""Adjugates have no Taylor rules: the determinant's rule needs none."""

from __future__ import annotations

from calque_linalg.ops.adjugates import adjugate_p, adjugate_slope_p

for primitive in (adjugate_p, adjugate_slope_p):
    primitive.def_hole("jet", "singular values have no Taylor series where they are equal; use jvp of jvp")
