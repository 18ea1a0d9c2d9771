"""jax's settings, under its names: `jax.config`.

One idea: a setting of jax is one of calque's, or a value that is kept and read back, since calque has one behaviour
there.  The defaults are those of jax, for the whole process.

Read next: `calque_core.config`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from calque_core import config as core_config

Setting = Any

# Settings of jax that calque has: their names here.
OURS = {
    "jax_enable_x64": "enable_x64",
    "jax_debug_nans": "debug_nans",
    "jax_debug_infs": "debug_infs",
    "jax_disable_jit": "disable_jit",
    "jax_enable_checks": "enable_checks",
    "jax_check_tracer_leaks": "checking_leaks",
    "jax_log_compiles": "log_compiles",
    "jax_default_device": "default_device",
    "jax_default_matmul_precision": "default_matmul_precision",
    "jax_default_prng_impl": "default_prng_impl",
    "jax_numpy_dtype_promotion": "numpy_dtype_promotion",
    "jax_numpy_rank_promotion": "numpy_rank_promotion",
}
_STANDARD = "by_kind"  # calque's word for jax's promotion, which is NumPy's for calque
# Settings that calque has one behaviour for: the value is kept, and changes nothing.
KEPT: dict[str, Setting] = {
    "jax_threefry_partitionable": True,
    "jax_enable_custom_prng": False,
    "jax_transfer_guard": None,
    "jax_traceback_filtering": None,
    "jax_debug_key_reuse": False,
    "jax_compilation_cache_dir": None,
    "jax_persistent_cache_min_compile_time_secs": 1.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_enable_compilation_cache": True,
    "jax_explain_cache_misses": False,
    "jax_include_full_tracebacks_in_locations": True,
    "jax_softmax_custom_jvp": True,
    "jax_array": True,
    "jax_cpu_enable_async_dispatch": True,
    "jax_pgle_profiling_runs": 0,
    "jax_platform_name": "",
    "jax_platforms": None,
    "jax_num_cpu_devices": -1,
    "jax_legacy_prng_key": "allow",
    "jax_raise_persistent_cache_errors": False,
    "jax_allow_f16_reductions": False,
    "jax_dynamic_shapes": False,
    "jax_logging_level": "NOTSET",
    "jax_remove_size_one_mesh_axis_from_type": False,
    "jax_use_shardy_partitioner": True,
}
_STARTS: dict[str, Callable[[Setting], None]] = {
    "jax_platforms": lambda names: core_config.platforms(*names.split(",")) if names else None,
    "jax_platform_name": lambda name: core_config.platforms(name) if name else None,
    "jax_num_cpu_devices": core_config.cpu_devices,
}
_before: dict[str, Setting] = {}


class Config:
    """`jax.config`: the settings of jax as attributes, and `update`."""

    def update(self, name: str, value: Setting) -> None:
        """Change a setting for every thread.  Raises: AttributeError for an unknown name; ValueError for the value."""
        if name in OURS:
            core_config.update(OURS[name], _STANDARD if value == "standard" else value)
        elif name in KEPT:
            if name in _STARTS and value != KEPT[name]:
                _STARTS[name](value)
            KEPT[name] = value
        else:
            raise AttributeError(_unknown(name), name=name)

    def read(self, name: str) -> Setting:
        """Return the value of a setting."""
        return getattr(self, name)

    def __getattr__(self, name: str) -> Setting:
        if name in OURS:
            ours = OURS[name]
            owner = core_config.reports() if ours == "log_compiles" else core_config.current()
            value = getattr(owner, ours)
            return "standard" if value == _STANDARD else value
        if name in KEPT:
            return KEPT[name]
        raise AttributeError(_unknown(name), name=name)

    def __dir__(self) -> list[str]:
        return [*OURS, *KEPT, *super().__dir__()]

    @property
    def x64_enabled(self) -> bool:
        """Whether 64 bits are kept."""
        return core_config.current().enable_x64

    @property
    def values(self) -> dict[str, Setting]:
        """All settings."""
        return {name: getattr(self, name) for name in (*OURS, *KEPT)}

    def parse_flags_with_absl(self) -> None:
        """Do nothing: flags of a command line are not read."""


config = Config()

_DEFAULTS = (
    ("enable_x64", core_config.current, False),
    ("numpy_dtype_promotion", core_config.current, _STANDARD),
    ("known_indices", core_config.current, "as_traced"),
    ("in_place_operators", core_config.reports, "rebind"),  # jax's arrays never change, so Python rebinds the name
    ("list_indices", core_config.reports, "refuse"),
    ("unused_donations", core_config.reports, "warn"),
)


def set_defaults() -> None:
    """Set jax's defaults, and what the variables JAX_ENABLE_X64, JAX_DISABLE_JIT and their like say."""
    for setting, owner, value in _DEFAULTS:
        _before[setting] = getattr(owner(), setting)
        core_config.update(setting, value)
    for name in OURS:
        text = os.environ.get(name.upper())
        if text is not None and text.lower() in _SWITCHES:
            config.update(name, _SWITCHES[text.lower()])


def restore() -> None:
    """Set what held before `set_defaults`."""
    for name, value in _before.items():
        core_config.update(name, value)
    _before.clear()


_SWITCHES = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}


def _unknown(name: str) -> str:
    return f"jax.config has no setting {name!r} here. The settings are the attributes in dir(jax.config)."


def numpy_dtype_promotion(value: str) -> core_config.scope:
    """Promote dtypes as jax does ("standard"), or refuse to ("strict"), for a `with` block.

    >>> from calque_as_jax.settings import config, numpy_dtype_promotion
    >>> with numpy_dtype_promotion("strict"):
    ...     config.jax_numpy_dtype_promotion
    'strict'
    """
    return core_config.numpy_dtype_promotion(_STANDARD if value == "standard" else value)


def enable_x64(value: bool = True, /, **_: Any) -> core_config.scope:
    """Keep 64 bits, or not, for a `with` block: `jax.experimental.enable_x64()`, `jax.enable_x64(True)`.

    >>> from calque_as_jax.settings import config, enable_x64
    >>> with enable_x64():
    ...     config.jax_enable_x64
    True
    """
    return core_config.enable_x64(value)


def disable_x64() -> core_config.scope:
    """Convert to 32 bits for a `with` block.

    >>> from calque_as_jax.settings import config, disable_x64
    >>> with disable_x64():
    ...     config.jax_enable_x64
    False
    """
    return core_config.enable_x64(False)


class Kept:
    """A setting that changes nothing, for a `with` block: `jax.threefry_partitionable(True)` and its like.

    >>> from calque_as_jax.settings import Kept, config
    >>> with Kept("jax_threefry_partitionable", False):
    ...     config.jax_threefry_partitionable
    False
    """

    def __init__(self, name: str, value: Setting) -> None:
        self.name, self.value = name, value

    def __enter__(self) -> None:
        self.before, KEPT[self.name] = KEPT[self.name], self.value

    def __exit__(self, *_: object) -> None:
        KEPT[self.name] = self.before


allow_f16_reductions = partial(Kept, "jax_allow_f16_reductions")
enable_custom_prng = partial(Kept, "jax_enable_custom_prng")
explain_cache_misses = partial(Kept, "jax_explain_cache_misses")
legacy_prng_key = partial(Kept, "jax_legacy_prng_key")
softmax_custom_jvp = partial(Kept, "jax_softmax_custom_jvp")
threefry_partitionable = partial(Kept, "jax_threefry_partitionable")


def disable_jit(disable: bool = True) -> core_config.scope:
    """Run jitted functions operation by operation for a `with` block.

    >>> from calque_as_jax.settings import config, disable_jit
    >>> with disable_jit(disable=True):
    ...     config.jax_disable_jit
    True
    """
    return core_config.disable_jit(disable)
