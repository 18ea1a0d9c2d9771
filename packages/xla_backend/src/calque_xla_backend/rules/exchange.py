"""Exchanges over named axes in compiled programs: batching replaces them before a program is lowered."""

from __future__ import annotations

from calque_core.lax import all_gather_p, all_to_all_p, ppermute_p, psum_scatter_p
from calque_xla_backend.rules.collective import REASON

for primitive in (all_gather_p, psum_scatter_p, all_to_all_p, ppermute_p):
    primitive.def_hole("lowering", REASON)
