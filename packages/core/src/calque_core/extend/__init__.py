"""The names that a package of transformations, a backend or a front needs beside `calque_core` and `calque_core.lax`.

Our own packages import nothing of core but these names, the operations, `calque_core.config` and
`calque_core.testing`; so a package of yours stands where ours stand.  The groups of `__all__` are the chapters.

Read next: `numpy_functions.py`, the functions of NumPy's that core has, with the tools to write more.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.late import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_core.arrays import ArrayOperations
    from calque_core.arrays.indexing import is_advanced
    from calque_core.arrays.numpy_sequences import has_tracer, host_values
    from calque_core.backends import known_devices, on_device_of, register_devices
    from calque_core.calls.api_util import (
        FlatFunction, FlatPrimals, arg_names, argument_at, array_leaves, call, check_arrays, check_callable,
        describe_value, leaf_names, normalize_argnums, parameters_of,
    )
    from calque_core.calls.chosen_arguments import ChosenArguments, FlatChosen
    from calque_core.calls.static_arguments import (
        StaticArguments, StaticKeys, Statics, explain_comparison, static_arguments, static_keys, with_static,
    )
    from calque_core.context import (
        DEFAULT_SETTINGS, Settings, active, allow_known, entered, here, merely_evaluates, own_context,
    )
    from calque_core.custom.custom_call import (
        CustomCall, CustomFunction, Signature, flat_batch, returned_pair, run_rule,
    )
    from calque_core.distributions import FACADE, facade_fault, install_advice, install_command
    from calque_core.epoch import advance_rule_epoch, forget_with_rules
    from calque_core.errors import add_remedy, similar_name
    from calque_core.extend import numpy_functions
    from calque_core.frames.names import name_of, named_after
    from calque_core.frames.source import (
        LineTables, Position, at_place, current_position, describe_function, in_backward, mark_wrapper, resolve, where,
    )
    from calque_core.frames.tracebacks import hide_frames, mark_boundary, transform_of
    from calque_core.jaxprs.captured import captured_tracers
    from calque_core.jaxprs.constants import bytes_text
    from calque_core.jaxprs.debugging import check_program, is_debugging
    from calque_core.jaxprs.effects import exact_effects, has_ordered
    from calque_core.jaxprs.interpret import JaxprFunction
    from calque_core.jaxprs.jaxpr import has_jaxpr
    from calque_core.jaxprs.masks import Mask, marked, merged, unmarked
    from calque_core.jaxprs.named_axes import bound_axes, named_axes
    from calque_core.known.run import StraightLine, is_straight
    from calque_core.jaxprs.walk import jaxprs_outside, nested_jaxprs, rebuild
    from calque_core.kits.batches import (
        align_batch_axes, align_operands, axes_in_batch, batch_size, defbatch, defbroadcasting, defleading, defreducer,
        defvectorized, with_entry,
    )
    from calque_core.kits.derivatives import (
        NOT_LINEAR, check_known, defbilinear, defjvp, defjvp_all, deflinear, deftranspose, not_linear, not_transposed,
        zero_derivative,
    )
    from calque_core.kits.reductions import defreduction
    from calque_core.memory.captures import Captures
    from calque_core.memory.separate import copied_where_exposed, copy_shared, copy_shared_tree, copy_writable
    from calque_core.memory.uncopied import Uncopied
    from calque_core.ops.approximate import declare_formula, evaluate_together, polynomial
    from calque_core.late import import_at_rest, late_function, late_names
    from calque_core.meshes.mesh import AnyMesh, axes_of_mesh, axes_text
    from calque_core.meshes.partition_spec import UNCONSTRAINED, names_of
    from calque_core.meshes.shards import (
        axis_names_of, check_spec, full_shape, is_replicated, shard_shape, shard_slices,
    )
    from calque_core.ops.axes import integer
    from calque_core.ops.batch_axes import merge_axis, split_axis
    from calque_core.ops.broadcast import broadcast_reduced, spread
    from calque_core.ops.callback import register_effects_barrier
    from calque_core.ops.coefficients import SCALED_ERFC
    from calque_core.ops.collective import check_free_name
    from calque_core.ops.complex import complex_dtype, real_dtype
    from calque_core.ops.computations import (
        from_init, known_operation, neutral_element, on_arrays, operand_leaves, scalars_of, trace_computation,
    )
    from calque_core.ops.cond import chosen_branches, forget_staged_programs, join_constants, program_of
    from calque_core.ops.convert import narrow
    from calque_core.ops.custom import Pullback, no_jvp_rule
    from calque_core.ops.custom_closures import call_by_rules, close_rules
    from calque_core.ops.declare import real_operands, undefined_message
    from calque_core.ops.dot import check_product_dtypes, stated_precision, sum_dtype
    from calque_core.ops.error_regions import shifted_erfc
    from calque_core.ops.ffi import ArrayAttribute
    from calque_core.ops.gather import default_fill, gather_windows
    from calque_core.ops.host_function import ForEach, HostCall, HostFunction
    from calque_core.ops.jit import forwarded_inputs, means, run_program
    from calque_core.ops.linear import (
        is_linear, is_nonzero, split_results, undefined_of, with_integer_zeros, zero_for, zero_of, zero_tangent,
        zeros_of,
    )
    from calque_core.ops.linear_solve import run_solver, trace_in, without_aux
    from calque_core.ops.loop_rules import Loop, ScanOptions, consts_first, marked_carries, split_while
    from calque_core.ops.loops import loop_name
    from calque_core.ops.operands import broadcast_operands
    from calque_core.ops.pieces import Pieces, Span, join_pieces
    from calque_core.ops.platform import Platforms, position_of_platform
    from calque_core.ops.products import leave_one_out_products
    from calque_core.ops.reduce import reduced_shape
    from calque_core.ops.reduce_function import check_reduction, split_reduction
    from calque_core.ops.regions import Regions, even, odd, region
    from calque_core.ops.scatter import scatter_windows
    from calque_core.ops.scatter_writes import combine_lines
    from calque_core.ops.orders import elements_at, positions, sort_by
    from calque_core.ops.selection import extremes
    from calque_core.ops.shape import of_one_dtype
    from calque_core.ops.shard_map import shard_type
    from calque_core.ops.shard_specs import body_axes, manual_mesh
    from calque_core.ops.spaces import Space, space_of
    from calque_core.ops.special import normal_quantile, scaled_erfc
    from calque_core.ops.tangents import check_outputs, check_sequence, flatten_primals, integer_leaves, tangent_leaves
    from calque_core.ops.ties import share
    from calque_core.ops.updates import extreme_shares, is_last, product_of_others, product_with_updates, read_windows
    from calque_core.ops.windows import clipped_lines
    from calque_core.ops.varying import as_varying
    from calque_core.ops.weakness import as_declared, strong
    from calque_core.passes.equal_equations import merge_equal_equations
    from calque_core.primitives.primitive import bind_checked, results_of
    from calque_core.primitives.rule_results import gives_lists, wrong_result
    from calque_core.primitives.rules import missing_rule, rules_by_family, settings_key
    from calque_core.known.evaluate import by_types, evaluate_by_types
    from calque_core.known.sizes import has_no_sizes, is_large
    from calque_core.known.operands import Call, Option, TypedCall, add_option, exact_params, operands_to_record
    from calque_core.known.operation import (
        Operation, holds_equations_alone, known_of, makes_its_results, operation_of, staged_apart,
    )
    from calque_core.known.table import (
        HAS_SIZES, LOOKS_AT_FLOATS, Known, KnownOperations, all_run_known, attempt, run_code,
    )
    from calque_core.staging.jit_tracer import JitTracer, new_eqn
    from calque_core.known.record import recorder
    from calque_core.staging.stage import SCALAR_TYPES, BorrowingTrace, CodeTrace, JaxprTrace, records_alone
    from calque_core.start_requests import (
        fix_cpu_devices, fix_device_memory, fix_platforms, requested_cpu_devices, requested_device_memory,
        requested_platforms,
    )
    from calque_core.traces.trace import (
        are_canonical, canonical_value, function_evaluators, only_evaluates, plain_types, record_call,
        register_function_evaluator,
    )
    from calque_core.traces.tracer import check_lift, known, unknown
    from calque_core.types.array_methods import (
        decided_by_types, elementwise_function, in_every_size, kinds_in_every_size, types_decide,
    )
    from calque_core.types.numbers import is_number, plain_number
    from calque_core.types.avals import NUMPY_AVALS, Shape, is_array_like, shaped_array, short_repr, traced_type
    from calque_core.types.dtypes import (
        ML_DTYPES, REFUSED_DTYPES, SHORT_DTYPES, dtype_name, has_short_dtype, is_float, kind_of, native_array,
        scalar_dtype, short_dtype,
    )
    from calque_core.types.limits import bit_width, highest, lowest, wide_dtype
    from calque_core.types.stand_in import as_stand_in
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_core.arrays": "ArrayOperations",
    "calque_core.arrays.indexing": "is_advanced",
    "calque_core.arrays.numpy_sequences": "has_tracer, host_values",
    "calque_core.backends": "known_devices, on_device_of, register_devices",
    "calque_core.calls.api_util": (
        "FlatFunction, FlatPrimals, arg_names, argument_at, array_leaves, call, check_arrays, check_callable, "
        "describe_value, leaf_names, normalize_argnums, parameters_of"
    ),
    "calque_core.calls.chosen_arguments": "ChosenArguments, FlatChosen",
    "calque_core.calls.static_arguments": (
        "StaticArguments, StaticKeys, Statics, explain_comparison, static_arguments, static_keys, with_static"
    ),
    "calque_core.context": (
        "DEFAULT_SETTINGS, Settings, active, allow_known, entered, here, merely_evaluates, own_context"
    ),
    "calque_core.custom.custom_call": "CustomCall, CustomFunction, Signature, flat_batch, returned_pair, run_rule",
    "calque_core.distributions": "FACADE, facade_fault, install_advice, install_command",
    "calque_core.epoch": "advance_rule_epoch, forget_with_rules",
    "calque_core.errors": "add_remedy, similar_name",
    "calque_core.extend": "numpy_functions",
    "calque_core.frames.names": "name_of, named_after",
    "calque_core.frames.source": (
        "LineTables, Position, at_place, current_position, describe_function, in_backward, mark_wrapper, resolve, where"
    ),
    "calque_core.frames.tracebacks": "hide_frames, mark_boundary, transform_of",
    "calque_core.jaxprs.captured": "captured_tracers",
    "calque_core.jaxprs.constants": "bytes_text",
    "calque_core.jaxprs.debugging": "check_program, is_debugging",
    "calque_core.jaxprs.effects": "exact_effects, has_ordered",
    "calque_core.jaxprs.interpret": "JaxprFunction",
    "calque_core.jaxprs.jaxpr": "has_jaxpr",
    "calque_core.jaxprs.masks": "Mask, marked, merged, unmarked",
    "calque_core.jaxprs.named_axes": "bound_axes, named_axes",
    "calque_core.known.run": "StraightLine, is_straight",
    "calque_core.jaxprs.walk": "jaxprs_outside, nested_jaxprs, rebuild",
    "calque_core.kits.batches": (
        "align_batch_axes, align_operands, axes_in_batch, batch_size, defbatch, defbroadcasting, defleading, "
        "defreducer, defvectorized, with_entry"
    ),
    "calque_core.kits.derivatives": (
        "NOT_LINEAR, check_known, defbilinear, defjvp, defjvp_all, deflinear, deftranspose, not_linear, "
        "not_transposed, zero_derivative"
    ),
    "calque_core.kits.reductions": "defreduction",
    "calque_core.memory.captures": "Captures",
    "calque_core.memory.separate": "copied_where_exposed, copy_shared, copy_shared_tree, copy_writable",
    "calque_core.memory.uncopied": "Uncopied",
    "calque_core.ops.approximate": "declare_formula, evaluate_together, polynomial",
    "calque_core.late": "import_at_rest, late_function, late_names",
    "calque_core.meshes.mesh": "AnyMesh, axes_of_mesh, axes_text",
    "calque_core.meshes.partition_spec": "UNCONSTRAINED, names_of",
    "calque_core.meshes.shards": "axis_names_of, check_spec, full_shape, is_replicated, shard_shape, shard_slices",
    "calque_core.ops.axes": "integer",
    "calque_core.ops.batch_axes": "merge_axis, split_axis",
    "calque_core.ops.broadcast": "broadcast_reduced, spread",
    "calque_core.ops.callback": "register_effects_barrier",
    "calque_core.ops.coefficients": "SCALED_ERFC",
    "calque_core.ops.collective": "check_free_name",
    "calque_core.ops.complex": "complex_dtype, real_dtype",
    "calque_core.ops.computations": (
        "from_init, known_operation, neutral_element, on_arrays, operand_leaves, scalars_of, trace_computation"
    ),
    "calque_core.ops.cond": "chosen_branches, forget_staged_programs, join_constants, program_of",
    "calque_core.ops.convert": "narrow",
    "calque_core.ops.custom": "Pullback, no_jvp_rule",
    "calque_core.ops.custom_closures": "call_by_rules, close_rules",
    "calque_core.ops.declare": "real_operands, undefined_message",
    "calque_core.ops.dot": "check_product_dtypes, stated_precision, sum_dtype",
    "calque_core.ops.error_regions": "shifted_erfc",
    "calque_core.ops.ffi": "ArrayAttribute",
    "calque_core.ops.gather": "default_fill, gather_windows",
    "calque_core.ops.host_function": "ForEach, HostCall, HostFunction",
    "calque_core.ops.jit": "forwarded_inputs, means, run_program",
    "calque_core.ops.linear": (
        "is_linear, is_nonzero, split_results, undefined_of, with_integer_zeros, zero_for, zero_of, zero_tangent, "
        "zeros_of"
    ),
    "calque_core.ops.linear_solve": "run_solver, trace_in, without_aux",
    "calque_core.ops.loop_rules": "Loop, ScanOptions, consts_first, marked_carries, split_while",
    "calque_core.ops.loops": "loop_name",
    "calque_core.ops.operands": "broadcast_operands",
    "calque_core.ops.pieces": "Pieces, Span, join_pieces",
    "calque_core.ops.platform": "Platforms, position_of_platform",
    "calque_core.ops.products": "leave_one_out_products",
    "calque_core.ops.reduce": "reduced_shape",
    "calque_core.ops.reduce_function": "check_reduction, split_reduction",
    "calque_core.ops.regions": "Regions, even, odd, region",
    "calque_core.ops.scatter": "scatter_windows",
    "calque_core.ops.scatter_writes": "combine_lines",
    "calque_core.ops.orders": "elements_at, positions, sort_by",
    "calque_core.ops.selection": "extremes",
    "calque_core.ops.shape": "of_one_dtype",
    "calque_core.ops.shard_map": "shard_type",
    "calque_core.ops.shard_specs": "body_axes, manual_mesh",
    "calque_core.ops.spaces": "Space, space_of",
    "calque_core.ops.special": "normal_quantile, scaled_erfc",
    "calque_core.ops.tangents": "check_outputs, check_sequence, flatten_primals, integer_leaves, tangent_leaves",
    "calque_core.ops.ties": "share",
    "calque_core.ops.updates": "extreme_shares, is_last, product_of_others, product_with_updates, read_windows",
    "calque_core.ops.windows": "clipped_lines",
    "calque_core.ops.varying": "as_varying",
    "calque_core.ops.weakness": "as_declared, strong",
    "calque_core.passes.equal_equations": "merge_equal_equations",
    "calque_core.primitives.primitive": "bind_checked, results_of",
    "calque_core.primitives.rule_results": "gives_lists, wrong_result",
    "calque_core.primitives.rules": "missing_rule, rules_by_family, settings_key",
    "calque_core.known.evaluate": "by_types, evaluate_by_types",
    "calque_core.known.sizes": "has_no_sizes, is_large",
    "calque_core.known.operands": "Call, Option, TypedCall, add_option, exact_params, operands_to_record",
    "calque_core.known.operation": (
        "Operation, holds_equations_alone, known_of, makes_its_results, operation_of, staged_apart"
    ),
    "calque_core.staging.jit_tracer": "JitTracer, new_eqn",
    "calque_core.known.table": "HAS_SIZES, LOOKS_AT_FLOATS, Known, KnownOperations, all_run_known, attempt, run_code",
    "calque_core.known.record": "recorder",
    "calque_core.staging.stage": "SCALAR_TYPES, BorrowingTrace, CodeTrace, JaxprTrace, records_alone",
    "calque_core.start_requests": (
        "fix_cpu_devices, fix_device_memory, fix_platforms, requested_cpu_devices, requested_device_memory, "
        "requested_platforms"
    ),
    "calque_core.traces.trace": (
        "are_canonical, canonical_value, function_evaluators, only_evaluates, plain_types, record_call, "
        "register_function_evaluator"
    ),
    "calque_core.traces.tracer": "check_lift, known, unknown",
    "calque_core.types.array_methods": (
        "decided_by_types, elementwise_function, in_every_size, kinds_in_every_size, types_decide"
    ),
    "calque_core.types.numbers": "is_number, plain_number",
    "calque_core.types.avals": "NUMPY_AVALS, Shape, is_array_like, shaped_array, short_repr, traced_type",
    "calque_core.types.dtypes": (
        "ML_DTYPES, REFUSED_DTYPES, SHORT_DTYPES, dtype_name, has_short_dtype, is_float, kind_of, native_array, "
        "scalar_dtype, short_dtype"
    ),
    "calque_core.types.limits": "bit_width, highest, lowest, wide_dtype",
    "calque_core.types.stand_in": "as_stand_in",
}

__all__ = [
    # Functions of the user, and their arguments
    "FlatFunction", "FlatPrimals", "FlatChosen", "arg_names", "argument_at", "leaf_names", "call", "check_callable",
    "check_arrays", "array_leaves", "describe_value", "short_repr", "normalize_argnums", "parameters_of", "integer",
    "ChosenArguments", "flatten_primals", "tangent_leaves", "integer_leaves", "check_sequence", "check_outputs",
    "loop_name",
    # Static arguments
    "StaticArguments", "Statics", "StaticKeys", "static_arguments", "with_static", "static_keys",
    "explain_comparison",
    # Places in the user's program, and frames in tracebacks
    "Position", "current_position", "resolve", "LineTables", "in_backward", "where", "at_place", "describe_function",
    "name_of", "named_after",
    "hide_frames", "mark_boundary", "transform_of", "mark_wrapper", "similar_name", "add_remedy",
    # The current context: trace, settings, axis sizes
    "Settings", "DEFAULT_SETTINGS", "here", "merely_evaluates", "own_context", "active", "entered", "settings_key",
    # Traces
    "JaxprTrace", "BorrowingTrace", "CodeTrace", "JitTracer", "new_eqn", "record_call", "check_lift", "known",
    "unknown", "only_evaluates",
    "plain_types", "are_canonical", "canonical_value", "ArrayOperations", "by_types", "evaluate_by_types",
    "types_decide", "decided_by_types", "elementwise_function", "in_every_size", "kinds_in_every_size",
    "function_evaluators", "register_function_evaluator", "on_device_of",
    # Types and dtypes
    "Shape", "shaped_array", "traced_type", "is_array_like", "NUMPY_AVALS", "SCALAR_TYPES", "is_float",
    "is_number", "plain_number", "as_stand_in",
    "scalar_dtype", "real_dtype", "complex_dtype", "native_array", "dtype_name", "kind_of", "SHORT_DTYPES",
    "REFUSED_DTYPES", "ML_DTYPES", "short_dtype", "has_short_dtype", "wide_dtype", "bit_width", "highest", "lowest",
    "narrow", "strong", "of_one_dtype",
    # Types and precision of products
    "check_product_dtypes", "stated_precision", "sum_dtype",
    # Memory
    "Captures", "copy_shared", "copy_shared_tree", "copy_writable", "copied_where_exposed", "Uncopied",
    # Tangents and cotangents that are zero or not known yet
    "zero_tangent", "zero_for", "zero_of", "zeros_of", "undefined_of", "with_integer_zeros", "split_results",
    # Masks of operands and results
    "Mask", "marked", "unmarked", "merged", "is_linear", "is_nonzero",
    # Short forms of rules
    "defjvp", "defjvp_all", "deflinear", "defbilinear", "deftranspose", "zero_derivative", "not_linear", "check_known",
    "NOT_LINEAR", "not_transposed",
    "defbatch", "defvectorized", "defbroadcasting", "defreducer", "defleading", "align_batch_axes", "align_operands",
    "axes_in_batch", "batch_size", "with_entry",
    # Rules
    "means", "bind_checked", "undefined_message", "results_of", "gives_lists", "wrong_result", "missing_rule",
    "advance_rule_epoch", "forget_with_rules", "rules_by_family",
    # Imports at the first use of a name
    "late_names", "late_function", "import_at_rest",
    # What to install for a missing piece
    "FACADE", "facade_fault", "install_advice", "install_command",
    # Programs
    "has_jaxpr", "jaxprs_outside", "nested_jaxprs", "rebuild", "join_constants", "captured_tracers", "bytes_text",
    "is_debugging", "check_program", "run_program", "as_declared", "forwarded_inputs",
    # Programs as functions that call NumPy, one per types of the operands
    "HAS_SIZES", "LOOKS_AT_FLOATS", "Known", "KnownOperations", "all_run_known", "allow_known", "Call", "TypedCall",
    "Operation", "operands_to_record",
    "known_of", "operation_of", "attempt", "run_code", "exact_params", "StraightLine", "is_straight", "JaxprFunction",
    "has_no_sizes", "is_large",
    "merge_equal_equations", "Option", "add_option", "holds_equations_alone", "makes_its_results", "recorder",
    "staged_apart", "records_alone",
    # Effects, and functions that programs call
    "has_ordered", "exact_effects", "register_effects_barrier", "HostCall", "HostFunction",
    "ForEach", "ArrayAttribute",
    # Branches and loops
    "chosen_branches", "Platforms", "position_of_platform", "program_of", "forget_staged_programs",
    "Loop", "ScanOptions", "consts_first", "marked_carries", "split_while",
    # Functions with rules of their own, as users write them
    "Signature", "CustomCall", "CustomFunction", "run_rule", "returned_pair", "flat_batch",
    # Custom rules and solvers
    "Pullback", "close_rules", "call_by_rules", "no_jvp_rule", "Space", "space_of", "trace_in", "run_solver",
    "without_aux",
    # Formulas that derivatives and Taylor series share
    "spread", "share", "extremes", "reduced_shape", "broadcast_reduced", "positions", "sort_by", "elements_at",
    # Operands of a function of arrays
    "real_operands", "broadcast_operands",
    # Functions that are formulas, and the tables and regions that evaluate them
    "declare_formula", "evaluate_together", "polynomial", "Pieces", "Span", "join_pieces", "Regions", "region", "even",
    "odd",
    # Parts of such formulas
    "scaled_erfc", "SCALED_ERFC", "shifted_erfc", "normal_quantile", "leave_one_out_products",
    # Windows of a gather or scatter, and their updates
    "gather_windows", "scatter_windows", "clipped_lines", "combine_lines", "default_fill", "read_windows", "is_last",
    "product_of_others", "product_with_updates", "extreme_shares",
    # An axis in the place of two
    "merge_axis", "split_axis",
    # Reductions by a function of two scalars
    "operand_leaves", "trace_computation", "scalars_of", "check_reduction", "split_reduction",
    "known_operation", "neutral_element", "from_init", "on_arrays", "defreduction",
    # Named axes, arrays outside NumPy
    "named_axes", "bound_axes", "check_free_name",
    "is_advanced", "has_tracer", "host_values", "register_devices", "known_devices",
    # Requests for the start of a backend
    "requested_cpu_devices", "fix_cpu_devices", "requested_platforms", "fix_platforms", "requested_device_memory",
    "fix_device_memory",
    # Arrays in parts over a mesh
    "AnyMesh", "axes_of_mesh", "axes_text", "UNCONSTRAINED", "names_of", "axis_names_of", "check_spec", "shard_shape",
    "full_shape", "shard_slices", "is_replicated", "body_axes", "manual_mesh", "shard_type", "as_varying",
    # Functions of NumPy's
    "numpy_functions",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
