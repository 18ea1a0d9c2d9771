"""The names that a package of transformations, a backend or a front needs beside `calque_core` and `calque_core.lax`.

Our own packages import nothing of core but these names, the operations, `calque_core.config` and
`calque_core.testing`; so a package of yours stands where ours stand.  The names are in chapters.

Read next: `numpy_functions.py`, the functions of NumPy's that core has, with the tools to write more.
"""

from calque_core.late import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "Functions of the user, and their arguments": {
        "calque_core.calls.api_util": (
            "FlatFunction, FlatPrimals, arg_names, argument_at, leaf_names, call, check_callable, check_arrays, "
            "array_leaves, describe_value, normalize_argnums, parameters_of"
        ),
        "calque_core.calls.chosen_arguments": "FlatChosen, ChosenArguments",
        "calque_core.types.avals": "short_repr",
        "calque_core.ops.axes": "integer",
        "calque_core.ops.tangents": "flatten_primals, tangent_leaves, integer_leaves, check_sequence, check_outputs",
        "calque_core.ops.loops": "loop_name",
    },
    "Static arguments": {
        "calque_core.calls.static_arguments": (
            "StaticArguments, Statics, StaticKeys, static_arguments, with_static, static_keys, explain_comparison"
        ),
    },
    "Places in the user's program, and frames in tracebacks": {
        "calque_core.frames.source": (
            "Position, current_position, resolve, LineTables, in_backward, where, at_place, describe_function, "
            "mark_wrapper"
        ),
        "calque_core.frames.names": "name_of, named_after",
        "calque_core.frames.tracebacks": "hide_frames, mark_boundary, transform_of",
        "calque_core.errors": "similar_name, add_remedy",
    },
    "The current context: trace, settings, axis sizes": {
        "calque_core.context": "Settings, DEFAULT_SETTINGS, here, merely_evaluates, own_context, active, entered",
        "calque_core.primitives.rules": "settings_key",
    },
    "Traces": {
        "calque_core.staging.stage": "JaxprTrace, BorrowingTrace, CodeTrace",
        "calque_core.staging.jit_tracer": "JitTracer, new_eqn",
        "calque_core.traces.trace": (
            "record_call, only_evaluates, plain_types, are_canonical, canonical_value, function_evaluators, "
            "register_function_evaluator"
        ),
        "calque_core.traces.tracer": "check_lift, known, unknown",
        "calque_core.arrays": "ArrayOperations",
        "calque_core.known.evaluate": "by_types, evaluate_by_types",
        "calque_core.types.array_methods": (
            "types_decide, decided_by_types, elementwise_function, in_every_size, kinds_in_every_size"
        ),
        "calque_core.backends": "on_device_of",
    },
    "Types and dtypes": {
        "calque_core.types.avals": "Shape, shaped_array, traced_type, is_array_like, NUMPY_AVALS",
        "calque_core.staging.stage": "SCALAR_TYPES",
        "calque_core.types.dtypes": (
            "is_float, scalar_dtype, native_array, dtype_name, kind_of, SHORT_DTYPES, REFUSED_DTYPES, ML_DTYPES, "
            "short_dtype, has_short_dtype"
        ),
        "calque_core.types.numbers": "is_number, plain_number",
        "calque_core.types.stand_in": "as_stand_in",
        "calque_core.ops.complex": "real_dtype, complex_dtype",
        "calque_core.types.limits": "wide_dtype, bit_width, highest, lowest",
        "calque_core.ops.convert": "narrow",
        "calque_core.ops.weakness": "strong",
        "calque_core.ops.shape": "of_one_dtype",
    },
    "Types and precision of products": {"calque_core.ops.dot": "check_product_dtypes, stated_precision, sum_dtype"},
    "Memory": {
        "calque_core.memory.captures": "Captures",
        "calque_core.memory.separate": "copy_shared, copy_shared_tree, copy_writable, copied_where_exposed",
        "calque_core.memory.uncopied": "Uncopied",
    },
    "Tangents and cotangents that are zero or not known yet": {
        "calque_core.ops.linear": (
            "zero_tangent, zero_for, zero_of, zeros_of, undefined_of, with_integer_zeros, split_results"
        ),
    },
    "Masks of operands and results": {
        "calque_core.jaxprs.masks": "Mask, marked, unmarked, merged",
        "calque_core.ops.linear": "is_linear, is_nonzero",
    },
    "Short forms of rules": {
        "calque_core.kits.derivatives": (
            "defjvp, defjvp_all, deflinear, defbilinear, deftranspose, zero_derivative, not_linear, check_known, "
            "NOT_LINEAR, not_transposed"
        ),
        "calque_core.kits.batches": (
            "defbatch, defvectorized, defbroadcasting, defreducer, defleading, align_batch_axes, align_operands, "
            "axes_in_batch, batch_size, with_entry"
        ),
    },
    "Rules": {
        "calque_core.ops.jit": "means",
        "calque_core.primitives.primitive": "bind_checked, results_of",
        "calque_core.ops.declare": "undefined_message",
        "calque_core.primitives.rule_results": "gives_lists, wrong_result",
        "calque_core.primitives.rules": "missing_rule, rules_by_family",
        "calque_core.epoch": "advance_rule_epoch, forget_with_rules",
    },
    "Imports at the first use of a name": {
        "calque_core.late": "late_chapters, late_names, late_function, import_at_rest"
    },
    "What to install for a missing piece": {
        "calque_core.distributions": "FACADE, facade_fault, install_advice, install_command",
    },
    "Programs": {
        "calque_core.jaxprs.jaxpr": "has_jaxpr",
        "calque_core.jaxprs.walk": "jaxprs_outside, nested_jaxprs, rebuild",
        "calque_core.ops.cond": "join_constants",
        "calque_core.jaxprs.captured": "captured_tracers",
        "calque_core.jaxprs.constants": "bytes_text",
        "calque_core.jaxprs.debugging": "is_debugging, check_program",
        "calque_core.ops.jit": "run_program, forwarded_inputs",
        "calque_core.ops.weakness": "as_declared",
    },
    "Programs as functions that call NumPy, one per types of the operands": {
        "calque_core.known.table": (
            "HAS_SIZES, LOOKS_AT_FLOATS, Known, KnownOperations, all_run_known, attempt, run_code"
        ),
        "calque_core.context": "allow_known",
        "calque_core.known.operands": "Call, TypedCall, operands_to_record, exact_params, Option, add_option",
        "calque_core.known.operation": (
            "Operation, known_of, operation_of, holds_equations_alone, makes_its_results, staged_apart"
        ),
        "calque_core.known.run": "StraightLine, is_straight",
        "calque_core.jaxprs.interpret": "JaxprFunction",
        "calque_core.known.sizes": "has_no_sizes, is_large",
        "calque_core.passes.equal_equations": "merge_equal_equations",
        "calque_core.known.record": "recorder",
        "calque_core.staging.stage": "records_alone",
    },
    "Effects, and functions that programs call": {
        "calque_core.jaxprs.effects": "has_ordered, exact_effects",
        "calque_core.ops.callback": "register_effects_barrier",
        "calque_core.ops.host_function": "HostCall, HostFunction, ForEach",
        "calque_core.ops.ffi": "ArrayAttribute",
    },
    "Branches and loops": {
        "calque_core.ops.cond": "chosen_branches, program_of, forget_staged_programs",
        "calque_core.ops.platform": "Platforms, position_of_platform",
        "calque_core.ops.loop_rules": "Loop, ScanOptions, consts_first, marked_carries, split_while",
    },
    "Functions with rules of their own, as users write them": {
        "calque_core.custom.custom_call": "Signature, CustomCall, CustomFunction, run_rule, returned_pair, flat_batch",
    },
    "Custom rules and solvers": {
        "calque_core.ops.custom": "Pullback, no_jvp_rule",
        "calque_core.ops.custom_closures": "close_rules, call_by_rules",
        "calque_core.ops.spaces": "Space, space_of",
        "calque_core.ops.linear_solve": "trace_in, run_solver, without_aux",
    },
    "Formulas that derivatives and Taylor series share": {
        "calque_core.ops.broadcast": "spread, broadcast_reduced",
        "calque_core.ops.ties": "share",
        "calque_core.ops.selection": "extremes",
        "calque_core.ops.reduce": "reduced_shape",
        "calque_core.ops.orders": "positions, sort_by, elements_at",
    },
    "Operands of a function of arrays": {
        "calque_core.ops.declare": "real_operands",
        "calque_core.ops.operands": "broadcast_operands",
    },
    "Functions that are formulas, and the tables and regions that evaluate them": {
        "calque_core.ops.approximate": "declare_formula, evaluate_together, polynomial",
        "calque_core.ops.pieces": "Pieces, Span, join_pieces",
        "calque_core.ops.regions": "Regions, region, even, odd",
    },
    "Parts of such formulas": {
        "calque_core.ops.special": "scaled_erfc, normal_quantile",
        "calque_core.ops.coefficients": "SCALED_ERFC",
        "calque_core.ops.error_regions": "shifted_erfc",
        "calque_core.ops.products": "leave_one_out_products",
    },
    "Windows of a gather or scatter, and their updates": {
        "calque_core.ops.gather": "gather_windows, default_fill",
        "calque_core.ops.scatter": "scatter_windows",
        "calque_core.ops.windows": "clipped_lines",
        "calque_core.ops.scatter_writes": "combine_lines",
        "calque_core.ops.updates": "read_windows, is_last, product_of_others, product_with_updates, extreme_shares",
    },
    "An axis in the place of two": {"calque_core.ops.batch_axes": "merge_axis, split_axis"},
    "Reductions by a function of two scalars": {
        "calque_core.ops.computations": (
            "operand_leaves, trace_computation, scalars_of, known_operation, neutral_element, from_init, on_arrays"
        ),
        "calque_core.ops.reduce_function": "check_reduction, split_reduction",
        "calque_core.kits.reductions": "defreduction",
    },
    "Named axes, arrays outside NumPy": {
        "calque_core.jaxprs.named_axes": "named_axes, bound_axes",
        "calque_core.ops.collective": "check_free_name",
        "calque_core.arrays.indexing": "is_advanced",
        "calque_core.arrays.numpy_sequences": "has_tracer, host_values",
        "calque_core.backends": "register_devices, known_devices",
    },
    "Requests for the start of a backend": {
        "calque_core.start_requests": (
            "requested_cpu_devices, fix_cpu_devices, requested_platforms, fix_platforms, requested_device_memory, "
            "fix_device_memory"
        ),
    },
    "Arrays in parts over a mesh": {
        "calque_core.meshes.mesh": "AnyMesh, axes_of_mesh, axes_text",
        "calque_core.meshes.partition_spec": "UNCONSTRAINED, names_of",
        "calque_core.meshes.shards": "axis_names_of, check_spec, shard_shape, full_shape, shard_slices, is_replicated",
        "calque_core.ops.shard_specs": "body_axes, manual_mesh",
        "calque_core.ops.shard_map": "shard_type",
        "calque_core.ops.varying": "as_varying",
    },
    "Functions of NumPy's": {"calque_core.extend": "numpy_functions"},
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
