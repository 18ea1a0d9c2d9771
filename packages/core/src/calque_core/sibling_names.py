"""The public names of the packages of calque, by module: for the error about a name of another package.

`python tests/docs/public_api.py` writes this module; a test compares it with the packages.
"""

from __future__ import annotations

NAMES = {
    "calque_pytree": (
        "DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath Partial PyTreeDef Registry SequenceKey all all_leaves "
        "broadcast broadcast_prefix combine default_registry flatten flatten_axes flatten_one_level "
        "flatten_one_level_with_keys flatten_with_path is_tree_node keystr late_chapters late_function late_names "
        "leaves leaves_with_path map map_with_path partition prefix_errors reduce reduce_associative "
        "register_dataclass register_pytree_node register_pytree_node_class register_pytree_with_keys "
        "register_pytree_with_keys_class register_static static static_key structure transpose tree_all "
        "tree_broadcast tree_flatten tree_flatten_with_path tree_leaves tree_leaves_with_path tree_map "
        "tree_map_with_path tree_reduce tree_reduce_associative tree_structure tree_transpose tree_unflatten "
        "treedef_children treedef_is_leaf treedef_tuple unflatten"
    ),
    "calque_core": (
        "AbstractMesh AbstractValue ArrayMethods Atom CapturedConstant CheckError ClosedJaxpr ConcretizationTypeError "
        "CustomRules Effect Jaxpr JaxprEqn JaxprType JaxprTypeError Literal Mesh MissingRuleError NoArrayError "
        "NonConcreteBooleanIndexError NumpyRuleError OwnType PartitionSpec Primitive RuleTable ShapeDtypeStruct "
        "ShapeError ShapedArray SourceInfo Trace Tracer TracerArrayConversionError TracerBoolConversionError "
        "TracerIntegerConversionError UndefinedPrimal UnexpectedTracerError ValueTrace ValueTracer Var Zero "
        "add_tangents api_boundary canonicalize_dtype captured_constants check check_jaxpr config count_eqns "
        "current_trace dce_jaxpr debug decompose discharge effects_barrier ensure_compile_time_eval eval_context "
        "eval_jaxpr eval_shape evaluation ffi_call finfo float0 fold_constants full_traceback get_aval "
        "hand_custom_down hand_down hoist_tracers host_callback iinfo implements inline_calls instantiate_zeros "
        "interpret io_callback is_tracer is_undefined_primal isdtype issubdtype jaxpr_as_fun jaxpr_equal "
        "jaxpr_from_dict jaxpr_to_dict jaxprs_in_params lax make_jaxpr map_jaxpr matchaxis moveaxis named_call "
        "named_scope new_jaxpr_eqn parse_jaxpr promote_types pure_callback ravel_pytree ref register_aval "
        "register_evaluator register_internal_folder result_type rewrite rule_epoch rule_matrix rules shard_map smap "
        "stage subjaxprs to_dot to_python trace_state_clean tracing typeof"
    ),
    "calque_core.lax": (
        "DotAlgorithm DotAlgorithmPreset DotDimensionNumbers GatherDimensionNumbers GatherScatterMode PaddingConfig "
        "Precision PrecisionLike Precisions ProductPrecision RaggedDotDimensionNumbers RandomAlgorithm RoundingMethod "
        "ScatterDimensionNumbers abs abs_p acos acos_p acosh acosh_p add add_any add_any_p add_p all_gather "
        "all_gather_invariant all_gather_invariant_p all_gather_p all_to_all all_to_all_p and_p approx_max_k "
        "approx_min_k argmax argmax_p argmin argmin_p asin asin_p asinh asinh_p associative_scan atan atan2 atan2_p "
        "atan_p atanh atanh_p axis_index axis_index_p axis_size batch_matmul bitcast_convert_type "
        "bitcast_convert_type_p bitwise_and bitwise_not bitwise_or bitwise_xor broadcast broadcast_in_dim "
        "broadcast_in_dim_p broadcast_like broadcast_shapes broadcast_to_rank broadcasted_iota cbrt cbrt_p ceil "
        "ceil_p check_p clamp clamp_p clz clz_p collapse complex complex_p composite composite_p concatenate "
        "concatenate_p cond cond_p conj conj_p convert_element_type convert_element_type_p cos cos_p cosh cosh_p "
        "cumlogsumexp cumlogsumexp_p cummax cummax_p cummin cummin_p cumprod cumprod_p cumsum cumsum_p "
        "custom_jvp_call_p custom_linear_solve custom_linear_solve_p custom_root_p custom_vjp_call_p custom_vjp_fwd_p "
        "custom_vjp_linear_p custom_vmap_call_p dce_sink dce_sink_p debug_callback_p discard discard_p div div_p dot "
        "dot_general dot_general_p dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_slice_p "
        "dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_slice_p empty eq "
        "eq_p erf erf_inv erf_inv_p erf_p erfc erfc_p exp exp2 exp2_p exp_p expand_dims expm1 expm1_p ffi_call_p "
        "floor floor_p fori_loop full full_like gather gather_p ge ge_p gt gt_p guard_p imag imag_p index_in_dim "
        "index_take integer_pow integer_pow_p io_callback_p iota iota_p is_finite is_finite_p jit_p le le_p "
        "linear_call linear_call_p linear_transpose_p log log1p log1p_p log_p logistic logistic_p logistic_slope "
        "logistic_slope_p lower_p lt lt_p map max max_p min min_p mul mul_p mulhi name_p ne ne_p neg neg_p nextafter "
        "nextafter_p not_p ones_like optimization_barrier optimization_barrier_p or_p pad pad_p pargmax pargmin "
        "pbroadcast philox4x32 philox4x32_p platform_dependent platform_dependent_p pmap_p pmax pmax_p pmean pmin "
        "pmin_p population_count population_count_p pow pow_p ppermute ppermute_p pshuffle psum psum_p psum_scatter "
        "psum_scatter_p pswapaxes pure_callback_p pvary pvary_p ragged_dot ragged_dot_general raise_p real real_p "
        "reciprocal reduce reduce_and reduce_and_p reduce_max reduce_max_p reduce_min reduce_min_p reduce_or "
        "reduce_or_p reduce_p reduce_precision reduce_precision_p reduce_prod reduce_prod_p reduce_sum reduce_sum_p "
        "reduce_xor reduce_xor_p rem rem_p remat_p reshape reshape_p rev rev_p rng_bit_generator round round_p rsqrt "
        "rsqrt_p scan scan_p scatter scatter_add scatter_add_p scatter_apply scatter_max scatter_max_p scatter_min "
        "scatter_min_p scatter_mul scatter_mul_p scatter_p scatter_sub select select_n select_n_p shard_map_p "
        "sharding_constraint_p shift_left shift_left_p shift_right_arithmetic shift_right_arithmetic_p "
        "shift_right_logical shift_right_logical_p sign sign_p sin sin_p sinh sinh_p slice slice_in_dim slice_p sort "
        "sort_key_val sort_p split split_p sqrt sqrt_p square square_p squeeze squeeze_p stack stack_p stop_gradient "
        "stop_gradient_p sub sub_p switch tan tan_p tanh tanh_p tanh_slope tanh_slope_p threefry2x32 threefry2x32_p "
        "tile tile_p top_k top_k_p transpose transpose_p unstack unstack_p while_loop while_p xor_p zeros_like"
    ),
    "calque_core.config": (
        "captured_constants_bytes checking_leaks checks cpu_devices current debug_infs debug_nans default_device "
        "default_dtype_bits default_matmul_precision default_prng_impl device_memory disable_jit enable_checks "
        "enable_x64 get_mesh in_place_operators known_indices known_operations log_compiles numpy_dtype_promotion "
        "numpy_rank_promotion platforms report reports scope set_mesh traceback_filtering unused_donations update"
    ),
    "calque_autodiff": (
        "CustomVJPPrimal JVPTrace JVPTracer LinearFunction SymbolicZero TangentTrace backward_pass check_grads "
        "check_jvp check_vjp checkpoint checkpoint_name checkpoint_policies closure_convert custom_gradient "
        "custom_jvp custom_root custom_rules custom_vjp defbilinear defjvp defjvp_all deflinear deftranspose grad jvp "
        "jvp_jaxpr linear_transpose linearize linearize_jaxpr not_linear partial_eval_jaxpr primitive_jvps "
        "primitive_transposes print_saved_residuals remat saved_input_vjp saved_residuals transpose_jaxpr "
        "value_and_grad vjp zero_derivative"
    ),
    "calque_jet": "JetTrace JetTracer jet jet_jaxpr",
    "calque_batching": (
        "AxisData BatchTrace BatchTracer batch_jaxpr_axes bdim_at_front broadcast custom_vmap defbatch "
        "defbroadcasting defreducer defvectorized map not_mapped primitive_batchers register_vmappable "
        "sequential_vmap unregister_vmappable vmap"
    ),
    "calque_xla_backend": (
        "ArgInfo Array Compiled Device Difference Explanation ExportError Exported Lowered LoweredModule "
        "LoweringRuleContext NamedSharding Plugin Shard Sharding SingleDeviceSharding TraceAnnotation Traced Traffic "
        "aval_to_ir_type block_until_ready broadcast_operands clear_caches compilation_cache default_backend "
        "deserialize device_count device_get device_put devices distributed dtype_to_ir_type explain export ffi "
        "from_dlpack hlo ir_constant jaxpr_subcomp jit live_arrays local_device_count local_devices lower_fun "
        "lower_jaxpr_to_module make_array_from_callback make_array_from_process_local_data "
        "make_array_from_single_device_arrays make_mesh multihost plugins pmap process_count process_index profile "
        "register_lowering register_plugin register_pytree_node_serialization visualize_array_sharding "
        "visualize_sharding with_sharding_constraint"
    ),
    "calque_linalg": (
        "adjugate adjugate_p adjugate_slope adjugate_slope_p cholesky cholesky_p cholesky_update cholesky_update_p "
        "det det_p eig eig_p eigh eigh_p geqrf geqrf_p hessenberg hessenberg_p householder_product "
        "householder_product_p inv inv_p lu lu_p lu_pivots_to_permutation lu_pivots_to_permutation_p ormqr pinv "
        "pinv_p polar polar_p qr qr_p schur schur_p slogdet slogdet_p solve solve_p sqrtm sqrtm_p svd svd_p "
        "sylvester_solve sylvester_solve_p symmetric_product triangular_solve triangular_solve_p tridiagonal "
        "tridiagonal_p tridiagonal_solve tridiagonal_solve_p"
    ),
    "calque_special": (
        "bessel_i0e bessel_i0e_p bessel_i1e bessel_i1e_p betainc digamma digamma_p igamma igamma_grad_a "
        "igamma_grad_a_p igamma_p igammac igammac_p lgamma lgamma_p polygamma polygamma_p random_gamma_grad "
        "random_gamma_grad_p regularized_incomplete_beta_p zeta zeta_p"
    ),
    "calque_signal": (
        "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers FftType conv conv_dimension_numbers "
        "conv_general_dilated conv_general_dilated_local conv_general_dilated_p conv_general_dilated_patches "
        "conv_transpose conv_with_general_padding fft fft_p padtype_to_pads reduce_window reduce_window_max_p "
        "reduce_window_min_p reduce_window_p reduce_window_sum_p select_and_gather_add select_and_gather_add_p "
        "select_and_scatter select_and_scatter_add select_and_scatter_add_p select_and_scatter_p"
    ),
    "calque_numpy": (
        "abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis apply_over_axes arange "
        "arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around "
        "array array2string array_equal array_equiv array_repr array_split array_str asarray asin asinh astype at "
        "atan atan2 atanh atleast_1d atleast_2d atleast_3d average bartlett base_repr binary_repr bincount "
        "bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift "
        "bitwise_xor blackman block bool bool_ broadcast_arrays broadcast_shapes broadcast_to c_ can_cast cbrt "
        "cdouble ceil character choose clip column_stack complex128 complex64 complexfloating compress concat "
        "concatenate conj conjugate convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross "
        "csingle cumprod cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices "
        "diag_indices_from diagflat diagonal diff digitize divide divmod dot double dsplit dstack dtype e ediff1d "
        "einsum einsum_path empty empty_like equal euler_gamma exp exp2 expand_dims expm1 extract eye fabs fft "
        "fill_diagonal fix flatnonzero flexible flip fliplr flipud float16 float32 float64 float_power floating floor "
        "floor_divide fmax fmin fmod format_float_positional format_float_scientific frexp from_dlpack frombuffer "
        "fromfile fromfunction fromiter frompyfunc fromregex fromstring full full_like gcd generic genfromtxt "
        "geomspace get_printoptions gradient greater greater_equal hamming hanning heaviside histogram histogram2d "
        "histogram_bin_edges histogramdd hsplit hstack hypot i0 identity imag image index_exp indices inexact inf "
        "inner insert int16 int32 int64 int8 int_ integer interp intersect1d intp invert isclose iscomplex "
        "iscomplexobj isfinite isin isinf isnan isneginf isposinf isreal isrealobj isscalar iterable ix_ kaiser kron "
        "lcm ldexp left_shift less less_equal lexsort linalg linspace load loadtxt log log10 log1p log2 logaddexp "
        "logaddexp2 logical_and logical_not logical_or logical_xor logspace mask_indices matmul matrix_transpose "
        "matvec max maximum mean median meshgrid mgrid min minimum mod modf moveaxis multiply nan nan_to_num "
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile "
        "nanstd nansum nanvar ndarray ndim negative newaxis nextafter nn nonzero not_equal number object_ ogrid ones "
        "ones_like outer packbits pad partition percentile permute_dims pi piecewise place poly polyadd polyder "
        "polydiv polyfit polyint polymul polysub polyval positive pow power printoptions prod ptp put put_along_axis "
        "quantile r_ rad2deg radians random ravel ravel_multi_index real reciprocal remainder repeat reshape resize "
        "result_type right_shift rint roll rollaxis roots rot90 round s_ save savetxt savez savez_compressed scipy "
        "searchsorted segments select set_printoptions setdiff1d setxor1d shape sign signbit signedinteger sin sinc "
        "single sinh size sort sort_complex spacing split sqrt square squeeze stack std subtract sum swapaxes take "
        "take_along_axis tan tanh tensordot tile trace transpose trapezoid tri tril tril_indices tril_indices_from "
        "trim_zeros triu triu_indices triu_indices_from true_divide trunc ufunc uint uint16 uint32 uint64 uint8 uintp "
        "union1d unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index "
        "unsignedinteger unstack unwrap vander var vdot vecdot vecmat vectorize vsplit vstack where zeros zeros_like"
    ),
    "calque": (
        "P Ref ad_checkpoint custom_batching custom_derivatives debug dtypes empty_ref errors flatten_util free_ref "
        "freeze hessian hvp image jacfwd jacobian jacrev lax new_ref nn numpy ode ops random ref scipy test_util "
        "testing tree tree_util"
    ),
    "calque_sparse": (
        "Coloring Operand PreparedDerivative Products Sets SparseArray SparsityPattern acyclic_coloring bicoloring "
        "column_coloring hessian hessian_sparsity hvp jacfwd jacobian_sparsity jacrev no_pairs prepare_hessian "
        "prepare_jacobian row_coloring star_coloring"
    ),
    "calque_laplacian": (
        "ForwardLaplacian InnerProduct LaplacianTrace Triple defelementwise deflinear forward_laplacian laplacian"
    ),
    "calque_harvest": (
        "HarvestTrace call_and_reap harvest nest plant reap site_p site_tangent_p sow sow_cotangent sow_cotangent_p "
        "sow_p"
    ),
    "calque_bounds": "BoundsTrace Interval Taylor TaylorTrace bounds def_growing outward taylor_bounds",
    "calque_as_jax": "absent_names install is_installed subprocess_environment uninstall",
}
