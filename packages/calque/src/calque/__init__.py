"""Function transformations for NumPy programs under one name: grad, vmap, jit, and combinations of them.

The import is quick: a name loads its package, and a module such as `calque.numpy` is loaded, at their first use.  So
`import calque` works without the compiler, whose names are `jit`, `Array` and their like.
"""

from functools import partial as _partial

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import late_function as _late_function

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "derivatives": {
        "calque_autodiff": "grad, value_and_grad, jvp, linearize, vjp, linear_transpose",
        "calque.jacobians": "jacfwd, jacrev, jacobian, hessian, hvp",
        "calque_jet": "jet",
        "calque_core.lax": "stop_gradient",
    },
    "functions with derivative rules of their own": {
        "calque_autodiff": (
            "custom_jvp, custom_vjp, custom_gradient, custom_rules, closure_convert, custom_root, custom_linear_solve, "
            "linear_call"
        ),
    },
    "residuals of a derivative": {
        "calque_autodiff": (
            "checkpoint, remat, checkpoint_name, checkpoint_policies, saved_residuals, print_saved_residuals, "
            "saved_input_vjp"
        ),
    },
    "checking derivatives": {"calque_autodiff": "check_grads"},
    "maps over axes": {"calque_batching": "vmap, map, custom_vmap, sequential_vmap"},
    "programs divided over a mesh": {
        "calque_core": "shard_map, smap, PartitionSpec as P",
        "calque_core.config": "set_mesh",
    },
    "programs and types": {
        "calque_core": (
            "make_jaxpr, eval_shape, ensure_compile_time_eval, named_scope, named_call, typeof, ShapeDtypeStruct, "
            "float0"
        ),
    },
    "calls to Python": {"calque_core": "pure_callback, io_callback, effects_barrier"},
    "checks in programs": {"calque_core": "check, CheckError"},
    "mutable arrays": {"calque_core.ref": "Ref, new_ref, empty_ref, free_ref, freeze"},
    "settings": {
        "calque_core": "config",
        "calque_core.config": (
            "checking_leaks, debug_infs, debug_nans, default_device, default_matmul_precision, default_prng_impl, "
            "disable_jit, enable_checks, enable_x64, known_operations, log_compiles, numpy_dtype_promotion, "
            "numpy_rank_promotion"
        ),
    },
    "modules": {"calque": "debug, flatten_util, lax, nn, numpy, ode, random, ref, testing, tree"},
}

_UNLISTED = {  # names outside __all__
    "calque": (
        "ad_checkpoint, custom_batching, custom_derivatives, dtypes, errors, image, ops, scipy, test_util, tree_util"
    ),
}

# Names that need the compiler, whose package may be absent.
_OPTIONAL = {
    "calque": "distributed, dlpack, export, ffi, multihost, profiler, sharding, stages",
    "calque_xla_backend": (
        "Array, Device, NamedSharding, Shard, block_until_ready, clear_caches, compilation_cache, default_backend, "
        "device_count, device_get, device_put, devices, explain, jit, live_arrays, local_device_count, local_devices, "
        "make_array_from_callback, make_array_from_process_local_data, make_array_from_single_device_arrays, "
        "make_mesh, plugins, pmap, process_count, process_index, profile, register_plugin, with_sharding_constraint"
    ),
}

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

_missing = _partial(_late_function("calque.missing", "missing_name"), _OPTIONAL)
__getattr__, _late_dir, __all__ = _late_chapters(__name__, _CHAPTERS, _missing, unlisted=_UNLISTED)


def __dir__() -> list[str]:
    return sorted({*_late_dir(), *", ".join(_OPTIONAL.values()).split(", ")})
