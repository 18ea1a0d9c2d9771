"""Arrays made of nothing but a shape have nothing to be differentiated by."""

from __future__ import annotations

from calque_core.lax import iota_p

iota_p.def_hole("jvp", "it has no operands")
iota_p.def_hole("transpose", "it has no operands")
