"""Named axes in compiled programs: batching replaces their operations before a program is lowered."""

from __future__ import annotations

from calque_core.lax import axis_index_p, pmax_p, pmin_p, psum_p

REASON = "a named axis has a meaning under vmap only, which replaces it: vmap(jit(f), axis_name=...)"

for primitive in (psum_p, pmax_p, pmin_p, axis_index_p):
    primitive.def_hole("lowering", REASON)
