"""Function transformations for NumPy programs under one name: grad, vmap, jit, and combinations of them.

The import is quick: a name loads its package, and a module such as `calque.numpy` is loaded, at their first use.  So
`import calque` works without the compiler, whose names are `jit`, `Array` and their like.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late
from typing import Any as _Any

import numpy as _numpy  # noqa: ICN001  (`np` would look like a public name)

import calque_core.extend as _extend
from calque_core import ShapeDtypeStruct, config, float0, typeof
from calque_core import register_internal_folder as _register_internal_folder
from calque_core.config import (
    checking_leaks,
    debug_infs,
    debug_nans,
    default_device,
    default_matmul_precision,
    disable_jit,
    enable_checks,
    enable_x64,
    known_operations,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    set_mesh,
)
from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque import (
        ad_checkpoint as ad_checkpoint, custom_batching as custom_batching,
        custom_derivatives as custom_derivatives, debug, distributed as distributed, dlpack as dlpack,
        dtypes as dtypes, errors as errors, export as export, ffi as ffi, flatten_util, lax,
        multihost as multihost, nn, numpy, ops as ops, profiler as profiler, random, scipy as scipy,
        sharding as sharding, stages as stages, test_util as test_util, testing, tree, tree_util as tree_util,
    )
    from calque.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
    from calque_autodiff import (
        check_grads, checkpoint, checkpoint_name, checkpoint_policies, custom_gradient, custom_jvp,
        custom_linear_solve, custom_root, custom_rules, custom_vjp, grad, jvp, linear_call, linear_transpose,
        linearize, print_saved_residuals, remat, saved_residuals, value_and_grad, vjp,
    )
    from calque_batching import custom_vmap, map, sequential_vmap, vmap
    from calque_core import (
        effects_barrier, ensure_compile_time_eval, eval_shape, io_callback, make_jaxpr, named_call, named_scope,
        PartitionSpec as P, pure_callback, shard_map,
    )
    from calque_core.lax import stop_gradient
    from calque_jet import jet
    from calque_xla_backend import (
        Array as Array, NamedSharding as NamedSharding, Shard as Shard,
        block_until_ready as block_until_ready, clear_caches as clear_caches,
        compilation_cache as compilation_cache, default_backend as default_backend, device_count as device_count,
        device_get as device_get,
        device_put as device_put, devices as devices, explain as explain, jit as jit,
        live_arrays as live_arrays, local_device_count as local_device_count, local_devices as local_devices,
        make_array_from_callback as make_array_from_callback,
        make_array_from_process_local_data as make_array_from_process_local_data,
        make_array_from_single_device_arrays as make_array_from_single_device_arrays, make_mesh as make_mesh,
        plugins as plugins, pmap as pmap, process_count as process_count, process_index as process_index,
        profile as profile, register_plugin as register_plugin, with_sharding_constraint as with_sharding_constraint,
    )
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque": (
        "ad_checkpoint, custom_batching, custom_derivatives, debug, dtypes, errors, flatten_util, lax, nn, numpy, ops, "
        "random, scipy, test_util, testing, tree, tree_util"
    ),
    "calque.jacobians": "hessian, hvp, jacfwd, jacobian, jacrev",
    "calque_autodiff": (
        "check_grads, checkpoint, checkpoint_name, checkpoint_policies, custom_gradient, custom_jvp, "
        "custom_linear_solve, custom_root, custom_rules, custom_vjp, grad, jvp, linear_call, linear_transpose, "
        "linearize, print_saved_residuals, remat, saved_residuals, value_and_grad, vjp"
    ),
    "calque_batching": "custom_vmap, map, sequential_vmap, vmap",
    "calque_core": (
        "effects_barrier, ensure_compile_time_eval, eval_shape, io_callback, make_jaxpr, named_call, named_scope, "
        "PartitionSpec as P, pure_callback, shard_map"
    ),
    "calque_core.lax": "stop_gradient",
    "calque_jet": "jet",
}
_BACKEND_NAMES = (
    "Array",
    "NamedSharding",
    "Shard",
    "block_until_ready",
    "clear_caches",
    "compilation_cache",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "explain",
    "jit",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_mesh",
    "plugins",
    "pmap",
    "process_count",
    "process_index",
    "profile",
    "register_plugin",
    "with_sharding_constraint",
)
_BACKEND_MODULES = ("distributed", "dlpack", "export", "ffi", "multihost", "profiler", "sharding", "stages")

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__ = [
    "P",
    "ShapeDtypeStruct",
    "check_grads",
    "checking_leaks",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "config",
    "custom_gradient",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_rules",
    "custom_vjp",
    "custom_vmap",
    "debug",
    "debug_infs",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "disable_jit",
    "enable_checks",
    "known_operations",
    "enable_x64",
    "effects_barrier",
    "ensure_compile_time_eval",
    "eval_shape",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "hvp",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jvp",
    "lax",
    "linear_call",
    "linear_transpose",
    "linearize",
    "log_compiles",
    "make_jaxpr",
    "map",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "print_saved_residuals",
    "pure_callback",
    "random",
    "remat",
    "saved_residuals",
    "sequential_vmap",
    "set_mesh",
    "shard_map",
    "stop_gradient",
    "testing",
    "tree",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]


def _of_backend(name: str) -> _Any:
    """Return a name of the backend, or a module that needs it; this loads the backend at the first use.

    None for an unknown name.  Raises: AttributeError with advice for a name of NumPy's.
    """
    if name in _BACKEND_MODULES:
        return _load(f"calque.{name}", name)
    if name in _BACKEND_NAMES:
        value = globals()[name] = getattr(_load("calque_xla_backend", name), name)
        return value
    if not name.startswith("_") and hasattr(_numpy, name):
        raise AttributeError(f"calque has no attribute {name!r}. Use numpy.{name}, or calque.numpy.{name}.", name=name)
    return None


def _load(module: str, name: str) -> _Any:
    """Import the module that has `name`.  Raises: ModuleNotFoundError that names the package of the compiler."""
    try:
        return _importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("calque_xla_backend", "jaxlib"):
            raise
        raise ModuleNotFoundError(
            f"calque.{name} needs the compiler, which is a package of its own. "
            f"{_extend.install_advice('calque', 'xla')}",
            name=error.name,
        ) from None


if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, _late_dir = _late_names(__name__, _LATE, _of_backend)


def __dir__() -> list[str]:
    return sorted({*_late_dir(), *_BACKEND_NAMES, *_BACKEND_MODULES})
