# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_core import (
    PartitionSpec as P, ShapeDtypeStruct as ShapeDtypeStruct, config as config, effects_barrier as effects_barrier,
    ensure_compile_time_eval as ensure_compile_time_eval, eval_shape as eval_shape, float0 as float0,
    io_callback as io_callback, make_jaxpr as make_jaxpr, named_call as named_call, named_scope as named_scope,
    pure_callback as pure_callback, shard_map as shard_map, typeof as typeof,
)
from calque_autodiff import (
    check_grads as check_grads, checkpoint as checkpoint, checkpoint_name as checkpoint_name,
    checkpoint_policies as checkpoint_policies, custom_gradient as custom_gradient, custom_jvp as custom_jvp,
    custom_linear_solve as custom_linear_solve, custom_root as custom_root, custom_rules as custom_rules,
    custom_vjp as custom_vjp, grad as grad, jvp as jvp, linear_call as linear_call,
    linear_transpose as linear_transpose, linearize as linearize, print_saved_residuals as print_saved_residuals,
    remat as remat, saved_residuals as saved_residuals, value_and_grad as value_and_grad, vjp as vjp,
)
from calque_core.config import (
    checking_leaks as checking_leaks, debug_infs as debug_infs, debug_nans as debug_nans,
    default_device as default_device, default_matmul_precision as default_matmul_precision, disable_jit as disable_jit,
    enable_checks as enable_checks, known_operations as known_operations, enable_x64 as enable_x64,
    log_compiles as log_compiles, numpy_dtype_promotion as numpy_dtype_promotion,
    numpy_rank_promotion as numpy_rank_promotion, set_mesh as set_mesh,
)
from calque_batching import custom_vmap as custom_vmap, map as map, sequential_vmap as sequential_vmap, vmap as vmap
from calque import (
    debug as debug, flatten_util as flatten_util, lax as lax, nn as nn, numpy as numpy, random as random,
    testing as testing, tree as tree, ad_checkpoint as ad_checkpoint, custom_batching as custom_batching,
    custom_derivatives as custom_derivatives, dtypes as dtypes, errors as errors, ops as ops, scipy as scipy,
    test_util as test_util, tree_util as tree_util, distributed as distributed, dlpack as dlpack, export as export,
    ffi as ffi, multihost as multihost, profiler as profiler, sharding as sharding, stages as stages,
)
from calque.jacobians import hessian as hessian, hvp as hvp, jacfwd as jacfwd, jacobian as jacobian, jacrev as jacrev
from calque_jet import jet as jet
from calque_core.lax import stop_gradient as stop_gradient
from calque_xla_backend import (
    Array as Array, NamedSharding as NamedSharding, Shard as Shard, block_until_ready as block_until_ready,
    clear_caches as clear_caches, compilation_cache as compilation_cache, default_backend as default_backend,
    device_count as device_count, device_get as device_get, device_put as device_put, devices as devices,
    explain as explain, jit as jit, live_arrays as live_arrays, local_device_count as local_device_count,
    local_devices as local_devices, make_array_from_callback as make_array_from_callback,
    make_array_from_process_local_data as make_array_from_process_local_data,
    make_array_from_single_device_arrays as make_array_from_single_device_arrays, make_mesh as make_mesh,
    plugins as plugins, pmap as pmap, process_count as process_count, process_index as process_index,
    profile as profile, register_plugin as register_plugin, with_sharding_constraint as with_sharding_constraint,
)

__version__: str

__all__ = [
    "P", "ShapeDtypeStruct", "config", "effects_barrier", "ensure_compile_time_eval", "eval_shape", "float0",
    "io_callback", "make_jaxpr", "named_call", "named_scope", "pure_callback", "shard_map", "typeof", "check_grads",
    "checkpoint", "checkpoint_name", "checkpoint_policies", "custom_gradient", "custom_jvp", "custom_linear_solve",
    "custom_root", "custom_rules", "custom_vjp", "grad", "jvp", "linear_call", "linear_transpose", "linearize",
    "print_saved_residuals", "remat", "saved_residuals", "value_and_grad", "vjp", "checking_leaks", "debug_infs",
    "debug_nans", "default_device", "default_matmul_precision", "disable_jit", "enable_checks", "known_operations",
    "enable_x64", "log_compiles", "numpy_dtype_promotion", "numpy_rank_promotion", "set_mesh", "custom_vmap", "map",
    "sequential_vmap", "vmap", "debug", "flatten_util", "lax", "nn", "numpy", "random", "testing", "tree", "hessian",
    "hvp", "jacfwd", "jacobian", "jacrev", "jet", "stop_gradient",
]
