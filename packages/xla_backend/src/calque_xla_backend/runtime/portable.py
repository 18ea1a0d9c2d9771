"""Modules as portable bytes, which other releases of jaxlib read.

Read next: `artefacts/module.py`, which checks and merges such modules.
"""

from __future__ import annotations

from typing import Any

from jaxlib import _jax  # type: ignore[attr-defined]
from jaxlib.mlir import ir

STABLEHLO_VERSION = "1.16.0"  # of jaxlib 0.10.0, the oldest release that we take


def to_portable(module: ir.Module) -> bytes:
    """Return a StableHLO module as bytes, without places in the user's files.

    An operation of another dialect becomes a composite with its decomposition.
    """
    text = module.operation.get_asm(enable_debug_info=False)
    data: bytes = _jax.mlir.serialize_portable_artifact(text, STABLEHLO_VERSION)
    return data


def from_portable(data: bytes, context: Any) -> ir.Module:
    """Return the module of `to_portable` in a context.  Raises: Exception of any class for other bytes."""
    module: ir.Module = _jax.mlir.deserialize_portable_artifact(data, context)
    return module
