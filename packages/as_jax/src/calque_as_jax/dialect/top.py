"""Names of `jax` itself that are values, types and questions about devices."""

from __future__ import annotations

from typing import Any

import calque
from calque_as_jax.dialect.types import ShapeDtypeStruct, typeof
from calque_as_jax.names import VERSION
from calque_as_jax.values import Array, tree_to_arrays
from calque_xla_backend import devices

__all__ = [
    "Array", "ShapeDtypeStruct", "copy_to_host_async", "device_count", "device_put", "host_count", "host_id",
    "host_ids", "local_device_count", "process_indices", "typeof",
]  # fmt: skip

Tree = Any

__version__ = VERSION
__version_info__ = tuple(int(number) for number in VERSION.split("."))


def device_put(x: Tree, device: Tree = None, *, src: Tree = None, donate: bool = False, may_alias: Any = None) -> Tree:
    """Return a pytree on a device; `src`, `donate` and `may_alias` change nothing, since transfers copy.

    >>> device_put(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    del src, donate, may_alias
    return tree_to_arrays(x) if device is None else calque.device_put(tree_to_arrays(x), device)


def device_count(backend: str | None = None) -> int:
    """Return the number of devices of a platform."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return the number of devices of a platform in this process."""
    return len(calque.local_devices(backend=backend))


def host_count() -> int:
    """Return the number of processes."""
    return int(calque.process_count())


def copy_to_host_async(x: Tree) -> Tree:
    """Return the pytree: its arrays are copied when NumPy asks for them."""
    return x


def host_id() -> int:
    """Return the number of this process."""
    return int(calque.process_index())


def host_ids() -> list[int]:
    """Return the numbers of all processes."""
    return list(range(calque.process_count()))


process_indices = host_ids
