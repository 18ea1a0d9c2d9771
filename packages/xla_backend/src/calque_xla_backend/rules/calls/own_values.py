"""Values of own types have no lowering: a program loses them before it is lowered, by `lower_values`."""

from __future__ import annotations

from calque_core.lax import lower_p, raise_p

for _primitive in (lower_p, raise_p):
    _primitive.def_hole("lowering", "a compiled program has the arrays of such values alone")
