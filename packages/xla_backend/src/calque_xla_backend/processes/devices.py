"""This process among the processes of the program, and its devices.

Read next: `calque_xla_backend/distributed.py`, which connects processes.
"""

from __future__ import annotations

from calque_xla_backend.runtime import clients
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.distributed import current_group


def process_index() -> int:
    """Return the number of this process, `process_id` of `distributed.initialize`; 0 without a call of that.

    >>> from calque_xla_backend import process_index
    >>> process_index()
    0
    """
    group = current_group()
    return 0 if group is None else group.process_id


def process_count() -> int:
    """Return the number of processes that run the program together.

    >>> from calque_xla_backend import process_count
    >>> process_count()
    1
    """
    group = current_group()
    return 1 if group is None else group.num_processes


def local_devices(backend: str | None = None) -> list[Device]:
    """Return the devices of this process: of the default platform, or of the platform `backend`.

    Raises: RuntimeError that lists the available platforms, if `backend` is not one of them.

    >>> from calque_xla_backend import local_devices
    >>> [device.process_index for device in local_devices()]
    [0]
    """
    return clients.local_devices() if backend is None else clients.devices_of(backend, "local_devices")


def local_device_count() -> int:
    """Return the number of devices of the default platform in this process.

    >>> from calque_xla_backend import local_device_count
    >>> local_device_count()
    1
    """
    return len(clients.local_devices())
