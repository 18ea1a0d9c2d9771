"""The targets of custom calls: jaxlib's own, registered with XLA when a program needs them, and the user's.

A program from the cache on disk needs them, too; it is lowered first, so they are there.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from jaxlib import xla_client as xc
from jaxlib.cpu import _lapack  # type: ignore[attr-defined]

from calque_core.extend import where


@cache
def load_lapack() -> None:
    """Register the targets of LAPACK, and load the library: scipy's, which takes 0.4 s."""
    for name, function in _lapack.registrations().items():
        xc.register_custom_call_target(name, function, platform="cpu", api_version=int(name.endswith("_ffi")))
    _lapack.initialize()


@cache
def jaxlib_targets() -> frozenset[str]:
    """Return the names of the targets that every process can register: a program that calls them can be stored."""
    return frozenset(_lapack.registrations()) | _GPU_KERNELS


# The kernels of NVIDIA's libraries that lowering rules call; the package of kernels brings them.
_GPU_KERNELS = frozenset((
    "cusolver_potrf_ffi", "cusolver_getrf_ffi", "cusolver_geqrf_ffi", "cusolver_orgqr_ffi", "cusolver_syevd_ffi",
    "cusolver_gesvd_ffi", "cusparse_gtsv2_ffi",
))  # fmt: skip


# The user's targets

_XLA_NAMES = {"cuda": "CUDA", "rocm": "ROCM"}  # where XLA registers targets of GPUs

_registered: dict[tuple[str, str], Any] = {}  # functions by name and platform


def register_target(name: str, function: Any, platform: str) -> None:
    """Register a user's function with XLA.  Raises: ValueError if the name has another function."""
    known = _registered.get((name, platform))
    if known is not None and _addresses(known) == _addresses(function):
        return
    if known is not None or name in jaxlib_targets():
        owner = "jaxlib's" if known is None else "another function"
        raise ValueError(
            f"register_ffi_target{where()}: the name {name!r} is {owner} on {platform}, and XLA keeps a name for the "
            "life of the process. Choose another name."
        )
    xc.register_custom_call_target(name, function, platform=_XLA_NAMES.get(platform, platform), api_version=1)
    _registered[name, platform] = function


def _addresses(function: Any) -> Any:
    """Return the address in a capsule, or the addresses of a dict of capsules."""
    if isinstance(function, dict):
        return {stage: _addresses(capsule) for stage, capsule in function.items()}
    return _pointer(function, _name(function))


_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def check_target(name: str, platform: str) -> None:
    """Check that a program can call a target; register it if it is LAPACK's.

    Raises: ValueError that lists the targets of the platform.
    """
    if platform == "cpu" and name in _lapack.registrations():
        load_lapack()
    elif (name, platform) not in _registered and (platform == "cpu" or name not in _GPU_KERNELS):
        names = sorted(target for target, place in _registered if place == platform)
        known = f"The registered targets are: {', '.join(names)}." if names else "No target is registered."
        raise ValueError(
            f"ffi_call{where()}: there is no target {name!r} on {platform}. {known} Register it with "
            "register_ffi_target before the first call."
        )
