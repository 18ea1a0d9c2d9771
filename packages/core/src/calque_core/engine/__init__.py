"""Names that the packages of calque share; they may change in any release, so avoid them in a package of yours.

The names are in chapters.  A name that a stranger's package needs, too, belongs to `calque_core.extend`: ask for it.

Read next: `numpy_functions.py`, the functions of NumPy's that core has, with the tools to write more.
"""

from calque_core.late import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "Functions of the user, and their arguments": {
        "calque_core.calls.api_util": (
            "FlatFunction, FlatPrimals, arg_names, argument_at, leaf_names, call, array_leaves, describe_value, "
            "normalize_argnums, parameters_of"
        ),
        "calque_core.calls.chosen_arguments": "FlatChosen, ChosenArguments",
        "calque_core.types.avals": "short_repr",
        "calque_core.ops.calls.tangents": (
            "flatten_primals, tangent_leaves, integer_leaves, check_sequence, check_outputs"
        ),
        "calque_core.ops.calls.loops": "loop_name, add_step",
    },
    "Static arguments": {
        "calque_core.calls.static_arguments": "StaticArguments, Statics, static_arguments, with_static",
    },
    "Places in the user's program, and frames in tracebacks": {
        "calque_core.frames.source": (
            "Position, current_position, resolve, LineTables, in_backward, at_place, mark_wrapper"
        ),
        "calque_core.frames.names": "name_of, named_after",
        "calque_core.frames.tracebacks": "hide_frames, mark_boundary, transform_of",
        "calque_core.errors": "similar_name, add_remedy",
    },
    "The current context: trace, settings, axis sizes": {
        "calque_core.context": "Settings, DEFAULT_SETTINGS, here, merely_evaluates, own_context, active, entered",
    },
    "Traces": {
        "calque_core.staging.stage": "CodeTrace",
        "calque_core.staging.jit_tracer": "JitTracer",
        "calque_core.staging.own_tracers": "own_tracer_class",
        "calque_core.primitives.own_values": "lowered, raised, one_value, each_one_value",
        "calque_core.traces.trace": "record_call, only_evaluates",
        "calque_core.traces.evaluators": "plain_types, canonical_value, function_evaluators",
        "calque_core.traces.tracer": "check_lift, known, unknown",
        "calque_core.arrays": "ArrayOperations",
        "calque_core.known.evaluate": "evaluate_by_types",
        "calque_core.types.array_methods": "decided_by_types, kinds_in_every_size",
        "calque_core.backends": "on_device_of",
    },
    "Types and dtypes": {
        "calque_core.types.avals": "traced_type, is_array_like, NUMPY_AVALS, own_types, reference_types",
        "calque_core.types.own_types": "is_own",
        "calque_core.types.type_queries": (
            "same_type, same_types, has_tangent, with_leading_axis, without_leading_axis, with_axis_at, "
            "without_axis_at, leading_size, "
            "lower_avals, tangent_arrays"
        ),
        "calque_core.staging.stage": "SCALAR_TYPES",
        "calque_core.types.dtypes": (
            "scalar_dtype, native_array, dtype_name, kind_of, SHORT_DTYPES, REFUSED_DTYPES, ML_DTYPES, short_dtype, "
            "has_short_dtype"
        ),
        "calque_core.types.stand_in": "as_stand_in, stand_in_of",
        "calque_core.types.limits": "bit_width, highest, lowest",
        "calque_core.ops.elementwise.convert": "narrow",
        "calque_core.ops.elementwise.weakness": "strong",
    },
    "Random bits": {"calque_core.ops.shapes.random_bits": "philox_words"},
    "Types and precision of products": {
        "calque_core.ops.reductions.dot": "check_product_dtypes, sum_dtype",
        "calque_core.ops.reductions.precision": "stated_precision, swapped_precision",
    },
    "Memory": {
        "calque_core.memory.captures": "Captures",
        "calque_core.memory.separate": "copy_shared, copy_writable, copied_where_exposed",
        "calque_core.memory.uncopied": "Uncopied",
    },
    "Tangents and cotangents that are zero or not known yet": {
        "calque_core.ops.calls.linear": "zero_of, zeros_of, undefined_of, with_integer_zeros",
    },
    "Masks of operands and results": {
        "calque_core.jaxprs.masks": "Mask",
    },
    "Short forms of rules": {
        "calque_core.kits.derivatives": "NOT_LINEAR, not_transposed",
        "calque_core.kits.batches": "align_operands, axes_in_batch, batch_size, with_entry",
    },
    "Rules": {
        "calque_core.primitives.primitive": "results_of",
        "calque_core.primitives.rule_results": "gives_lists",
        "calque_core.epoch": "advance_rule_epoch, forget_with_rules",
    },
    "Imports at the first use of a name": {
        "calque_core.late": "late_names, import_at_rest",
    },
    "What to install for a missing piece": {
        "calque_core.distributions": "FACADE, facade_fault, install_advice, install_command",
    },
    "Programs": {
        "calque_core.jaxprs.jaxpr": "has_jaxpr",
        "calque_core.jaxprs.walk": "jaxprs_outside, nested_jaxprs, rebuild",
        "calque_core.ops.calls.staged_programs": "join_constants",
        "calque_core.jaxprs.captured": "captured_tracers",
        "calque_core.jaxprs.constants": "bytes_text",
        "calque_core.jaxprs.debugging": "is_debugging, check_program",
        "calque_core.ops.elementwise.weakness": "as_declared",
    },
    "Programs as functions that call NumPy, one per types of the operands": {
        "calque_core.known.table": "HAS_SIZES, LOOKS_AT_FLOATS, Known, KnownOperations, all_run_known, run_code",
        "calque_core.context": "allow_known",
        "calque_core.known.operands": "Call, TypedCall, operands_to_record, exact_params",
        "calque_core.known.operation": (
            "Operation, known_of, operation_of, holds_equations_alone, makes_its_results, staged_apart"
        ),
        "calque_core.known.run": "StraightLine, is_straight",
        "calque_core.jaxprs.interpret": "JaxprFunction",
        "calque_core.known.sizes": "has_no_sizes, is_large",
        "calque_core.passes.equal_equations": "merge_equal_equations",
        "calque_core.known.record": "recorder",
        "calque_core.passes.lower_values": "lower_values, has_own_values",
        "calque_core.passes.discharge": (
            "Discharged, discharge_programs, flatten_arrays, is_reference, taking_references, with_references"
        ),
        "calque_core.types.references": "AbstractRef, check_distinct_references",
        "calque_core.staging.stage": "records_alone",
    },
    "Effects, and functions that programs call": {
        "calque_core.jaxprs.effects": "exact_effects, has_effects_by_element",
        "calque_core.ops.calls.callback": "register_effects_barrier",
        "calque_core.ops.calls.host_function": "HostCall, HostFunction",
        "calque_core.ops.calls.check": "Check, has_checks",
        "calque_core.ops.calls.ffi": "ArrayAttribute",
    },
    "Branches and loops": {
        "calque_core.ops.calls.cond": "chosen_branches",
        "calque_core.ops.calls.staged_programs": "program_of, forget_staged_programs",
        "calque_core.ops.calls.platform": "Platforms, position_of_platform",
        "calque_core.ops.calls.loop_rules": "Loop, ScanOptions, consts_first, marked_carries, split_while",
    },
    "Functions with rules of their own, as users write them": {
        "calque_core.custom.custom_call": "Signature, CustomCall, CustomFunction, returned_pair, flat_batch",
    },
    "Custom rules and solvers": {
        "calque_core.ops.calls.custom": "Pullback, no_jvp_rule",
        "calque_core.ops.calls.custom_closures": "close_rules, call_by_rules",
        "calque_core.ops.calls.spaces": "Space, space_of",
        "calque_core.ops.calls.linear_solve": "trace_in, run_solver, without_aux",
    },
    "Formulas that derivatives and Taylor series share": {
        "calque_core.ops.shapes.broadcast": "spread, broadcast_reduced",
        "calque_core.ops.elementwise.ties": "share",
        "calque_core.ops.reductions.selection": "extremes",
        "calque_core.ops.reductions.reduce": "reduced_shape",
        "calque_core.ops.indexing.orders": "positions, sort_by, elements_at",
    },
    "Functions that are formulas, and the tables and regions that evaluate them": {
        "calque_core.ops.elementwise.approximate": "declare_formula, evaluate_together, polynomial",
        "calque_core.ops.elementwise.pieces": "Pieces, Span, join_pieces",
        "calque_core.ops.elementwise.regions": "Regions, region, even, odd",
    },
    "Parts of such formulas": {
        "calque_core.ops.elementwise.special": "scaled_erfc, normal_quantile",
        "calque_core.ops.elementwise.coefficients": "SCALED_ERFC",
        "calque_core.ops.elementwise.error_regions": "shifted_erfc",
        "calque_core.ops.reductions.products": "leave_one_out_products",
    },
    "Windows of a gather or scatter, and their updates": {
        "calque_core.ops.indexing.gather": "gather_windows, default_fill",
        "calque_core.ops.indexing.scatter": "scatter_windows",
        "calque_core.ops.indexing.windows": "clipped_lines",
        "calque_core.ops.indexing.scatter_writes": "combine_lines",
        "calque_core.ops.indexing.updates": "read_windows, product_of_others, extreme_shares",
    },
    "Reductions by a function of two scalars": {
        "calque_core.ops.reductions.computations": (
            "operand_leaves, trace_computation, scalars_of, known_operation, neutral_element, from_init, on_arrays"
        ),
        "calque_core.ops.reductions.reduce_function": "check_reduction, split_reduction",
        "calque_core.kits.reductions": "defreduction",
    },
    "Named axes, arrays outside NumPy": {
        "calque_core.jaxprs.named_axes": "named_axes",
        "calque_core.ops.meshes.collective": "check_free_name",
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
        "calque_core.meshes.mesh": "AnyMesh, axes_of_mesh",
        "calque_core.meshes.partition_spec": "UNCONSTRAINED",
        "calque_core.meshes.shards": "axis_names_of, check_spec, shard_shape, shard_slices",
        "calque_core.ops.meshes.shard_specs": "body_axes",
        "calque_core.ops.meshes.varying": "widened",
    },
    "Functions of NumPy's": {
        "calque_core.engine": "numpy_functions",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
