"""The transformation: jit."""
