"""Interval rules of the primitives of core: kind "bounds", `rule(*intervals, **params) -> interval`."""

from calque_bounds.rules import arithmetic, choices, functions, reductions, shapes

__all__ = ["arithmetic", "choices", "functions", "reductions", "shapes"]
