"""Claims about several devices, which a process of its own checks: the number of devices is set before the first use.

One idea: a script checks many claims on eight virtual devices, since a process takes a second to start, and prints one
line for each claim; a test reads the line of its claim.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

COUNT = 8


def outcomes_of(script: Path, *claims: str) -> dict[str, str]:
    """Run a script on the names of claims; return "ok" or the traceback of each claim, by name."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), *claims], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(map(ast.literal_eval, done.stdout.splitlines()))


def report(check: Callable[[str], None]) -> None:
    """Check the claims that the command line names, and print a line for each of them."""
    for claim in sys.argv[1:]:
        try:
            check(claim)
            print(repr((claim, "ok")), flush=True)
        except BaseException:  # noqa: BLE001  the parent shows it
            print(repr((claim, traceback.format_exc())), flush=True)
