"""Texts and figures about modules and executables, from jaxlib.

Read next: `verbs/stages.py`, whose stages show them to users.
"""

from __future__ import annotations

from typing import Any

from jaxlib import _jax  # type: ignore[attr-defined]
from jaxlib.mlir import ir

from calque_xla_backend.runtime.clients import CPU, client
from calque_xla_backend.runtime.runtime import Executable


def hlo_text(module: ir.Module) -> str:
    """Return a StableHLO module as the text of XLA's own language, before any optimisation."""
    text: str = computation_of(module).as_hlo_text()
    return text


def hlo_costs(module: ir.Module) -> dict[str, float]:
    """Return XLA's estimates for a module before any optimisation.

    The client of the host's processor counts: those of plugins do not.
    """
    costs: dict[str, float] = _jax.hlo_module_cost_analysis(client(CPU), computation_of(module).get_hlo_module())
    return costs


def computation_of(module: ir.Module) -> Any:
    """Return a StableHLO module as jaxlib's object for a program in XLA's own language."""
    text = module.operation.get_asm(enable_debug_info=True)
    return _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)


def optimized_hlo_text(executable: Executable) -> str:
    """Return the program that XLA made of a module, in XLA's own language."""
    return "\n".join(module.to_string() for module in executable.hlo_modules())


def costs_of(executable: Executable) -> dict[str, float]:
    """Return XLA's estimates for a compiled program."""
    costs: dict[str, float] = executable.cost_analysis()
    return costs


def memory_of(executable: Executable) -> Any:
    """Return the bytes that a compiled program takes: jaxlib's `CompiledMemoryStats`."""
    return executable.get_compiled_memory_stats()
