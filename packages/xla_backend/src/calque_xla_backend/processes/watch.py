"""How a process notices that another one of the program has ended.

One idea: two threads.  One counts at the coordinator, so that the other processes see that this one is alive, and looks
at their counts; the other one waits there for a message about a failure, which the first process to notice it leaves.
A failure becomes a `PeerError` in the main thread, through a signal that interrupts any wait of Python's; a main
thread that waits in C++ cannot be interrupted, and then the process ends with a message.

Read next: `endings.py`, the end of a process; `messages.py`, the exchange of values.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from types import FrameType

from calque_xla_backend.processes.endings import end_process
from calque_xla_backend.processes.rendezvous import Meeting
from calque_xla_backend.runtime.distributed import Group

_FAILURE, _ALIVE, _LEFT = "calque/failure", "calque/alive", "calque/left"
_GRACE = 5.0  # seconds in which the main thread must return to Python
_LONG = 5.0  # seconds of one wait for a message
_SOON = 0.02  # seconds between two looks at the last processes
_PROBE = 2.0  # seconds that the coordinator has to answer
_SIGNAL: int | None = getattr(signal, "SIGRTMAX", None)


class PeerError(RuntimeError):
    """Another process of the program has ended or cannot be reached; the message names it."""


class Watch:
    """The watch of one process over the other ones, from `start` to `close`."""

    def __init__(self, group: Group, meeting: Meeting, heartbeat_timeout: float) -> None:
        self.group, self.meeting, self.heartbeat_timeout = group, meeting, heartbeat_timeout
        self.failure: str | None = None
        self._told, self._closing, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self._raises = False
        self._silent = set[int]()
        self._alive_thread = threading.Thread(target=self._watch_processes, name="calque processes", daemon=True)
        self._failure_thread = threading.Thread(target=self._watch_failure, name="calque failures", daemon=True)

    def start(self) -> None:
        """Begin to watch.  In the main thread, let failures raise errors there."""
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and _SIGNAL is not None and signal.getsignal(_SIGNAL) in (signal.SIG_DFL, _raise_in_main_thread):
            signal.signal(_SIGNAL, _raise_in_main_thread)
            self._raises = True
        self._alive_thread.start()
        self._failure_thread.start()

    def close(self) -> None:
        """End the watch: from now on the other processes may leave."""
        self._closing.set()

    def leave(self) -> None:
        """End the connection of this process; process 0 waits until the other ones have left, then ends its service.

        jaxlib would end each process that is still connected then.
        """
        self.group.leave()
        self._write(f"{_LEFT}/{self.group.process_id}", "")
        end = time.monotonic() + self.heartbeat_timeout
        while self.group.service is not None and self._are_others_here() and time.monotonic() < end:
            time.sleep(_SOON)
        self.group.stop_service()
        # a thread that returns from C++ while the interpreter ends would end the process
        self._alive_thread.join(_GRACE)
        self._failure_thread.join(_GRACE)

    def _are_others_here(self) -> bool:
        return len(self.group.items(_LEFT)) + len(self._silent) < self.group.num_processes

    def check(self) -> None:
        """Raise the PeerError of a failure, if there was one."""
        if self.failure is not None:
            if threading.current_thread() is threading.main_thread():
                self._told.set()
            raise PeerError(self.failure) from None

    def interrupt(self) -> None:
        """Raise the PeerError of a failure in the main thread, unless it has been raised there or comes too late."""
        if not (self._told.is_set() or self._closing.is_set()):
            self.check()

    def tell(self, failure: str) -> None:
        """Let all processes know about a failure, of which this one knows by itself."""
        with self._lock:
            if self.failure is None:
                self.failure = failure
                self._write(_FAILURE, failure)

    def reason_of_abort(self) -> str | None:
        """Return why jaxlib ends this process, if it is for the loss of the coordinator."""
        return None if self._is_coordinator_there() else self._coordinator_lost()

    # The threads

    def _watch_processes(self) -> None:
        group, pause, now = self.group, min(1.0, self.heartbeat_timeout / 4), time.monotonic()
        seen = dict.fromkeys(range(1, group.num_processes) if group.process_id == 0 else (0,), (b"", now))
        try:
            while not self._closing.wait(pause):
                group.increment(f"{_ALIVE}/{group.process_id}/count")
                self._look_for_silent_processes(seen)
        except RuntimeError:
            self._check_coordinator()

    def _look_for_silent_processes(self, seen: dict[int, tuple[bytes, float]]) -> None:
        """Update each process' last count and its time; process 0 looks at all of them, the other ones at process 0."""
        now = time.monotonic()
        for key, count in self.group.items(_ALIVE if self.group.process_id == 0 else f"{_ALIVE}/0"):
            process = int(key.split("/")[-2])
            if process in seen and seen[process][0] != count:
                seen[process] = count, now
        self._silent.update(i for i, (_, since) in seen.items() if now - since > self.heartbeat_timeout)
        if self._silent and self.failure is None:  # the other thread reads the first message about a failure
            self._write(_FAILURE, self._lost(self._silent))

    def _watch_failure(self) -> None:
        try:
            while not self._closing.is_set() and self.failure is None:
                failure = self.group.read(_FAILURE, _LONG)
                if failure is not None:
                    self._fail(failure.decode())
        except RuntimeError:
            self._check_coordinator()

    def _check_coordinator(self) -> None:
        if not self._closing.is_set() and not self._is_coordinator_there():
            self._fail(self._coordinator_lost())

    def _fail(self, failure: str) -> None:
        """Raise an error in the main thread; if it does not come back from C++, end the process."""
        with self._lock:
            if self._closing.is_set() or self.failure is not None:
                return
            self.failure = failure
        if self._raises and _SIGNAL is not None:
            signal.pthread_kill(threading.main_thread().ident or 0, _SIGNAL)
        if not self._told.wait(_GRACE) and not self._closing.is_set():
            end_process(failure)

    def _write(self, key: str, value: str) -> None:
        with contextlib.suppress(RuntimeError):  # without a coordinator nobody could read it
            self.group.write(key, value.encode())

    # Words

    def _lost(self, lost: set[int]) -> str:
        names = ", ".join(map(str, sorted(lost)))
        return (
            f"process{'es' * (len(lost) > 1)} {names} of {self.group.num_processes} did not answer for "
            f"{self.heartbeat_timeout:g} seconds. See its output for the reason; then start all processes again."
        )

    def _coordinator_lost(self) -> str:
        return (
            f"process 0 of {self.group.num_processes}, the coordinator at {self.meeting.address}, has ended or cannot "
            "be reached. See its output for the reason; then start all processes again."
        )

    def _is_coordinator_there(self) -> bool:
        if self.group.process_id == 0:
            return True
        try:
            socket.create_connection((self.meeting.host, self.meeting.port), timeout=_PROBE).close()
        except OSError:
            return False
        return True


# The watch of this process

_watches: list[Watch] = []


def current_watch() -> Watch | None:
    """Return the watch that `distributed.initialize` has begun, or None."""
    return _watches[0] if _watches else None


def set_watch(watch: Watch | None) -> None:
    """Set the watch of this process."""
    _watches[:] = [] if watch is None else [watch]


def _raise_in_main_thread(_number: int, _frame: FrameType | None) -> None:
    watch = current_watch()
    if watch is not None:
        watch.interrupt()
