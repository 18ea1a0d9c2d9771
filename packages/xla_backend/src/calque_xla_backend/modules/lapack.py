"""Calls of LAPACK, which jaxlib brings as targets of custom calls.

One idea: `lapack_call` is one call of a target for a batch of matrices; it chooses the target by the dtype.

Read next: `matrix_calls.py`, for the arguments of such a call; `lowerings/factorizations.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calque_core import ShapedArray
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.matrix_calls import Attribute, matrix_call
from calque_xla_backend.runtime.targets import load_lapack

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def lapack_call(
    name: str,
    operands: Sequence[tuple[IrValue, ShapedArray]],
    out_avals: Sequence[ShapedArray],
    aliases: Mapping[int, int] | None = None,
    **attributes: Attribute,
) -> list[IrValue]:
    """Return the results of LAPACK's function `name`, such as "potrf", as `matrix_call` does."""
    load_lapack()
    prefix = _PREFIXES[operands[0][1].dtype.name]
    return matrix_call(f"lapack_{prefix}{name}_ffi", operands, out_avals, aliases, **attributes)
