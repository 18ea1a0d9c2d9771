# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_core.debug import breakpoint as breakpoint, callback as callback, print as print
from calque_xla_backend import (
    visualize_array_sharding as visualize_array_sharding, visualize_sharding as visualize_sharding,
)

__all__ = [
    "breakpoint", "callback", "print",
]
