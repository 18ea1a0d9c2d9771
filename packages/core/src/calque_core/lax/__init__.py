"""The operations: every public function and every primitive, in one flat namespace.

Each comes from the module of its family in `calque_core.ops`, which holds its type rule and its NumPy evaluation.
A family in a package of its own has its names here, too, where that package is installed: `linalg` is `calque_linalg`,
and `digamma` is `calque_special.digamma`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.late import family_names as _family_names
from calque_core.late import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_core.ops.arithmetic import (
        abs, abs_p, add, add_any, add_any_p, add_p, div, div_p, integer_pow, integer_pow_p, max, max_p, min, min_p, mul,
        mul_p, neg, neg_p, reciprocal, rem, rem_p, sign, sign_p, square, square_p, sub, sub_p,
    )
    from calque_core.ops.broadcast import (
        broadcast, broadcast_in_dim, broadcast_in_dim_p, broadcast_like, broadcast_shapes, broadcast_to_rank,
        expand_dims,
    )
    from calque_core.ops.callback import debug_callback_p, io_callback_p, pure_callback_p
    from calque_core.ops.checkpoint import (
        dce_sink, dce_sink_p, name_p, optimization_barrier, optimization_barrier_p, remat_p,
    )
    from calque_core.ops.collective import (
        axis_index, axis_index_p, axis_size, pmax, pmax_p, pmean, pmin, pmin_p, psum, psum_p, pvary, pvary_p,
    )
    from calque_core.ops.compare import (
        and_p, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, clamp, clamp_p, clz, clz_p, eq, eq_p, ge, ge_p, gt,
        gt_p, guard_p, le, le_p, lt, lt_p, ne, ne_p, not_p, or_p, population_count, population_count_p, select,
        select_n, select_n_p, shift_left, shift_left_p, shift_right_arithmetic, shift_right_arithmetic_p,
        shift_right_logical, shift_right_logical_p, xor_p,
    )
    from calque_core.ops.complex import complex, complex_p, conj, conj_p, imag, imag_p, real, real_p
    from calque_core.ops.composite import composite, composite_p
    from calque_core.ops.cond import cond, cond_p, switch
    from calque_core.ops.convert import (
        bitcast_convert_type, bitcast_convert_type_p, convert_element_type, convert_element_type_p, discard, discard_p,
        stop_gradient, stop_gradient_p,
    )
    from calque_core.ops.create import broadcasted_iota, empty, full, full_like, iota, iota_p, ones_like, zeros_like
    from calque_core.ops.cumulative import (
        cumlogsumexp, cumlogsumexp_p, cummax, cummax_p, cummin, cummin_p, cumprod, cumprod_p, cumsum, cumsum_p,
    )
    from calque_core.ops.custom import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p, custom_vmap_call_p
    from calque_core.ops.dot import (
        DotDimensionNumbers, Precision, PrecisionLike, Precisions, batch_matmul, dot, dot_general, dot_general_p,
    )
    from calque_core.ops.dynamic import (
        dynamic_index_in_dim, dynamic_slice, dynamic_slice_in_dim, dynamic_slice_p, dynamic_update_index_in_dim,
        dynamic_update_slice, dynamic_update_slice_in_dim, dynamic_update_slice_p, index_take,
    )
    from calque_core.ops.exchange import (
        all_gather, all_gather_invariant, all_gather_invariant_p, all_gather_p, all_to_all, all_to_all_p, pbroadcast,
        ppermute, ppermute_p, pshuffle, psum_scatter, psum_scatter_p, pswapaxes,
    )
    from calque_core.ops.exponential import (
        cbrt, cbrt_p, exp, exp2, exp2_p, exp_p, expm1, expm1_p, log, log1p, log1p_p, log_p, pow, pow_p, rsqrt, rsqrt_p,
        sqrt, sqrt_p,
    )
    from calque_core.ops.ffi import ffi_call_p
    from calque_core.ops.gather import GatherDimensionNumbers, gather, gather_p
    from calque_core.ops.hyperbolic import (
        acosh, acosh_p, asinh, asinh_p, atanh, atanh_p, cosh, cosh_p, sinh, sinh_p, tanh, tanh_p, tanh_slope,
        tanh_slope_p,
    )
    from calque_core.ops.jit import jit_p
    from calque_core.ops.joining import (
        concatenate, concatenate_p, split, split_p, stack, stack_p, tile, tile_p, unstack, unstack_p,
    )
    from calque_core.ops.linear_call import linear_call, linear_call_p, linear_transpose_p
    from calque_core.ops.linear_solve import custom_linear_solve, custom_linear_solve_p
    from calque_core.ops.mapping import associative_scan, map
    from calque_core.ops.mulhi import mulhi
    from calque_core.ops.paddings import PaddingConfig
    from calque_core.ops.platform import platform_dependent, platform_dependent_p
    from calque_core.ops.pmap import pmap_p
    from calque_core.ops.ragged_dot import ragged_dot
    from calque_core.ops.reduce import (
        argmax, argmax_p, argmin, argmin_p, reduce_and, reduce_and_p, reduce_max, reduce_max_p, reduce_min,
        reduce_min_p, reduce_or, reduce_or_p, reduce_prod, reduce_prod_p, reduce_sum, reduce_sum_p, reduce_xor,
        reduce_xor_p,
    )
    from calque_core.ops.reduce_function import reduce, reduce_p
    from calque_core.ops.root import custom_root_p
    from calque_core.ops.rounding import (
        RoundingMethod, ceil, ceil_p, floor, floor_p, is_finite, is_finite_p, nextafter, nextafter_p, reduce_precision,
        reduce_precision_p, round, round_p,
    )
    from calque_core.ops.scan import scan, scan_p
    from calque_core.ops.scatter import (
        ScatterDimensionNumbers, scatter, scatter_add, scatter_add_p, scatter_max, scatter_max_p, scatter_min,
        scatter_min_p, scatter_mul, scatter_mul_p, scatter_p, scatter_sub,
    )
    from calque_core.ops.shape import (
        collapse, pad, pad_p, reshape, reshape_p, rev, rev_p, slice, slice_p, squeeze, squeeze_p, transpose,
        transpose_p,
    )
    from calque_core.ops.shard_map import shard_map_p
    from calque_core.ops.sharding import sharding_constraint_p
    from calque_core.ops.slices import index_in_dim, slice_in_dim
    from calque_core.ops.sort import sort, sort_key_val, sort_p
    from calque_core.ops.special import (
        erf, erf_inv, erf_inv_p, erf_p, erfc, erfc_p, logistic, logistic_p, logistic_slope, logistic_slope_p,
    )
    from calque_core.ops.threefry import threefry2x32, threefry2x32_p
    from calque_core.ops.top_k import approx_max_k, approx_min_k, top_k, top_k_p
    from calque_core.ops.trigonometric import (
        acos, acos_p, asin, asin_p, atan, atan2, atan2_p, atan_p, cos, cos_p, sin, sin_p, tan, tan_p,
    )
    from calque_core.ops.updates import scatter_apply
    from calque_core.ops.while_loop import fori_loop, while_loop, while_p
    from calque_core.ops.windows import GatherScatterMode
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_core.ops.arithmetic": (
        "abs, abs_p, add, add_any, add_any_p, add_p, div, div_p, integer_pow, integer_pow_p, max, max_p, min, min_p, "
        "mul, mul_p, neg, neg_p, reciprocal, rem, rem_p, sign, sign_p, square, square_p, sub, sub_p"
    ),
    "calque_core.ops.broadcast": (
        "broadcast, broadcast_in_dim, broadcast_in_dim_p, broadcast_like, broadcast_shapes, broadcast_to_rank, "
        "expand_dims"
    ),
    "calque_core.ops.callback": "debug_callback_p, io_callback_p, pure_callback_p",
    "calque_core.ops.checkpoint": "dce_sink, dce_sink_p, name_p, optimization_barrier, optimization_barrier_p, remat_p",
    "calque_core.ops.collective": (
        "axis_index, axis_index_p, axis_size, pmax, pmax_p, pmean, pmin, pmin_p, psum, psum_p, pvary, pvary_p"
    ),
    "calque_core.ops.compare": (
        "and_p, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, clamp, clamp_p, clz, clz_p, eq, eq_p, ge, ge_p, gt, "
        "gt_p, guard_p, le, le_p, lt, lt_p, ne, ne_p, not_p, or_p, population_count, population_count_p, select, "
        "select_n, select_n_p, shift_left, shift_left_p, shift_right_arithmetic, shift_right_arithmetic_p, "
        "shift_right_logical, shift_right_logical_p, xor_p"
    ),
    "calque_core.ops.complex": "complex, complex_p, conj, conj_p, imag, imag_p, real, real_p",
    "calque_core.ops.composite": "composite, composite_p",
    "calque_core.ops.cond": "cond, cond_p, switch",
    "calque_core.ops.convert": (
        "bitcast_convert_type, bitcast_convert_type_p, convert_element_type, convert_element_type_p, discard, "
        "discard_p, stop_gradient, stop_gradient_p"
    ),
    "calque_core.ops.create": "broadcasted_iota, empty, full, full_like, iota, iota_p, ones_like, zeros_like",
    "calque_core.ops.cumulative": (
        "cumlogsumexp, cumlogsumexp_p, cummax, cummax_p, cummin, cummin_p, cumprod, cumprod_p, cumsum, cumsum_p"
    ),
    "calque_core.ops.custom": "custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p, custom_vmap_call_p",
    "calque_core.ops.dot": (
        "DotDimensionNumbers, Precision, PrecisionLike, Precisions, batch_matmul, dot, dot_general, dot_general_p"
    ),
    "calque_core.ops.dynamic": (
        "dynamic_index_in_dim, dynamic_slice, dynamic_slice_in_dim, dynamic_slice_p, dynamic_update_index_in_dim, "
        "dynamic_update_slice, dynamic_update_slice_in_dim, dynamic_update_slice_p, index_take"
    ),
    "calque_core.ops.exchange": (
        "all_gather, all_gather_invariant, all_gather_invariant_p, all_gather_p, all_to_all, all_to_all_p, pbroadcast, "
        "ppermute, ppermute_p, pshuffle, psum_scatter, psum_scatter_p, pswapaxes"
    ),
    "calque_core.ops.exponential": (
        "cbrt, cbrt_p, exp, exp2, exp2_p, exp_p, expm1, expm1_p, log, log1p, log1p_p, log_p, pow, pow_p, rsqrt, "
        "rsqrt_p, sqrt, sqrt_p"
    ),
    "calque_core.ops.ffi": "ffi_call_p",
    "calque_core.ops.gather": "GatherDimensionNumbers, gather, gather_p",
    "calque_core.ops.hyperbolic": (
        "acosh, acosh_p, asinh, asinh_p, atanh, atanh_p, cosh, cosh_p, sinh, sinh_p, tanh, tanh_p, tanh_slope, "
        "tanh_slope_p"
    ),
    "calque_core.ops.jit": "jit_p",
    "calque_core.ops.joining": (
        "concatenate, concatenate_p, split, split_p, stack, stack_p, tile, tile_p, unstack, unstack_p"
    ),
    "calque_core.ops.linear_call": "linear_call, linear_call_p, linear_transpose_p",
    "calque_core.ops.linear_solve": "custom_linear_solve, custom_linear_solve_p",
    "calque_core.ops.mapping": "associative_scan, map",
    "calque_core.ops.mulhi": "mulhi",
    "calque_core.ops.paddings": "PaddingConfig",
    "calque_core.ops.platform": "platform_dependent, platform_dependent_p",
    "calque_core.ops.pmap": "pmap_p",
    "calque_core.ops.ragged_dot": "ragged_dot",
    "calque_core.ops.reduce": (
        "argmax, argmax_p, argmin, argmin_p, reduce_and, reduce_and_p, reduce_max, reduce_max_p, reduce_min, "
        "reduce_min_p, reduce_or, reduce_or_p, reduce_prod, reduce_prod_p, reduce_sum, reduce_sum_p, reduce_xor, "
        "reduce_xor_p"
    ),
    "calque_core.ops.reduce_function": "reduce, reduce_p",
    "calque_core.ops.root": "custom_root_p",
    "calque_core.ops.rounding": (
        "RoundingMethod, ceil, ceil_p, floor, floor_p, is_finite, is_finite_p, nextafter, nextafter_p, "
        "reduce_precision, reduce_precision_p, round, round_p"
    ),
    "calque_core.ops.scan": "scan, scan_p",
    "calque_core.ops.scatter": (
        "ScatterDimensionNumbers, scatter, scatter_add, scatter_add_p, scatter_max, scatter_max_p, scatter_min, "
        "scatter_min_p, scatter_mul, scatter_mul_p, scatter_p, scatter_sub"
    ),
    "calque_core.ops.shape": (
        "collapse, pad, pad_p, reshape, reshape_p, rev, rev_p, slice, slice_p, squeeze, squeeze_p, transpose, "
        "transpose_p"
    ),
    "calque_core.ops.shard_map": "shard_map_p",
    "calque_core.ops.sharding": "sharding_constraint_p",
    "calque_core.ops.slices": "index_in_dim, slice_in_dim",
    "calque_core.ops.sort": "sort, sort_key_val, sort_p",
    "calque_core.ops.special": (
        "erf, erf_inv, erf_inv_p, erf_p, erfc, erfc_p, logistic, logistic_p, logistic_slope, logistic_slope_p"
    ),
    "calque_core.ops.threefry": "threefry2x32, threefry2x32_p",
    "calque_core.ops.top_k": "approx_max_k, approx_min_k, top_k, top_k_p",
    "calque_core.ops.trigonometric": (
        "acos, acos_p, asin, asin_p, atan, atan2, atan2_p, atan_p, cos, cos_p, sin, sin_p, tan, tan_p"
    ),
    "calque_core.ops.updates": "scatter_apply",
    "calque_core.ops.while_loop": "fori_loop, while_loop, while_p",
    "calque_core.ops.windows": "GatherScatterMode",
}
# The families in packages of their own, which core does not need.
_FAMILIES = {
    "calque_linalg": "as linalg",
    "calque_signal": (
        "ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers, FftType, conv, conv_dimension_numbers, "
        "conv_general_dilated, conv_general_dilated_local, conv_general_dilated_p, conv_general_dilated_patches, "
        "conv_transpose, conv_with_general_padding, fft, fft_p, padtype_to_pads, reduce_window, reduce_window_max_p, "
        "reduce_window_min_p, reduce_window_p, reduce_window_sum_p, select_and_gather_add, select_and_gather_add_p, "
        "select_and_scatter, select_and_scatter_add, select_and_scatter_add_p, select_and_scatter_p"
    ),
    "calque_special": (
        "bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p, betainc, digamma, digamma_p, igamma, igamma_grad_a, "
        "igamma_grad_a_p, igamma_p, igammac, igammac_p, lgamma, lgamma_p, polygamma, polygamma_p, random_gamma_grad, "
        "random_gamma_grad_p, regularized_incomplete_beta_p, zeta, zeta_p"
    ),
}

# fmt: off
__all__ = [
    # arithmetic, exponentials, trigonometry
    "neg", "add", "add_any", "sub", "mul", "div", "rem", "max", "min", "abs", "sign", "square", "sqrt", "rsqrt",
    "cbrt", "pow", "integer_pow", "reciprocal", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "tanh_slope", "asinh", "acosh", "atanh", "neg_p", "add_p",
    "add_any_p", "sub_p", "mul_p", "div_p", "rem_p", "max_p", "min_p", "abs_p", "sign_p", "square_p", "sqrt_p",
    "rsqrt_p", "cbrt_p", "pow_p",
    "integer_pow_p", "exp_p", "exp2_p", "expm1_p", "log_p", "log1p_p", "sin_p", "cos_p", "tan_p", "asin_p", "acos_p",
    "atan_p", "atan2_p", "sinh_p", "cosh_p", "tanh_p", "tanh_slope_p", "asinh_p", "acosh_p", "atanh_p",
    # complex
    "real", "imag", "conj", "complex", "real_p", "imag_p", "conj_p", "complex_p",
    # special
    "logistic", "logistic_slope", "erf", "erfc", "erf_inv", "logistic_p", "logistic_slope_p", "erf_p", "erfc_p",
    "erf_inv_p",
    # rounding
    "RoundingMethod", "floor", "ceil", "round", "nextafter", "is_finite", "floor_p", "ceil_p", "round_p",
    "nextafter_p", "is_finite_p", "reduce_precision", "reduce_precision_p",
    # compare
    "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left",
    "shift_right_logical", "shift_right_arithmetic", "population_count", "clz", "mulhi", "select_n", "select", "clamp",
    "eq_p", "ne_p", "lt_p", "le_p", "gt_p", "ge_p", "and_p", "or_p", "xor_p", "not_p", "shift_left_p",
    "shift_right_logical_p", "shift_right_arithmetic_p", "population_count_p", "clz_p", "select_n_p", "guard_p",
    "clamp_p",
    # threefry
    "threefry2x32", "threefry2x32_p",
    # convert
    "convert_element_type", "bitcast_convert_type", "stop_gradient", "discard", "convert_element_type_p",
    "bitcast_convert_type_p", "stop_gradient_p", "discard_p",
    # broadcast
    "broadcast_in_dim", "broadcast", "expand_dims", "broadcast_shapes", "broadcast_to_rank", "broadcast_like",
    "broadcast_in_dim_p",
    # shape
    "reshape", "collapse", "transpose", "rev", "squeeze", "slice", "slice_in_dim", "index_in_dim", "pad", "reshape_p",
    "transpose_p", "rev_p", "squeeze_p", "slice_p", "pad_p", "PaddingConfig",
    # joining
    "concatenate", "split", "stack", "unstack", "tile", "concatenate_p", "split_p", "stack_p", "unstack_p", "tile_p",
    # create
    "iota", "broadcasted_iota", "full", "empty", "full_like", "zeros_like", "ones_like", "iota_p",
    # reduce
    "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor",
    "argmax", "argmin",
    "reduce_sum_p", "reduce_prod_p", "reduce_max_p", "reduce_min_p", "reduce_and_p", "reduce_or_p", "reduce_xor_p",
    "argmax_p", "argmin_p", "reduce", "reduce_p",
    # running reductions
    "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "cumsum_p", "cumprod_p", "cummax_p", "cummin_p",
    "cumlogsumexp_p",
    # dot
    "dot_general", "dot", "batch_matmul", "ragged_dot", "dot_general_p", "Precision", "PrecisionLike", "Precisions",
    "DotDimensionNumbers",
    # positions that are values
    "dynamic_slice", "dynamic_update_slice", "dynamic_slice_in_dim", "dynamic_update_slice_in_dim",
    "dynamic_index_in_dim", "dynamic_update_index_in_dim", "index_take", "dynamic_slice_p", "dynamic_update_slice_p",
    "GatherDimensionNumbers", "ScatterDimensionNumbers", "GatherScatterMode", "gather", "scatter", "scatter_add",
    "scatter_sub", "scatter_mul", "scatter_min", "scatter_max", "scatter_apply", "gather_p", "scatter_p",
    "scatter_add_p", "scatter_mul_p", "scatter_min_p", "scatter_max_p",
    # sort
    "sort", "sort_key_val", "top_k", "approx_max_k", "approx_min_k", "sort_p", "top_k_p",
    # control flow
    "cond", "switch", "while_loop", "fori_loop", "scan", "map", "associative_scan", "platform_dependent",
    "cond_p", "while_p", "scan_p", "platform_dependent_p",
    # functions with derivative rules of their own
    "custom_jvp_call_p", "custom_vjp_call_p", "custom_vjp_linear_p", "custom_vmap_call_p",
    # linear functions, functions defined by equations
    "custom_linear_solve", "linear_call", "linear_call_p", "linear_transpose_p", "custom_linear_solve_p",
    "custom_root_p",
    # named axes
    "all_gather", "all_gather_invariant", "all_to_all", "pbroadcast", "ppermute", "pshuffle", "psum_scatter",
    "pswapaxes", "all_gather_p", "all_gather_invariant_p", "all_to_all_p", "ppermute_p", "psum_scatter_p",
    "psum", "pmean", "pmax", "pmin", "axis_index", "axis_size", "pvary", "psum_p", "pmax_p", "pmin_p", "axis_index_p",
    "pvary_p",
    # programs divided over a mesh
    "shard_map_p", "pmap_p", "sharding_constraint_p",
    # call
    "jit_p", "composite", "composite_p",
    # calls to Python
    "pure_callback_p", "io_callback_p", "debug_callback_p",
    # calls of kernels
    "ffi_call_p",
    # checkpoint
    "optimization_barrier", "dce_sink", "remat_p", "name_p", "optimization_barrier_p", "dce_sink_p",
]
# fmt: on

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE, missing=_family_names(__name__, _FAMILIES))
