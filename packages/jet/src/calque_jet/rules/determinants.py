"""Taylor rules of determinants: that of `det` is its decomposition's, for matrices that are not singular."""

from __future__ import annotations

from calque_core.lax.linalg import adjugate_p

adjugate_p.def_hole("jet", "singular values have no Taylor series where they are equal; use jvp of jvp")
