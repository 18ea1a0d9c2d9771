"""The values that settings may have, the errors about other values, and the blocks that hold a value.

Read next: `config.py`, the public functions; `context.py`, where settings are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from calque_core.backends import check_default_device
from calque_core.context import DEFAULT_SETTINGS, Reports, Settings, entered, mesh_classes
from calque_core.errors import similar_name
from calque_core.frames.names import named_after
from calque_core.frames.source import mark_wrapper, where

_F = TypeVar("_F", bound=Callable[..., Any])

_WORDS: dict[str, tuple[str | None, ...]] = {
    "default_matmul_precision": (
        "default",
        "high",
        "highest",
        "fastest",
        "bfloat16",
        "bfloat16_3x",
        "tensorfloat32",
        "float32",
        None,
    ),
    "known_indices": ("checked", "as_traced"),
    "numpy_dtype_promotion": ("standard", "by_kind", "strict"),
    "default_prng_impl": ("threefry2x32", "rbg", "unsafe_rbg"),
    "numpy_rank_promotion": ("allow", "warn", "raise"),
}

_REPORT_WORDS = {
    "traceback_filtering": ("remove_frames", "off"),
    "in_place_operators": ("refuse", "rebind"),
    "unused_donations": ("ignore", "warn"),
}


def _check_word(name: str, value: Any, words: Sequence[str | None]) -> None:
    if value not in words:
        *others, last = map(repr, words)
        raise ValueError(f"{name} was set to {value!r}. Use {', '.join(others)} or {last}.")


def _check_mesh(value: Any) -> None:
    if value is not None and type(value) not in mesh_classes:
        raise ValueError(f"mesh was set to {value!r}. Use a Mesh, an AbstractMesh or None.")


_CHECKS = {"default_device": check_default_device, "mesh": _check_mesh}


def with_setting(settings: Settings, name: str, value: Any) -> Settings:
    """Return settings with one of them changed.

    Raises: AttributeError if there is no setting of that name; ValueError if the value does not fit it.
    """
    if name not in Settings._fields:
        names = (*Settings._fields, *Reports._fields)
        similar = similar_name(name.removeprefix("jax_"), names)
        advice = f"Did you mean {similar!r}?" if similar else f"The settings are: {', '.join(names)}."
        raise AttributeError(f"there is no setting named {name!r}. {advice}")
    if name == "default_dtype_bits":
        if isinstance(value, bool) or value not in (32, 64):
            raise ValueError(f"default_dtype_bits was set to {value!r}. Use 32 or 64.")
        if value == 64 and not settings.enable_x64:
            raise ValueError("default_dtype_bits was set to 64 while enable_x64 is off. Turn enable_x64 on first.")
    elif name in _WORDS:
        _check_word(name, value, _WORDS[name])
    elif name in _CHECKS:
        _CHECKS[name](value)
    elif not isinstance(value, bool):
        raise ValueError(f"{name} was set to {value!r}. Use True or False.")
    if name == "enable_x64" and value != settings.enable_x64:
        settings = settings._replace(default_dtype_bits=64 if value else 32)
    settings = settings._replace(**{name: value})
    return DEFAULT_SETTINGS if settings == DEFAULT_SETTINGS else settings


def with_report(reports: Reports, name: str, value: Any) -> Reports:
    """Return report settings with one of them changed.  Raises: ValueError if the value does not fit it."""
    if name == "log_compiles" and not isinstance(value, bool):
        raise ValueError(f"log_compiles was set to {value!r}. Use True or False.")
    if name in _REPORT_WORDS:
        _check_word(name, value, _REPORT_WORDS[name])
    is_size = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if name == "captured_constants_bytes" and not (value is None or is_size):
        raise ValueError(f"captured_constants_bytes was set to {value!r}. Use a number of bytes, or None.")
    return reports._replace(**{name: value})


class Held(entered):
    """A block for one setting, or a decorator for a function: each call then runs in a block of its own."""

    __slots__ = ("name", "value")

    name: str
    value: Any

    def __call__(self, fun: _F) -> _F:
        if not callable(fun):
            raise TypeError(f"{self.name}{where()} got {fun!r} to decorate. Give a function, or use it in a `with`.")
        block, name, value = type(self), self.name, self.value

        @mark_wrapper
        @named_after(fun)
        def held(*args: Any, **kwargs: Any) -> Any:
            with block(name, value):  # type: ignore[call-arg]  # the classes below
                return fun(*args, **kwargs)

        return held  # type: ignore[return-value]
