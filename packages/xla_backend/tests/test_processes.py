"""Two processes with two devices each: the claims of `process_claims.py`, and the ends of `process_endings.py`.

All pairs of processes run at once, since they wait for each other's time-outs most of the time.
"""

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from claims import claims_of

from calque_xla_backend.processes.endings import STATUS

SCRIPT, ENDINGS = (Path(__file__).with_name(name) for name in ("process_claims.py", "process_endings.py"))
CLAIMS = [
    x.name for x in ast.parse(SCRIPT.read_text()).body if isinstance(x, ast.FunctionDef) and x.name.startswith("check_")
]
SCENARIOS = (
    None,  # the claims
    "killed peer, Python waits",
    "killed peer, C++ waits",
    "failed peer",
    "failed coordinator",
    "killed coordinator",
    "peer that leaves early",
)
KILLED = -9
SILENT = (
    r"process 1 of 2 did not answer for 5 seconds\. See its output for the reason; then start all processes again\."
)


@pytest.fixture(scope="module")
def ended(free_port):
    """Return the two ended processes of each scenario."""
    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        return dict(zip(SCENARIOS, pool.map(lambda name: run_pair(free_port(), name), SCENARIOS), strict=True))


def run_pair(port, scenario):
    """Run the two processes of a scenario; return what they have printed, and their status."""
    commands = [[str(SCRIPT), str(port), str(i)] if scenario is None else [str(ENDINGS), scenario] for i in range(2)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    inherited = {name: x for name, x in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}  # jax sets it
    pair = [
        subprocess.Popen([sys.executable, "-W", "error", *command], env=inherited | variables(port, i), **pipes)
        for i, command in enumerate(commands)
    ]
    try:
        with ThreadPoolExecutor(2) as pool:
            outputs = list(pool.map(lambda process: process.communicate(timeout=200), pair))
    finally:
        for process in pair:
            process.kill()
            process.wait()
    return [subprocess.CompletedProcess(p.args, p.returncode, *out) for p, out in zip(pair, outputs, strict=True)]


def variables(port, number):
    """Return the environment of a process that gives no arguments."""
    return {
        "CALQUE_COORDINATOR_ADDRESS": f"localhost:{port}",
        "CALQUE_COORDINATOR_BIND_ADDRESS": f"0.0.0.0:{port}",
        "CALQUE_NUM_PROCESSES": "2",
        "CALQUE_PROCESS_ID": str(number),
    }


@pytest.mark.parametrize("claim", claims_of(SCRIPT))
def test_in_two_processes(claim, ended):
    for process in ended[None]:
        assert process.returncode == 0, process.stderr
        outcomes = dict(
            ast.literal_eval(line) for line in process.stdout.splitlines() if line.startswith("('check_")
        )  # and Gloo's
        assert outcomes[claim] == "ok", outcomes[claim]


def test_processes_that_end_in_order_print_nothing(ended):
    assert [(process.returncode, process.stderr) for process in ended[None]] == [(0, "")] * 2


def test_a_killed_peer_raises_an_error_in_python_within_the_time_out(ended):
    zero, one = ended["killed peer, Python waits"]
    assert (zero.returncode, one.returncode) == (0, KILLED), zero.stderr
    assert re.fullmatch(rf"PeerError: {SILENT}\n", zero.stdout)


def test_a_killed_peer_ends_a_process_that_waits_in_cpp_with_a_message_and_a_status(ended):
    zero, one = ended["killed peer, C++ waits"]
    assert (zero.returncode, one.returncode) == (STATUS, KILLED), zero.stderr
    assert re.search(rf"\ncalque ends the process \d+ with the status {STATUS}: {SILENT}\n", zero.stderr)


@pytest.mark.parametrize(("scenario", "number"), [("failed peer", 1), ("failed coordinator", 0)])
def test_an_error_in_one_process_is_named_in_the_other(scenario, number, ended):
    failed, other = ended[scenario][number], ended[scenario][1 - number]
    assert (failed.returncode, other.returncode) == (1, 0), other.stderr
    assert other.stdout == f"PeerError: process {number} of 2 has ended with KeyError: 'no such file'\n"
    assert failed.stderr.endswith("KeyError: 'no such file'\n")


def test_a_killed_coordinator_ends_the_other_process_with_a_message_and_a_status(ended):
    zero, one = ended["killed coordinator"]
    assert (zero.returncode, one.returncode) == (KILLED, STATUS), one.stderr
    words = r"process 0 of 2, the coordinator at localhost:\d+, has ended or cannot be reached\. See its output"
    assert re.search(rf"\ncalque ends the process \d+ with the status {STATUS}: {words}", one.stderr)


def test_a_process_that_does_not_wait_for_the_other_one_is_named(ended):
    zero, one = ended["peer that leaves early"]
    assert (zero.returncode, one.returncode) == (0, 0), zero.stderr
    assert zero.stdout.startswith("PeerError: process 1 of 2 has left: distributed.shutdown: not all processes came")
    assert "TimeoutError: distributed.shutdown: not all processes came to this call within 5 seconds" in one.stderr
