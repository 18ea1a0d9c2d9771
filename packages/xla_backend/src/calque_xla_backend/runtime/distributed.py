"""jaxlib's distributed runtime: the service of process 0, and each process's connection to it.

One idea: a `Group` holds the knowledge of this process about its peers.  Process 0 keeps a store of keys and values,
which all processes read and write; the CPU client is started with the group, and then sees the devices of all.
The service is told that processes are recoverable: otherwise jaxlib ends all of them from C++ when one is lost, before
Python can say why.

Read next: `processes/watch.py`, which notices lost processes; `clients.py`, which starts clients with the group.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jaxlib import _jax  # type: ignore[attr-defined]
from jaxlib import utils as jaxlib_utils  # type: ignore[attr-defined]
from jaxlib import version as jaxlib_version
from jaxlib import xla_client as xc

JAXLIB_VERSION: str = jaxlib_version.__version__
_MOMENT = 0.2  # seconds: one wait in C++, during which Python handles no signal


@dataclass(frozen=True, slots=True)
class Group:
    """The processes of a program, and the connection of this one to the coordinator."""

    process_id: int
    num_processes: int
    hostname: str  # where the other machines reach this one
    client: Any
    service: Any | None  # of process 0
    rounds: itertools.count[int] = field(default_factory=itertools.count)  # of exchanges, the same in all processes

    # Keys and values

    def write(self, key: str, value: bytes) -> bool:
        """Store a value; return False if the key has one already."""
        try:
            self.client.key_value_set_bytes(key, value)
        except xc.XlaRuntimeError as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            return False
        return True

    def read(self, key: str, seconds: float = _MOMENT) -> bytes | None:
        """Return the value of a key; wait some time for it, then return None."""
        try:
            return bytes(self.client.blocking_key_value_get_bytes(key, int(1000 * seconds)))
        except xc.XlaRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            return None

    def increment(self, key: str) -> int:
        """Add 1 to the number at a key, at first 0; return the sum."""
        return int(self.client.key_value_increment(key, 1))

    def items(self, folder: str) -> list[tuple[str, bytes]]:
        """Return the keys that begin with `folder` and a slash, in order, with their values."""
        return sorted((key, bytes(value)) for key, value in self.client.key_value_dir_get_bytes(folder + "/"))

    def delete(self, key: str) -> None:
        """Delete a key, and all keys that begin with it and a slash."""
        self.client.key_value_delete(key)

    # The end

    def leave(self) -> None:
        """End the connection of this process, except for keys and values; without a coordinator it has ended."""
        with contextlib.suppress(xc.XlaRuntimeError):
            self.client.shutdown()

    def stop_service(self) -> None:
        """End the service of process 0.  jaxlib ends each process from C++ that is still connected."""
        if self.service is not None:
            self.service.shutdown()


def start_service(address: str, num_processes: int, heartbeat_timeout: int, timeout: int) -> Any:
    """Start the service of process 0 at an address."""
    options = {"heartbeat_timeout": heartbeat_timeout, "cluster_register_timeout": timeout}
    with _errors_only():  # no warning about `recoverable`
        return _jax.get_distributed_runtime_service(address, num_processes, recoverable=True, **options)


@contextlib.contextmanager
def _errors_only() -> Iterator[None]:
    """Let C++ log no warnings for a moment, unless the user has chosen the level."""
    is_ours = "TF_CPP_MIN_LOG_LEVEL" not in os.environ
    if is_ours:
        jaxlib_utils.absl_set_min_log_level(2)
    try:
        yield
    finally:
        if is_ours:
            jaxlib_utils.absl_set_min_log_level(1)


def connect(address: str, process_id: int, heartbeat_timeout: int, timeout: int) -> Any:
    """Return a connection to the service at an address.  All processes connect at once; a missing one is fatal."""
    client = _jax.get_distributed_runtime_client(
        address,
        process_id,
        init_timeout=timeout,
        heartbeat_timeout=heartbeat_timeout,
        shutdown_on_destruction=False,
        use_compression=True,
    )
    client.connect()
    return client


# The group of this process

_groups: list[Group] = []


def current_group() -> Group | None:
    """Return the group that `distributed.initialize` has connected, or None."""
    return _groups[0] if _groups else None


def set_group(group: Group | None) -> None:
    """Set the group of this process."""
    _groups[:] = [] if group is None else [group]


def cpu_client_options() -> dict[str, Any]:
    """Return the arguments with which jaxlib's CPU client joins the group; none without a group."""
    group = current_group()
    if group is None:
        return {}
    collectives = _jax.make_gloo_tcp_collectives(distributed_client=group.client, hostname=group.hostname)
    return {
        "distributed_client": group.client,
        "node_id": group.process_id,
        "num_nodes": group.num_processes,
        "collectives": collectives,
    }
