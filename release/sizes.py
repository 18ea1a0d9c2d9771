"""What an install costs: megabytes on disk, and milliseconds of an import beyond NumPy's.

One idea: the whole process is timed, the best of five, and the same process that imports NumPy alone is taken away.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

RUNS = 5


def installed_megabytes(environment: Path) -> float:
    """Return the megabytes of all files that are installed in an environment."""
    files = [path for path in environment.rglob("*") if path.is_file() and "site-packages" in path.parts]
    return sum(path.stat().st_size for path in files) / 1e6


def seconds_of_import(python: str, module: str) -> float:
    """Return the seconds of an import beyond NumPy's, or beyond an empty program where NumPy is absent."""
    numpy = subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0
    before = "import numpy" if numpy else "pass"
    return max(0.0, _best(python, f"{before}; import {module}") - _best(python, before))


def _best(python: str, program: str) -> float:
    return min(_seconds(python, program) for _ in range(RUNS))


def _seconds(python: str, program: str) -> float:
    start = time.perf_counter()
    subprocess.run([python, "-c", program], check=True)
    return time.perf_counter() - start
