"""The derivative of a reduction by any function: that of the operations of its tree."""

from __future__ import annotations

from calque_core.extend import not_linear
from calque_core.lax import reduce_p

not_linear(reduce_p)
