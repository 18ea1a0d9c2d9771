"""XLA's clients: each owns the devices of one platform.

One idea: a process has at most one client for each platform, which starts at the first need of its devices.  In a
process that was forked after that, clients would wait for ever for threads of the parent, so every use raises.

Read next: `runtime.py`, which puts arrays on devices and compiles programs for them.
"""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn

from jaxlib import version as jaxlib_version
from jaxlib import xla_client as xc

from calque_core.extend import fix_cpu_devices, requested_cpu_devices, where
from calque_xla_backend.runtime.flags import check_flags

Client = Any  # jaxlib's Client
Device = Any  # jaxlib's Device
DeviceClass: type = xc.Device

_lock = threading.Lock()
_clients: dict[str, Client] = {}  # by platform


def default_platform() -> str:
    """Return the platform on which programs run by default; no client starts."""
    return "cpu"


def client(platform: str | None = None) -> Client:
    """Return the client of a platform, by default of `default_platform()`, started at the first call.

    Raises: ValueError if XLA rejects the flags in the environment; KeyError for a platform without a client.
    """
    name = default_platform() if platform is None else platform
    if name not in _clients:
        with _lock:
            if name not in _clients:
                check_flags()
                _clients[name] = _STARTS[name]()
    return _clients[name]


def _start_cpu() -> Client:
    started: Any = xc.make_cpu_client(num_devices=requested_cpu_devices())
    fix_cpu_devices(started.local_device_count())
    return started


_STARTS = {"cpu": _start_cpu}


def started_clients() -> list[Client]:
    """Return the clients that run."""
    return list(_clients.values())


# Devices


def local_devices(platform: str | None = None) -> list[Device]:
    """Return the devices of a platform in this process, by default of `default_platform()`."""
    return list(client(platform).local_devices())


def devices_of(platform: str, caller: str) -> list[Device]:
    """Return the devices of a platform.  Raises: ValueError, in the name of `caller`, if there are none."""
    if platform not in _STARTS:
        raise ValueError(
            f"{caller}{where()} got backend={platform!r}, but there is no such device. Use one of: "
            f"{', '.join(sorted(_STARTS))}. calque runs on the host's processor only for now."
        )
    return local_devices(platform)


def platform_of(device: Device) -> str:
    """Return the platform of a device as lowering rules name it: "cuda", of which jaxlib's devices say "gpu"."""
    platform: str = device.client._raw_platform
    return platform


def is_own(device: Device) -> bool:
    """Tell whether a device belongs to a client of calque's, and not to another library's."""
    return any(device in started.local_devices() for started in (client(), *started_clients()))


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
