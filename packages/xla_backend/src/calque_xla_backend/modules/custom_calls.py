"""Custom calls: operations of a module that call a function registered with XLA by its name.

One idea: all of ours are calls with typed attributes, and state the layouts of their operands and results.

Read next: `lapack.py`, `host_calls.py` and `rules/calls/ffi.py`, which make them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_xla_backend.modules.types import IrValue, cached_in_context

_TYPED_ATTRIBUTES = 4  # the version of custom calls whose attributes have types
Layouts = Sequence[ir.Attribute]


def custom_call(
    target: str,
    types: Sequence[ir.Type],
    values: Sequence[IrValue],
    *,
    layouts: tuple[Layouts, Layouts],
    attributes: Mapping[str, ir.Attribute],
    aliases: Mapping[int, int] | None = None,
    has_side_effect: bool = False,
) -> list[IrValue]:
    """Return the results of a call of `target`, whose types are `types`.

    `layouts` are those of the operands and of the results; `aliases` maps operands to the results that may overwrite
    them.
    """
    make: Any = hlo.CustomCallOp
    call = make(
        types,
        values,
        target,
        has_side_effect=has_side_effect,
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), _TYPED_ATTRIBUTES),
        backend_config=ir.DictAttr.get(dict(attributes)),
        operand_layouts=ir.ArrayAttr.get(layouts[0]),
        result_layouts=ir.ArrayAttr.get(layouts[1]),
        output_operand_aliases=_aliases(aliases or {}, len(types)),
    )
    return list(call.results)


def by_rows(ndim: int) -> ir.Attribute:
    """Return the layout whose last axis has its elements side by side."""
    return layout(range(ndim - 1, -1, -1))


def layout(axes: Sequence[int]) -> ir.Attribute:
    """Return the layout with these axes, from the one whose elements are neighbours to the slowest."""
    elements: Any = np.array(axes, np.int64)
    made: ir.Attribute = cached_in_context(
        ("layout", *axes), lambda: ir.DenseElementsAttr.get(elements, type=ir.IndexType.get(), shape=[len(axes)])
    )
    return made


def _aliases(aliases: Mapping[int, int], count: int) -> ir.ArrayAttr:
    """Return the pairs of operands and results; a single result has no index."""
    pairs = [(operand, [result] if count > 1 else []) for operand, result in aliases.items()]
    return ir.ArrayAttr.get([hlo.OutputOperandAlias.get(result, operand, []) for operand, result in pairs])
