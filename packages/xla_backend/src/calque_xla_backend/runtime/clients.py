"""XLA's clients: each owns the devices of one platform.

One idea: a process has at most one client for each platform, which starts at the first need of its devices.  The host's
processor is a platform, and each plugin adds one.  In a process that was forked after that, clients would wait for ever
for threads of the parent, so every use raises.

Read next: `plugins.py`, which adds platforms; `runtime.py`, which compiles programs for devices.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from jaxlib import version as jaxlib_version
from jaxlib import xla_client as xc

from calque_core.engine import (
    fix_cpu_devices,
    fix_platforms,
    install_command,
    requested_cpu_devices,
    requested_platforms,
)
from calque_core.extend import where
from calque_xla_backend.runtime.distributed import cpu_client_options
from calque_xla_backend.runtime.flags import check_flags
from calque_xla_backend.runtime.plugins import start_plugin, usable_plugins

log = logging.getLogger("calque")

Client = Any  # jaxlib's Client
Device = Any  # jaxlib's Device
DeviceClass: type = xc.Device

CPU = "cpu"
GPUS = ("gpu", "cuda", "rocm")
_ALIASES: dict[str, tuple[str, ...]] = {"gpu": GPUS}  # JAX's name for both

_lock = threading.Lock()
_clients: dict[str, Client] = {}  # by platform
_default: list[str] = []  # the default platform, once it is chosen


def platforms() -> list[str]:
    """Return the platforms that this process may use.  Raises: RuntimeError for a request of an unknown one."""
    known = [*usable_plugins(), CPU]
    return [_canonical(name, known, lambda: "config.platforms got ") for name in requested_platforms()] or known


def default_platform() -> str:
    """Return the platform on which programs run by default: the first accelerator that starts, or else the processor.

    Raises: RuntimeError if the user asked for a platform that does not exist or cannot start.
    """
    if not _default:
        chosen = platforms()
        default = chosen[0] if requested_platforms() else _first_that_starts(chosen)
        fix_platforms(requested_platforms() or (default,))
        _default.append(default)
    return _default[0]


def _first_that_starts(names: list[str]) -> str:
    for name in names:
        try:
            return name if name == CPU or client(name) else CPU
        except RuntimeError as error:
            log.warning("%s Programs run on the host's processor.", error)
    return CPU


def client(platform: str | None = None) -> Client:
    """Return the client of a platform, by default of `default_platform()`, started at the first call.

    Raises: ValueError if XLA rejects the flags in the environment; RuntimeError if a plugin does not start.
    """
    name = default_platform() if platform is None else platform
    if name not in _clients:
        with _lock:
            if name not in _clients:
                check_flags()
                _clients[name] = _start_cpu() if name == CPU else start_plugin(usable_plugins()[name])
    return _clients[name]


def _start_cpu() -> Client:
    with _enough_threads(requested_cpu_devices() or 1):
        started: Any = xc.make_cpu_client(num_devices=requested_cpu_devices(), **cpu_client_options())
    fix_cpu_devices(started.local_device_count())
    return started


@contextmanager
def _enough_threads(devices: int) -> Iterator[None]:
    """Let XLA start threads for virtual devices that wait for one another, and threads that compute meanwhile.

    By default there is one thread for each device.  On a loaded machine, all may wait in a collective for a device that
    has no thread, and XLA ends the process.  XLA takes the number from the environment alone, at the start of a client;
    a number of the user's stays.
    """
    if devices == 1 or any(name in os.environ for name in _THREADS):
        yield
        return
    os.environ[_THREADS[0]] = str((os.cpu_count() or 1) + 2 * devices)
    try:
        yield
    finally:
        os.environ.pop(_THREADS[0], None)


_THREADS = ("PJRT_NPROC", "NPROC")  # the names that XLA reads, the first one first


def started_clients() -> list[Client]:
    """Return the clients that run."""
    return list(_clients.values())


# Devices


def local_devices(platform: str | None = None) -> list[Device]:
    """Return the devices of a platform in this process, by default of `default_platform()`."""
    return list(client(platform).local_devices())


def all_devices(platform: str | None = None) -> list[Device]:
    """Return the devices of a platform in all processes of the program, by default of `default_platform()`."""
    return list(client(platform).devices())


def devices_of(platform: str, caller: str) -> list[Device]:
    """Return the devices of a platform.

    Raises: RuntimeError, in the name of `caller`, if there is no such platform, or if it does not start.
    """
    return local_devices(_canonical(platform, platforms(), lambda: f"{caller}{where()} got backend="))


def _canonical(platform: str, known: list[str], request: Callable[[], str]) -> str:
    """Return the name of a platform, of which "gpu" may be another name.  Raises: RuntimeError with the request."""
    for name in [platform, *_ALIASES.get(platform, ())]:
        if name in known:
            return name
    hint = f" A GPU needs its plugin: {install_command('calque_xla_backend', 'cuda13')}." if platform in GPUS else ""
    raise RuntimeError(
        f"{request()}{platform!r}, but there is no such device. Use one of: {', '.join(sorted(known))}.{hint}"
    )


def platform_of(device: Device) -> str:
    """Return the platform of a device as lowering rules name it, "cuda" say, where jaxlib's devices say "gpu"."""
    (platform,) = [name for name, started in _clients.items() if device.client is started]
    return platform


def is_own(device: Device) -> bool:
    """Tell whether a device belongs to a client of calque's, and not to another library's."""
    return any(device.client is started for started in _clients.values())


def versions(platform: str) -> tuple[bytes, ...]:
    """Return the releases of jaxlib and of a platform, and the kind of its devices: they decide about XLA's code."""
    release, kind = client(platform).platform_version, local_devices(platform)[0].device_kind
    return tuple(name.encode() for name in (jaxlib_version.__version__, platform, release, kind))


# Forked processes


class ForkedClient:
    """A client in a process that was forked after it had started: a call would never end, so each access raises."""

    def __getattr__(self, name: str) -> Any:
        refuse_forked()


def refuse_forked(*_: Any) -> NoReturn:
    """Raise the error about a forked process."""
    raise RuntimeError(
        f"XLA cannot run{where()} in the process {os.getpid()}, which was forked after XLA had started: its threads "
        "are in the parent alone, and a call would never end. Start processes with "
        "multiprocessing.get_context('spawn'), or fork before the first use of jit and of device arrays. Operations on "
        "NumPy arrays work here."
    )


def give_up_clients() -> list[Client]:
    """Let every use of a client in this forked process raise; return the parent's clients, which nobody may free."""
    global _lock
    _lock, parents = threading.Lock(), started_clients()
    _clients.update((name, ForkedClient()) for name in list(_clients))
    return parents
