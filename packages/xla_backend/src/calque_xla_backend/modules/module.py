"""From jaxprs to StableHLO modules.

One idea: a nested `jit` is one function of the module, for all its calls; a large constant is an argument of the
program and of every function that needs it, never text.

Read next: `lowering.py` for the equations of a function, `compile.py`, which compiles modules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr, JaxprEqn, Primitive, rule_epoch, subjaxprs
from calque_core.engine import HostCall, has_checks, here, jaxprs_outside, nested_jaxprs
from calque_core.lax import jit_p, pmap_p, shard_map_p
from calque_xla_backend.modules.host_calls import check_regions
from calque_xla_backend.modules.locations import Locations
from calque_xla_backend.modules.lowering import (
    Constants,
    FuncOp,
    LoweringRuleContext,
    ModuleContext,
    jaxpr_subcomp,
    lower_equations,
)
from calque_xla_backend.modules.meshes import sharding_attribute
from calque_xla_backend.modules.recording import Recorded, Templates
from calque_xla_backend.modules.reuse import reused_by, warn_of_unused
from calque_xla_backend.modules.tokens import current_token, has_ordered
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, cached_in_context
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.partition import Partition
from calque_xla_backend.runtime.runtime import mlir_context

EMBEDDED_BYTES = 1024  # a larger constant becomes an argument: XLA folds and prints embedded constants


@dataclass(frozen=True, slots=True)
class LoweredModule:
    """A module, and the arrays that its `main` takes before the arguments of the jaxpr."""

    module: ir.Module
    const_args: Sequence[tuple[Any, Any]]  # each with its type
    callbacks: Sequence[HostCall] = ()  # the Python functions that the program calls, by their number in the module
    undivided: tuple[Sequence[bool], Sequence[bool]] = ((), ())  # the arguments and results that XLA may divide

    @property
    def constant_bytes(self) -> int:
        """The size of the arrays that `main` takes before the arguments."""
        return sum(math.prod(aval.shape) * aval.dtype.itemsize for _, aval in self.const_args)

    def as_text(self) -> str:
        """Return the module as StableHLO text."""
        return str(self.module)


def lower_jaxpr_to_module(
    jaxpr: Jaxpr,
    *,
    name: str = "main",
    platform: str = "cpu",
    donated: Collection[int] = (),
    partition: Partition | None = None,
) -> LoweredModule:
    """Return a StableHLO module whose function `main` computes `jaxpr`.

    `main` takes the module's constant arguments first, then the arguments of the jaxpr; XLA may overwrite the arguments
    of the jaxpr whose numbers are in `donated`.  With a `partition`, the program is for its devices.
    Raises: MissingRuleError for a primitive without a lowering rule.
    """
    mlir = mlir_context()
    with mlir, ir.Location.unknown(mlir):
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get(f"jit_{_identifier(name)}")
        module_context = _module_context(module, platform, partition)
        constants = lower_inner_functions(module_context, jaxpr)
        main = lower_function(module_context, jaxpr, "main", f"jit({name})/", takes_token=False)
        main.attributes["sym_visibility"] = ir.StringAttr.get("public")
        arguments: list[Attributes] = [{} for _ in (*constants, *jaxpr.invars)]
        is_divided = partition is not None and len(partition.devices) > 1  # then equal types may be divided otherwise
        reused = {} if is_divided else reused_by(jaxpr, donated)
        if not is_divided:
            warn_of_unused([jaxpr.in_avals[i] for i in donated if i not in reused])
        for i in donated:
            name_of_use, value = (_RESULT, _int32(reused[i])) if i in reused else (_DONOR, ir.BoolAttr.get(True))
            arguments[len(constants) + i][name_of_use] = value
        results: list[Attributes] = [{} for _ in jaxpr.outvars]
        if partition is not None:
            _divide(module_context, arguments[len(constants) :], jaxpr.in_avals, partition.arguments)
            _divide(module_context, results, jaxpr.out_avals, partition.results)
        main.arg_attrs, main.res_attrs = _as_attribute(arguments), _as_attribute(results)
        if module_context.callbacks:
            check_regions(module, module_context.callbacks)
    undivided = [_SHARDING not in one for one in arguments], [_SHARDING not in one for one in results]
    return LoweredModule(module, list(constants.values()), tuple(module_context.callbacks), undivided)


def _module_context(module: ir.Module, platform: str, partition: Partition | None) -> ModuleContext:
    """Return the state of a new module, with the templates that other modules of its MLIR context recorded."""
    is_divided = partition is not None and len(partition.devices) > 1
    recorded = cached_in_context(("templates", platform, is_divided, rule_epoch(), here().settings), Recorded)
    symbols, types = ir.SymbolTable(module.operation), ir.Context.current.types
    module_context = ModuleContext(module, platform, symbols, types, Templates(recorded))
    if partition is not None:
        module_context.devices, module_context.is_divided = partition.devices, is_divided
        module.operation.attributes["mhlo.num_replicas"] = _int32(1)
        module.operation.attributes["mhlo.num_partitions"] = _int32(len(partition.devices))
    return module_context


Attributes = dict[str, ir.Attribute]
_DONOR, _RESULT, _SHARDING = "jax.buffer_donor", "tf.aliasing_output", "sdy.sharding"


def _divide(
    module_context: ModuleContext, attributes: list[Attributes], avals: Sequence[Any], places: Sequence[Any]
) -> None:
    """Add the attributes that tell XLA how arguments or results are divided; None for a place leaves that to XLA."""
    for one, aval, place in zip(attributes, avals, places):
        if place is not None:
            sharding = place.sharding
            one[_SHARDING] = sharding_attribute(module_context, sharding.mesh, sharding.spec, len(aval.shape))


def _as_attribute(attributes: Sequence[Attributes]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.DictAttr.get(one) for one in attributes])


def _int32(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def lower_inner_functions(module_context: ModuleContext, jaxpr: Jaxpr) -> Constants:
    """Lower every nested `jit`, innermost first: calls nested 500 deep then need no recursion.

    Return the large constants of `jaxpr` and of its inner jaxprs.
    """
    every = nested_jaxprs(jaxpr)
    is_divided = any(eqn.primitive in _DIVIDED for inner in every for eqn in inner.program_eqns)
    whole = {id(inner) for inner in (jaxprs_outside(jaxpr, _DIVIDED) if is_divided else every)}
    for inner in every:
        module_context.constants[id(inner)] = _large_constants(module_context, inner)
        for eqn in inner.program_eqns:
            if eqn.primitive is jit_p and id(inner) in whole:
                _function_of(module_context, eqn.params["jaxpr"], eqn.params["name"])
    return module_context.constants[id(jaxpr)]


_DIVIDED = frozenset((shard_map_p, pmap_p))  # their programs are for one shard, and are lowered for their mesh


def _large_constants(module_context: ModuleContext, jaxpr: Jaxpr) -> Constants:
    """Return the constants of a jaxpr and of its inner jaxprs that are not embedded, each once."""
    pairs = zip(jaxpr.constvars, jaxpr.consts)
    constants = {(id(const), var.aval): (const, var.aval) for var, const in pairs if not _is_embedded(const)}
    for inner in subjaxprs(jaxpr):
        constants.update(module_context.constants[id(inner)])
    return constants


def _is_embedded(const: Any) -> bool:
    if type(const) is Array:  # on the host's processor its elements can be read without a transfer
        place = const._device_type.placement
        return place.platform == "cpu" and not place.is_divided and const.nbytes <= EMBEDDED_BYTES
    return (
        isinstance(const, (np.ndarray, np.generic, bool, int, float, complex))
        and np.asarray(const).nbytes <= EMBEDDED_BYTES
    )


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


_NO_EQN = JaxprEqn(Primitive("module"), (), (), {})  # stands for the equation in the context of a whole function


def lower_function(
    module_context: ModuleContext, jaxpr: Jaxpr, name: str, prefix: str = "", *, takes_token: bool
) -> FuncOp:
    """Add a private function to the module that takes large constants, then the arguments of `jaxpr`; return it.

    The names of its operations begin with `prefix`.  With `takes_token`, its first argument and its first result are
    the tokens before and after its ordered effects.
    """
    constants = module_context.constants.get(id(jaxpr), {})
    tokens = [hlo.TokenType.get()] if takes_token else []
    in_types = [*tokens, *(aval_to_ir_type(aval) for _, aval in constants.values())]
    in_types += [aval_to_ir_type(v.aval) for v in jaxpr.invars]
    out_types = [*tokens, *(aval_to_ir_type(v.aval) for v in jaxpr.outvars)]
    function_type = ir.FunctionType.get(in_types, out_types)
    function: FuncOp = func.FuncOp(_identifier(name), function_type, ip=ir.InsertionPoint(module_context.module.body))
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    module_context.symbols.insert(function)  # renames it if another function has the name
    entry = function.add_entry_block()
    arguments, steps = list(entry.arguments), module_context.steps
    module_context.steps = ()
    with ir.InsertionPoint(entry):
        module_context.token = arguments.pop(0) if takes_token else None  # the first ordered effect of `main` makes it
        ctx = LoweringRuleContext(module_context, dict(zip(constants, arguments)), _NO_EQN)
        outs = lower_equations(ctx, Locations(prefix), jaxpr, *arguments[len(constants) :])
        func.ReturnOp([current_token(module_context), *outs] if takes_token else outs)
    module_context.steps = steps
    return function


def _function_of(module_context: ModuleContext, jaxpr: Jaxpr, name: str) -> FuncOp:
    """Return the function of the module that computes `jaxpr`; the first call makes it."""
    item = module_context.functions.get(id(jaxpr))
    if item is None:
        before = module_context.token
        function = lower_function(module_context, jaxpr, name, takes_token=has_ordered(jaxpr.effects))
        module_context.token = before
        item = module_context.functions[id(jaxpr)] = jaxpr, function
    return item[1]


def callee_of(ctx: LoweringRuleContext, jaxpr: Jaxpr, name: str) -> tuple[FuncOp, list[IrValue]] | None:
    """Return the function of the module that computes `jaxpr`, and its first operands: large constants.

    None inside `lower_fun`, whose caller does not have the constants.
    """
    constants = ctx.module_context.constants.get(id(jaxpr), {})
    if any(key not in ctx.constants for key in constants):
        return None
    return _function_of(ctx.module_context, jaxpr, name), [ctx.constants[key] for key in constants]


def call_jaxpr(ctx: LoweringRuleContext, jaxpr: Jaxpr, name: str, *values: IrValue) -> list[IrValue]:
    """Lower a call of `jaxpr` as a function of the module; return its results."""
    # A check tells the steps of the loops around it, which a function of the module does not see.
    callee = None if ctx.module_context.steps and has_checks(jaxpr) else callee_of(ctx, jaxpr, name)
    if callee is None:
        return jaxpr_subcomp(ctx, jaxpr, *values)
    function, constants = callee
    make_call: Any = func.CallOp
    takes_token = has_ordered(jaxpr.effects)
    tokens = [current_token(ctx.module_context)] if takes_token else []
    outs: list[IrValue] = list(make_call(function, [*tokens, *constants, *values]).results)
    if takes_token:
        ctx.module_context.token = outs.pop(0)
    return outs
