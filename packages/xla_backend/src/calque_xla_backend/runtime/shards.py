"""The shards of an array: the elements that one device holds, as an array on that device.

One idea: jaxlib splits a buffer over several devices into buffers of one device, without a copy.

Read next: `array.py`, which joins shards where an array is read; `placement.py`, which says what each device holds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any

from calque_core.extend import where
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.placement import DeviceType, device_type, placement, text_of
from calque_xla_backend.runtime.runtime import Buffer
from calque_xla_backend.runtime.sharding import Index


@dataclass(frozen=True, slots=True, eq=False)  # equality would be that of arrays, element by element
class Shard:
    """The elements of an array that one device holds: `data`, the array's elements at `index`.

    Shards of the same elements have different numbers `replica_id`, from 0.
    """

    device: Device
    index: Index
    replica_id: int
    data: Any  # an Array; None for a device of another process


def chosen(shards: Sequence[Shard], index: int) -> Shard:
    """Return the shard of the number `index`.  Raises: IndexError that names the devices."""
    if not -len(shards) <= index < len(shards):
        held = text_of([shard.device for shard in shards])
        raise IndexError(
            f"addressable_data({index}){where()}: the array has elements on {held} of this process. Use an index below "
            f"{len(shards)}."
        )
    return shards[index]


class _WithoutJax:
    """Lets jaxlib find no jax in this thread: it would import jax, where it is installed, for each buffer it makes."""

    def __init__(self) -> None:
        self.thread = get_ident()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "jax" and get_ident() == self.thread:
            raise ModuleNotFoundError(name)


def split(buffer: Buffer, kind: DeviceType) -> list[tuple[Buffer, DeviceType]]:
    """Return the buffer on each device of this process, with its device type."""
    blocker = _WithoutJax()
    sys.meta_path.insert(0, blocker)
    try:
        pieces = buffer._arrays
    finally:
        sys.meta_path.remove(blocker)
    place = kind.placement
    aval = kind.aval.update(shape=place.shard_shape(kind.shape))
    kinds = [device_type(aval, placement(place.devices[i])) for i in place.local]
    return [(one.handler([piece]), one) for piece, one in zip(pieces, kinds, strict=True)]
