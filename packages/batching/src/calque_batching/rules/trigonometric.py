"""Batching the operations of `calque_core.ops.trigonometric`: the batch axis is one more axis."""

from __future__ import annotations

from typing import Any

from calque_batching.define import defvectorized
from calque_core.lax import cos_p, sin_p, tan_p, tanh_p

Value = Any

# Trigonometry

defvectorized(sin_p, cos_p, tan_p, tanh_p)
