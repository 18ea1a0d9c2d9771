"""Adapters: short functions where jax's dialect differs from calque's, one module per module of jax."""
