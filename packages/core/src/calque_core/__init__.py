"""Types, primitives, traces and jaxprs, evaluated by NumPy: the foundation for transformations of array programs.

Everything here is public; so is `calque_core.lax`, the operations, and `calque_core.config`, the settings.

Read next: `traces/trace.py` for the central idea, then `primitives/primitive.py`, `staging/stage.py` and
`jaxprs/interpret.py`.
"""

# Every program uses these modules: the first trace or rule would import them.
from calque_core import config as _config
from calque_core import lax as _lax
from calque_core.frames import tracebacks as _tracebacks
from calque_core.jaxprs import jaxpr as _jaxpr
from calque_core.late import late_chapters as _late_chapters
from calque_core.primitives import primitive as _primitive
from calque_core.types.dtypes import attributes_of as _attributes_of

# The other modules are imported when a program first uses one of their names.
_CHAPTERS = {
    "types of values": {
        "calque_core.types.avals": "AbstractValue, ShapedArray, get_aval, typeof",
        "calque_core.types.own_types": "OwnType, register_aval",
        "calque_core.types.stand_in": "ShapeDtypeStruct",
        "calque_core.arrays": "ArrayMethods",
    },
    "dtypes": {
        "calque_core.types.dtypes": "canonicalize_dtype, float0",
        "calque_core.types.hierarchy": "issubdtype, isdtype",
        "calque_core.types.promotion": "promote_types",
        "calque_core.ops.elementwise.operands": "result_type",
        "calque_core.types.limits": "finfo, iinfo",
    },
    "programs": {
        "calque_core.jaxprs.jaxpr": (
            "Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, new_jaxpr_eqn, jaxprs_in_params, subjaxprs"
        ),
        "calque_core.staging.check": "JaxprType, check_jaxpr",
        "calque_core.staging.make_jaxpr": "make_jaxpr, eval_shape",
        "calque_core.staging.stage": "stage, hoist_tracers",
        "calque_core.jaxprs.interpret": "eval_jaxpr, jaxpr_as_fun",
        "calque_core.values.table_interpreter": "interpret",
        "calque_core.kits.rewrite": "rewrite, map_jaxpr",
        "calque_core.passes.inlining": "inline_calls",
        "calque_core.passes.dead_code": "dce_jaxpr",
        "calque_core.passes.constant_folding": "fold_constants",
        "calque_core.passes.discharge": "discharge",
        "calque_core.jaxprs.walk": "count_eqns",
        "calque_core.jaxprs.equality": "jaxpr_equal",
        "calque_core.saved.writing": "jaxpr_to_dict",
        "calque_core.saved.reading": "jaxpr_from_dict",
        "calque_core.saved.parsing": "parse_jaxpr",
        "calque_core.saved.python_source": "to_python",
        "calque_core.show.graph": "to_dot",
        "calque_core.jaxprs.constants": "CapturedConstant, captured_constants",
    },
    "primitives and rules": {
        "calque_core.primitives.primitive": "Primitive, decompose",
        "calque_core.primitives.rules": "RuleTable, rules",
        "calque_core.epoch": "rule_epoch",
        "calque_core.kits.matrix": "rule_matrix",
        "calque_core.ops.calls.linear": "Zero, UndefinedPrimal, is_undefined_primal, instantiate_zeros, add_tangents",
    },
    "calls to Python": {
        "calque_core.ops.calls.callback": "pure_callback, io_callback, host_callback, effects_barrier",
        "calque_core.jaxprs.effects": "Effect",
    },
    "checks in programs": {"calque_core.ops.calls.check": "check"},
    "calls of kernels": {"calque_core.ops.calls.ffi": "ffi_call"},
    "traces": {
        "calque_core.traces.trace": (
            "Trace, tracing, current_trace, evaluation, hand_down, hand_custom_down, eval_context, trace_state_clean"
        ),
        "calque_core.traces.evaluators": "register_evaluator",
        "calque_core.arrays": "Tracer",
        "calque_core.traces.tracer": "is_tracer",
        "calque_core.traces.compile_time": "ensure_compile_time_eval",
    },
    "transformations with values of their own": {
        "calque_core.values.value_trace": "ValueTrace, ValueTracer",
        "calque_core.ops.shapes.batch_axes": "moveaxis, matchaxis",
    },
    "meshes of devices": {
        "calque_core.meshes.mesh": "Mesh, AbstractMesh",
        "calque_core.meshes.partition_spec": "PartitionSpec",
        "calque_core.ops.meshes.shard_map": "shard_map",
        "calque_core.ops.meshes.smap": "smap",
    },
    "trees as vectors": {"calque_core.kits.ravel": "ravel_pytree"},
    "derivative rules of one function": {"calque_core.ops.calls.custom_closures": "CustomRules"},
    "NumPy's functions on traced arrays": {"calque_core.arrays.numpy_protocol": "implements"},
    "where things come from": {
        "calque_core.frames.source": "SourceInfo, register_internal_folder",
        "calque_core.frames.tracebacks": "api_boundary, full_traceback",
        "calque_core.frames.scopes": "named_scope, named_call",
    },
    "errors": {
        "calque_core.errors": (
            "CheckError, ConcretizationTypeError, JaxprTypeError, MissingRuleError, NoArrayError, "
            "NonConcreteBooleanIndexError, NumpyRuleError, ShapeError, TracerArrayConversionError, "
            "TracerBoolConversionError, TracerIntegerConversionError, UnexpectedTracerError"
        ),
    },
    "modules": {"calque_core": "config, debug, lax, ref"},
}

__version__ = "0.1.0"

# The dtypes of ml_dtypes are attributes, too, and import it at the first use of one of them.
__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS, _attributes_of(__name__))
