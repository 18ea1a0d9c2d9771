"""The folder of the compilation cache: which one, and whether this process may trust it.

One idea: an executable is machine code, and to load it is to run it.  So programs are loaded from a folder that this
user owns and that nobody else can write to or replace; for any other folder there is a reason and no cache.

Read next: `entries.py`, the files of the folder.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from typing import NamedTuple

VARIABLE = "CALQUE_CACHE"
_SPARE_BYTES = 2**20  # below this a disk counts as full
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Choice(NamedTuple):
    """A folder, or None and the reason, with its level in the log: DEBUG if the user has turned the cache off."""

    folder: str | None
    reason: str = ""
    level: int = logging.DEBUG


def choose_folder() -> Choice:
    """Return the folder that the environment names: in CALQUE_CACHE, else in the user's folder of caches."""
    setting = os.environ.get(VARIABLE, "").strip()
    if setting.lower() == "off":
        return Choice(None, f"{VARIABLE} is off")
    if not setting:
        return _default_folder()
    folder = os.path.expanduser(setting)
    if not os.path.isabs(folder):
        return Choice(None, f"{VARIABLE} is {setting!r}; use 'off' or an absolute path", logging.WARNING)
    return Choice(os.path.normpath(folder))


def _default_folder() -> Choice:
    """Return the folder by the conventions of the operating system."""
    variable, *parts = _convention(sys.platform)
    caches = os.environ.get(variable, "")
    if not os.path.isabs(caches):
        return Choice(None, f"{variable} is not an absolute path, so there is no folder of caches", logging.INFO)
    return Choice(os.path.join(caches, *parts))


def _convention(platform: str) -> tuple[str, ...]:
    """Return the variable that names the folder of caches or of the user, and the folders beneath it."""
    if platform == "win32":
        return ("LOCALAPPDATA", "calque", "cache")
    if os.path.isabs(os.environ.get("XDG_CACHE_HOME", "")):
        return ("XDG_CACHE_HOME", "calque")
    if platform == "darwin":
        return ("HOME", "Library", "Caches", "calque")
    return ("HOME", ".cache", "calque")


def refusal(folder: str) -> str:
    """Return why programs must not be loaded from a folder, or an empty text.

    A folder that does not exist is judged by the folders around it.
    On Windows the folder of a user's caches is closed to other users by other means, which are not checked.
    """
    try:
        real = os.path.realpath(folder)
        if os.path.exists(real) and (reason := _reason_against(folder, os.stat(real))):
            return reason
        for parent in dict.fromkeys([*_parents(real), *_parents(os.path.abspath(folder))]):
            if sys.platform != "win32" and os.path.exists(parent) and (around := _reason_around(os.stat(parent))):
                return f"{around[0]} may replace {folder}, because {around[1].format(parent)}"
    except OSError as error:
        return str(error)
    return ""


def _reason_against(folder: str, status: os.stat_result) -> str:
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder"
    if sys.platform == "win32":
        return ""
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to another user (number {status.st_uid})"
    if status.st_mode & stat.S_ISVTX:
        return f"{folder} is shared by all users"
    if status.st_mode & _OTHERS_WRITE:
        return f"other users may write to {folder} (mode {stat.S_IMODE(status.st_mode):o}); `chmod 700` closes it"
    return ""


def _parents(folder: str) -> list[str]:
    """Return the folders around a folder, the innermost first."""
    parents = []
    while (parent := os.path.dirname(folder)) != folder:
        parents.append(parent)
        folder = parent
    return parents


def _reason_around(status: os.stat_result) -> tuple[str, str] | None:
    """Return who may rename the entries of a folder beside this user and root, and why, with a place for its name.

    Under the sticky bit users rename only their own entries, but the owner of the folder renames all.
    """
    if status.st_uid not in (0, os.geteuid()):
        return "another user", f"{{}} belongs to the user of number {status.st_uid}"
    if status.st_mode & stat.S_ISVTX:
        return None
    if status.st_mode & stat.S_IWOTH:
        return "every user", "every user may write to {}"
    if status.st_mode & stat.S_IWGRP:
        return "other users", "the group of {} may write to it; `chmod g-w` closes it"
    return None


def obstacle(folder: str) -> str:
    """Return why files cannot be written to a folder, which may not exist yet; an empty text if they can."""
    existing = next((path for path in (folder, *_parents(folder)) if os.path.exists(path)), os.sep)
    if not os.path.isdir(existing):
        return f"{folder} cannot be made, because {existing} is not a folder"
    if not os.access(existing, os.W_OK | os.X_OK):
        return f"files cannot be written to {existing}"
    if sys.platform != "win32":
        disk = os.statvfs(existing)
        if disk.f_bavail * disk.f_frsize < _SPARE_BYTES:
            return f"the disk of {existing} is full"
    return ""


def create(folder: str) -> None:
    """Make a folder for this user alone, and the folders around it.

    Raises: OSError if that fails; FileExistsError if something else has the name.
    """
    os.makedirs(os.path.dirname(folder) or os.curdir, exist_ok=True)
    if not os.path.isdir(folder):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):  # another process has made it meanwhile
                raise
