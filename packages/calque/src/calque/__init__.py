"""Function transformations for NumPy programs under one name: grad, vmap, jit, and combinations of them.

Names that need the compiler (`jit`, `Array`, ...) are loaded at first use, so that the import is quick and works
without the compiler.  So are the modules that exist for the sake of jax's module paths, such as `calque.tree_util`.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  no cycle: the backend is loaded at its first use
from typing import Any as _Any

from calque import debug, flatten_util, lax, nn, numpy, random, testing, tree
from calque.jacobian import hessian, hvp, jacfwd, jacobian, jacrev
from calque_autodiff import (
    check_grads,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_gradient,
    custom_jvp,
    custom_linear_solve,
    custom_root,
    custom_rules,
    custom_vjp,
    grad,
    jvp,
    linear_call,
    linear_transpose,
    linearize,
    print_saved_residuals,
    remat,
    saved_residuals,
    value_and_grad,
    vjp,
)
from calque_batching import custom_vmap, map, sequential_vmap, vmap
from calque_core import (
    ShapeDtypeStruct,
    config,
    effects_barrier,
    ensure_compile_time_eval,
    eval_shape,
    float0,
    io_callback,
    make_jaxpr,
    named_call,
    named_scope,
    pure_callback,
    typeof,
)
from calque_core import register_internal_folder as _register_internal_folder
from calque_core.config import (
    checking_leaks,
    debug_infs,
    debug_nans,
    default_device,
    disable_jit,
    enable_checks,
    enable_x64,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
)
from calque_core.lax import stop_gradient
from calque_jet import jet

if _TYPE_CHECKING:
    from calque import ad_checkpoint as ad_checkpoint
    from calque import custom_batching as custom_batching
    from calque import custom_derivatives as custom_derivatives
    from calque import dtypes as dtypes
    from calque import errors as errors
    from calque import ops as ops
    from calque import profiler as profiler
    from calque import scipy as scipy
    from calque import stages as stages
    from calque import tree_util as tree_util
    from calque_xla_backend import Array as Array
    from calque_xla_backend import block_until_ready as block_until_ready
    from calque_xla_backend import clear_caches as clear_caches
    from calque_xla_backend import compilation_cache as compilation_cache
    from calque_xla_backend import default_backend as default_backend
    from calque_xla_backend import device_count as device_count
    from calque_xla_backend import device_get as device_get
    from calque_xla_backend import device_put as device_put
    from calque_xla_backend import devices as devices
    from calque_xla_backend import explain as explain
    from calque_xla_backend import jit as jit
    from calque_xla_backend import live_arrays as live_arrays
    from calque_xla_backend import profile as profile

_BACKEND_NAMES = (
    "Array",
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
    "profile",
)

# Modules of this package that are loaded at the first access to the attribute.
_MODULES = (
    "ad_checkpoint",
    "custom_batching",
    "custom_derivatives",
    "dtypes",
    "errors",
    "ops",
    "profiler",
    "scipy",
    "stages",
    "tree_util",
)

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__ = [
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
    "disable_jit",
    "enable_checks",
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
    "stop_gradient",
    "testing",
    "tree",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> _Any:
    """Load the backend, or a module of this package, at the first access to its name."""
    if name in _MODULES:
        return _load(f"calque.{name}", name)
    if name not in _BACKEND_NAMES:
        raise AttributeError(f"calque has no attribute {name!r}. Its names are in calque.__all__.")
    value = globals()[name] = getattr(_load("calque_xla_backend", name), name)
    return value


def _load(module: str, name: str) -> _Any:
    """Import the module that has `name`.  Raises: ModuleNotFoundError that names the package of the compiler."""
    try:
        return _importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("calque_xla_backend", "jaxlib"):
            raise
        raise ModuleNotFoundError(
            f"calque.{name} needs the compiler, which is a package of its own. Install it: pip install 'calque[xla]'.",
            name=error.name,
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_BACKEND_NAMES, *_MODULES})
