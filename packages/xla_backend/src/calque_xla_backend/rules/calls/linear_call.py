"""Lowering of linear functions: `linear_call` means its program, and needs no rule."""

from __future__ import annotations

from calque_core.lax import linear_transpose_p

linear_transpose_p.def_hole("lowering", "its transposed program is lowered instead")
