"""Meshes, and the divisions of arrays over their devices, under jax's module path."""

from calque_core import AbstractMesh, Mesh, PartitionSpec
from calque_xla_backend import NamedSharding, SingleDeviceSharding

__all__ = ["AbstractMesh", "Mesh", "NamedSharding", "PartitionSpec", "SingleDeviceSharding"]
