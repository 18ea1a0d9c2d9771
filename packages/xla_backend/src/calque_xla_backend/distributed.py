"""Programs of several processes, on one machine or on several.

One idea: every process runs the same Python program.  `initialize` connects them, before the first use of a device;
then `devices()` lists the devices of all processes, `local_devices()` those of this one, and a program over all of
them runs when every process calls it.

>>> from calque_xla_backend import distributed
>>> distributed.is_initialized()
False

Read next: `multihost.py`, which exchanges values between processes; `processes/`, which notices lost processes.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

from calque_core.extend import where
from calque_xla_backend.processes.endings import explain_aborts
from calque_xla_backend.processes.messages import exchange
from calque_xla_backend.processes.rendezvous import (
    Meeting,
    all_or_loopback,
    gather,
    host_and_port,
    join,
    join_address,
)
from calque_xla_backend.processes.watch import PeerError, Watch, current_watch, set_watch
from calque_xla_backend.runtime.clients import started_clients
from calque_xla_backend.runtime.distributed import JAXLIB_VERSION, Group, connect, set_group, start_service

__all__ = ["PeerError", "initialize", "is_initialized", "shutdown"]


@dataclass(frozen=True, slots=True)
class Connection:
    """The objects that `initialize` has made and `shutdown` ends."""

    group: Group
    watch: Watch
    shutdown_seconds: int
    ignore_aborts: Callable[[], None]


_connections: list[Connection] = []  # none, or one


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
) -> None:
    """Connect this process with the other processes of the program; return when all of them are connected.

    `coordinator_address` is 'host:port' of process 0, which opens the port; `process_id` counts from 0.  An argument
    that is None is read from the environment: CALQUE_COORDINATOR_ADDRESS, CALQUE_NUM_PROCESSES, CALQUE_PROCESS_ID,
    CALQUE_COORDINATOR_BIND_ADDRESS.  Process 0 listens on all addresses of its machine, on the loopback address alone
    if the coordinator's address is that, or on `coordinator_bind_address`.

    A process that ends without `shutdown`, or does not answer for `heartbeat_timeout_seconds`, stops the other
    processes: with a `PeerError` in the main thread or, if that does not return from a compiled program within 5
    seconds, with a message and the exit status 75.  The end of a process calls `shutdown`.
    Raises: RuntimeError if a process is missing after `initialization_timeout` seconds, if two have one number or
    their numbers or releases of jaxlib differ; after the first use of a device; at a second call.  ValueError and
    TypeError for arguments that do not fit.

    >>> from calque_xla_backend import distributed
    >>> distributed.initialize("localhost:1234", num_processes=2, process_id=2)
    Traceback (most recent call last):
    ValueError: distributed.initialize ... got process_id=2 with num_processes=2. Number the processes from 0 to 1.
    """
    meeting = _meeting(coordinator_address, coordinator_bind_address, num_processes, process_id, initialization_timeout)
    heartbeat = _seconds("heartbeat_timeout_seconds", heartbeat_timeout_seconds)
    shutdown_seconds = _seconds("shutdown_timeout_seconds", shutdown_timeout_seconds)
    _refuse_late_start()
    ignore_aborts = explain_aborts(_reason_of_abort)
    try:
        group = _connect(meeting, heartbeat)
    except BaseException:
        ignore_aborts()
        raise
    watch = Watch(group, meeting, heartbeat)
    _connections.append(Connection(group, watch, shutdown_seconds, ignore_aborts))
    set_group(group)
    set_watch(watch)
    watch.start()


def is_initialized() -> bool:
    """Tell whether `initialize` has connected this process with other ones.

    >>> from calque_xla_backend import distributed
    >>> distributed.is_initialized()
    False
    """
    return bool(_connections)


def shutdown() -> None:
    """Wait until all processes call this function, then end their connection; do nothing without a connection.

    The end of a Python program calls it.
    Raises: TimeoutError if a process does not come within `shutdown_timeout_seconds`, and PeerError if one is lost;
    the connection ends in any case.

    >>> from calque_xla_backend import distributed
    >>> distributed.shutdown()
    """
    if not _connections:
        return
    connection = _connections[0]
    group, watch = connection.group, connection.watch
    try:
        if watch.failure is None:
            exchange(group, "distributed.shutdown", "", seconds=connection.shutdown_seconds)
    except TimeoutError as error:
        watch.tell(f"process {group.process_id} of {group.num_processes} has left: {error}")
        raise
    finally:
        _leave(connection)


def _leave(connection: Connection) -> None:
    connection.watch.close()
    connection.watch.leave()
    connection.ignore_aborts()
    set_group(None)
    set_watch(None)
    _connections.clear()


def _leave_at_exit() -> None:
    """Leave in order, or tell the other processes which error has ended this one."""
    error = getattr(sys, "last_value", None)
    if _connections and error is not None and not hasattr(sys, "ps1"):  # at a prompt, an error ends nothing
        group, watch = _connections[0].group, _connections[0].watch
        name = f"process {group.process_id} of {group.num_processes}"
        watch.tell(f"{name} has ended with {type(error).__name__}: {error}")
    shutdown()


atexit.register(_leave_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_connections.clear)  # the connection is the parent's


# Arguments


def _refuse_late_start() -> None:
    if is_initialized():
        raise RuntimeError(f"distributed.initialize{where()} was called twice. Call it once in each process.")
    if started_clients():
        raise RuntimeError(
            f"distributed.initialize{where()} was called after the first use of a device, which has started XLA for "
            "this process alone. Call it before jit, device_put and devices are used."
        )


def _meeting(address: Any, bind_address: Any, num_processes: Any, process_id: Any, timeout: Any) -> Meeting:
    address = os.environ.get("CALQUE_COORDINATOR_ADDRESS") if address is None else address
    if address is None:
        raise _missing("coordinator_address", "CALQUE_COORDINATOR_ADDRESS")
    host, port = host_and_port(address, "coordinator_address")
    bind_address = os.environ.get("CALQUE_COORDINATOR_BIND_ADDRESS") if bind_address is None else bind_address
    bind = (all_or_loopback(host), port)
    if bind_address is not None:
        bind = host_and_port(bind_address, "coordinator_bind_address")
    count = _number("num_processes", num_processes, "CALQUE_NUM_PROCESSES")
    number = _number("process_id", process_id, "CALQUE_PROCESS_ID")
    if not 0 <= number < count:
        raise ValueError(
            f"distributed.initialize{where()} got process_id={number} with num_processes={count}. "
            f"Number the processes from 0 to {max(count, 1) - 1}."
        )
    return Meeting(host, port, bind, number, count, JAXLIB_VERSION, _seconds("initialization_timeout", timeout))


def _number(name: str, value: Any, variable: str) -> int:
    if value is None:
        value = os.environ.get(variable)
        if value is None:
            raise _missing(name, variable)
        if not value.isdecimal():
            raise ValueError(f"distributed.initialize{where()}: {variable} is {value!r}. Set it to a number.")
        return int(value)
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"distributed.initialize{where()} got {name}={value!r}. Use an integer.") from None


def _seconds(name: str, value: Any) -> int:
    seconds = _number(name, value, "")
    if seconds < 1:
        raise ValueError(f"distributed.initialize{where()} got {name}={seconds}. Use at least 1 second.")
    return seconds


def _missing(name: str, variable: str) -> ValueError:
    return ValueError(
        f"distributed.initialize{where()} got no {name}. Give the argument, or set {variable} in the environment; "
        "calque does not ask Slurm or Open MPI for it."
    )


# Connecting


def _connect(meeting: Meeting, heartbeat_timeout: int) -> Group:
    service: list[Any] = []
    timeout = int(meeting.timeout)

    def start() -> None:
        address = join_address(meeting.bind[0] or "::", meeting.bind[1])
        service.append(start_service(address, meeting.num_processes, heartbeat_timeout, timeout))

    hostname = join(meeting) if meeting.process_id else gather(meeting, start)
    client = connect(meeting.address, meeting.process_id, heartbeat_timeout, timeout)
    return Group(meeting.process_id, meeting.num_processes, hostname, client, *(service or [None]))


def _reason_of_abort() -> str | None:
    watch = current_watch()
    if watch is None:
        return "a process of the program ended while jaxlib connected them. See the output of the other processes."
    return watch.reason_of_abort()
