"""Jitted functions as bytes, with their derivatives, under jax's module path."""

from calque.exporting import export
from calque_xla_backend import Exported, ExportError, deserialize, register_pytree_node_serialization

__all__ = ["ExportError", "Exported", "deserialize", "export", "register_pytree_node_serialization"]
