# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_autodiff import (
    grad as grad, value_and_grad as value_and_grad, jvp as jvp, linearize as linearize, vjp as vjp,
    linear_transpose as linear_transpose, custom_jvp as custom_jvp, custom_vjp as custom_vjp,
    custom_gradient as custom_gradient, custom_rules as custom_rules, closure_convert as closure_convert,
    custom_root as custom_root, custom_linear_solve as custom_linear_solve, linear_call as linear_call,
    checkpoint as checkpoint, remat as remat, checkpoint_name as checkpoint_name,
    checkpoint_policies as checkpoint_policies, saved_residuals as saved_residuals,
    print_saved_residuals as print_saved_residuals, saved_input_vjp as saved_input_vjp, check_grads as check_grads,
)
from calque.jacobians import jacfwd as jacfwd, jacrev as jacrev, jacobian as jacobian, hessian as hessian, hvp as hvp
from calque_jet import jet as jet
from calque_core.lax import stop_gradient as stop_gradient
from calque_batching import vmap as vmap, map as map, custom_vmap as custom_vmap, sequential_vmap as sequential_vmap
from calque_core import (
    shard_map as shard_map, smap as smap, PartitionSpec as P, make_jaxpr as make_jaxpr, eval_shape as eval_shape,
    ensure_compile_time_eval as ensure_compile_time_eval, named_scope as named_scope, named_call as named_call,
    typeof as typeof, ShapeDtypeStruct as ShapeDtypeStruct, float0 as float0, pure_callback as pure_callback,
    io_callback as io_callback, effects_barrier as effects_barrier, check as check, CheckError as CheckError,
    config as config,
)
from calque_core.config import (
    set_mesh as set_mesh, checking_leaks as checking_leaks, debug_infs as debug_infs, debug_nans as debug_nans,
    default_device as default_device, default_matmul_precision as default_matmul_precision,
    default_prng_impl as default_prng_impl, disable_jit as disable_jit, enable_checks as enable_checks,
    enable_x64 as enable_x64, known_operations as known_operations, log_compiles as log_compiles,
    numpy_dtype_promotion as numpy_dtype_promotion, numpy_rank_promotion as numpy_rank_promotion,
)
from calque_core.ref import (
    Ref as Ref, new_ref as new_ref, empty_ref as empty_ref, free_ref as free_ref, freeze as freeze,
)
from calque import (
    debug as debug, flatten_util as flatten_util, lax as lax, nn as nn, numpy as numpy, ode as ode, random as random,
    ref as ref, testing as testing, tree as tree, ad_checkpoint as ad_checkpoint, custom_batching as custom_batching,
    custom_derivatives as custom_derivatives, dtypes as dtypes, errors as errors, image as image, ops as ops,
    scipy as scipy, test_util as test_util, tree_util as tree_util, distributed as distributed, dlpack as dlpack,
    export as export, ffi as ffi, multihost as multihost, profiler as profiler, sharding as sharding, stages as stages,
)
from calque_xla_backend import (
    Array as Array, Device as Device, NamedSharding as NamedSharding, Shard as Shard,
    block_until_ready as block_until_ready, clear_caches as clear_caches, compilation_cache as compilation_cache,
    default_backend as default_backend, device_count as device_count, device_get as device_get,
    device_put as device_put, devices as devices, explain as explain, jit as jit, live_arrays as live_arrays,
    local_device_count as local_device_count, local_devices as local_devices,
    make_array_from_callback as make_array_from_callback,
    make_array_from_process_local_data as make_array_from_process_local_data,
    make_array_from_single_device_arrays as make_array_from_single_device_arrays, make_mesh as make_mesh,
    plugins as plugins, pmap as pmap, process_count as process_count, process_index as process_index,
    profile as profile, register_plugin as register_plugin, with_sharding_constraint as with_sharding_constraint,
)

__version__: str

__all__ = [
    "grad", "value_and_grad", "jvp", "linearize", "vjp", "linear_transpose", "jacfwd", "jacrev", "jacobian", "hessian",
    "hvp", "jet", "stop_gradient", "custom_jvp", "custom_vjp", "custom_gradient", "custom_rules", "closure_convert",
    "custom_root", "custom_linear_solve", "linear_call", "checkpoint", "remat", "checkpoint_name",
    "checkpoint_policies", "saved_residuals", "print_saved_residuals", "saved_input_vjp", "check_grads", "vmap", "map",
    "custom_vmap", "sequential_vmap", "shard_map", "smap", "P", "set_mesh", "make_jaxpr", "eval_shape",
    "ensure_compile_time_eval", "named_scope", "named_call", "typeof", "ShapeDtypeStruct", "float0", "pure_callback",
    "io_callback", "effects_barrier", "check", "CheckError", "Ref", "new_ref", "empty_ref", "free_ref", "freeze",
    "config", "checking_leaks", "debug_infs", "debug_nans", "default_device", "default_matmul_precision",
    "default_prng_impl", "disable_jit", "enable_checks", "enable_x64", "known_operations", "log_compiles",
    "numpy_dtype_promotion", "numpy_rank_promotion", "debug", "flatten_util", "lax", "nn", "numpy", "ode", "random",
    "ref", "testing", "tree",
]
