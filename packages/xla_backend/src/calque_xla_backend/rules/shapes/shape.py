"""Lowering of operations that rearrange, slice and pad an array."""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import Shape
from calque_core.lax import PaddingConfig, pad_p, reshape_p, rev_p, slice_p, squeeze_p, transpose_p
from calque_xla_backend.define import IrValue, inferred, retyped

# The same elements in other positions

retyped(reshape_p, hlo.reshape)
inferred(transpose_p, lambda x, *, permutation: hlo.transpose(x, permutation))
inferred(rev_p, lambda x, *, dimensions: hlo.reverse(x, dimensions))
retyped(squeeze_p, hlo.reshape)

# Slices


def slice_build(x: IrValue, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None) -> IrValue:
    return hlo.slice(x, start_indices, limit_indices, strides or (1,) * len(start_indices))


inferred(slice_p, slice_build)

# More elements


def pad_build(x: IrValue, padding_value: IrValue, *, padding_config: PaddingConfig) -> IrValue:
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    return hlo.pad(x, padding_value, low, high, interior)


inferred(pad_p, pad_build)
