"""The flags of XLA in the environment variable XLA_FLAGS.

XLA reads them once, at its start, and ends the process over one that it does not know.  Only XLA knows which it knows,
so a child process tries them first, which takes 0.3 s; without the variable nothing is done.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

_TRY = "from jaxlib import xla_client; xla_client.CompileOptions()"
_COMPLAINT = re.compile(r"^[EF]\d+ .*?\] (.*)$", re.MULTILINE)  # a line of XLA's log, at the level of an error
_PATIENCE = 60.0  # seconds


def check_flags() -> None:
    """Check that XLA takes the flags in the environment.

    Raises: ValueError that quotes XLA's complaint, which names the flag.
    """
    flags = os.environ.get("XLA_FLAGS", "").strip()
    if not flags or not _is_python(sys.executable):
        return
    try:
        child = subprocess.run(  # noqa: S603  the program and its arguments are ours
            [sys.executable, "-c", _TRY], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # nothing is known; XLA will say
    complaint = _COMPLAINT.search(child.stderr)
    if child.returncode and complaint:
        raise ValueError(
            f"XLA_FLAGS is {flags!r}, over which XLA would end the process: {complaint[1].rstrip('.')}. Correct or "
            "unset the variable before the first use of a device."
        )


def _is_python(executable: str | None) -> bool:
    """Tell whether a program is an interpreter, and not an application that has one inside."""
    return bool(executable) and "python" in os.path.basename(executable or "").lower()
