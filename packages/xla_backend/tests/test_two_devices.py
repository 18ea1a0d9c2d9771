"""Programs and arrays on two devices: the claims of `two_devices.py`, in a process that has two devices."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("two_devices.py")
CLAIMS = [node.name for node in ast.parse(SCRIPT.read_text()).body if isinstance(node, ast.FunctionDef)]
CLAIMS = [name for name in CLAIMS if name.startswith("check_")]


@pytest.fixture(scope="module")
def outcomes():
    """Return "ok" or the traceback of each claim, by name."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(map(ast.literal_eval, done.stdout.splitlines()))


@pytest.mark.parametrize("claim", CLAIMS)
def test_on_two_devices(claim, outcomes):
    assert outcomes[claim] == "ok", outcomes[claim]


def test_the_flag_of_xla_gives_the_number_of_devices_too():
    done = subprocess.run(
        [sys.executable, "-c", "from calque_xla_backend import device_count; print(device_count())"],
        capture_output=True, text=True, timeout=120, check=True,
        env={"XLA_FLAGS": "--xla_force_host_platform_device_count=3"},
    )  # fmt: skip
    assert done.stdout == "3\n"
