"""The operations: every public function and every primitive, in one flat namespace.

Each comes from the module of its family in `calque_core.ops`, which holds its type rule and its NumPy evaluation.
A family in a package of its own has its names here, too, where that package is installed: `linalg` is `calque_linalg`,
and `digamma` is `calque_special.digamma`.
"""

from calque_core.late import family_names as _family_names
from calque_core.late import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "arithmetic, exponentials, trigonometry": {
        "calque_core.ops.elementwise.arithmetic": (
            "neg, add, add_any, sub, mul, div, rem, max, min, abs, sign, square, integer_pow, reciprocal, neg_p, "
            "add_p, add_any_p, sub_p, mul_p, div_p, rem_p, max_p, min_p, abs_p, sign_p, square_p, integer_pow_p"
        ),
        "calque_core.ops.elementwise.exponential": (
            "sqrt, rsqrt, cbrt, pow, exp, exp2, expm1, log, log1p, sqrt_p, rsqrt_p, cbrt_p, pow_p, exp_p, exp2_p, "
            "expm1_p, log_p, log1p_p"
        ),
        "calque_core.ops.elementwise.trigonometric": (
            "sin, cos, tan, asin, acos, atan, atan2, sin_p, cos_p, tan_p, asin_p, acos_p, atan_p, atan2_p"
        ),
        "calque_core.ops.elementwise.hyperbolic": (
            "sinh, cosh, tanh, tanh_slope, asinh, acosh, atanh, sinh_p, cosh_p, tanh_p, tanh_slope_p, asinh_p, "
            "acosh_p, atanh_p"
        ),
    },
    "complex": {"calque_core.ops.elementwise.complex": "real, imag, conj, complex, real_p, imag_p, conj_p, complex_p"},
    "special": {
        "calque_core.ops.elementwise.special": (
            "logistic, logistic_slope, erf, erfc, erf_inv, logistic_p, logistic_slope_p, erf_p, erfc_p, erf_inv_p"
        ),
    },
    "rounding": {
        "calque_core.ops.elementwise.rounding": (
            "RoundingMethod, floor, ceil, round, nextafter, is_finite, floor_p, ceil_p, round_p, nextafter_p, "
            "is_finite_p, reduce_precision, reduce_precision_p"
        ),
    },
    "compare": {
        "calque_core.ops.elementwise.compare": (
            "eq, ne, lt, le, gt, ge, bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left, "
            "shift_right_logical, shift_right_arithmetic, population_count, clz, select_n, select, clamp, eq_p, ne_p, "
            "lt_p, le_p, gt_p, ge_p, and_p, or_p, xor_p, not_p, shift_left_p, shift_right_logical_p, "
            "shift_right_arithmetic_p, population_count_p, clz_p, select_n_p, guard_p, clamp_p"
        ),
        "calque_core.ops.elementwise.mulhi": "mulhi",
    },
    "random words": {
        "calque_core.ops.elementwise.ciphers": "philox4x32, philox4x32_p, threefry2x32, threefry2x32_p",
        "calque_core.ops.shapes.random_bits": "RandomAlgorithm, rng_bit_generator",
    },
    "convert": {
        "calque_core.ops.elementwise.convert": (
            "convert_element_type, bitcast_convert_type, stop_gradient, discard, convert_element_type_p, "
            "bitcast_convert_type_p, stop_gradient_p, discard_p"
        ),
    },
    "broadcast": {
        "calque_core.ops.shapes.broadcast": (
            "broadcast_in_dim, broadcast, expand_dims, broadcast_shapes, broadcast_to_rank, broadcast_like, "
            "broadcast_in_dim_p"
        ),
    },
    "shape": {
        "calque_core.ops.shapes.shape": (
            "reshape, collapse, transpose, rev, squeeze, slice, pad, reshape_p, transpose_p, rev_p, squeeze_p, "
            "slice_p, pad_p"
        ),
        "calque_core.ops.shapes.slices": "slice_in_dim, index_in_dim",
        "calque_core.ops.shapes.paddings": "PaddingConfig",
    },
    "joining": {
        "calque_core.ops.shapes.joining": (
            "concatenate, split, stack, unstack, tile, concatenate_p, split_p, stack_p, unstack_p, tile_p"
        ),
    },
    "create": {
        "calque_core.ops.shapes.create": (
            "iota, broadcasted_iota, full, empty, full_like, zeros_like, ones_like, iota_p"
        ),
    },
    "reduce": {
        "calque_core.ops.reductions.reduce": (
            "reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor, argmax, argmin, "
            "reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p, reduce_xor_p, "
            "argmax_p, argmin_p"
        ),
        "calque_core.ops.reductions.reduce_function": "reduce, reduce_p",
    },
    "running reductions": {
        "calque_core.ops.reductions.cumulative": (
            "cumsum, cumprod, cummax, cummin, cumlogsumexp, cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p"
        ),
    },
    "dot": {
        "calque_core.ops.reductions.dot": ("dot_general, dot, batch_matmul, dot_general_p, DotDimensionNumbers"),
        "calque_core.ops.reductions.precision": "Precision, PrecisionLike, Precisions, ProductPrecision",
        "calque_core.ops.reductions.dot_algorithms": "DotAlgorithm, DotAlgorithmPreset",
        "calque_core.ops.reductions.ragged_dot": "RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general",
    },
    "positions that are values": {
        "calque_core.ops.indexing.dynamic": (
            "dynamic_slice, dynamic_update_slice, dynamic_slice_in_dim, dynamic_update_slice_in_dim, "
            "dynamic_index_in_dim, dynamic_update_index_in_dim, index_take, dynamic_slice_p, dynamic_update_slice_p"
        ),
        "calque_core.ops.indexing.gather": "GatherDimensionNumbers, gather, gather_p",
        "calque_core.ops.indexing.scatter": (
            "ScatterDimensionNumbers, scatter, scatter_add, scatter_sub, scatter_mul, scatter_min, scatter_max, "
            "scatter_p, scatter_add_p, scatter_mul_p, scatter_min_p, scatter_max_p"
        ),
        "calque_core.ops.indexing.windows": "GatherScatterMode",
        "calque_core.ops.indexing.updates": "scatter_apply",
    },
    "sort": {
        "calque_core.ops.indexing.sort": "sort, sort_key_val, sort_p",
        "calque_core.ops.indexing.top_k": "top_k, approx_max_k, approx_min_k, top_k_p",
    },
    "control flow": {
        "calque_core.ops.calls.cond": "cond, switch, cond_p",
        "calque_core.ops.calls.while_loop": "while_loop, while_p",
        "calque_core.ops.calls.fori_loop": "fori_loop",
        "calque_core.ops.calls.scan": "scan, scan_p",
        "calque_core.ops.calls.mapping": "map, associative_scan",
        "calque_core.ops.calls.platform": "platform_dependent, platform_dependent_p",
    },
    "functions with derivative rules of their own": {
        "calque_core.ops.calls.custom": (
            "custom_jvp_call_p, custom_vjp_call_p, custom_vjp_fwd_p, custom_vjp_linear_p, custom_vmap_call_p"
        ),
    },
    "linear functions, functions defined by equations": {
        "calque_core.ops.calls.linear_solve": "custom_linear_solve, custom_linear_solve_p",
        "calque_core.ops.calls.linear_call": "linear_call, linear_call_p, linear_transpose_p",
        "calque_core.ops.calls.root": "custom_root_p",
    },
    "named axes": {
        "calque_core.ops.meshes.exchange": (
            "all_gather, all_gather_invariant, all_to_all, pbroadcast, ppermute, pshuffle, psum_scatter, pswapaxes, "
            "all_gather_p, all_gather_invariant_p, all_to_all_p, ppermute_p, psum_scatter_p"
        ),
        "calque_core.ops.meshes.collective": (
            "psum, pmean, pmax, pmin, pargmax, pargmin, axis_index, axis_size, pvary, psum_p, pmax_p, pmin_p, "
            "axis_index_p, pvary_p"
        ),
    },
    "programs divided over a mesh": {
        "calque_core.ops.meshes.shard_map": "shard_map_p",
        "calque_core.ops.meshes.pmap": "pmap_p",
        "calque_core.ops.meshes.sharding": "sharding_constraint_p",
    },
    "call": {
        "calque_core.ops.calls.jit": "jit_p",
        "calque_core.ops.calls.composite": "composite, composite_p",
        "calque_core.ops.calls.own_values": "lower_p, raise_p",
    },
    "calls to Python": {
        "calque_core.ops.calls.callback": "pure_callback_p, io_callback_p, debug_callback_p",
        "calque_core.ops.calls.check": "check_p",
    },
    "calls of kernels": {"calque_core.ops.calls.ffi": "ffi_call_p"},
    "checkpoint": {
        "calque_core.ops.calls.checkpoint": (
            "optimization_barrier, dce_sink, remat_p, name_p, optimization_barrier_p, dce_sink_p"
        ),
    },
}

# The families in packages of their own, which core does not need.
_OPTIONAL = {
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

_family_name, _installed = _family_names(__name__, _OPTIONAL)
__getattr__, _late_dir, __all__ = _late_chapters(__name__, _CHAPTERS, missing=_family_name)


def __dir__() -> list[str]:
    return sorted({*_late_dir(), *_installed()})
