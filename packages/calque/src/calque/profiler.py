"""Profiles, under jax's module path."""

from calque_xla_backend import TraceAnnotation, profile

__all__ = ["TraceAnnotation", "profile"]
