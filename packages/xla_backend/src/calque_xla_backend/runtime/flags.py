"""The flags of XLA in the environment variable XLA_FLAGS.

XLA reads them once, at its start, and ends the process if it does not know a flag.  Only XLA has the list of its flags,
so a child process tries them first, which takes 0.3 s; without the variable there is nothing to try.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

_PROGRAM = "from jaxlib import xla_client; xla_client.CompileOptions()"
_ERROR_LINE = re.compile(r"^[EF]\d+ .*?\] (.*)$", re.MULTILINE)  # an error line of XLA's log
_TIMEOUT = 60.0  # seconds


def check_flags() -> None:
    """Check that XLA accepts the flags in the environment.

    Raises: ValueError that quotes XLA's message, which names the flag.
    """
    flags = os.environ.get("XLA_FLAGS", "").strip()
    if not flags or not _is_python(sys.executable):
        return
    try:
        child = subprocess.run(  # noqa: S603  the program and its arguments are ours
            [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # XLA itself will report a wrong flag
    message = _ERROR_LINE.search(child.stderr)
    if child.returncode and message:
        raise ValueError(
            f"XLA_FLAGS is {flags!r}, for which XLA would end the process: {message[1].rstrip('.')}. Correct or "
            "unset the variable before the first use of a device."
        )


def _is_python(executable: str | None) -> bool:
    """Tell whether a program is a Python interpreter, and not an application that embeds one."""
    return bool(executable) and "python" in os.path.basename(executable or "").lower()
