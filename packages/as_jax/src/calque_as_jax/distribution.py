"""The metadata of jax, which `importlib.metadata` returns."""

from __future__ import annotations

from importlib.metadata import Distribution
from os import PathLike
from typing import Any

from calque_as_jax.names import VERSION


class JaxDistribution(Distribution):
    """The distribution jax: its name, and the version whose names the table has."""

    def read_text(self, filename: str) -> str | None:
        """Return the metadata, None for any other file."""
        header = f"Metadata-Version: 2.1\nName: jax\nVersion: {VERSION}\n"
        return header if filename in ("METADATA", "PKG-INFO") else None

    def locate_file(self, path: str | PathLike[str]) -> Any:
        """Raise FileNotFoundError: there are no files."""
        raise FileNotFoundError(f"jax is calque here and has no file {path}. Ask calque-as-jax for its files.")
