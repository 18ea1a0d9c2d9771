"""Programs of several processes, under jax's module path."""

from calque_xla_backend.distributed import PeerError, initialize, is_initialized, shutdown

__all__ = ["PeerError", "initialize", "is_initialized", "shutdown"]
