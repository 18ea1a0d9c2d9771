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
# Values of jax, and calque's words for them: its own standard promotion is NumPy's, its None the highest precision.
_OUR_WORDS: dict[str, dict[Setting, Setting]] = {
    "numpy_dtype_promotion": {"standard": "by_kind"},
    "default_matmul_precision": {None: "default"},
}
# Settings that calque has one behaviour for: the value is kept, and changes nothing; `_STARTS` has the exceptions.
_UNUSED: dict[str, Setting] = {
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
KEPT = dict(_UNUSED)
_STARTS: dict[str, Callable[[Setting], None]] = {
    "jax_platforms": lambda names: core_config.platforms(*names.split(",")) if names else None,
    "jax_platform_name": lambda name: core_config.platforms(name) if name else None,
    "jax_num_cpu_devices": core_config.cpu_devices,
}
_DEFAULTS = {
    "enable_x64": False,
    "numpy_dtype_promotion": "by_kind",
    "default_matmul_precision": "default",
    "known_indices": "as_traced",
    "in_place_operators": "rebind",  # jax's arrays never change, so Python rebinds the name
    "unused_donations": "warn",
}
_ON, _OFF = ("1", "true", "t", "yes", "y", "on"), ("0", "false", "f", "no", "n", "off")
_before: dict[str, Setting] = {}  # calque's settings as they were before the first change here


class Config:
    """`jax.config`: the settings of jax as attributes, and `update`."""

    def update(self, name: str, value: Setting) -> None:
        """Change a setting for every thread.  Raises: AttributeError for an unknown name; ValueError for the value."""
        if name in OURS:
            _update(OURS[name], _in_our_words(OURS[name], value))
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
            value = _current(ours)
            return next((word for word, our in _OUR_WORDS.get(ours, {}).items() if our == value), value)
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


def set_defaults() -> None:
    """Set jax's defaults, then the settings in the environment, such as JAX_ENABLE_X64.

    Raises: ValueError for a text that is no value of a setting.
    """
    for name, value in _DEFAULTS.items():
        _update(name, value)
    for name in (*OURS, *KEPT):
        text = os.environ.get(name.upper())
        if text is not None:
            config.update(name, _value_of(name.upper(), text, getattr(config, name)))


def restore() -> None:
    """Set the values from before `set_defaults`."""
    for name, value in _before.items():
        core_config.update(name, value)
    _before.clear()
    KEPT.update(_UNUSED)


def _current(name: str) -> Setting:
    """Return the value of a setting of calque."""
    is_report = name in ("log_compiles", "in_place_operators", "unused_donations")
    return getattr(core_config.reports() if is_report else core_config.current(), name)


def _update(name: str, value: Setting) -> None:
    """Change a setting of calque for every thread, until `restore`."""
    before = _current(name)
    core_config.update(name, value)
    _before.setdefault(name, before)


def _value_of(variable: str, text: str, present: Setting) -> Setting:
    """Return the value that an environment variable has for a setting, by the class of its present value."""
    if isinstance(present, bool):
        if text.lower() not in _ON + _OFF:
            raise ValueError(f"the environment has {variable}={text!r}. Use one of {', '.join(_ON + _OFF)}.")
        return text.lower() in _ON
    return type(present)(text) if isinstance(present, (int, float)) else text


def _unknown(name: str) -> str:
    return f"jax.config has no setting {name!r} here. The settings are the attributes in dir(jax.config)."


def _in_our_words(setting: str, value: Setting) -> Setting:
    return _OUR_WORDS.get(setting, {}).get(value, value)


def numpy_dtype_promotion(value: str) -> core_config.scope:
    """Promote dtypes as jax does ("standard"), or refuse to ("strict"), for a `with` block.

    >>> from calque_as_jax.settings import config, numpy_dtype_promotion
    >>> with numpy_dtype_promotion("strict"):
    ...     config.jax_numpy_dtype_promotion
    'strict'
    """
    return core_config.numpy_dtype_promotion(_in_our_words("numpy_dtype_promotion", value))


def default_matmul_precision(value: str | None) -> core_config.scope:
    """Multiply in this precision for a `with` block; None is jax's default, the fastest.

    >>> from calque_as_jax.settings import config, default_matmul_precision
    >>> with default_matmul_precision("highest"):
    ...     config.jax_default_matmul_precision
    'highest'
    """
    return core_config.default_matmul_precision(_in_our_words("default_matmul_precision", value))


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

    def __init__(self, name: str, value: Setting = True) -> None:
        self.name, self.value = name, value

    def __enter__(self) -> None:
        self.before, KEPT[self.name] = KEPT[self.name], self.value

    def __exit__(self, *_: object) -> None:
        KEPT[self.name] = self.before


def debug_key_reuse(value: bool = True) -> Kept:
    """Return a block in which uses of keys are not followed.  Raises: NotImplementedError if they are to be."""
    if value:
        raise NotImplementedError("calque does not follow uses of keys. Use each key once, and debug_key_reuse(False).")
    return Kept("jax_debug_key_reuse", False)


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
