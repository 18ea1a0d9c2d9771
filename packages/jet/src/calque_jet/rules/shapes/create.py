"""Arrays made from a shape alone have no series."""

from __future__ import annotations

from calque_core.lax import iota_p

iota_p.def_hole("jet", "it has no operands")
