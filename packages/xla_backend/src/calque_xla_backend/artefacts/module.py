"""The module of an exported function: checked when it is read, merged into the module of a caller.

One idea: the types of `main` must be the types in the header, and the module may call no function of the host but those
that jaxlib brings; so a module that passes is called like a function of our own.

Read next: `call.py`, whose lowering rule merges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from calque_xla_backend.artefacts.errors import ExportError, damaged
from calque_xla_backend.modules.lowering import FuncOp, ModuleContext
from calque_xla_backend.modules.types import aval_to_ir_type
from calque_xla_backend.runtime.portable import from_portable
from calque_xla_backend.runtime.runtime import mlir_context
from calque_xla_backend.runtime.targets import jaxlib_targets, load_lapack


def check_module(data: bytes, in_avals: Sequence[Any], out_avals: Sequence[Any]) -> str:
    """Return the text of a portable module whose `main` has these types.

    Raises: ExportError for bytes that are no module, other types, and calls of functions of the host.
    """
    context = mlir_context()
    with context, ir.Location.unknown(context):
        module = _parsed(data, context)
        main = next((op for op in _functions(module) if _name(op) == "main"), None)
        if main is None:
            raise damaged("its module has no function main")
        types = [aval_to_ir_type(aval) for aval in in_avals], [aval_to_ir_type(aval) for aval in out_avals]
        if (list(main.type.inputs), list(main.type.results)) != types:
            raise damaged("its module has other types than its header")
        check_targets(module)
        return str(module)


def _parsed(data: bytes, context: Any) -> ir.Module:
    handler = context.attach_diagnostic_handler(lambda _: True)  # or MLIR prints its errors
    try:
        return from_portable(data, context)
    except Exception as error:  # jaxlib has an error for each of its parsers
        raise damaged("jaxlib cannot read its module") from error
    finally:
        handler.detach()


def _functions(module: ir.Module) -> list[FuncOp]:
    operations = list(module.body.operations)
    if any(op.operation.name != "func.func" for op in operations):
        raise damaged("its module has an operation outside of functions")
    return operations


def _name(function: FuncOp) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)


def check_targets(module: ir.Module) -> bool:
    """Check that a module calls no functions of the host but LAPACK's; tell whether it calls any.

    Raises: ExportError that names the function.
    """
    targets = _targets(module)
    foreign = sorted(targets - jaxlib_targets())
    if foreign:
        raise ExportError(
            f"the program calls the function {foreign[0]!r} of this process, a callback or a foreign function, and "
            "other processes do not have it. Export the program around it."
        )
    return bool(targets)


def _targets(module: ir.Module) -> set[str]:
    """Return the names of the functions of the host that a module calls."""
    names: set[str] = set()

    def visit(op: Any) -> ir.WalkResult:
        if op.name == "stablehlo.custom_call":
            names.add(str(ir.StringAttr(op.attributes["call_target_name"]).value))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names


def merge_module(module_context: ModuleContext, data: bytes) -> FuncOp:
    """Add the functions of a portable module to the module of a caller, under new names; return its `main`."""
    module = _parsed(data, ir.Context.current)
    if check_targets(module):
        load_lapack()
    functions, prefix = _functions(module), f"exported_{len(module_context.functions)}"
    for function in functions:
        old, new = _name(function), _unused(f"{prefix}_{_name(function)}", module_context.symbols)
        ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
        ir.SymbolTable.set_symbol_name(function, new)
    main = None
    for function in functions:
        copy: FuncOp = function.operation.clone(ir.InsertionPoint(module_context.module.body)).opview
        copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        module_context.symbols.insert(copy)
        main = copy if _name(copy).startswith(f"{prefix}_main") else main
    assert main is not None, functions  # `check_module` found it
    return main


def _unused(name: str, symbols: ir.SymbolTable) -> str:
    while name in symbols:
        name += "_"
    return name
