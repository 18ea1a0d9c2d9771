"""The error of exporting a function and of reading an exported one."""

from __future__ import annotations


class ExportError(ValueError):
    """A function cannot be exported, or bytes are not an exported function that this release can run."""


def damaged(reason: str) -> ExportError:
    """Return the error for bytes that `serialize` did not return."""
    return ExportError(f"these bytes are not an exported function: {reason}. Export the function again.")
