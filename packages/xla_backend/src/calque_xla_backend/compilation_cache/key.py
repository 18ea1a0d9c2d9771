"""The key of a program in the compilation cache: everything that decides about the machine code of the program.

One idea: the key is a digest of texts.  The module is printed without locations, so that a comment above a function, a
moved file or a named scope changes nothing; names of functions are part of it, since profiles show them.  A program
that holds an address of this process has no key.

Read next: `cache.py`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from calque_xla_backend.runtime.clients import versions
from calque_xla_backend.runtime.targets import jaxlib_targets

_CALL = "custom_call"
_CALLED = re.compile(r'custom_call @(?:"([^"]*)"|([\w.$-]+))')
_CPU_LINES = re.compile(rb"^(?:vendor_id|cpu family|model|model name|flags|Features|CPU \w+)\s*:.*$", re.MULTILINE)
_FIRST_PROCESSORS = 16_384  # bytes of /proc/cpuinfo: the kernel writes them slowly, a block for each processor
_FLAG_PREFIXES = ("XLA_", "TF_XLA_")

_storable_targets: dict[str, str] = {}  # targets of the user's, each with the digest of its code


def register_storable_target(name: str, digest: str) -> None:
    """Let programs that call the target `name` be stored; `digest` identifies its code and becomes part of their keys.

    Otherwise a program that calls a target is not stored, unless the target is one of jaxlib's own.  Use a digest of
    the library that holds the target, so that a changed library gets programs of its own.  Register the target with
    XLA before a program that calls it is compiled.
    Raises: TypeError if `name` or `digest` is not a string.

    >>> from calque_xla_backend import compilation_cache
    >>> compilation_cache.register_storable_target("my_kernel", "sha256 of my_kernels.so")
    """
    for argument, value in (("name", name), ("digest", digest)):
        if not isinstance(value, str):
            raise TypeError(
                f"register_storable_target got {argument}={value!r}. Use a string, such as a hexadecimal digest."
            )
    _storable_targets[name] = digest


def key_of(module: ir.Module, options: Any, platform_name: str) -> bytes | None:
    """Return the key of a module compiled for a platform with jaxlib's `CompileOptions`: 32 bytes.

    None if the program must not be stored: it calls code that nobody has vouched for, which is also how callbacks and
    other addresses of this process occur in modules, or XLA writes files while it compiles it.
    """
    text = str(module.operation.get_asm(enable_debug_info=False))
    targets = _targets_in(text)
    settings: bytes = options.SerializeAsString()
    if targets is None or b"xla_dump" in settings or "xla_dump" in os.environ.get("XLA_FLAGS", ""):
        return None
    return _digest([text.encode(), settings, *_machine(platform_name), *_flags(), *targets])


def _targets_in(text: str) -> list[bytes] | None:
    """Return the user's targets of a module with their digests; None if it calls a target of unknown code."""
    if _CALL not in text:
        return []
    names = {quoted or plain for quoted, plain in _CALLED.findall(text)}
    own = names - jaxlib_targets()
    if text.count(_CALL) != len(_CALLED.findall(text)) or not own <= set(_storable_targets):
        return None
    return [f"{name}={_storable_targets[name]}".encode() for name in sorted(own)]


def _flags() -> list[bytes]:
    """Return the environment variables that XLA reads."""
    names = sorted(name for name in os.environ if name.startswith(_FLAG_PREFIXES))
    return [os.fsencode(f"{name}={os.environ[name]}") for name in names]


@cache
def _machine(platform_name: str) -> tuple[bytes, ...]:
    """Return a text that differs between processors, and between releases of XLA."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (*versions(platform_name), platform.machine().encode(), str(processors).encode(), *_processor())


def _processor() -> list[bytes]:
    """Return the model and the features of the processor; outside Linux, the features as NumPy detects them."""
    with suppress(OSError), open("/proc/cpuinfo", "rb", buffering=0) as file:
        lines = set(_CPU_LINES.findall(file.read(_FIRST_PROCESSORS)))
        if lines:
            return sorted(lines)
    features: Any = np.show_config(mode="dicts")
    return [platform.processor().encode(), repr(features.get("SIMD Extensions")).encode()]


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
