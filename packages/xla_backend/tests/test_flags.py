"""Each test starts a process, since XLA reads its flags once."""

import os
import subprocess
import sys

import pytest

from calque_xla_backend.runtime import flags

PROGRAM = """
import os
from calque_xla_backend import jit
double = jit(lambda x: x * 2.0)
try:
    print(double(1.0))
except ValueError as error:
    print("refused:", error)
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    print(double(1.0))
"""


def run(xla_flags):
    environment = os.environ | {"XLA_FLAGS": xla_flags}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("xla_flags", "complaint"),
    [
        ("--xla_no_such_flag=1", "Unknown flag in XLA_FLAGS: --xla_no_such_flag=1."),
        (
            "--xla_force_host_platform_device_count=many",
            "Couldn't interpret value many for flag xla_force_host_platform_device_count.",
        ),
    ],
)
def test_an_unknown_flag_is_an_error_and_can_be_corrected(xla_flags, complaint):
    refusal, result = run(xla_flags).stdout.splitlines()
    assert refusal == (
        f"refused: XLA_FLAGS is {xla_flags!r}, for which XLA would end the process: {complaint} Correct or unset the "
        "variable before the first use of a device."
    )
    assert result == "2.0"


def test_valid_flags_change_nothing():
    assert run("--xla_force_host_platform_device_count=2").stdout == "2.0\n"


def test_without_flags_or_an_interpreter_no_process_is_started(monkeypatch):
    monkeypatch.setattr(flags.subprocess, "run", None)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    flags.check_flags()
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_flag=1")
    monkeypatch.setattr(sys, "executable", "/usr/bin/editor")
    flags.check_flags()


def test_a_process_that_cannot_be_started_raises_no_error(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_flag=1")
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    flags.check_flags()
