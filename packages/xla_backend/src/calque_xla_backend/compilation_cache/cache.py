"""The compilation cache: programs that took long to compile are loaded from disk by later processes.

One idea: where XLA would compile a module, look for the executable under the module's key first.  Nothing here can
fail a call: a folder that is missing, closed, full or damaged means that XLA compiles, and one line of the log.  The
folder is chosen when the first program is compiled, not at import.

Read next: `folder.py` for the choice of the folder, `key.py`, `entries.py`.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from calque_core.extend import where
from calque_xla_backend.compilation_cache.entries import Entries
from calque_xla_backend.compilation_cache.folder import Choice, choose_folder, create, obstacle, refusal
from calque_xla_backend.compilation_cache.key import key_of
from calque_xla_backend.runtime.partition import Place
from calque_xla_backend.runtime.runtime import (
    Executable,
    XlaRuntimeError,
    compile_module,
    compile_options,
    load_executable,
    serialize_executable,
)

log = logging.getLogger("calque")

SIZE_VARIABLE = "CALQUE_CACHE_SIZE"
_DEFAULT_SIZE = 2**30  # bytes
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)", re.IGNORECASE)
MIN_COMPILE_SECONDS = 0.05  # a program that compiles faster than this is not worth a file


class CompilationCacheInfo(NamedTuple):
    """The state of the compilation cache.

    The folder, or None and the reason; its entries, their bytes and the bound of these bytes; the programs that this
    process loaded, did not find, and stored.
    """

    folder: str | None
    reason: str
    entries: int
    bytes: int
    max_bytes: int
    hits: int
    misses: int
    stored: int


class CompilationCache:
    """The cache of this process: the choice of the folder, its entries, and the counts of look-ups."""

    __slots__ = ("_choice", "_entries", "_max_bytes", "_reported", "hits", "misses", "stored")

    def __init__(self) -> None:
        self._choice: Choice | None = None  # None before the first compile
        self._max_bytes: int | None = None  # None: the environment decides
        self._entries: Entries | None = None  # not None once the folder exists and is safe
        self._reported: set[str] = set()
        self.hits = self.misses = self.stored = 0

    def choose(self, choice: Choice, max_bytes: int | None) -> None:
        """Use another folder from now on."""
        self._choice, self._max_bytes, self._entries = choice, max_bytes, None

    def choice(self) -> Choice:
        """Return the choice of the folder; a folder that must not be used is None with the reason."""
        if self._choice is None:
            self._choice = choose_folder()
        folder = self._choice.folder
        if folder is not None and self._entries is None and (reason := refusal(folder)):
            self._choice = Choice(None, reason, logging.WARNING)
        if self._choice.reason:
            self._report(f"The compilation cache is off: {self._choice.reason}.", self._choice.level)
        return self._choice

    def entries(self) -> Entries | None:
        """Return the entries of the folder, which may not exist yet; None without a folder that may be used."""
        if self._entries is not None:
            return self._entries
        folder = self.choice().folder
        if folder is None:
            return None
        if self._max_bytes is None and (mistake := size_mistake()):
            self._report(f"The compilation cache has its default bound: {mistake}.", logging.WARNING)
        entries = Entries(folder, self._max_bytes or max_bytes())
        if os.path.isdir(folder):
            self._entries = entries
        return entries

    def load(self, key: bytes, place: Place, options: Any) -> Executable | None:
        """Return the executable under a key, or None; an entry that XLA refuses is removed."""
        entries, executable = self.entries(), None
        payload = None if entries is None else entries.read(key)
        if entries is not None and payload is not None:
            try:
                executable = load_executable(payload, place, options)
            except XlaRuntimeError as error:
                log.warning("XLA refuses the entry %s of the compilation cache: %s. It is removed.", key.hex(), error)
                entries.remove(key)
        self.hits += executable is not None
        self.misses += executable is None
        return executable

    def store(self, key: bytes, executable: Executable) -> None:
        """Store an executable; a folder that takes no file is reported once."""
        entries = self.entries()
        try:
            if entries is not None:
                create(entries.folder)
                entries = self.entries()  # whoever made the folder, it is judged now
            if entries is not None:
                self.stored += entries.write(key, serialize_executable(executable))
        except (OSError, XlaRuntimeError) as error:
            self._report(f"The compilation cache cannot store a program: {error}.", logging.INFO)

    def _report(self, line: str, level: int) -> None:
        """Write a line to the log, once."""
        if line not in self._reported:
            self._reported.add(line)
            log.log(level, line)


_cache = CompilationCache()


def load_or_compile(
    module: ir.Module,
    place: Place,
    options: Sequence[tuple[str, Any]] = (),
    host_functions: Sequence[Callable[..., Any]] = (),
    undivided: tuple[Sequence[bool], Sequence[bool]] = ((), ()),
) -> tuple[Executable, bool]:
    """Return an executable of a module for a place, and whether it comes from the cache.

    `options` are XLA's flags by name, and `undivided` is that of `compile_options`.  A program that calls
    `host_functions` of this process is always compiled.
    Raises: XlaRuntimeError if XLA cannot compile the module.
    """
    all_options = compile_options(place, options, undivided)
    is_stored = not host_functions and _cache.choice().folder is not None
    key = key_of(module, all_options, place.platform) if is_stored else None
    executable = None if key is None else _cache.load(key, place, all_options)
    if executable is not None:
        return executable, True
    began = perf_counter()
    executable = compile_module(module, place, all_options, host_functions)
    if key is not None and perf_counter() - began >= MIN_COMPILE_SECONDS:
        _cache.store(key, executable)
    return executable, False


def set_cache_dir(folder: str | os.PathLike[str] | None, *, max_bytes: int | None = None) -> None:
    """Store compiled programs in `folder` from now on, at most `max_bytes` of them; with None, store and load nothing.

    The folder is made if it is missing.  This call has precedence over the environment variables `CALQUE_CACHE` and
    `CALQUE_CACHE_SIZE`.  Programs that this process has compiled stay in use.
    Raises: ValueError if the folder cannot be made, belongs to another user, or other users may write to it; or if
    `max_bytes` is not positive.

    >>> import tempfile
    >>> from calque_xla_backend import compilation_cache
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     compilation_cache.set_cache_dir(folder, max_bytes=2**20)
    ...     compilation_cache.cache_info().max_bytes
    1048576
    >>> compilation_cache.set_cache_dir(None)
    >>> compilation_cache.cache_info().folder
    """
    if max_bytes is not None and max_bytes <= 0:
        raise ValueError(f"set_cache_dir{where()} got max_bytes={max_bytes}. Use a positive number of bytes.")
    if folder is None:
        _cache.choose(Choice(None, "set_cache_dir(None) was called"), max_bytes)
        return
    path = os.path.abspath(os.path.expanduser(folder))
    if reason := _make(path):
        raise ValueError(
            f"set_cache_dir{where()} got a folder that cannot hold compiled programs: {reason}. Use a folder of your "
            "own that nobody else can write to."
        )
    _cache.choose(Choice(path), max_bytes)


def _make(path: str) -> str:
    """Make a folder if it is missing; return why it cannot be used, or an empty text."""
    reason = refusal(path)
    if not reason:
        try:
            create(path)
        except OSError as error:
            return str(error)
        reason = refusal(path)
    return reason


def cache_info() -> CompilationCacheInfo:
    """Return the folder of the compilation cache, its size, and how much this process has loaded and stored.

    >>> from calque_xla_backend import compilation_cache
    >>> compilation_cache.set_cache_dir(None)
    >>> compilation_cache.cache_info().reason
    'set_cache_dir(None) was called'
    """
    choice, entries = _cache.choice(), _cache.entries()
    sizes = (0, 0, max_bytes()) if entries is None else (*entries.size(), entries.max_bytes)
    return CompilationCacheInfo(choice.folder, choice.reason, *sizes, _cache.hits, _cache.misses, _cache.stored)


def check_settings() -> list[str]:
    """Return a line for each fault of the settings, and for each reason why this process stores no programs.

    A cache that was turned off is not wrong.  Nothing is written.

    >>> from calque_xla_backend import compilation_cache
    >>> compilation_cache.set_cache_dir(None)
    >>> compilation_cache.check_settings()
    []
    """
    choice, lines = _cache.choice(), [size_mistake()]
    if choice.folder is not None:
        lines.append(obstacle(choice.folder))
    elif choice.level > logging.DEBUG:
        lines.append(choice.reason)
    return [line for line in lines if line]


def clear_cache() -> None:
    """Remove all programs from the folder of the compilation cache; this process keeps those it has in use.

    >>> from calque_xla_backend import compilation_cache
    >>> compilation_cache.set_cache_dir(None)
    >>> compilation_cache.clear_cache()
    """
    entries = _cache.entries()
    if entries is not None:
        entries.clear()


def max_bytes() -> int:
    """Return the bound of the entries' bytes that the environment sets; 1 GiB by default or for a wrong value."""
    return _bytes_of(os.environ.get(SIZE_VARIABLE, "")) or _DEFAULT_SIZE


def _bytes_of(size: str) -> int | None:
    """Return the bytes of a size such as '500M'; None if it is not one."""
    match = _SIZE.fullmatch(size.strip())
    return int(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ") if match else None


def size_mistake() -> str:
    """Return the fault of the variable of the bound, or an empty text."""
    size = os.environ.get(SIZE_VARIABLE, "")
    if not size or _bytes_of(size):
        return ""
    return f"{SIZE_VARIABLE} is {size!r}; use a number of bytes, or a number with K, M, G or T"
