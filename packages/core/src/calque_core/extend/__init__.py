"""The floor: names that a package of operations or of transformations needs beside `calque_core` and its `lax`.

These names are stable: one that goes is deprecated for one minor release before.  Our own families, linear algebra and
its siblings, are written with them; the page `docs/extend.md` shows each in use.

Read next: `calque_core.engine`, names that our own packages share beside them, which may change in any release.
"""

from calque_core.late import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "Short forms of derivative rules": {
        "calque_core.kits.derivatives": (
            "defjvp, defjvp_all, deflinear, defbilinear, deftranspose, zero_derivative, not_linear, check_known"
        ),
    },
    "Short forms of batching rules": {
        "calque_core.kits.batches": (
            "defbatch, defvectorized, defbroadcasting, defreducer, defleading, align_batch_axes"
        ),
    },
    "Rules of a package, and of primitives that hold programs": {
        "calque_core.primitives.rules": "rules_by_family, missing_rule, settings_key",
        "calque_core.ops.calls.jit": "means, run_program",
        "calque_core.staging.stage": "JaxprTrace",
    },
    "Tangents that are zero, and masks of operands": {
        "calque_core.ops.calls.linear": "zero_tangent, is_nonzero, split_results",
        "calque_core.jaxprs.masks": "marked, unmarked, merged",
    },
    "Types, and the operands of a function": {
        "calque_core.types.avals": "Shape, shaped_array",
        "calque_core.types.dtypes": "is_float",
        "calque_core.ops.elementwise.complex": "real_dtype, complex_dtype",
        "calque_core.types.limits": "wide_dtype",
        "calque_core.ops.shapes.axes": "integer",
        "calque_core.ops.elementwise.declare": "real_operands, undefined_message",
        "calque_core.ops.elementwise.operands": "broadcast_operands",
        "calque_core.ops.shapes.shape": "of_one_dtype",
        "calque_core.primitives.primitive": "bind_checked",
    },
    "Functions of the user, and places in their programs": {
        "calque_core.calls.api_util": "check_callable, check_arrays",
        "calque_core.frames.source": "describe_function, where",
    },
    "Promises of a function on arrays": {
        "calque_core.known.evaluate": "by_types",
        "calque_core.types.array_methods": "types_decide, elementwise_function, in_every_size",
        "calque_core.traces.evaluators": "register_function_evaluator",
    },
    "Imports at the first use of a name": {
        "calque_core.late": "late_chapters, late_function",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
