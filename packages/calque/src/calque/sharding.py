"""Meshes, and the divisions of arrays over their devices, under jax's module path."""

from calque_core import AbstractMesh, Mesh, PartitionSpec
from calque_core.config import get_mesh, set_mesh
from calque_xla_backend import NamedSharding, Sharding, SingleDeviceSharding

__all__ = [
    "AbstractMesh",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_mesh",
    "set_mesh",
]
