"""Calls of LAPACK, which jaxlib brings as targets of custom calls.

One idea: `lapack_call` is one call of a target for a batch of matrices; it chooses the target by the dtype, and says
that matrices are stored by columns, as in Fortran.

Read next: `rules/factorizations.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import Shape, shaped_array
from calque_xla_backend.define import IrValue, compare, splat
from calque_xla_backend.modules.types import aval_to_ir_type, cached_attribute
from calque_xla_backend.runtime.targets import load_lapack

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_TYPED_ATTRIBUTES = 4  # the version of custom calls whose attributes have types
INT32 = np.dtype("int32")


def lapack_call(
    name: str,
    operands: Sequence[tuple[IrValue, ShapedArray]],
    out_avals: Sequence[ShapedArray],
    aliases: Mapping[int, int] | None = None,
    **attributes: str | bool | int,
) -> list[IrValue]:
    """Return the results of LAPACK's function `name`, such as "potrf", for each matrix of the operands.

    The operands with the most axes are matrices, and so are results with as many axes.  `aliases` maps operands to the
    results that may overwrite them.  `attributes` are the parameters of the target: a letter, such as uplo="L", a
    bool, or a position.
    """
    load_lapack()
    avals = [aval for _, aval in operands]
    matrix_ndim = max(aval.ndim for aval in avals)
    call = hlo.CustomCallOp(
        [aval_to_ir_type(aval) for aval in out_avals],
        [value for value, _ in operands],
        f"lapack_{_PREFIXES[avals[0].dtype.name]}{name}_ffi",
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), _TYPED_ATTRIBUTES),
        backend_config=ir.DictAttr.get({key: _attribute(value) for key, value in attributes.items()}),
        operand_layouts=_layouts(avals, matrix_ndim),
        result_layouts=_layouts(out_avals, matrix_ndim),
        output_operand_aliases=_aliases(aliases or {}, len(out_avals)),
    )
    return list(call.results)


def _attribute(value: str | bool | int) -> ir.Attribute:
    """Return a parameter of a target: the code of a letter, a bool, or an integer of 32 bits."""
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)
    return ir.IntegerAttr.get(ir.IntegerType.get_unsigned(8), ord(value))


def _layouts(avals: Sequence[ShapedArray], matrix_ndim: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([_layout(aval.ndim, aval.ndim == matrix_ndim) for aval in avals])


def _layout(ndim: int, is_matrix: bool) -> ir.Attribute:
    """Return the axes from the one whose elements are neighbours to the slowest."""
    axes = list(range(ndim - 1, -1, -1))
    if is_matrix:
        axes[:2] = axes[1::-1]
    elements: Any = np.array(axes, np.int64)
    layout: ir.Attribute = cached_attribute(
        ("layout", *axes), lambda: ir.DenseElementsAttr.get(elements, type=ir.IndexType.get(), shape=[ndim])
    )
    return layout


def _aliases(aliases: Mapping[int, int], count: int) -> ir.ArrayAttr:
    """Return the pairs of operands and results; a single result has no index."""
    pairs = [(operand, [result] if count > 1 else []) for operand, result in aliases.items()]
    return ir.ArrayAttr.get([hlo.OutputOperandAlias.get(result, operand, []) for operand, result in pairs])


def info_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of the status that LAPACK returns for each matrix: 0, or what went wrong."""
    return shaped_array(aval.shape[:-2], INT32)


def nan_where(direction: str, info: IrValue, info_type: ShapedArray, out: IrValue, aval: ShapedArray) -> IrValue:
    """Return `out`, with NaN for each matrix whose status compares with 0 as `direction` says: "NE" or "LT"."""
    failed = compare(direction, info, splat(0, info_type))
    mask = hlo.broadcast_in_dim(aval_to_ir_type(aval.update(dtype=np.dtype(bool))), failed, _leading(info_type.shape))
    return hlo.select(mask, splat(np.nan, aval), out)


def _leading(shape: Shape) -> list[int]:
    return list(range(len(shape)))
