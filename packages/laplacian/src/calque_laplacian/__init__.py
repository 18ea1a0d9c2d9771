"""Laplacians in one forward pass."""

from calque_core import register_internal_folder as _register_internal_folder

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__: list[str] = []
