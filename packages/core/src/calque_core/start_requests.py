"""Requests for the start of a backend: its platforms, its devices on the host's processor, memory of accelerators.

One idea: a backend reads a request once, when it starts, and notes the values with which it started; a later request
for other values is refused, because the backend cannot apply it.

Read next: `config.py`, where users find the functions that ask; `backends.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Generic, TypeVar

from calque_core.record import Record

T = TypeVar("T")

ALLOCATORS = ("default", "platform", "bfc", "cuda_async", "vmm")


class Request(Generic[T]):
    """The request of the user, by the function `caller`, and the value with which a backend has started."""

    __slots__ = ("caller", "requested", "show", "started")

    def __init__(self, caller: str, show: Callable[[T], str]) -> None:
        self.caller, self.show = caller, show
        self.requested: T | None = None
        self.started: T | None = None

    def ask(self, value: T) -> None:
        """Ask for a value.  Raises: RuntimeError if a backend has started with another one."""
        if self.started not in (None, value):
            shown = value if isinstance(value, int) else self.show(value)
            raise RuntimeError(
                f"{self.caller} got {shown}, but a backend has already started with {self.show(self.started)}, for "
                f"the life of the process. Call {self.caller} before the first use of jit, of device_put and of "
                "devices."
            )
        self.requested = value


class DeviceMemory(Record):
    """How an accelerator's memory is reserved; None leaves the choice to the platform."""

    preallocate: bool | None = None
    fraction: float | None = None
    allocator: str | None = None

    def __repr__(self) -> str:
        chosen = [f"{name}={value!r}" for name, value in self._asdict().items() if value is not None]
        return ", ".join(chosen) or "the platform's own choice"


_cpu: Request[int] = Request("cpu_devices", lambda count: f"{count} device{'s' * (count != 1)}")
_platforms: Request[tuple[str, ...]] = Request("platforms", lambda names: " and ".join(map(repr, names)))
_memory: Request[DeviceMemory] = Request("device_memory", repr)


# The number of devices on the host's processor


def cpu_devices(count: int) -> None:
    """Let the backend offer `count` devices on the host's processor, for the life of the process.

    Call it before the first use of `jit`, of `device_put` and of `devices`.  It serves to test programs of several
    devices on one machine.
    Raises: ValueError if `count` is not a positive integer; RuntimeError if a backend has started with another number.

    >>> from calque_core.config import cpu_devices
    >>> cpu_devices(0)
    Traceback (most recent call last):
    ValueError: cpu_devices got 0. Use an integer of at least 1.
    """
    if not _is_positive(count):
        raise ValueError(f"cpu_devices got {count!r}. Use an integer of at least 1.")
    _cpu.ask(index(count))


def _is_positive(count: Any) -> bool:
    try:
        return not isinstance(count, bool) and index(count) >= 1
    except TypeError:
        return False


def requested_cpu_devices() -> int | None:
    """Return the number of devices that a backend shall offer on the host's processor; None if the user said nothing.

    >>> from calque_core.engine import requested_cpu_devices
    >>> requested_cpu_devices() is None
    True
    """
    return _cpu.requested


def fix_cpu_devices(count: int) -> None:
    """Record that a backend started with `count` devices: from now on `config.cpu_devices` refuses another number."""
    _cpu.started = count


# Platforms


def platforms(*names: str) -> None:
    """Let the backend use these platforms alone, the first of them by default, for the life of the process.

    Without this call the default is the first accelerator that starts, or else "cpu", and an accelerator that cannot
    start is a line of the log.  A platform that is named here must start.  Call it before the first use of `jit`, of
    `device_put` and of `devices`.
    Raises: TypeError if a name is no string; ValueError without names; RuntimeError if a backend has started on other
    platforms.  The first use raises RuntimeError, with the cause, if a platform cannot start.

    >>> from calque_core.config import platforms
    >>> platforms()
    Traceback (most recent call last):
    ValueError: platforms got no name. Name at least one platform, such as platforms('cpu').
    """
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"platforms got {name!r}. Use names of platforms, such as platforms('cuda', 'cpu').")
    if not names:
        raise ValueError("platforms got no name. Name at least one platform, such as platforms('cpu').")
    _platforms.ask(names)


def requested_platforms() -> tuple[str, ...]:
    """Return the platforms that a backend may use, its default first; () if the user said nothing.

    >>> from calque_core.engine import requested_platforms
    >>> requested_platforms()
    ()
    """
    return _platforms.requested or ()


def fix_platforms(names: tuple[str, ...]) -> None:
    """Record that a backend has started on these platforms: from now on `config.platforms` refuses other ones."""
    _platforms.started = names


# Memory


def device_memory(
    *, preallocate: bool | None = None, fraction: float | None = None, allocator: str | None = None
) -> None:
    """Choose how a GPU reserves its memory, for the life of the process; None leaves the choice to the platform.

    With `preallocate`, the backend takes the `fraction` of the memory at its start; otherwise it takes memory as it
    needs it, up to that fraction.  `allocator` is "default", "platform" (slow: frees at once), "bfc", "cuda_async" or
    "vmm".  Call it before the first use of `jit`, of `device_put` and of `devices`.
    Raises: ValueError for other values; RuntimeError if a GPU has started otherwise.

    >>> from calque_core.config import device_memory
    >>> device_memory(fraction=1.5)
    Traceback (most recent call last):
    ValueError: device_memory got fraction=1.5. Use a number above 0, and 1 at most.
    """
    if not (preallocate is None or isinstance(preallocate, bool)):
        raise ValueError(f"device_memory got preallocate={preallocate!r}. Use True or False.")
    if fraction is not None and not (isinstance(fraction, (int, float)) and 0 < fraction <= 1):
        raise ValueError(f"device_memory got fraction={fraction!r}. Use a number above 0, and 1 at most.")
    if allocator not in (None, *ALLOCATORS):
        raise ValueError(f"device_memory got allocator={allocator!r}. Use one of: {', '.join(ALLOCATORS)}.")
    _memory.ask(DeviceMemory(preallocate, fraction, allocator))


def requested_device_memory() -> DeviceMemory:
    """Return how an accelerator shall reserve its memory.

    >>> from calque_core.engine import requested_device_memory
    >>> requested_device_memory()
    the platform's own choice
    """
    return _memory.requested or DeviceMemory()


def fix_device_memory(memory: DeviceMemory) -> None:
    """Record that an accelerator has reserved its memory: from now on `config.device_memory` refuses another way."""
    _memory.started = memory
