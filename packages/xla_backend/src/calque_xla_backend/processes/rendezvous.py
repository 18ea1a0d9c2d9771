"""How the processes of a program meet.

jaxlib's own start ends a process from C++ where a partner is missing or two have one number.  One idea: the processes
first meet over plain sockets, where each fault is an error that names it; jaxlib connects only a complete group.
Process 0, the coordinator, reads one line of JSON from each of the other processes and answers it with one line:
an error for all, or the word that jaxlib's service runs at the same address from now on.

Read next: `watch.py`, which notices the end of a process later.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calque_core.extend import where

_PAUSE = 0.1  # seconds between two attempts to connect
_LINE = 10.0  # seconds that a connection has to send its line: a stranger's connection may send none
_LONGEST = 4096  # bytes of a line
_LOOPBACK = ("localhost", "127.", "::1")

Hello = dict[str, Any]  # process_id, num_processes, version


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where and how long the processes meet, and this process among them."""

    host: str
    port: int
    bind: tuple[str, int]  # the host, empty for all, and the port at which process 0 listens
    process_id: int
    num_processes: int
    version: str  # of jaxlib, which all processes share
    timeout: float  # seconds

    @property
    def address(self) -> str:
        """The address as users write it."""
        return join_address(self.host, self.port)

    def fail(self, reason: str) -> RuntimeError:
        """Return the error of this process."""
        return RuntimeError(f"distributed.initialize{where()}, process {self.process_id}: {reason}")


def join_address(host: str, port: int) -> str:
    """Return 'host:port', with brackets around an address of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def all_or_loopback(host: str) -> str:
    """Return the host to listen on if the user gives none: all (''), or the coordinator's where that is loopback."""
    return host if host.startswith(_LOOPBACK) else ""


def host_and_port(address: str, name: str) -> tuple[str, int]:
    """Return the parts of an address 'host:port'.  Raises: ValueError in the name of the argument."""
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not (host and port.isdecimal() and 0 < int(port) < 2**16):
        raise ValueError(
            f"distributed.initialize{where()} got {name}={address!r}, which is not an address. "
            "Use 'host:port' with the port that process 0 shall open, such as '10.0.0.1:1234'."
        )
    return host.strip("[]"), int(port)


# Process 0


def gather(meeting: Meeting, start: Callable[[], None]) -> str:
    """Wait for the other processes, call `start`, and let them go on; return this machine's address among theirs.

    Raises: RuntimeError if a process is missing when the time is over, or if the processes do not fit together.
    """
    partners: dict[int, socket.socket] = {}
    try:
        try:
            with _listen(meeting) as listener:
                _accept_all(meeting, listener, partners)
            start()  # the listener is closed: jaxlib's service takes its port
        except Exception as error:
            _answer(partners, {"error": str(error)})
            raise
        _answer(partners, {"go": True})
        return _own_address(next(iter(partners.values()), None))
    finally:
        for partner in partners.values():
            partner.close()


def _listen(meeting: Meeting) -> socket.socket:
    host, port = meeting.bind
    try:
        if host in ("", "::") and socket.has_dualstack_ipv6():
            return socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise meeting.fail(
            f"the coordinator's address {join_address(host or meeting.host, port)} cannot be opened ({error}). "
            "Use a free port, and an address of the machine of process 0."
        ) from error


def _accept_all(meeting: Meeting, listener: socket.socket, partners: dict[int, socket.socket]) -> None:
    end = time.monotonic() + meeting.timeout
    while len(partners) < meeting.num_processes - 1:
        listener.settimeout(max(end - time.monotonic(), 0.001))
        try:
            partner = listener.accept()[0]
        except TimeoutError:
            raise meeting.fail(_missing(meeting, partners)) from None
        hello = _read(partner, _LINE)
        if hello is None:
            partner.close()  # not one of ours
            continue
        _drop_ended(partners)
        if (fault := _fault(meeting, hello, partners)) is not None:
            _answer({0: partner}, {"error": fault})
            partner.close()
            raise meeting.fail(fault)
        partners[hello["process_id"]] = partner


def _drop_ended(partners: dict[int, socket.socket]) -> None:
    """Forget the processes that have ended, which may be started again while the other ones still come."""
    for process_id in [i for i, partner in partners.items() if _has_left(partner)]:
        partners.pop(process_id).close()


def _missing(meeting: Meeting, partners: dict[int, socket.socket]) -> str:
    absent = [str(i) for i in range(1, meeting.num_processes) if i not in partners]
    return (
        f"{len(partners) + 1} of {meeting.num_processes} processes came to {meeting.address} within "
        f"{meeting.timeout:g} seconds; missing: {', '.join(absent)}. Start all processes with one coordinator_address, "
        "or give a larger initialization_timeout."
    )


def _fault(meeting: Meeting, hello: Hello, partners: dict[int, socket.socket]) -> str | None:
    """Return why a process does not belong to this group, or None."""
    process_id, count = hello["process_id"], hello["num_processes"]
    if count != meeting.num_processes:
        return (
            f"process {process_id} was started with num_processes={count}, process 0 with "
            f"num_processes={meeting.num_processes}. Give all processes one number."
        )
    if process_id == 0 or process_id in partners:
        return (
            f"two processes have process_id={process_id}. Give each process a number of its own, from 0 to {count - 1}."
        )
    if hello["version"] != meeting.version:
        return (
            f"process {process_id} has jaxlib {hello['version']}, process 0 has {meeting.version}. "
            "Install one version on all machines: the processes must run the same programs."
        )
    return None


def _has_left(partner: socket.socket) -> bool:
    """Tell whether the process at the other end has closed its connection, which it does when it ends."""
    partner.setblocking(False)
    try:
        return not partner.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _answer(partners: dict[int, socket.socket], message: dict[str, Any]) -> None:
    for partner in partners.values():
        try:
            partner.settimeout(_LINE)
            partner.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            continue  # its end is noticed when jaxlib connects the processes


def _own_address(partner: socket.socket | None) -> str:
    """Return the address of this machine that the process at the other end of a connection has used."""
    return "127.0.0.1" if partner is None else partner.getsockname()[0].removeprefix("::ffff:")


# Other processes


def join(meeting: Meeting) -> str:
    """Meet process 0; return this machine's address, as the coordinator sees it.

    Raises: RuntimeError if process 0 is not there when the time is over, or if it reports a fault.
    """
    end = time.monotonic() + meeting.timeout
    with _connect(meeting, end) as coordinator:
        hello = {key: getattr(meeting, key) for key in ("process_id", "num_processes", "version")}
        coordinator.sendall(json.dumps(hello).encode() + b"\n")
        # process 0 may have begun to wait later than we have, and then names the processes that are missing
        reply = _read_line(coordinator, end - time.monotonic() + meeting.timeout)
        if reply is None:
            raise meeting.fail(f"process 0 ended before all processes had met at {meeting.address}. See its output.")
        if "error" in reply:
            raise meeting.fail(f"process 0 reports: {reply['error']}")
        return _own_address(coordinator)


def _connect(meeting: Meeting, end: float) -> socket.socket:
    while True:
        try:
            return socket.create_connection((meeting.host, meeting.port), timeout=max(end - time.monotonic(), 0.001))
        except OSError as error:
            if time.monotonic() + _PAUSE > end:
                raise meeting.fail(
                    f"there was no coordinator at {meeting.address} within {meeting.timeout:g} seconds ({error}). "
                    "Check coordinator_address, and that process 0 calls distributed.initialize too."
                ) from error
        time.sleep(_PAUSE)


# Lines


def _read(partner: socket.socket, seconds: float) -> Hello | None:
    """Return the first line of a connection if it is that of a process, else None."""
    line = _read_line(partner, seconds)
    fields = {"process_id": int, "num_processes": int, "version": str}
    is_hello = isinstance(line, dict) and all(type(line.get(name)) is kind for name, kind in fields.items())
    return line if is_hello else None


def _read_line(partner: socket.socket, seconds: float) -> Any:
    """Return the JSON value of the next line, or None if the connection ends or sends anything else."""
    partner.settimeout(max(seconds, 0.001))
    try:
        with partner.makefile("rb") as lines:
            return json.loads(lines.readline(_LONGEST))
    except (OSError, ValueError):
        return None
