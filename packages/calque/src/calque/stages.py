"""The stages of a jitted function ahead of its calls, under jax's module path."""

from calque_xla_backend import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced"]
