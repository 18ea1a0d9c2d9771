"""The files of the compilation cache: one for each program.

One idea: a file is either whole or no entry.  It is written under another name and renamed, and begins with the key,
the length and a checksum of all; a file that does not match is removed and counts as missing.  So processes need no
lock: each of them can read, write and remove entries at any moment, and be killed at any moment.

Read next: `cache.py`, which makes programs of entries.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

log = logging.getLogger("calque")

_MAGIC = b"calque\x00\x01"  # ends with the version of the format
_HEADER = struct.Struct("<8s32sQ32s")  # magic, key, length of the payload, checksum
_SUFFIX, _UNFINISHED = ".xla", ".tmp"
_ABANDONED_AFTER = 3600.0  # seconds: an unfinished file this old belongs to a process that was killed
_KEPT = 0.9  # of the bound: what removing the oldest entries leaves
_SWEEPS = 64  # a process looks at the whole folder after it has written this part of the bound


class DamagedEntryError(ValueError):
    """The bytes of a file are not an entry for its key."""


def pack(key: bytes, payload: bytes) -> bytes:
    """Return the bytes of the entry for a key of 32 bytes."""
    return _HEADER.pack(_MAGIC, key, len(payload), _checksum(key, payload)) + payload


def unpack(key: bytes, entry: bytes) -> bytes:
    """Return the payload of an entry.

    Raises: DamagedEntryError if these are not the bytes that `pack` made for this key.
    """
    if len(entry) < _HEADER.size:
        raise DamagedEntryError(f"it has {len(entry)} bytes, fewer than its header")
    magic, owner, length, checksum = _HEADER.unpack_from(entry)
    payload = entry[_HEADER.size :]
    if magic != _MAGIC or owner != key:
        raise DamagedEntryError("its header is that of another file")
    if length != len(payload):
        raise DamagedEntryError(f"its payload has {len(payload)} bytes instead of {length}")
    if checksum != _checksum(key, payload):
        raise DamagedEntryError("its checksum differs")
    return payload


def _checksum(key: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(_MAGIC + key + payload).digest()


class _File(NamedTuple):
    """A file of the folder; the oldest use sorts first."""

    last_use: float
    size: int
    path: str


class Entries:
    """The entries of one folder, which together take at most `max_bytes`."""

    __slots__ = ("_unseen_bytes", "folder", "max_bytes")

    def __init__(self, folder: str, max_bytes: int) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._unseen_bytes = max_bytes  # written since the last look at the folder; the first write looks at once

    def read(self, key: bytes) -> bytes | None:
        """Return the payload for a key, and note its use; None if there is no entry, or a damaged one."""
        path = self._path(key)
        try:
            with open(path, "rb", opener=_open_at_once) as file:
                status = os.fstat(file.fileno())
                is_read = stat.S_ISREG(status.st_mode) and status.st_size <= self.max_bytes  # a device has no end
                entry = file.read() if is_read else b""
        except OSError:
            return None
        try:
            payload = unpack(key, entry)
        except DamagedEntryError as damage:
            log.warning("The entry %s of the compilation cache is damaged: %s. It is removed.", path, damage)
            self.remove(key)
            return None
        with suppress(OSError):
            os.utime(path)
        return payload

    def write(self, key: bytes, payload: bytes) -> bool:
        """Store the payload for a key; tell whether the bound has room for it.

        Raises: OSError if the folder takes no file; then nothing is left behind.
        """
        entry = pack(key, payload)
        if len(entry) > self.max_bytes:
            return False
        self._make_room(len(entry))
        path = os.path.join(self.folder, key.hex()[:16] + os.urandom(8).hex() + _UNFINISHED)
        try:
            with open(path, "xb", opener=_open_private) as file:
                file.write(entry)
            os.replace(path, self._path(key))
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise
        return True

    def remove(self, key: bytes) -> None:
        """Remove the entry for a key, if there is one."""
        with suppress(OSError):
            os.unlink(self._path(key))

    def size(self) -> tuple[int, int]:
        """Return the number of entries and of their bytes."""
        sizes = [file.size for file in self._files(_SUFFIX)]
        return len(sizes), sum(sizes)

    def clear(self) -> None:
        """Remove all entries; other files of the folder stay."""
        _unlink_all(list(self._files(_SUFFIX)))

    def _make_room(self, size: int) -> None:
        """Remove the entries whose last use is longest ago, if those of the folder and `size` pass the bound."""
        self._unseen_bytes += size
        if self._unseen_bytes * _SWEEPS < self.max_bytes:
            return
        self._unseen_bytes = 0
        abandoned = time.time() - _ABANDONED_AFTER
        stale = [file for file in self._files(_UNFINISHED) if file.last_use < abandoned]
        entries = sorted(self._files(_SUFFIX))
        total = size + sum(file.size for file in entries)
        excess = total - self.max_bytes * _KEPT if total > self.max_bytes else 0
        for file in entries:
            if excess <= 0:
                break
            stale.append(file)
            excess -= file.size
        _unlink_all(stale)

    def _files(self, suffix: str) -> Iterator[_File]:
        with suppress(OSError), os.scandir(self.folder) as listing:
            for item in listing:
                if item.name.endswith(suffix):
                    with suppress(OSError):  # another process has removed it meanwhile
                        status = item.stat(follow_symlinks=False)
                        yield _File(status.st_mtime, status.st_size, item.path)

    def _path(self, key: bytes) -> str:
        return os.path.join(self.folder, key.hex() + _SUFFIX)


def _open_private(path: str, flags: int) -> int:
    """Open a new file that no other user can read."""
    return os.open(path, flags, 0o600)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, and no link; a pipe without a writer does not wait for one."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def _unlink_all(files: list[_File]) -> None:
    for file in files:
        with suppress(OSError):  # another process has removed it meanwhile
            os.unlink(file.path)
