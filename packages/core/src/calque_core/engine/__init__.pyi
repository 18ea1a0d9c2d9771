# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_core.calls.api_util import (
    FlatFunction as FlatFunction, FlatPrimals as FlatPrimals, arg_names as arg_names, argument_at as argument_at,
    leaf_names as leaf_names, call as call, array_leaves as array_leaves, describe_value as describe_value,
    normalize_argnums as normalize_argnums, parameters_of as parameters_of,
)
from calque_core.calls.chosen_arguments import FlatChosen as FlatChosen, ChosenArguments as ChosenArguments
from calque_core.types.avals import (
    short_repr as short_repr, traced_type as traced_type, is_array_like as is_array_like, NUMPY_AVALS as NUMPY_AVALS,
    own_types as own_types, reference_types as reference_types,
)
from calque_core.ops.calls.tangents import (
    flatten_primals as flatten_primals, tangent_leaves as tangent_leaves, integer_leaves as integer_leaves,
    check_sequence as check_sequence, check_outputs as check_outputs,
)
from calque_core.ops.calls.loops import loop_name as loop_name, add_step as add_step
from calque_core.calls.static_arguments import (
    StaticArguments as StaticArguments, Statics as Statics, static_arguments as static_arguments,
    with_static as with_static,
)
from calque_core.frames.source import (
    Position as Position, current_position as current_position, resolve as resolve, LineTables as LineTables,
    in_backward as in_backward, at_place as at_place, mark_wrapper as mark_wrapper,
)
from calque_core.frames.names import name_of as name_of, named_after as named_after
from calque_core.frames.tracebacks import (
    hide_frames as hide_frames, mark_boundary as mark_boundary, transform_of as transform_of,
)
from calque_core.errors import similar_name as similar_name, add_remedy as add_remedy
from calque_core.context import (
    Settings as Settings, DEFAULT_SETTINGS as DEFAULT_SETTINGS, here as here, merely_evaluates as merely_evaluates,
    own_context as own_context, active as active, entered as entered, allow_known as allow_known,
)
from calque_core.staging.stage import (
    CodeTrace as CodeTrace, SCALAR_TYPES as SCALAR_TYPES, records_alone as records_alone,
)
from calque_core.staging.jit_tracer import JitTracer as JitTracer
from calque_core.staging.own_tracers import own_tracer_class as own_tracer_class
from calque_core.primitives.own_values import (
    lowered as lowered, raised as raised, one_value as one_value, each_one_value as each_one_value,
)
from calque_core.traces.trace import record_call as record_call, only_evaluates as only_evaluates
from calque_core.traces.evaluators import (
    plain_types as plain_types, canonical_value as canonical_value, function_evaluators as function_evaluators,
)
from calque_core.traces.tracer import check_lift as check_lift, known as known, unknown as unknown
from calque_core.arrays import ArrayOperations as ArrayOperations
from calque_core.known.evaluate import evaluate_by_types as evaluate_by_types
from calque_core.types.array_methods import (
    decided_by_types as decided_by_types, kinds_in_every_size as kinds_in_every_size,
)
from calque_core.backends import (
    on_device_of as on_device_of, register_devices as register_devices, known_devices as known_devices,
)
from calque_core.types.own_types import is_own as is_own
from calque_core.types.type_queries import (
    same_type as same_type, same_types as same_types, has_tangent as has_tangent,
    with_leading_axis as with_leading_axis, without_leading_axis as without_leading_axis, with_axis_at as with_axis_at,
    without_axis_at as without_axis_at, leading_size as leading_size, lower_avals as lower_avals,
    tangent_arrays as tangent_arrays,
)
from calque_core.types.dtypes import (
    scalar_dtype as scalar_dtype, native_array as native_array, dtype_name as dtype_name, kind_of as kind_of,
    SHORT_DTYPES as SHORT_DTYPES, REFUSED_DTYPES as REFUSED_DTYPES, ML_DTYPES as ML_DTYPES, short_dtype as short_dtype,
    has_short_dtype as has_short_dtype,
)
from calque_core.types.stand_in import as_stand_in as as_stand_in, stand_in_of as stand_in_of
from calque_core.types.limits import bit_width as bit_width, highest as highest, lowest as lowest
from calque_core.ops.elementwise.convert import narrow as narrow
from calque_core.ops.elementwise.weakness import strong as strong, as_declared as as_declared
from calque_core.ops.shapes.random_bits import philox_words as philox_words
from calque_core.ops.reductions.dot import check_product_dtypes as check_product_dtypes, sum_dtype as sum_dtype
from calque_core.ops.reductions.precision import (
    stated_precision as stated_precision, swapped_precision as swapped_precision,
)
from calque_core.memory.captures import Captures as Captures
from calque_core.memory.separate import (
    copy_shared as copy_shared, copy_writable as copy_writable, copied_where_exposed as copied_where_exposed,
)
from calque_core.memory.uncopied import Uncopied as Uncopied
from calque_core.ops.calls.linear import (
    zero_of as zero_of, zeros_of as zeros_of, undefined_of as undefined_of, with_integer_zeros as with_integer_zeros,
)
from calque_core.jaxprs.masks import Mask as Mask
from calque_core.kits.derivatives import NOT_LINEAR as NOT_LINEAR, not_transposed as not_transposed
from calque_core.kits.batches import (
    align_operands as align_operands, axes_in_batch as axes_in_batch, batch_size as batch_size,
    with_entry as with_entry,
)
from calque_core.primitives.primitive import results_of as results_of
from calque_core.primitives.rule_results import gives_lists as gives_lists
from calque_core.epoch import advance_rule_epoch as advance_rule_epoch, forget_with_rules as forget_with_rules
from calque_core.late import late_names as late_names, import_at_rest as import_at_rest
from calque_core.distributions import (
    FACADE as FACADE, facade_fault as facade_fault, install_advice as install_advice,
    install_command as install_command,
)
from calque_core.jaxprs.jaxpr import has_jaxpr as has_jaxpr
from calque_core.jaxprs.walk import jaxprs_outside as jaxprs_outside, nested_jaxprs as nested_jaxprs, rebuild as rebuild
from calque_core.ops.calls.staged_programs import (
    join_constants as join_constants, program_of as program_of, forget_staged_programs as forget_staged_programs,
)
from calque_core.jaxprs.captured import captured_tracers as captured_tracers
from calque_core.jaxprs.constants import bytes_text as bytes_text
from calque_core.jaxprs.debugging import is_debugging as is_debugging, check_program as check_program
from calque_core.known.table import (
    HAS_SIZES as HAS_SIZES, LOOKS_AT_FLOATS as LOOKS_AT_FLOATS, Known as Known, KnownOperations as KnownOperations,
    all_run_known as all_run_known, run_code as run_code,
)
from calque_core.known.operands import (
    Call as Call, TypedCall as TypedCall, operands_to_record as operands_to_record, exact_params as exact_params,
)
from calque_core.known.operation import (
    Operation as Operation, known_of as known_of, operation_of as operation_of,
    holds_equations_alone as holds_equations_alone, makes_its_results as makes_its_results,
    staged_apart as staged_apart,
)
from calque_core.known.run import StraightLine as StraightLine, is_straight as is_straight
from calque_core.jaxprs.interpret import JaxprFunction as JaxprFunction
from calque_core.known.sizes import has_no_sizes as has_no_sizes, is_large as is_large
from calque_core.passes.equal_equations import merge_equal_equations as merge_equal_equations
from calque_core.known.record import recorder as recorder
from calque_core.passes.lower_values import lower_values as lower_values, has_own_values as has_own_values
from calque_core.passes.discharge import (
    Discharged as Discharged, discharge_programs as discharge_programs, flatten_arrays as flatten_arrays,
    is_reference as is_reference, taking_references as taking_references, with_references as with_references,
)
from calque_core.types.references import (
    AbstractRef as AbstractRef, check_distinct_references as check_distinct_references,
)
from calque_core.jaxprs.effects import exact_effects as exact_effects, has_effects_by_element as has_effects_by_element
from calque_core.ops.calls.callback import register_effects_barrier as register_effects_barrier
from calque_core.ops.calls.host_function import HostCall as HostCall, HostFunction as HostFunction
from calque_core.ops.calls.check import Check as Check, has_checks as has_checks
from calque_core.ops.calls.ffi import ArrayAttribute as ArrayAttribute
from calque_core.ops.calls.cond import chosen_branches as chosen_branches
from calque_core.ops.calls.platform import Platforms as Platforms, position_of_platform as position_of_platform
from calque_core.ops.calls.loop_rules import (
    Loop as Loop, ScanOptions as ScanOptions, consts_first as consts_first, marked_carries as marked_carries,
    split_while as split_while,
)
from calque_core.custom.custom_call import (
    Signature as Signature, CustomCall as CustomCall, CustomFunction as CustomFunction, returned_pair as returned_pair,
    flat_batch as flat_batch,
)
from calque_core.ops.calls.custom import Pullback as Pullback, no_jvp_rule as no_jvp_rule
from calque_core.ops.calls.custom_closures import close_rules as close_rules, call_by_rules as call_by_rules
from calque_core.ops.calls.spaces import Space as Space, space_of as space_of
from calque_core.ops.calls.linear_solve import (
    trace_in as trace_in, run_solver as run_solver, without_aux as without_aux,
)
from calque_core.ops.shapes.broadcast import spread as spread, broadcast_reduced as broadcast_reduced
from calque_core.ops.elementwise.ties import share as share
from calque_core.ops.reductions.selection import extremes as extremes
from calque_core.ops.reductions.reduce import reduced_shape as reduced_shape
from calque_core.ops.indexing.orders import positions as positions, sort_by as sort_by, elements_at as elements_at
from calque_core.ops.elementwise.approximate import (
    declare_formula as declare_formula, evaluate_together as evaluate_together, polynomial as polynomial,
)
from calque_core.ops.elementwise.pieces import Pieces as Pieces, Span as Span, join_pieces as join_pieces
from calque_core.ops.elementwise.regions import Regions as Regions, region as region, even as even, odd as odd
from calque_core.ops.elementwise.special import scaled_erfc as scaled_erfc, normal_quantile as normal_quantile
from calque_core.ops.elementwise.coefficients import SCALED_ERFC as SCALED_ERFC
from calque_core.ops.elementwise.error_regions import shifted_erfc as shifted_erfc
from calque_core.ops.reductions.products import leave_one_out_products as leave_one_out_products
from calque_core.ops.indexing.gather import gather_windows as gather_windows, default_fill as default_fill
from calque_core.ops.indexing.scatter import scatter_windows as scatter_windows
from calque_core.ops.indexing.windows import clipped_lines as clipped_lines
from calque_core.ops.indexing.scatter_writes import combine_lines as combine_lines
from calque_core.ops.indexing.updates import (
    read_windows as read_windows, product_of_others as product_of_others, extreme_shares as extreme_shares,
)
from calque_core.ops.reductions.computations import (
    operand_leaves as operand_leaves, trace_computation as trace_computation, scalars_of as scalars_of,
    known_operation as known_operation, neutral_element as neutral_element, from_init as from_init,
    on_arrays as on_arrays,
)
from calque_core.ops.reductions.reduce_function import (
    check_reduction as check_reduction, split_reduction as split_reduction,
)
from calque_core.kits.reductions import defreduction as defreduction
from calque_core.jaxprs.named_axes import named_axes as named_axes
from calque_core.ops.meshes.collective import check_free_name as check_free_name
from calque_core.arrays.indexing import is_advanced as is_advanced
from calque_core.arrays.numpy_sequences import has_tracer as has_tracer, host_values as host_values
from calque_core.start_requests import (
    requested_cpu_devices as requested_cpu_devices, fix_cpu_devices as fix_cpu_devices,
    requested_platforms as requested_platforms, fix_platforms as fix_platforms,
    requested_device_memory as requested_device_memory, fix_device_memory as fix_device_memory,
)
from calque_core.meshes.mesh import AnyMesh as AnyMesh, axes_of_mesh as axes_of_mesh
from calque_core.meshes.partition_spec import UNCONSTRAINED as UNCONSTRAINED
from calque_core.meshes.shards import (
    axis_names_of as axis_names_of, check_spec as check_spec, shard_shape as shard_shape, shard_slices as shard_slices,
)
from calque_core.ops.meshes.shard_specs import body_axes as body_axes
from calque_core.ops.meshes.varying import widened as widened
from calque_core.engine import numpy_functions as numpy_functions

__all__ = [
    "FlatFunction", "FlatPrimals", "arg_names", "argument_at", "leaf_names", "call", "array_leaves", "describe_value",
    "normalize_argnums", "parameters_of", "FlatChosen", "ChosenArguments", "short_repr", "flatten_primals",
    "tangent_leaves", "integer_leaves", "check_sequence", "check_outputs", "loop_name", "add_step", "StaticArguments",
    "Statics", "static_arguments", "with_static", "Position", "current_position", "resolve", "LineTables",
    "in_backward", "at_place", "mark_wrapper", "name_of", "named_after", "hide_frames", "mark_boundary", "transform_of",
    "similar_name", "add_remedy", "Settings", "DEFAULT_SETTINGS", "here", "merely_evaluates", "own_context", "active",
    "entered", "CodeTrace", "JitTracer", "own_tracer_class", "lowered", "raised", "one_value", "each_one_value",
    "record_call", "only_evaluates", "plain_types", "canonical_value", "function_evaluators", "check_lift", "known",
    "unknown", "ArrayOperations", "evaluate_by_types", "decided_by_types", "kinds_in_every_size", "on_device_of",
    "traced_type", "is_array_like", "NUMPY_AVALS", "own_types", "reference_types", "is_own", "same_type", "same_types",
    "has_tangent", "with_leading_axis", "without_leading_axis", "with_axis_at", "without_axis_at", "leading_size",
    "lower_avals", "tangent_arrays", "SCALAR_TYPES", "scalar_dtype", "native_array", "dtype_name", "kind_of",
    "SHORT_DTYPES", "REFUSED_DTYPES", "ML_DTYPES", "short_dtype", "has_short_dtype", "as_stand_in", "stand_in_of",
    "bit_width", "highest", "lowest", "narrow", "strong", "philox_words", "check_product_dtypes", "sum_dtype",
    "stated_precision", "swapped_precision", "Captures", "copy_shared", "copy_writable", "copied_where_exposed",
    "Uncopied", "zero_of", "zeros_of", "undefined_of", "with_integer_zeros", "Mask", "NOT_LINEAR", "not_transposed",
    "align_operands", "axes_in_batch", "batch_size", "with_entry", "results_of", "gives_lists", "advance_rule_epoch",
    "forget_with_rules", "late_names", "import_at_rest", "FACADE", "facade_fault", "install_advice", "install_command",
    "has_jaxpr", "jaxprs_outside", "nested_jaxprs", "rebuild", "join_constants", "captured_tracers", "bytes_text",
    "is_debugging", "check_program", "as_declared", "HAS_SIZES", "LOOKS_AT_FLOATS", "Known", "KnownOperations",
    "all_run_known", "run_code", "allow_known", "Call", "TypedCall", "operands_to_record", "exact_params", "Operation",
    "known_of", "operation_of", "holds_equations_alone", "makes_its_results", "staged_apart", "StraightLine",
    "is_straight", "JaxprFunction", "has_no_sizes", "is_large", "merge_equal_equations", "recorder", "lower_values",
    "has_own_values", "Discharged", "discharge_programs", "flatten_arrays", "is_reference", "taking_references",
    "with_references", "AbstractRef", "check_distinct_references", "records_alone", "exact_effects",
    "has_effects_by_element", "register_effects_barrier", "HostCall", "HostFunction", "Check", "has_checks",
    "ArrayAttribute", "chosen_branches", "program_of", "forget_staged_programs", "Platforms", "position_of_platform",
    "Loop", "ScanOptions", "consts_first", "marked_carries", "split_while", "Signature", "CustomCall", "CustomFunction",
    "returned_pair", "flat_batch", "Pullback", "no_jvp_rule", "close_rules", "call_by_rules", "Space", "space_of",
    "trace_in", "run_solver", "without_aux", "spread", "broadcast_reduced", "share", "extremes", "reduced_shape",
    "positions", "sort_by", "elements_at", "declare_formula", "evaluate_together", "polynomial", "Pieces", "Span",
    "join_pieces", "Regions", "region", "even", "odd", "scaled_erfc", "normal_quantile", "SCALED_ERFC", "shifted_erfc",
    "leave_one_out_products", "gather_windows", "default_fill", "scatter_windows", "clipped_lines", "combine_lines",
    "read_windows", "product_of_others", "extreme_shares", "operand_leaves", "trace_computation", "scalars_of",
    "known_operation", "neutral_element", "from_init", "on_arrays", "check_reduction", "split_reduction",
    "defreduction", "named_axes", "check_free_name", "is_advanced", "has_tracer", "host_values", "register_devices",
    "known_devices", "requested_cpu_devices", "fix_cpu_devices", "requested_platforms", "fix_platforms",
    "requested_device_memory", "fix_device_memory", "AnyMesh", "axes_of_mesh", "UNCONSTRAINED", "axis_names_of",
    "check_spec", "shard_shape", "shard_slices", "body_axes", "widened", "numpy_functions",
]
