"""Compiled programs on disk, so that a second process does not compile them again.

The cache is on by default, in the user's folder of caches; the environment variable `CALQUE_CACHE`, or `set_cache_dir`,
names another folder or turns it off.

Read next: `cache.py`.
"""

from calque_xla_backend.compilation_cache.cache import (
    CompilationCacheInfo,
    cache_info,
    check_settings,
    clear_cache,
    set_cache_dir,
)
from calque_xla_backend.compilation_cache.key import register_storable_target

__all__ = [
    "CompilationCacheInfo",
    "cache_info",
    "check_settings",
    "clear_cache",
    "register_storable_target",
    "set_cache_dir",
]
