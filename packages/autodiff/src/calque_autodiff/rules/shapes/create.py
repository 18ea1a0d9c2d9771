"""Operations without operands, and the reason that they have no derivative rules."""

from __future__ import annotations

from calque_core.lax import iota_p

iota_p.def_hole("jvp", "it has no operands")
iota_p.def_hole("transpose", "it has no operands")
