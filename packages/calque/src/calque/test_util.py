"""Checks of derivatives by differences, under jax's module path."""

from calque_autodiff import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
