"""The error of exporting and of reading what was exported."""

from __future__ import annotations


class ExportError(ValueError):
    """A function cannot be exported, or bytes are not an exported function that this release can run."""


def damaged(reason: str) -> ExportError:
    """Return the error for bytes that are not what `serialize` returned."""
    return ExportError(f"these bytes are not an exported function: {reason}. Export the function again.")
