"""Reductions of segments, under jax's module path."""

from calque_numpy.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
