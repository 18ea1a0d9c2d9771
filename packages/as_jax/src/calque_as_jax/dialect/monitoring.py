"""`jax.monitoring` and `jax.profiler`: listeners are kept and never called, annotations take a name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from calque_xla_backend import TraceAnnotation, profile

__all__ = [
    "StepTraceAnnotation", "annotate_function", "clear_event_listeners", "record_event", "record_event_duration_secs",
    "register_event_duration_secs_listener", "register_event_listener", "trace",
]  # fmt: skip

_listeners: list[Any] = []


def trace(log_dir: str, *_: Any, **__: Any) -> AbstractContextManager[Any]:
    """Profile a `with` block into a file."""
    return profile(log_dir)


def annotate_function(function: Callable[..., Any], name: str | None = None, **_: Any) -> Callable[..., Any]:
    """Return `function`, whose calls have a name in a profile."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(name or function.__name__):
            return function(*args, **kwargs)

    return call


class StepTraceAnnotation(TraceAnnotation):
    """A `with` block that has a name in a profile; the number of the step is left out."""


def register_event_listener(listener: Any) -> None:
    """Keep a listener; calque records no events of jax's."""
    _listeners.append(listener)


register_event_duration_secs_listener = register_event_listener


def clear_event_listeners() -> None:
    """Forget all listeners."""
    _listeners.clear()


def record_event(event: str, **_: Any) -> None:
    """Do nothing."""


def record_event_duration_secs(event: str, duration: float, **_: Any) -> None:
    """Do nothing."""
