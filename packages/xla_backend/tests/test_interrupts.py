"""Each test runs a process of its own and observes how it ends."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on POSIX")

PRELUDE = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore the signal
import numpy as np
from calque_core import lax
from calque_xla_backend import device_put, jit
from calque_xla_backend.runtime import interrupts
forever = jit(lambda x: lax.while_loop(lambda v: lax.gt(v, -1.0), lambda v: lax.add(lax.sin(v), 1.5), x))
def press(*waits, exit_after=None):
    def run():
        for wait in waits:
            time.sleep(wait)
            os.kill(os.getpid(), signal.SIGINT)
        if exit_after is not None:
            time.sleep(exit_after)
            os._exit(7)
    threading.Thread(target=run, daemon=True).start()
"""
IN_XLA = """
x = device_put(np.ones(()))
press({waits})
forever(x)
"""


def run(program):
    return subprocess.run([sys.executable, "-c", PRELUDE + program], capture_output=True, text=True, timeout=60.0)


def test_a_second_interrupt_ends_a_process_in_a_program_without_end():
    process = run(IN_XLA.format(waits="1.0, 2.0"))
    assert process.returncode == 128 + signal.SIGINT
    assert "which runs to its end. Press Ctrl-C again to end the process." in process.stderr
    assert process.stderr.endswith(
        "A second interrupt in a compiled program, which cannot be stopped: this ends the process.\n"
    )


def test_one_press_that_sends_several_signals_is_one_interrupt():
    process = run(IN_XLA.format(waits="1.0, 0.02, 0.02, exit_after=1.5"))
    assert process.returncode == 7
    assert "Press Ctrl-C again to end the process." in process.stderr
    assert "this ends the process" not in process.stderr


def test_interrupts_outside_of_xla_are_python_s_own():
    process = run(
        """
jit(lambda x: x + 1.0)(1.0)
for _ in range(3):
    try:
        press(0.1, 0.3)
        time.sleep(5.0)
    except KeyboardInterrupt:
        try:
            time.sleep(5.0)
        except KeyboardInterrupt:
            print("twice")
"""
    )
    assert (process.returncode, process.stdout) == (0, "twice\n" * 3)


def test_the_handler_or_wakeup_descriptor_of_other_code_stays():
    process = run(
        """
import socket
_, theirs = socket.socketpair()
theirs.setblocking(False)
signal.set_wakeup_fd(theirs.fileno())
jit(lambda x: x + 1.0)(1.0)
assert signal.set_wakeup_fd(-1) == theirs.fileno()
signal.signal(signal.SIGINT, lambda *_: None)
jit(lambda x: x + 2.0)(1.0)
assert signal.set_wakeup_fd(-1) == -1
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=lambda: jit(lambda x: x + 3.0)(1.0)).start()
time.sleep(1.0)
assert signal.set_wakeup_fd(-1) == -1
jit(lambda x: x + 4.0)(1.0)
assert signal.set_wakeup_fd(-1) == interrupts._sockets[1].fileno()
"""
    )
    assert (process.returncode, process.stderr) == (0, "")
