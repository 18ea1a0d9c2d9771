"""Looking at values while a program runs, and at the devices that hold an array, under jax's path."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.debug import breakpoint, callback, print
from calque_core.extend import late_names as _late_names

if _TYPE_CHECKING:  # the aliases say that the names are this module's, too
    from calque_xla_backend import visualize_array_sharding as visualize_array_sharding  # noqa: PLC0414
    from calque_xla_backend import visualize_sharding as visualize_sharding  # noqa: PLC0414

__all__ = ["breakpoint", "callback", "print"]

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, {"calque_xla_backend": "visualize_array_sharding, visualize_sharding"})
