"""Companions of the plugin for NVIDIA's GPUs: the driver, NVIDIA's libraries, and jaxlib's kernels.

One idea: XLA finds a library that is loaded already, so NVIDIA's libraries are loaded from their Python packages first,
as they lie outside of the folders where the system looks.

Read next: `plugins.py`, which calls this module; `lowerings/factorizations.py`, whose operations call the kernels.
"""

from __future__ import annotations

import ctypes
import logging
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxlib import version as jaxlib_version
from jaxlib import xla_client as xc

log = logging.getLogger("calque")

XLA_NAME = "CUDA"  # of the platform where custom calls are registered
_DRIVER = "libcuda.so.1"
# A library comes after the libraries that it needs.
_LIBRARIES = (
    "cudart", "nvrtc", "nvJitLink", "cublasLt", "cublas", "nccl", "cupti", "cusparse", "cusolver", "cufft",
    "nvshmem_host", "cudnn",
)  # fmt: skip
_NEEDED = {"cublas": "cuBLAS", "cudnn": "cuDNN", "cufft": "cuFFT", "cusparse": "cuSPARSE"}
_RELEASES = range(8, 14)  # of NVIDIA's libraries, at the end of their names in the folders of the system
_KERNELS = ("_solver", "_linalg", "_hybrid", "_sparse", "_prng")  # modules of the package of kernels


def load_cuda(generation: str) -> None:
    """Load the driver and NVIDIA's libraries for a release of CUDA.

    Raises: RuntimeError that names the missing driver or library.
    """
    if not _can_load(_DRIVER):
        raise RuntimeError(
            f"NVIDIA's driver is missing: {_DRIVER} cannot be loaded. Install the driver, or start the container with "
            "access to the GPUs."
        )
    missing = [_NEEDED[name] for name in _LIBRARIES if not _load_library(name, generation) and name in _NEEDED]
    if missing:
        raise RuntimeError(
            f"{', '.join(missing)} cannot be loaded. Install NVIDIA's libraries: pip install "
            f"'jax-cuda{generation}-plugin[with-cuda]'."
        )


def _load_library(name: str, generation: str) -> bool:
    """Load a library from its Python package, or else from the folders of the system; tell whether it is loaded."""
    packaged = map(str, _paths_of(name, generation))
    return any(map(_can_load, (*packaged, *(f"lib{name}.so.{release}" for release in _RELEASES))))


def _paths_of(name: str, generation: str) -> list[Path]:
    """Return the files of a library in NVIDIA's packages, none of another release of CUDA."""
    spec = PathFinder.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    paths = [path for root in roots for path in sorted(Path(root).glob(f"*/lib/lib{name}.so.*"))]
    return [path for path in paths if path.parts[-3] == f"cu{generation}" or not _is_of_one_release(path.parts[-3])]


def _is_of_one_release(package: str) -> bool:
    return package.startswith("cu") and package[2:].isdigit()


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


# Kernels


def register_kernels(interface: Any, generation: str) -> None:
    """Register jaxlib's kernels for GPUs, with the interface of the plugin that runs them.

    Without a package of kernels that fits, there is a line in the log, and programs that need a kernel do not compile.
    """
    package = f"jax_cuda{generation}_plugin"
    problem = _kernels_problem(package.replace("_", "-"))
    if problem:
        log.warning("%s Linear algebra and callbacks do not work on the platform 'cuda'.", problem)
        return
    extension = import_module(f"{package}.cuda_plugin_extension")
    xc.register_custom_type_handler(XLA_NAME, partial(extension.register_custom_type, interface))
    xc.register_custom_call_handler(XLA_NAME, partial(extension.register_custom_call_target, interface))
    for name, type_id in extension.ffi_types().items():
        xc.register_custom_type(name, type_id, platform=XLA_NAME)
    for name, kernel in extension.ffi_handlers().items():
        _register(name, kernel)
    for module in _KERNELS:
        _register_module(import_module(f"{package}.{module}"))


def _register_module(module: ModuleType) -> None:
    if hasattr(module, "initialize"):
        module.initialize()
    for name, kernel in module.registrations().items():
        _register(name, kernel)


def _register(name: str, kernel: Any) -> None:
    xc.register_custom_call_target(name, kernel, platform=XLA_NAME, api_version=1)


def _kernels_problem(distribution: str) -> str:
    """Return the fault of the package of kernels, which must be of jaxlib's release; or an empty text."""
    needed = jaxlib_version.__version__
    try:
        release = version(distribution)
    except PackageNotFoundError:
        return f"the package {distribution} is not installed; it must be {distribution}=={needed}."
    if release != needed:
        return f"{distribution} {release} goes with jaxlib {release}, but jaxlib is {needed}."
    return ""
