"""`jax.monitoring` and `jax.profiler`: listeners hear the events that a program records, annotations take a name.

One idea: calque records no events of jax's, so a listener hears those of libraries alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any

from calque_xla_backend import TraceAnnotation, profile

__all__ = [
    "StepTraceAnnotation", "annotate_function", "clear_event_listeners", "record_event", "record_event_duration_secs",
    "record_event_time_span", "record_scalar", "register_event_duration_secs_listener", "register_event_listener",
    "register_event_time_span_listener", "register_scalar_listener", "start_trace", "stop_trace", "trace",
    "unregister_event_duration_listener", "unregister_event_listener", "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]  # fmt: skip

Listener = Callable[..., Any]

# Profiles


def trace(log_dir: str, *_: Any, **__: Any) -> AbstractContextManager[Any]:
    """Profile a `with` block into the file `trace.json` of a folder, which is made where it is absent."""
    folder = Path(log_dir)
    folder.mkdir(parents=True, exist_ok=True)
    return profile(folder / "trace.json")


_traces: list[AbstractContextManager[Any]] = []


def start_trace(log_dir: str, *_: Any, **__: Any) -> None:
    """Start a profile, which `stop_trace` writes into a file.  Raises: RuntimeError if one has been started already."""
    if _traces:
        raise RuntimeError(f"start_trace got {log_dir!r} while a profile is running. Call stop_trace first.")
    started = trace(log_dir)
    started.__enter__()
    _traces.append(started)


def stop_trace() -> None:
    """Stop a profile and write it.  Raises: RuntimeError if none has been started."""
    if not _traces:
        raise RuntimeError("stop_trace was called while no profile is running. Call start_trace first.")
    _traces.pop().__exit__(None, None, None)


def annotate_function(function: Callable[..., Any], name: str | None = None, **_: Any) -> Callable[..., Any]:
    """Return `function`, whose calls have a name in a profile."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(name or function.__name__):
            return function(*args, **kwargs)

    return call


class StepTraceAnnotation(TraceAnnotation):
    """A `with` block that has a name in a profile; the number of the step is left out."""


# Events


class Events:
    """The listeners of one kind of events."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    def register(self, listener: Listener) -> None:
        """Let a listener hear each event."""
        self.listeners.append(listener)

    def unregister(self, listener: Listener) -> None:
        """Let a listener hear no more events.  Raises: ValueError for one that is not registered."""
        self.listeners.remove(listener)

    def record(self, event: str, *values: float, **details: Any) -> None:
        """Tell all listeners about an event."""
        for listener in list(self.listeners):
            listener(event, *values, **details)


_events, _durations, _spans, _scalars = KINDS = Events(), Events(), Events(), Events()
record_event, register_event_listener = _events.record, _events.register
record_event_duration_secs, register_event_duration_secs_listener = _durations.record, _durations.register
record_event_time_span, register_event_time_span_listener = _spans.record, _spans.register
record_scalar, register_scalar_listener = _scalars.record, _scalars.register
unregister_event_listener, unregister_event_duration_listener = _events.unregister, _durations.unregister
unregister_event_time_span_listener, unregister_scalar_listener = _spans.unregister, _scalars.unregister


def clear_event_listeners() -> None:
    """Forget all listeners."""
    for kind in KINDS:
        kind.listeners.clear()
