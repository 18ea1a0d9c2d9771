# `python tests/docs/public_api.py` writes this file from the names in the module.

from typing import Any

from calque_core.types.avals import (
    AbstractValue as AbstractValue, ShapedArray as ShapedArray, get_aval as get_aval, typeof as typeof,
)
from calque_core.types.own_types import OwnType as OwnType, register_aval as register_aval
from calque_core.types.stand_in import ShapeDtypeStruct as ShapeDtypeStruct
from calque_core.arrays import ArrayMethods as ArrayMethods, Tracer as Tracer
from calque_core.types.dtypes import canonicalize_dtype as canonicalize_dtype, float0 as float0
from calque_core.types.hierarchy import issubdtype as issubdtype, isdtype as isdtype
from calque_core.types.promotion import promote_types as promote_types
from calque_core.ops.elementwise.operands import result_type as result_type
from calque_core.types.limits import finfo as finfo, iinfo as iinfo
from calque_core.jaxprs.jaxpr import (
    Atom as Atom, ClosedJaxpr as ClosedJaxpr, Jaxpr as Jaxpr, JaxprEqn as JaxprEqn, Literal as Literal, Var as Var,
    new_jaxpr_eqn as new_jaxpr_eqn, jaxprs_in_params as jaxprs_in_params, subjaxprs as subjaxprs,
)
from calque_core.staging.check import JaxprType as JaxprType, check_jaxpr as check_jaxpr
from calque_core.staging.make_jaxpr import make_jaxpr as make_jaxpr, eval_shape as eval_shape
from calque_core.staging.stage import stage as stage, hoist_tracers as hoist_tracers
from calque_core.jaxprs.interpret import eval_jaxpr as eval_jaxpr, jaxpr_as_fun as jaxpr_as_fun
from calque_core.values.table_interpreter import interpret as interpret
from calque_core.kits.rewrite import rewrite as rewrite, map_jaxpr as map_jaxpr
from calque_core.passes.inlining import inline_calls as inline_calls
from calque_core.passes.dead_code import dce_jaxpr as dce_jaxpr
from calque_core.passes.constant_folding import fold_constants as fold_constants
from calque_core.passes.discharge import discharge as discharge
from calque_core.jaxprs.walk import count_eqns as count_eqns
from calque_core.jaxprs.equality import jaxpr_equal as jaxpr_equal
from calque_core.saved.writing import jaxpr_to_dict as jaxpr_to_dict
from calque_core.saved.reading import jaxpr_from_dict as jaxpr_from_dict
from calque_core.saved.parsing import parse_jaxpr as parse_jaxpr
from calque_core.saved.python_source import to_python as to_python
from calque_core.show.graph import to_dot as to_dot
from calque_core.jaxprs.constants import CapturedConstant as CapturedConstant, captured_constants as captured_constants
from calque_core.primitives.primitive import Primitive as Primitive, decompose as decompose
from calque_core.primitives.rules import RuleTable as RuleTable, rules as rules
from calque_core.epoch import rule_epoch as rule_epoch
from calque_core.kits.matrix import rule_matrix as rule_matrix
from calque_core.ops.calls.linear import (
    Zero as Zero, UndefinedPrimal as UndefinedPrimal, is_undefined_primal as is_undefined_primal,
    instantiate_zeros as instantiate_zeros, add_tangents as add_tangents,
)
from calque_core.ops.calls.callback import (
    pure_callback as pure_callback, io_callback as io_callback, host_callback as host_callback,
    effects_barrier as effects_barrier,
)
from calque_core.jaxprs.effects import Effect as Effect
from calque_core.ops.calls.check import check as check
from calque_core.ops.calls.ffi import ffi_call as ffi_call
from calque_core.traces.trace import (
    Trace as Trace, tracing as tracing, current_trace as current_trace, evaluation as evaluation,
    hand_down as hand_down, hand_custom_down as hand_custom_down, eval_context as eval_context,
    trace_state_clean as trace_state_clean,
)
from calque_core.traces.evaluators import register_evaluator as register_evaluator
from calque_core.traces.tracer import is_tracer as is_tracer
from calque_core.traces.compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from calque_core.values.value_trace import ValueTrace as ValueTrace, ValueTracer as ValueTracer
from calque_core.ops.shapes.batch_axes import moveaxis as moveaxis, matchaxis as matchaxis
from calque_core.meshes.mesh import Mesh as Mesh, AbstractMesh as AbstractMesh
from calque_core.meshes.partition_spec import PartitionSpec as PartitionSpec
from calque_core.ops.meshes.shard_map import shard_map as shard_map
from calque_core.ops.meshes.smap import smap as smap
from calque_core.kits.ravel import ravel_pytree as ravel_pytree
from calque_core.ops.calls.custom_closures import CustomRules as CustomRules
from calque_core.arrays.numpy_protocol import implements as implements
from calque_core.frames.source import SourceInfo as SourceInfo, register_internal_folder as register_internal_folder
from calque_core.frames.tracebacks import api_boundary as api_boundary, full_traceback as full_traceback
from calque_core.frames.scopes import named_scope as named_scope, named_call as named_call
from calque_core.errors import (
    CheckError as CheckError, ConcretizationTypeError as ConcretizationTypeError, JaxprTypeError as JaxprTypeError,
    MissingRuleError as MissingRuleError, NoArrayError as NoArrayError,
    NonConcreteBooleanIndexError as NonConcreteBooleanIndexError, NumpyRuleError as NumpyRuleError,
    ShapeError as ShapeError, TracerArrayConversionError as TracerArrayConversionError,
    TracerBoolConversionError as TracerBoolConversionError,
    TracerIntegerConversionError as TracerIntegerConversionError, UnexpectedTracerError as UnexpectedTracerError,
)
from calque_core import config as config, debug as debug, lax as lax, ref as ref

__version__: str
bfloat16: type[Any]
float4_e2m1fn: type[Any]
float8_e3m4: type[Any]
float8_e4m3: type[Any]
float8_e4m3b11fnuz: type[Any]
float8_e4m3fn: type[Any]
float8_e4m3fnuz: type[Any]
float8_e5m2: type[Any]
float8_e5m2fnuz: type[Any]
int4: type[Any]
uint4: type[Any]

__all__ = [
    "AbstractValue", "ShapedArray", "get_aval", "typeof", "OwnType", "register_aval", "ShapeDtypeStruct",
    "ArrayMethods", "canonicalize_dtype", "float0", "issubdtype", "isdtype", "promote_types", "result_type", "finfo",
    "iinfo", "Atom", "ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Var", "new_jaxpr_eqn", "jaxprs_in_params",
    "subjaxprs", "JaxprType", "check_jaxpr", "make_jaxpr", "eval_shape", "stage", "hoist_tracers", "eval_jaxpr",
    "jaxpr_as_fun", "interpret", "rewrite", "map_jaxpr", "inline_calls", "dce_jaxpr", "fold_constants", "discharge",
    "count_eqns", "jaxpr_equal", "jaxpr_to_dict", "jaxpr_from_dict", "parse_jaxpr", "to_python", "to_dot",
    "CapturedConstant", "captured_constants", "Primitive", "decompose", "RuleTable", "rules", "rule_epoch",
    "rule_matrix", "Zero", "UndefinedPrimal", "is_undefined_primal", "instantiate_zeros", "add_tangents",
    "pure_callback", "io_callback", "host_callback", "effects_barrier", "Effect", "check", "ffi_call", "Trace",
    "tracing", "current_trace", "evaluation", "hand_down", "hand_custom_down", "eval_context", "trace_state_clean",
    "register_evaluator", "Tracer", "is_tracer", "ensure_compile_time_eval", "ValueTrace", "ValueTracer", "moveaxis",
    "matchaxis", "Mesh", "AbstractMesh", "PartitionSpec", "shard_map", "smap", "ravel_pytree", "CustomRules",
    "implements", "SourceInfo", "register_internal_folder", "api_boundary", "full_traceback", "named_scope",
    "named_call", "CheckError", "ConcretizationTypeError", "JaxprTypeError", "MissingRuleError", "NoArrayError",
    "NonConcreteBooleanIndexError", "NumpyRuleError", "ShapeError", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError", "config", "debug", "lax",
    "ref",
]
