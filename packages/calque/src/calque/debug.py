"""The functions of `calque_core.debug` under jax's path: `debug.print` and `debug.callback`."""

from calque_core.debug import callback, print

__all__ = ["callback", "print"]
