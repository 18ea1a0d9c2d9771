# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_core.kits.derivatives import (
    defjvp as defjvp, defjvp_all as defjvp_all, deflinear as deflinear, defbilinear as defbilinear,
    deftranspose as deftranspose, zero_derivative as zero_derivative, not_linear as not_linear,
    check_known as check_known,
)
from calque_core.kits.batches import (
    defbatch as defbatch, defvectorized as defvectorized, defbroadcasting as defbroadcasting, defreducer as defreducer,
    defleading as defleading, align_batch_axes as align_batch_axes,
)
from calque_core.primitives.rules import (
    rules_by_family as rules_by_family, missing_rule as missing_rule, settings_key as settings_key,
)
from calque_core.ops.calls.jit import means as means, run_program as run_program
from calque_core.staging.stage import JaxprTrace as JaxprTrace
from calque_core.ops.calls.linear import (
    zero_tangent as zero_tangent, is_nonzero as is_nonzero, split_results as split_results,
)
from calque_core.jaxprs.masks import marked as marked, unmarked as unmarked, merged as merged
from calque_core.types.avals import Shape as Shape, shaped_array as shaped_array
from calque_core.types.dtypes import is_float as is_float
from calque_core.ops.elementwise.complex import real_dtype as real_dtype, complex_dtype as complex_dtype
from calque_core.types.limits import wide_dtype as wide_dtype
from calque_core.ops.shapes.axes import integer as integer
from calque_core.ops.elementwise.declare import real_operands as real_operands, undefined_message as undefined_message
from calque_core.ops.elementwise.operands import broadcast_operands as broadcast_operands
from calque_core.ops.shapes.shape import of_one_dtype as of_one_dtype
from calque_core.primitives.primitive import bind_checked as bind_checked
from calque_core.calls.api_util import check_callable as check_callable, check_arrays as check_arrays
from calque_core.frames.source import describe_function as describe_function, where as where
from calque_core.known.evaluate import by_types as by_types
from calque_core.types.array_methods import (
    types_decide as types_decide, elementwise_function as elementwise_function, in_every_size as in_every_size,
)
from calque_core.traces.evaluators import register_function_evaluator as register_function_evaluator
from calque_core.late import late_chapters as late_chapters, late_function as late_function

__all__ = [
    "defjvp", "defjvp_all", "deflinear", "defbilinear", "deftranspose", "zero_derivative", "not_linear", "check_known",
    "defbatch", "defvectorized", "defbroadcasting", "defreducer", "defleading", "align_batch_axes", "rules_by_family",
    "missing_rule", "settings_key", "means", "run_program", "JaxprTrace", "zero_tangent", "is_nonzero", "split_results",
    "marked", "unmarked", "merged", "Shape", "shaped_array", "is_float", "real_dtype", "complex_dtype", "wide_dtype",
    "integer", "real_operands", "undefined_message", "broadcast_operands", "of_one_dtype", "bind_checked",
    "check_callable", "check_arrays", "describe_function", "where", "by_types", "types_decide", "elementwise_function",
    "in_every_size", "register_function_evaluator", "late_chapters", "late_function",
]
