"""Where the elements of an array are.

One idea: an array is on one device, and its sharding says which.  It has JAX's name, so that programs that ask an array
for its sharding and pass it to `device_put` run unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from calque_xla_backend.runtime.clients import Device


@dataclass(frozen=True, slots=True)
class SingleDeviceSharding:
    """All elements are on one device.  Two shardings are equal if their devices are.

    >>> from calque_xla_backend import SingleDeviceSharding, device_put, devices
    >>> device_put(2.0).sharding
    SingleDeviceSharding(device=CpuDevice(id=0))
    >>> device_put(2.0).sharding == SingleDeviceSharding(devices()[0])
    True
    """

    device: Device

    @property
    def device_set(self) -> set[Device]:
        """The devices that hold elements."""
        return {self.device}

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all elements: True."""
        return True
