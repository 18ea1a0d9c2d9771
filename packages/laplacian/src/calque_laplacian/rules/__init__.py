"""The rules of core's primitives; those of linear algebra, in `linalg`, are imported when a program first needs one."""

from calque_laplacian.rules import arithmetic, elementwise, reductions, shapes

__all__ = ["arithmetic", "elementwise", "reductions", "shapes"]
