"""The targets of custom calls that jaxlib brings, registered with XLA when a program needs them.

A program from the cache on disk needs them, too; it is lowered first, so they are there.
"""

from __future__ import annotations

from functools import cache

from jaxlib import xla_client as xc
from jaxlib.cpu import _lapack  # type: ignore[attr-defined]


@cache
def load_lapack() -> None:
    """Register the targets of LAPACK, and load the library: scipy's, which takes 0.4 s."""
    for name, function in _lapack.registrations().items():
        xc.register_custom_call_target(name, function, platform="cpu", api_version=int(name.endswith("_ffi")))
    _lapack.initialize()


@cache
def jaxlib_targets() -> frozenset[str]:
    """Return the names of the targets that every process can register: a program that calls them can be stored."""
    return frozenset(_lapack.registrations())
