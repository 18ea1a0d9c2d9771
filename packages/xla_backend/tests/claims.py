"""Claims about several devices: a script checks them in a process of its own, whose number of devices it sets.

One idea: each function of a script whose name begins with `check_` is a claim.  A process takes seconds to start, so a
script runs once for all its claims, and prints a line for each; a test reads the line of its claim.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any


def claims_of(script: Path) -> list[str]:
    """Return the names of the claims of a script."""
    functions = [node.name for node in ast.parse(script.read_text()).body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if name.startswith("check_")]


def outcomes_of(script: Path) -> dict[str, str]:
    """Run a script; return "ok" or the traceback of each claim, by name."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(map(ast.literal_eval, done.stdout.splitlines()))


def report(namespace: dict[str, Any]) -> None:
    """Check the claims among the functions of a script, and print a line for each."""
    for name, check in [item for item in namespace.items() if item[0].startswith("check_")]:
        try:
            check()
            print(repr((name, "ok")), flush=True)
        except BaseException:  # noqa: BLE001  the parent shows it
            print(repr((name, traceback.format_exc())), flush=True)
