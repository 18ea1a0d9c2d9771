"""What a forked process may do: everything but run XLA, if its parent has started it."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

PROGRAM = """
import os, signal, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
import numpy as np
from calque_core import lax
from calque_xla_backend import device_put, jit
double = jit(lambda x: x * 2.0)
tree = jit(lambda d: {"y": d["x"] + 1.0})
def attempt(call):
    try:
        call()
    except RuntimeError as error:
        print(error)
def in_child(call):
    sys.stdout.flush()
    if os.fork():
        _, status = os.wait()
        if status:
            sys.exit(os.waitstatus_to_exitcode(status))
    else:
        signal.alarm(20)  # ends a child that waits for ever
        call()
        sys.exit()
"""
STARTED = """
x = device_put(np.ones(3)); y = double(x); double(x); d = tree({'x': x}); tree({'x': x}); double(np.ones(3))
"""
REFUSAL = "which was forked after XLA had started: its threads are in the parent alone, and a call would never end."


def run(program):
    process = subprocess.run([sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=60.0)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_a_forked_process_refuses_calls_that_would_wait_for_threads_of_its_parent():
    calls = [
        "double(x)",
        "double(np.ones(3))",
        "tree({'x': x})",
        "jit(lambda x: x - 1.0)(x)",
        "jit(double)(1.0)",
        "x + 1.0",
        "device_put(np.ones(3))",
    ]
    out = run(STARTED + "".join(f"in_child(lambda: attempt(lambda: {call}))\n" for call in calls))
    assert out.count(REFUSAL) == out.count("multiprocessing.get_context('spawn')") == len(calls)


def test_a_forked_process_evaluates_lowers_and_reads_device_arrays_and_the_parent_goes_on():
    out = run(
        STARTED
        + """
in_child(lambda: print(lax.sin(np.zeros(2))))
in_child(lambda: print(np.asarray(y), y.tolist()))
in_child(lambda: print(double.lower(1.0).as_text().count('multiply')))
print(double(x), jit(lambda x: x + 5.0)(x))
"""
    )
    assert out.splitlines() == ["[0. 0.]", "[2. 2. 2.] [2.0, 2.0, 2.0]", "1", "[2. 2. 2.] [6. 6. 6.]"]


def test_a_process_forked_before_xla_has_started_may_start_it():
    run_double = "in_child(lambda: print(double(3.0)))\n"
    assert run(run_double + "double.lower(1.0)\n" + run_double) == "6.0\n6.0\n"


def test_a_forked_process_closes_the_sockets_of_its_parent():
    program = "warnings.simplefilter('error', ResourceWarning)" + STARTED + "in_child(lambda: None)"
    process = subprocess.run([sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=60.0)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_process_that_a_forked_process_forks_refuses_too():
    program = STARTED + "in_child(lambda: in_child(lambda: attempt(lambda: double(x))))\n"
    process = subprocess.run([sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=60.0)
    assert (process.returncode, process.stderr, process.stdout.count(REFUSAL)) == (0, "", 1)
