"""Types, primitives, traces and jaxprs, evaluated by NumPy: the foundation for transformations of array programs.

Everything here is public; so is `calque_core.lax`, the operations, and `calque_core.config`, the settings.

Read next: `traces/trace.py` for the central idea, then `primitives/primitive.py`, `staging/stage.py` and
`jaxprs/interpret.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late
from typing import Any as _Any

from calque_core import config, lax
from calque_core.epoch import rule_epoch
from calque_core.errors import (
    ConcretizationTypeError,
    JaxprTypeError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    NumpyRuleError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from calque_core.frames.source import SourceInfo, register_internal_folder
from calque_core.frames.tracebacks import api_boundary, full_traceback
from calque_core.jaxprs.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxprs_in_params,
    new_jaxpr_eqn,
    subjaxprs,
)
from calque_core.late import late_names as _late_names
from calque_core.primitives.primitive import Primitive, decompose
from calque_core.primitives.rules import RuleTable, rules
from calque_core.traces.trace import (
    Trace,
    current_trace,
    eval_context,
    evaluation,
    hand_custom_down,
    hand_down,
    register_evaluator,
    trace_state_clean,
    tracing,
)
from calque_core.traces.tracer import is_tracer
from calque_core.types.avals import AbstractValue, ShapedArray, get_aval, register_aval, typeof
from calque_core.types.dtypes import attributes_of as _attributes_of
from calque_core.types.dtypes import canonicalize_dtype, float0
from calque_core.types.stand_in import ShapeDtypeStruct

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_core import debug
    from calque_core.arrays import ArrayMethods, Tracer
    from calque_core.arrays.numpy_protocol import implements
    from calque_core.frames.scopes import named_call, named_scope
    from calque_core.jaxprs.constants import CapturedConstant, captured_constants
    from calque_core.jaxprs.effects import Effect
    from calque_core.jaxprs.equality import jaxpr_equal
    from calque_core.jaxprs.interpret import eval_jaxpr, jaxpr_as_fun
    from calque_core.jaxprs.walk import count_eqns
    from calque_core.kits.matrix import rule_matrix
    from calque_core.kits.ravel import ravel_pytree
    from calque_core.kits.rewrite import map_jaxpr, rewrite
    from calque_core.meshes.mesh import AbstractMesh, Mesh
    from calque_core.meshes.partition_spec import PartitionSpec
    from calque_core.ops.batch_axes import matchaxis, moveaxis
    from calque_core.ops.callback import effects_barrier, host_callback, io_callback, pure_callback
    from calque_core.ops.custom_closures import CustomRules
    from calque_core.ops.ffi import ffi_call
    from calque_core.ops.linear import UndefinedPrimal, Zero, add_tangents, instantiate_zeros, is_undefined_primal
    from calque_core.ops.operands import result_type
    from calque_core.ops.shard_map import shard_map
    from calque_core.passes.constant_folding import fold_constants
    from calque_core.passes.dead_code import dce_jaxpr
    from calque_core.passes.inlining import inline_calls
    from calque_core.staging.check import JaxprType, check_jaxpr
    from calque_core.staging.make_jaxpr import eval_shape, make_jaxpr
    from calque_core.staging.stage import hoist_tracers, stage
    from calque_core.traces.compile_time import ensure_compile_time_eval
    from calque_core.types.hierarchy import isdtype, issubdtype
    from calque_core.types.limits import finfo, iinfo
    from calque_core.types.promotion import promote_types
    from calque_core.values.table_interpreter import interpret
    from calque_core.values.value_trace import ValueTrace, ValueTracer
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_core": "debug",
    "calque_core.arrays": "ArrayMethods, Tracer",
    "calque_core.arrays.numpy_protocol": "implements",
    "calque_core.frames.scopes": "named_call, named_scope",
    "calque_core.jaxprs.constants": "CapturedConstant, captured_constants",
    "calque_core.jaxprs.effects": "Effect",
    "calque_core.jaxprs.equality": "jaxpr_equal",
    "calque_core.jaxprs.interpret": "eval_jaxpr, jaxpr_as_fun",
    "calque_core.jaxprs.walk": "count_eqns",
    "calque_core.kits.matrix": "rule_matrix",
    "calque_core.kits.ravel": "ravel_pytree",
    "calque_core.kits.rewrite": "map_jaxpr, rewrite",
    "calque_core.meshes.mesh": "AbstractMesh, Mesh",
    "calque_core.meshes.partition_spec": "PartitionSpec",
    "calque_core.ops.batch_axes": "matchaxis, moveaxis",
    "calque_core.ops.callback": "effects_barrier, host_callback, io_callback, pure_callback",
    "calque_core.ops.custom_closures": "CustomRules",
    "calque_core.ops.ffi": "ffi_call",
    "calque_core.ops.linear": "UndefinedPrimal, Zero, add_tangents, instantiate_zeros, is_undefined_primal",
    "calque_core.ops.operands": "result_type",
    "calque_core.ops.shard_map": "shard_map",
    "calque_core.passes.constant_folding": "fold_constants",
    "calque_core.passes.dead_code": "dce_jaxpr",
    "calque_core.passes.inlining": "inline_calls",
    "calque_core.staging.check": "JaxprType, check_jaxpr",
    "calque_core.staging.make_jaxpr": "eval_shape, make_jaxpr",
    "calque_core.staging.stage": "hoist_tracers, stage",
    "calque_core.traces.compile_time": "ensure_compile_time_eval",
    "calque_core.types.hierarchy": "isdtype, issubdtype",
    "calque_core.types.limits": "finfo, iinfo",
    "calque_core.types.promotion": "promote_types",
    "calque_core.values.table_interpreter": "interpret",
    "calque_core.values.value_trace": "ValueTrace, ValueTracer",
}

__version__ = "0.1.0"

__all__ = [
    # types of values
    "AbstractValue", "ShapedArray", "ShapeDtypeStruct", "get_aval", "typeof", "register_aval", "ArrayMethods",
    # dtypes
    "canonicalize_dtype", "float0", "issubdtype", "isdtype", "promote_types", "result_type", "finfo", "iinfo",
    # programs
    "Atom", "ClosedJaxpr", "Jaxpr", "JaxprEqn", "JaxprType", "Literal", "Var", "new_jaxpr_eqn",
    "jaxprs_in_params", "subjaxprs", "make_jaxpr", "eval_shape", "stage", "hoist_tracers", "eval_jaxpr", "jaxpr_as_fun",
    "interpret", "rewrite", "map_jaxpr", "inline_calls", "dce_jaxpr", "fold_constants", "count_eqns", "jaxpr_equal",
    "check_jaxpr", "CapturedConstant", "captured_constants",
    # primitives and rules
    "Primitive", "RuleTable", "rules", "rule_epoch", "rule_matrix", "decompose",
    "Zero", "UndefinedPrimal", "is_undefined_primal", "instantiate_zeros", "add_tangents",
    # calls to Python
    "pure_callback", "io_callback", "host_callback", "effects_barrier", "Effect",
    # calls of kernels
    "ffi_call",
    # traces
    "Trace", "Tracer", "tracing", "current_trace", "evaluation", "hand_down", "hand_custom_down", "is_tracer",
    "register_evaluator", "ensure_compile_time_eval", "eval_context", "trace_state_clean",
    # transformations with values of their own
    "ValueTrace", "ValueTracer", "moveaxis", "matchaxis",
    # meshes of devices
    "Mesh", "AbstractMesh", "PartitionSpec", "shard_map",
    # trees as vectors
    "ravel_pytree",
    # derivative rules of one function
    "CustomRules",
    # NumPy's functions on traced arrays
    "implements",
    # where things come from
    "SourceInfo", "register_internal_folder", "api_boundary", "full_traceback", "named_scope", "named_call",
    # errors
    "ConcretizationTypeError", "JaxprTypeError", "MissingRuleError", "NonConcreteBooleanIndexError", "NumpyRuleError",
    "ShapeError", "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError",
    "UnexpectedTracerError",
    # modules
    "config", "debug", "lax",
]  # fmt: skip

# The short dtypes, for type checkers, which cannot read the table; the package that defines them is imported late
bfloat16: type[_Any]
float4_e2m1fn: type[_Any]
float8_e3m4: type[_Any]
float8_e4m3: type[_Any]
float8_e4m3b11fnuz: type[_Any]
float8_e4m3fn: type[_Any]
float8_e4m3fnuz: type[_Any]
float8_e5m2: type[_Any]
float8_e5m2fnuz: type[_Any]
int4: type[_Any]
uint4: type[_Any]

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE, _attributes_of(__name__))
