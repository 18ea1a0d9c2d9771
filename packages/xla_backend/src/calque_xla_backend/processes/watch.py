"""How a process notices that another one of the program has ended.

One idea: two threads.  One asks the coordinator which processes are alive, the other waits for a message there about a
failure, which the first process to notice it leaves.  A failure becomes a `PeerError` in the main thread, through a
signal that interrupts whatever Python waits for; a main thread that waits in C++ cannot be interrupted, and then the
process ends with a message.

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

_FAILURE, _LEFT = "calque/failure", "calque/left"
_GRACE = 5.0  # seconds in which the main thread must return to Python
_LONG = 5.0  # seconds of one wait for a message
_SOON = 0.05  # seconds between two looks at the last processes
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
        self._live_thread = threading.Thread(target=self._watch_processes, name="calque processes", daemon=True)
        self._failure_thread = threading.Thread(target=self._watch_failure, name="calque failures", daemon=True)

    def start(self) -> None:
        """Begin to watch.  In the main thread, let failures raise errors there."""
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and _SIGNAL is not None and signal.getsignal(_SIGNAL) in (signal.SIG_DFL, _raise_in_main_thread):
            signal.signal(_SIGNAL, _raise_in_main_thread)
            self._raises = True
        self._live_thread.start()
        self._failure_thread.start()

    def close(self) -> None:
        """End the watch: from now on the other processes may leave.  Process 0 waits until they have left."""
        self._closing.set()
        self._live_thread.join(self.heartbeat_timeout)

    def join(self) -> None:
        """Wait for the threads, whose calls to the coordinator end when this process has left the group.

        A thread that returns from C++ while the interpreter ends would end the process.
        """
        self._live_thread.join(_GRACE)
        self._failure_thread.join(_GRACE)

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

    def say_goodbye(self) -> None:
        """Let the other processes know that this one leaves without a failure, or after having told it."""
        self._write(f"{_LEFT}/{self.group.process_id}", str(self.group.process_id))

    def reason_of_abort(self) -> str | None:
        """Return why jaxlib ends this process, if it is for the loss of the coordinator."""
        return None if self._is_coordinator_there() else self._coordinator_lost()

    # The threads

    def _watch_processes(self) -> None:
        pause = min(1.0, self.heartbeat_timeout / 4)
        try:
            while not self._closing.wait(pause):  # after a failure too: an answer waits until all live ones have asked
                self._look_for_lost_processes()
            while self.group.service is not None and self.group.live() != {0}:
                time.sleep(_SOON)
        except RuntimeError:
            self._check_coordinator()

    def _look_for_lost_processes(self) -> None:
        lost = set(range(self.group.num_processes)) - self.group.live()
        if lost and self.failure is None:
            lost -= set(map(int, self.group.values(_LEFT)))
            if lost:  # the other thread reads the first message about a failure, which may be another
                self._write(_FAILURE, self._lost(lost))

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
