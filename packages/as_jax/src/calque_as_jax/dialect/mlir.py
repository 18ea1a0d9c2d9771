"""Names of `jax.interpreters.mlir` that differ from calque's."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from calque_xla_backend import hlo

__all__ = ["dense_int_array", "flatten_ir_values", "hlo", "i32_attr", "i64_attr", "ir"]


def dense_int_array(values: Any) -> Any:
    """Return integers as an attribute."""
    return ir.DenseI64ArrayAttr.get([int(value) for value in values])


def i32_attr(value: int) -> Any:
    """Return an integer of 32 bits as an attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def i64_attr(value: int) -> Any:
    """Return an integer of 64 bits as an attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def flatten_ir_values(values: Any) -> list[Any]:
    """Return values and tuples of values as one list."""
    return [x for value in values for x in (value if isinstance(value, (tuple, list)) else [value])]
