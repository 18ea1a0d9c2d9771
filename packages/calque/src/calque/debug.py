"""The functions of `calque_core.debug` under jax's path: `debug.print`, `debug.callback` and `debug.breakpoint`."""

from calque_core.debug import breakpoint, callback, print

__all__ = ["breakpoint", "callback", "print"]
