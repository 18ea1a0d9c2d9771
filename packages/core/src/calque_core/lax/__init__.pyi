# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_core.ops.elementwise.arithmetic import (
    neg as neg, add as add, add_any as add_any, sub as sub, mul as mul, div as div, rem as rem, max as max, min as min,
    abs as abs, sign as sign, square as square, integer_pow as integer_pow, reciprocal as reciprocal, neg_p as neg_p,
    add_p as add_p, add_any_p as add_any_p, sub_p as sub_p, mul_p as mul_p, div_p as div_p, rem_p as rem_p,
    max_p as max_p, min_p as min_p, abs_p as abs_p, sign_p as sign_p, square_p as square_p,
    integer_pow_p as integer_pow_p,
)
from calque_core.ops.elementwise.exponential import (
    sqrt as sqrt, rsqrt as rsqrt, cbrt as cbrt, pow as pow, exp as exp, exp2 as exp2, expm1 as expm1, log as log,
    log1p as log1p, sqrt_p as sqrt_p, rsqrt_p as rsqrt_p, cbrt_p as cbrt_p, pow_p as pow_p, exp_p as exp_p,
    exp2_p as exp2_p, expm1_p as expm1_p, log_p as log_p, log1p_p as log1p_p,
)
from calque_core.ops.elementwise.trigonometric import (
    sin as sin, cos as cos, tan as tan, asin as asin, acos as acos, atan as atan, atan2 as atan2, sin_p as sin_p,
    cos_p as cos_p, tan_p as tan_p, asin_p as asin_p, acos_p as acos_p, atan_p as atan_p, atan2_p as atan2_p,
)
from calque_core.ops.elementwise.hyperbolic import (
    sinh as sinh, cosh as cosh, tanh as tanh, tanh_slope as tanh_slope, asinh as asinh, acosh as acosh, atanh as atanh,
    sinh_p as sinh_p, cosh_p as cosh_p, tanh_p as tanh_p, tanh_slope_p as tanh_slope_p, asinh_p as asinh_p,
    acosh_p as acosh_p, atanh_p as atanh_p,
)
from calque_core.ops.elementwise.complex import (
    real as real, imag as imag, conj as conj, complex as complex, real_p as real_p, imag_p as imag_p, conj_p as conj_p,
    complex_p as complex_p,
)
from calque_core.ops.elementwise.special import (
    logistic as logistic, logistic_slope as logistic_slope, erf as erf, erfc as erfc, erf_inv as erf_inv,
    logistic_p as logistic_p, logistic_slope_p as logistic_slope_p, erf_p as erf_p, erfc_p as erfc_p,
    erf_inv_p as erf_inv_p,
)
from calque_core.ops.elementwise.rounding import (
    RoundingMethod as RoundingMethod, floor as floor, ceil as ceil, round as round, nextafter as nextafter,
    is_finite as is_finite, floor_p as floor_p, ceil_p as ceil_p, round_p as round_p, nextafter_p as nextafter_p,
    is_finite_p as is_finite_p, reduce_precision as reduce_precision, reduce_precision_p as reduce_precision_p,
)
from calque_core.ops.elementwise.compare import (
    eq as eq, ne as ne, lt as lt, le as le, gt as gt, ge as ge, bitwise_and as bitwise_and, bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor, bitwise_not as bitwise_not, shift_left as shift_left,
    shift_right_logical as shift_right_logical, shift_right_arithmetic as shift_right_arithmetic,
    population_count as population_count, clz as clz, select_n as select_n, select as select, clamp as clamp,
    eq_p as eq_p, ne_p as ne_p, lt_p as lt_p, le_p as le_p, gt_p as gt_p, ge_p as ge_p, and_p as and_p, or_p as or_p,
    xor_p as xor_p, not_p as not_p, shift_left_p as shift_left_p, shift_right_logical_p as shift_right_logical_p,
    shift_right_arithmetic_p as shift_right_arithmetic_p, population_count_p as population_count_p, clz_p as clz_p,
    select_n_p as select_n_p, guard_p as guard_p, clamp_p as clamp_p,
)
from calque_core.ops.elementwise.mulhi import mulhi as mulhi
from calque_core.ops.elementwise.ciphers import (
    philox4x32 as philox4x32, philox4x32_p as philox4x32_p, threefry2x32 as threefry2x32,
    threefry2x32_p as threefry2x32_p,
)
from calque_core.ops.shapes.random_bits import (
    RandomAlgorithm as RandomAlgorithm, rng_bit_generator as rng_bit_generator,
)
from calque_core.ops.elementwise.convert import (
    convert_element_type as convert_element_type, bitcast_convert_type as bitcast_convert_type,
    stop_gradient as stop_gradient, discard as discard, convert_element_type_p as convert_element_type_p,
    bitcast_convert_type_p as bitcast_convert_type_p, stop_gradient_p as stop_gradient_p, discard_p as discard_p,
)
from calque_core.ops.shapes.broadcast import (
    broadcast_in_dim as broadcast_in_dim, broadcast as broadcast, expand_dims as expand_dims,
    broadcast_shapes as broadcast_shapes, broadcast_to_rank as broadcast_to_rank, broadcast_like as broadcast_like,
    broadcast_in_dim_p as broadcast_in_dim_p,
)
from calque_core.ops.shapes.shape import (
    reshape as reshape, collapse as collapse, transpose as transpose, rev as rev, squeeze as squeeze, slice as slice,
    pad as pad, reshape_p as reshape_p, transpose_p as transpose_p, rev_p as rev_p, squeeze_p as squeeze_p,
    slice_p as slice_p, pad_p as pad_p,
)
from calque_core.ops.shapes.slices import slice_in_dim as slice_in_dim, index_in_dim as index_in_dim
from calque_core.ops.shapes.paddings import PaddingConfig as PaddingConfig
from calque_core.ops.shapes.joining import (
    concatenate as concatenate, split as split, stack as stack, unstack as unstack, tile as tile,
    concatenate_p as concatenate_p, split_p as split_p, stack_p as stack_p, unstack_p as unstack_p, tile_p as tile_p,
)
from calque_core.ops.shapes.create import (
    iota as iota, broadcasted_iota as broadcasted_iota, full as full, empty as empty, full_like as full_like,
    zeros_like as zeros_like, ones_like as ones_like, iota_p as iota_p,
)
from calque_core.ops.reductions.reduce import (
    reduce_sum as reduce_sum, reduce_prod as reduce_prod, reduce_max as reduce_max, reduce_min as reduce_min,
    reduce_and as reduce_and, reduce_or as reduce_or, reduce_xor as reduce_xor, argmax as argmax, argmin as argmin,
    reduce_sum_p as reduce_sum_p, reduce_prod_p as reduce_prod_p, reduce_max_p as reduce_max_p,
    reduce_min_p as reduce_min_p, reduce_and_p as reduce_and_p, reduce_or_p as reduce_or_p,
    reduce_xor_p as reduce_xor_p, argmax_p as argmax_p, argmin_p as argmin_p,
)
from calque_core.ops.reductions.reduce_function import reduce as reduce, reduce_p as reduce_p
from calque_core.ops.reductions.cumulative import (
    cumsum as cumsum, cumprod as cumprod, cummax as cummax, cummin as cummin, cumlogsumexp as cumlogsumexp,
    cumsum_p as cumsum_p, cumprod_p as cumprod_p, cummax_p as cummax_p, cummin_p as cummin_p,
    cumlogsumexp_p as cumlogsumexp_p,
)
from calque_core.ops.reductions.dot import (
    dot_general as dot_general, dot as dot, batch_matmul as batch_matmul, dot_general_p as dot_general_p,
    DotDimensionNumbers as DotDimensionNumbers,
)
from calque_core.ops.reductions.precision import (
    Precision as Precision, PrecisionLike as PrecisionLike, Precisions as Precisions,
    ProductPrecision as ProductPrecision,
)
from calque_core.ops.reductions.dot_algorithms import (
    DotAlgorithm as DotAlgorithm, DotAlgorithmPreset as DotAlgorithmPreset,
)
from calque_core.ops.reductions.ragged_dot import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers, ragged_dot as ragged_dot,
    ragged_dot_general as ragged_dot_general,
)
from calque_core.ops.indexing.dynamic import (
    dynamic_slice as dynamic_slice, dynamic_update_slice as dynamic_update_slice,
    dynamic_slice_in_dim as dynamic_slice_in_dim, dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
    dynamic_index_in_dim as dynamic_index_in_dim, dynamic_update_index_in_dim as dynamic_update_index_in_dim,
    index_take as index_take, dynamic_slice_p as dynamic_slice_p, dynamic_update_slice_p as dynamic_update_slice_p,
)
from calque_core.ops.indexing.gather import (
    GatherDimensionNumbers as GatherDimensionNumbers, gather as gather, gather_p as gather_p,
)
from calque_core.ops.indexing.scatter import (
    ScatterDimensionNumbers as ScatterDimensionNumbers, scatter as scatter, scatter_add as scatter_add,
    scatter_sub as scatter_sub, scatter_mul as scatter_mul, scatter_min as scatter_min, scatter_max as scatter_max,
    scatter_p as scatter_p, scatter_add_p as scatter_add_p, scatter_mul_p as scatter_mul_p,
    scatter_min_p as scatter_min_p, scatter_max_p as scatter_max_p,
)
from calque_core.ops.indexing.windows import GatherScatterMode as GatherScatterMode
from calque_core.ops.indexing.updates import scatter_apply as scatter_apply
from calque_core.ops.indexing.sort import sort as sort, sort_key_val as sort_key_val, sort_p as sort_p
from calque_core.ops.indexing.top_k import (
    top_k as top_k, approx_max_k as approx_max_k, approx_min_k as approx_min_k, top_k_p as top_k_p,
)
from calque_core.ops.calls.cond import cond as cond, switch as switch, cond_p as cond_p
from calque_core.ops.calls.while_loop import while_loop as while_loop, while_p as while_p
from calque_core.ops.calls.fori_loop import fori_loop as fori_loop
from calque_core.ops.calls.scan import scan as scan, scan_p as scan_p
from calque_core.ops.calls.mapping import map as map, associative_scan as associative_scan
from calque_core.ops.calls.platform import (
    platform_dependent as platform_dependent, platform_dependent_p as platform_dependent_p,
)
from calque_core.ops.calls.custom import (
    custom_jvp_call_p as custom_jvp_call_p, custom_vjp_call_p as custom_vjp_call_p,
    custom_vjp_fwd_p as custom_vjp_fwd_p, custom_vjp_linear_p as custom_vjp_linear_p,
    custom_vmap_call_p as custom_vmap_call_p,
)
from calque_core.ops.calls.linear_solve import (
    custom_linear_solve as custom_linear_solve, custom_linear_solve_p as custom_linear_solve_p,
)
from calque_core.ops.calls.linear_call import (
    linear_call as linear_call, linear_call_p as linear_call_p, linear_transpose_p as linear_transpose_p,
)
from calque_core.ops.calls.root import custom_root_p as custom_root_p
from calque_core.ops.meshes.exchange import (
    all_gather as all_gather, all_gather_invariant as all_gather_invariant, all_to_all as all_to_all,
    pbroadcast as pbroadcast, ppermute as ppermute, pshuffle as pshuffle, psum_scatter as psum_scatter,
    pswapaxes as pswapaxes, all_gather_p as all_gather_p, all_gather_invariant_p as all_gather_invariant_p,
    all_to_all_p as all_to_all_p, ppermute_p as ppermute_p, psum_scatter_p as psum_scatter_p,
)
from calque_core.ops.meshes.collective import (
    psum as psum, pmean as pmean, pmax as pmax, pmin as pmin, pargmax as pargmax, pargmin as pargmin,
    axis_index as axis_index, axis_size as axis_size, pvary as pvary, psum_p as psum_p, pmax_p as pmax_p,
    pmin_p as pmin_p, axis_index_p as axis_index_p, pvary_p as pvary_p,
)
from calque_core.ops.meshes.shard_map import shard_map_p as shard_map_p
from calque_core.ops.meshes.pmap import pmap_p as pmap_p
from calque_core.ops.meshes.sharding import sharding_constraint_p as sharding_constraint_p
from calque_core.ops.calls.jit import jit_p as jit_p
from calque_core.ops.calls.composite import composite as composite, composite_p as composite_p
from calque_core.ops.calls.own_values import lower_p as lower_p, raise_p as raise_p
from calque_core.ops.calls.callback import (
    pure_callback_p as pure_callback_p, io_callback_p as io_callback_p, debug_callback_p as debug_callback_p,
)
from calque_core.ops.calls.check import check_p as check_p
from calque_core.ops.calls.ffi import ffi_call_p as ffi_call_p
from calque_core.ops.calls.checkpoint import (
    optimization_barrier as optimization_barrier, dce_sink as dce_sink, remat_p as remat_p, name_p as name_p,
    optimization_barrier_p as optimization_barrier_p, dce_sink_p as dce_sink_p,
)
import calque_linalg as _linalg
linalg = _linalg
from calque_signal import (
    ConvDimensionNumbers as ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers, FftType as FftType, conv as conv,
    conv_dimension_numbers as conv_dimension_numbers, conv_general_dilated as conv_general_dilated,
    conv_general_dilated_local as conv_general_dilated_local, conv_general_dilated_p as conv_general_dilated_p,
    conv_general_dilated_patches as conv_general_dilated_patches, conv_transpose as conv_transpose,
    conv_with_general_padding as conv_with_general_padding, fft as fft, fft_p as fft_p,
    padtype_to_pads as padtype_to_pads, reduce_window as reduce_window, reduce_window_max_p as reduce_window_max_p,
    reduce_window_min_p as reduce_window_min_p, reduce_window_p as reduce_window_p,
    reduce_window_sum_p as reduce_window_sum_p, select_and_gather_add as select_and_gather_add,
    select_and_gather_add_p as select_and_gather_add_p, select_and_scatter as select_and_scatter,
    select_and_scatter_add as select_and_scatter_add, select_and_scatter_add_p as select_and_scatter_add_p,
    select_and_scatter_p as select_and_scatter_p,
)
from calque_special import (
    bessel_i0e as bessel_i0e, bessel_i0e_p as bessel_i0e_p, bessel_i1e as bessel_i1e, bessel_i1e_p as bessel_i1e_p,
    betainc as betainc, digamma as digamma, digamma_p as digamma_p, igamma as igamma, igamma_grad_a as igamma_grad_a,
    igamma_grad_a_p as igamma_grad_a_p, igamma_p as igamma_p, igammac as igammac, igammac_p as igammac_p,
    lgamma as lgamma, lgamma_p as lgamma_p, polygamma as polygamma, polygamma_p as polygamma_p,
    random_gamma_grad as random_gamma_grad, random_gamma_grad_p as random_gamma_grad_p,
    regularized_incomplete_beta_p as regularized_incomplete_beta_p, zeta as zeta, zeta_p as zeta_p,
)

__all__ = [
    "neg", "add", "add_any", "sub", "mul", "div", "rem", "max", "min", "abs", "sign", "square", "integer_pow",
    "reciprocal", "neg_p", "add_p", "add_any_p", "sub_p", "mul_p", "div_p", "rem_p", "max_p", "min_p", "abs_p",
    "sign_p", "square_p", "integer_pow_p", "sqrt", "rsqrt", "cbrt", "pow", "exp", "exp2", "expm1", "log", "log1p",
    "sqrt_p", "rsqrt_p", "cbrt_p", "pow_p", "exp_p", "exp2_p", "expm1_p", "log_p", "log1p_p", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sin_p", "cos_p", "tan_p", "asin_p", "acos_p", "atan_p", "atan2_p", "sinh", "cosh",
    "tanh", "tanh_slope", "asinh", "acosh", "atanh", "sinh_p", "cosh_p", "tanh_p", "tanh_slope_p", "asinh_p", "acosh_p",
    "atanh_p", "real", "imag", "conj", "complex", "real_p", "imag_p", "conj_p", "complex_p", "logistic",
    "logistic_slope", "erf", "erfc", "erf_inv", "logistic_p", "logistic_slope_p", "erf_p", "erfc_p", "erf_inv_p",
    "RoundingMethod", "floor", "ceil", "round", "nextafter", "is_finite", "floor_p", "ceil_p", "round_p", "nextafter_p",
    "is_finite_p", "reduce_precision", "reduce_precision_p", "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and",
    "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right_logical", "shift_right_arithmetic",
    "population_count", "clz", "select_n", "select", "clamp", "eq_p", "ne_p", "lt_p", "le_p", "gt_p", "ge_p", "and_p",
    "or_p", "xor_p", "not_p", "shift_left_p", "shift_right_logical_p", "shift_right_arithmetic_p", "population_count_p",
    "clz_p", "select_n_p", "guard_p", "clamp_p", "mulhi", "philox4x32", "philox4x32_p", "threefry2x32",
    "threefry2x32_p", "RandomAlgorithm", "rng_bit_generator", "convert_element_type", "bitcast_convert_type",
    "stop_gradient", "discard", "convert_element_type_p", "bitcast_convert_type_p", "stop_gradient_p", "discard_p",
    "broadcast_in_dim", "broadcast", "expand_dims", "broadcast_shapes", "broadcast_to_rank", "broadcast_like",
    "broadcast_in_dim_p", "reshape", "collapse", "transpose", "rev", "squeeze", "slice", "pad", "reshape_p",
    "transpose_p", "rev_p", "squeeze_p", "slice_p", "pad_p", "slice_in_dim", "index_in_dim", "PaddingConfig",
    "concatenate", "split", "stack", "unstack", "tile", "concatenate_p", "split_p", "stack_p", "unstack_p", "tile_p",
    "iota", "broadcasted_iota", "full", "empty", "full_like", "zeros_like", "ones_like", "iota_p", "reduce_sum",
    "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor", "argmax", "argmin",
    "reduce_sum_p", "reduce_prod_p", "reduce_max_p", "reduce_min_p", "reduce_and_p", "reduce_or_p", "reduce_xor_p",
    "argmax_p", "argmin_p", "reduce", "reduce_p", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "cumsum_p",
    "cumprod_p", "cummax_p", "cummin_p", "cumlogsumexp_p", "dot_general", "dot", "batch_matmul", "dot_general_p",
    "DotDimensionNumbers", "Precision", "PrecisionLike", "Precisions", "ProductPrecision", "DotAlgorithm",
    "DotAlgorithmPreset", "RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "dynamic_slice",
    "dynamic_update_slice", "dynamic_slice_in_dim", "dynamic_update_slice_in_dim", "dynamic_index_in_dim",
    "dynamic_update_index_in_dim", "index_take", "dynamic_slice_p", "dynamic_update_slice_p", "GatherDimensionNumbers",
    "gather", "gather_p", "ScatterDimensionNumbers", "scatter", "scatter_add", "scatter_sub", "scatter_mul",
    "scatter_min", "scatter_max", "scatter_p", "scatter_add_p", "scatter_mul_p", "scatter_min_p", "scatter_max_p",
    "GatherScatterMode", "scatter_apply", "sort", "sort_key_val", "sort_p", "top_k", "approx_max_k", "approx_min_k",
    "top_k_p", "cond", "switch", "cond_p", "while_loop", "while_p", "fori_loop", "scan", "scan_p", "map",
    "associative_scan", "platform_dependent", "platform_dependent_p", "custom_jvp_call_p", "custom_vjp_call_p",
    "custom_vjp_fwd_p", "custom_vjp_linear_p", "custom_vmap_call_p", "custom_linear_solve", "custom_linear_solve_p",
    "linear_call", "linear_call_p", "linear_transpose_p", "custom_root_p", "all_gather", "all_gather_invariant",
    "all_to_all", "pbroadcast", "ppermute", "pshuffle", "psum_scatter", "pswapaxes", "all_gather_p",
    "all_gather_invariant_p", "all_to_all_p", "ppermute_p", "psum_scatter_p", "psum", "pmean", "pmax", "pmin",
    "pargmax", "pargmin", "axis_index", "axis_size", "pvary", "psum_p", "pmax_p", "pmin_p", "axis_index_p", "pvary_p",
    "shard_map_p", "pmap_p", "sharding_constraint_p", "jit_p", "composite", "composite_p", "lower_p", "raise_p",
    "pure_callback_p", "io_callback_p", "debug_callback_p", "check_p", "ffi_call_p", "optimization_barrier", "dce_sink",
    "remat_p", "name_p", "optimization_barrier_p", "dce_sink_p",
]
