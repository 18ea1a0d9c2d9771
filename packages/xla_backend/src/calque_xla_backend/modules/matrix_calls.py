"""Custom calls on batches of matrices: of LAPACK on the host's processor, of NVIDIA's libraries on GPUs.

One idea: matrices are stored by columns, as in Fortran, and a status for each matrix says whether the call succeeded.

Read next: `lapack.py`, whose calls choose the target by the dtype; `lowerings/factorizations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import Shape, shaped_array
from calque_xla_backend.define import IrValue, compare, splat
from calque_xla_backend.modules.custom_calls import by_rows, custom_call, layout
from calque_xla_backend.modules.types import aval_to_ir_type

INT32 = np.dtype("int32")
Attribute = str | bool | int | np.uint8
MatrixCall = Callable[..., list[IrValue]]  # `matrix_call` or `lapack_call` of one target


def matrix_call(
    target: str,
    operands: Sequence[tuple[IrValue, ShapedArray]],
    out_avals: Sequence[ShapedArray],
    aliases: Mapping[int, int] | None = None,
    **attributes: Attribute,
) -> list[IrValue]:
    """Return the results of `target` for each matrix of the operands.

    The operands with the most axes are matrices, and so are results with as many axes.  `aliases` maps operands to the
    results that may overwrite them.  `attributes` are the parameters of the target: a letter, such as uplo="L", a
    bool, a number.
    """
    avals = [aval for _, aval in operands]
    matrix_ndim = max(aval.ndim for aval in avals)
    return custom_call(
        target,
        [aval_to_ir_type(aval) for aval in out_avals],
        [value for value, _ in operands],
        layouts=(_layouts(avals, matrix_ndim), _layouts(out_avals, matrix_ndim)),
        attributes={key: _attribute(value) for key, value in attributes.items()},
        aliases=aliases,
    )


def _attribute(value: Attribute) -> ir.Attribute:
    """Return a parameter of a target: the code of a letter or 8 bits, a bool, or an integer of 32 bits."""
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)
    return ir.IntegerAttr.get(ir.IntegerType.get_unsigned(8), ord(value) if isinstance(value, str) else int(value))


def _layouts(avals: Sequence[ShapedArray], matrix_ndim: int) -> list[ir.Attribute]:
    return [_by_columns(aval.ndim) if aval.ndim == matrix_ndim else by_rows(aval.ndim) for aval in avals]


def _by_columns(ndim: int) -> ir.Attribute:
    return layout([ndim - 2, ndim - 1, *range(ndim - 3, -1, -1)])


def info_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of the status that LAPACK returns for each matrix: 0, or the number of an error."""
    return shaped_array(aval.shape[:-2], INT32)


def nan_where(direction: str, info: IrValue, info_type: ShapedArray, out: IrValue, aval: ShapedArray) -> IrValue:
    """Return `out`, with NaN for each matrix whose status compares with 0 as `direction` says: "NE" or "LT"."""
    failed = compare(direction, info, splat(0, info_type))
    mask = hlo.broadcast_in_dim(aval_to_ir_type(aval.update(dtype=np.dtype(bool))), failed, _leading(info_type.shape))
    return hlo.select(mask, splat(np.nan, aval), out)


def _leading(shape: Shape) -> list[int]:
    return list(range(len(shape)))
