"""A program of several processes: training on divided data has the losses of one process."""

import ast
import socket
import subprocess
import sys
from pathlib import Path

import data_parallel
import numpy as np

SCRIPT = Path(data_parallel.__file__)


def test_training_in_two_processes_has_the_losses_of_one():
    expected = data_parallel.losses(data_parallel.step, np.zeros(3), data_parallel.X, data_parallel.Y)  # on NumPy

    pair = start_both()
    try:
        outputs = [run.communicate(timeout=200) for run in pair]
    finally:
        for run in pair:
            run.kill()

    assert [run.returncode for run in pair] == [0, 0], outputs
    for output, _ in outputs:
        (line,) = [line for line in output.splitlines() if line.startswith("losses ")]
        np.testing.assert_allclose(ast.literal_eval(line.removeprefix("losses ")), expected, rtol=1e-12)


def start_both():
    """Start the two processes, with the coordinator at a port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-W", "error", str(SCRIPT), port]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [subprocess.Popen([*command, str(i)], **pipes) for i in range(2)]
