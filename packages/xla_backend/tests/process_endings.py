"""The end of one of two processes; `test_processes.py` runs this file twice.

The argument is a scenario; the environment has the address of the coordinator and the number of this process.  One
process ends as the scenario says, and the output of the other one says what it saw.
"""

import os
import sys

from calque_xla_backend import distributed, process_index
from calque_xla_backend.runtime.distributed import current_group

TIMEOUT = 5  # seconds
LONG = 120_000  # milliseconds


def wait_in_python():
    """Wait for a value that nobody stores, in a function of calque."""
    while current_group().read("nothing") is None:
        pass


def wait_in_cpp():
    """Wait for a value that nobody stores, without coming back to Python."""
    current_group().client.blocking_key_value_get("nothing", LONG)


def ends(how, number, wait):
    """Return the scenario in which one process ends and the other one waits."""

    def scenario():
        group = current_group()
        if process_index() == number:
            while group.read("connected") is None:  # in a connection that is not complete, C++ waits for minutes
                pass
            how()
        try:
            group.write("connected", b"")  # the other process may end first
            wait()
        except distributed.PeerError as error:
            print("PeerError:", error, flush=True)

    return scenario


def kill():
    """End this process as the system does."""
    os.kill(os.getpid(), 9)


def fail():
    """End this process by an error."""
    raise KeyError("no such file")


def leave_early():
    """End this process without an error, before the other one."""
    sys.exit(0)


SCENARIOS = {
    "killed peer, Python waits": ends(kill, 1, wait_in_python),
    "killed peer, C++ waits": ends(kill, 1, wait_in_cpp),
    "failed peer": ends(fail, 1, wait_in_python),
    "failed coordinator": ends(fail, 0, wait_in_python),
    "killed coordinator": ends(kill, 0, wait_in_python),
    "peer that leaves early": ends(leave_early, 1, wait_in_python),
}


if __name__ == "__main__":
    distributed.initialize(heartbeat_timeout_seconds=TIMEOUT, shutdown_timeout_seconds=TIMEOUT)
    SCENARIOS[sys.argv[1]]()
